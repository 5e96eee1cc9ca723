//! One provider that lives in an isolate, or whose endpoint is described and that the built-in library serves.

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use pier_agent::hooks::HookEvent;
use pier_agent::provider::{
    AssistantEvent, ModelProvider, ModelRequest, ProviderError, RequestKind,
};
use pier_protocol::extension::ProviderRegistration;
use pier_protocol::message::Message;
use pier_protocol::model::{Model, ThinkingLevel};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::secrets;
use super::stream::StreamSink;
use crate::calls::Purpose;
use crate::host::Shared;
use crate::isolate::CallError;
use crate::registry::ExtensionInfo;
use crate::report::describe;

/// Who registered a provider, and as what.
type Registered = (Arc<ExtensionInfo>, ProviderRegistration);

/// One provider. What it streams with is settled here, keys and headers at each request.
pub(super) struct HostedProvider {
    shared: Weak<Shared>,
    name: String,
    /// `None` when only `models.json` defines it.
    registered: Option<Registered>,
}

/// What a request is made with.
struct Prepared {
    options: Value,
    model: Arc<Model>,
    /// What must not appear in errors.
    secrets: Vec<String>,
}

impl HostedProvider {
    pub(super) fn new(shared: &Arc<Shared>, name: &str, registered: Option<Registered>) -> Self {
        Self {
            shared: Arc::downgrade(shared),
            name: name.to_owned(),
            registered,
        }
    }

    /// The extension that streams for this provider, when it does so itself.
    fn streaming(&self) -> Option<&Registered> {
        self.registered
            .as_ref()
            .filter(|(_, registration)| registration.has_stream_simple)
    }

    async fn options(
        &self,
        shared: &Arc<Shared>,
        request: &ModelRequest,
    ) -> Result<Prepared, ProviderError> {
        let refused = |problem: String| {
            ProviderError(format!(
                "Authentication failed for \"{}\": {problem}",
                self.name
            ))
        };
        let mut options = Map::new();
        options.extend(shared.request_settings());
        options.extend(request.options.clone());
        options.insert("sessionId".into(), json!(request.session_id));
        if request.thinking_level != ThinkingLevel::Off {
            options.insert("reasoning".into(), json!(request.thinking_level.as_str()));
        }
        if matches!(
            request.kind,
            RequestKind::Compaction | RequestKind::BranchSummary
        ) {
            options.insert("cacheRetention".into(), json!("none"));
        }
        let given = options
            .get("apiKey")
            .and_then(Value::as_str)
            .map(str::to_owned);
        let key = match given {
            Some(key) => Some(key),
            None => shared.api_key(&self.name).await.map_err(refused)?,
        };
        // To get the key may have renewed a login, and a login may move its models.
        let model = shared.options.providers.current(&request.model);
        let mut hidden = Vec::new();
        let mut headers = shared
            .request_headers(&self.name, Some(&model), key.as_deref(), &mut hidden)
            .await
            .map_err(refused)?;
        if let Some(key) = key {
            options.insert("apiKey".into(), json!(key));
        }
        if let Some(Value::Object(own)) = options.get("headers") {
            headers.extend(own.clone());
        }
        if let Some(Value::Object(changed)) = request
            .observer
            .headers(&Value::Object(headers.clone()))
            .await
        {
            headers = deletions(&headers, changed);
        }
        if headers.is_empty() {
            options.shift_remove("headers");
        } else {
            options.insert("headers".into(), Value::Object(headers));
        }
        Ok(Prepared {
            secrets: secrets::of(&options, hidden),
            options: Value::Object(options),
            model,
        })
    }
}

/// Headers after the handlers: one that they removed must be suppressed, not only left out.
fn deletions(before: &Map<String, Value>, after: Map<String, Value>) -> Map<String, Value> {
    let mut headers: Map<String, Value> = before
        .keys()
        .map(|name| (name.clone(), Value::Null))
        .collect();
    headers.extend(after);
    headers
}

#[async_trait]
impl ModelProvider for HostedProvider {
    async fn stream(
        &self,
        mut request: ModelRequest,
        events: mpsc::Sender<AssistantEvent>,
        cancel: CancellationToken,
    ) -> Result<(), ProviderError> {
        let shared = self
            .shared
            .upgrade()
            .ok_or_else(|| ProviderError("the extension host has ended".into()))?;
        let prepare = async {
            let prepared = self.options(&shared, &request).await?;
            // A provider that only describes an endpoint is served by the built-in ones: they stream any model of a
            // protocol that the model library speaks.
            let streams = match self.streaming() {
                Some((info, registration)) => (info.clone(), registration.name.clone()),
                None => shared.any_builtin_stream().await.map_err(ProviderError)?,
            };
            Ok::<_, ProviderError>((prepared, streams))
        };
        // A key may come from a command or over the network.
        let (prepared, (info, streams)) = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(ProviderError("Request was aborted".into())),
            prepared = prepare => prepared?,
        };
        request.model = prepared.model;
        let mut hooks = Vec::new();
        for (event, word) in [
            (HookEvent::BeforeProviderRequest, "payload"),
            (HookEvent::AfterProviderResponse, "response"),
            (HookEvent::ProviderStreamEvent, "event"),
        ] {
            if request.observer.wants(event) {
                hooks.push(word);
            }
        }
        let sink = StreamSink::new(
            request.model.clone(),
            request.observer.clone(),
            prepared.secrets,
        );
        let payload = request_payload(&request, prepared.options);
        let pump = sink.clone().pump(events);
        let scope = shared.calls.begin(
            info.id,
            &self.name,
            Purpose::Stream(sink.clone()),
            cancel.child_token(),
        );
        let mut header = json!({"ext": info.id, "provider": streams, "callId": scope.id()});
        if !hooks.is_empty() {
            header["hooks"] = json!(hooks);
        }
        let run = async {
            let outcome = shared
                .invoke(
                    &info.isolate,
                    "stream",
                    &header,
                    Some(payload.into()),
                    &scope,
                    None,
                )
                .await;
            sink.close();
            outcome
        };
        let (outcome, ()) = tokio::join!(run, pump);
        match outcome {
            Ok(_) if sink.is_finished() => Ok(()),
            Ok(_) => Err(ProviderError(
                "the provider's stream ended without a result".into(),
            )),
            // The stream told its own end before the call failed.
            Err(_) if sink.is_finished() => Ok(()),
            Err(CallError::Aborted) => Err(ProviderError("Request was aborted".into())),
            Err(error) => Err(ProviderError(sink.redact(&describe(&self.name, &error)))),
        }
    }

    fn has_credentials(&self, model: &Model) -> bool {
        let Some(shared) = self.shared.upgrade() else {
            return false;
        };
        match shared.key_available(&model.provider) {
            Some(available) => available,
            // A stream without any credential configuration brings its own.
            None => self
                .streaming()
                .is_some_and(|(_, registration)| !registration.has_oauth),
        }
    }
}

/// Payload of `stream` (`docs/bridge-protocol.md`). System messages stay out: the prompt and the tools are given apart.
pub(crate) fn request_payload(request: &ModelRequest, options: Value) -> String {
    let messages: Vec<&Message> = request
        .messages
        .iter()
        .map(|message| &**message)
        .filter(|message| !message.is_system())
        .collect();
    json!({
        "model": &*request.model,
        "context": {"systemPrompt": request.system_prompt, "messages": messages, "tools": request.tools},
        "options": options,
    })
    .to_string()
}
