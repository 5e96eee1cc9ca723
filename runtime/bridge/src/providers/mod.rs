//! Model providers that extensions register, as providers of the agent (`spec/extension-api.md` §7.6).

pub(crate) mod complete;
pub(crate) mod credentials;
pub(crate) mod key;
pub(crate) mod models;
pub(crate) mod stream;
pub(crate) mod validate;

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use pier_agent::hooks::HookEvent;
use pier_agent::provider::{AssistantEvent, ModelProvider, ModelRequest, ProviderError};
use pier_protocol::extension::ProviderRegistration;
use pier_protocol::message::Message;
use pier_protocol::model::{Model, ThinkingLevel};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::calls::Purpose;
use crate::host::Shared;
use crate::isolate::CallError;
use crate::registry::ExtensionInfo;
use crate::report::describe;
use stream::StreamSink;

/// One registered provider.
struct ExtensionProvider {
    shared: Weak<Shared>,
    info: Arc<ExtensionInfo>,
    registration: ProviderRegistration,
}

impl Shared {
    /// Registers a provider at once. The error is the text for the extension.
    pub(crate) fn register_provider(
        self: &Arc<Self>,
        info: &Arc<ExtensionInfo>,
        registration: &ProviderRegistration,
    ) -> Result<(), String> {
        validate::validate(registration)?;
        let name = &registration.name;
        let providers = &self.options.providers;
        let own = models::own_models(registration)?;
        if own.is_empty() && !registration.has_stream_simple {
            // Only an endpoint: the existing models of that provider move there.
            let Some(entry) = providers.get(name) else {
                // Applied again once the built-in providers are there.
                if self.builtin_info().is_none() {
                    return Ok(());
                }
                return Err(format!(
                    "Provider {name}: there are no models to redirect; define \"models\"."
                ));
            };
            let moved = entry
                .models
                .iter()
                .map(|model| models::redirect(model, &registration.config))
                .collect();
            providers.register(&info.owner(), name, entry.provider, moved);
            self.touch();
            return Ok(());
        }
        let models = if own.is_empty() {
            providers
                .get(name)
                .map(|entry| entry.models.iter().map(|model| (**model).clone()).collect())
                .unwrap_or_default()
        } else {
            own
        };
        let provider = ExtensionProvider {
            shared: Arc::downgrade(self),
            info: info.clone(),
            registration: registration.clone(),
        };
        providers.register(&info.owner(), name, Arc::new(provider), models);
        self.touch();
        Ok(())
    }

    /// Takes a provider back; what it had replaced returns.
    pub(crate) fn unregister_provider(&self, info: &ExtensionInfo, name: &str) {
        self.options.providers.unregister(&info.owner(), name);
        self.touch();
    }

    /// `refreshModels` of every provider that has it.
    pub(crate) async fn refresh_models(self: &Arc<Self>) {
        let all = self.registry.with(|extensions| {
            let mut found = Vec::new();
            for loaded in extensions {
                let having = loaded
                    .registered
                    .providers
                    .iter()
                    .filter(|provider| provider.has_refresh_models);
                found.extend(having.map(|provider| (loaded.info.clone(), provider.clone())));
            }
            found
        });
        for (info, registration) in all {
            let scope = self.calls.begin(
                info.id,
                &registration.name,
                Purpose::Other,
                CancellationToken::new(),
            );
            let header =
                json!({"ext": info.id, "provider": registration.name, "callId": scope.id()});
            let deadline = self.limits.read().handler;
            let answer = self
                .invoke_json(
                    &info.isolate,
                    "refreshModels",
                    &header,
                    None,
                    &scope,
                    deadline,
                )
                .await;
            match answer {
                Ok(list @ Value::Array(_)) => {
                    let mut refreshed = registration.clone();
                    refreshed.config["models"] = list;
                    if let Err(problem) = self.register_provider(&info, &refreshed) {
                        self.reports.text(&info.path, "refresh_models", problem);
                    }
                }
                Ok(_) => {}
                Err(error) => self
                    .reports
                    .call_failed(&info.path, "refresh_models", &error),
            }
        }
    }

    /// The key for requests of a provider: stored credentials first, then the provider's template.
    pub(crate) async fn api_key(
        self: &Arc<Self>,
        provider: &str,
    ) -> Result<Option<String>, String> {
        if let Some(key) = self.stored_key(provider).await? {
            return Ok(Some(key));
        }
        let template = self
            .registration_of(provider)
            .and_then(|(_, registration)| {
                registration
                    .config
                    .get("apiKey")
                    .and_then(Value::as_str)
                    .map(str::to_string)
            });
        match template {
            Some(template) => key::resolve(&template, &|name| std::env::var(name).ok())
                .await
                .map(Some),
            None => Ok(None),
        }
    }

    /// The effective extension registration of a provider name.
    pub(crate) fn registration_of(
        &self,
        provider: &str,
    ) -> Option<(Arc<ExtensionInfo>, ProviderRegistration)> {
        self.registry.with(|extensions| {
            extensions.iter().rev().find_map(|loaded| {
                let found = loaded
                    .registered
                    .providers
                    .iter()
                    .find(|known| known.name == provider)?;
                Some((loaded.info.clone(), found.clone()))
            })
        })
    }
}

impl ExtensionProvider {
    async fn options(
        &self,
        shared: &Arc<Shared>,
        request: &ModelRequest,
    ) -> Result<Value, ProviderError> {
        let mut options = json!({"sessionId": request.session_id});
        if request.thinking_level != ThinkingLevel::Off {
            options["reasoning"] = json!(request.thinking_level.as_str());
        }
        let key = shared
            .api_key(&self.registration.name)
            .await
            .map_err(|problem| {
                ProviderError(format!(
                    "Authentication failed for \"{}\": {problem}",
                    self.registration.name
                ))
            })?;
        let mut headers = serde_json::Map::new();
        for source in [
            self.registration.config.get("headers"),
            request.model.extra.get("headers"),
        ] {
            headers.extend(
                source
                    .and_then(Value::as_object)
                    .cloned()
                    .unwrap_or_default(),
            );
        }
        if let Some(key) = key {
            if self.registration.config.get("authHeader") == Some(&Value::Bool(true)) {
                headers.insert("Authorization".into(), json!(format!("Bearer {key}")));
            }
            options["apiKey"] = json!(key);
        }
        if !headers.is_empty() {
            options["headers"] = Value::Object(headers);
        }
        Ok(options)
    }
}

#[async_trait]
impl ModelProvider for ExtensionProvider {
    async fn stream(
        &self,
        request: ModelRequest,
        events: mpsc::Sender<AssistantEvent>,
        cancel: CancellationToken,
    ) -> Result<(), ProviderError> {
        let shared = self
            .shared
            .upgrade()
            .ok_or_else(|| ProviderError("the extension host has ended".into()))?;
        let options = self.options(&shared, &request).await?;
        // A provider that only describes an endpoint is served by the built-in ones: they stream any model of a
        // protocol that the model library speaks.
        let (info, name) = if self.registration.has_stream_simple {
            (self.info.clone(), self.registration.name.clone())
        } else {
            shared.any_builtin_stream().await.map_err(ProviderError)?
        };
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
        let payload = request_payload(&request, options);
        let sink = StreamSink::new(request.model.clone(), request.observer.clone());
        let pump = sink.clone().pump(events);
        let scope = shared.calls.begin(
            info.id,
            &self.registration.name,
            Purpose::Stream(sink.clone()),
            cancel.child_token(),
        );
        let mut header = json!({"ext": info.id, "provider": name, "callId": scope.id()});
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
            Err(error) => Err(ProviderError(describe(&self.registration.name, &error))),
        }
    }

    fn has_credentials(&self, model: &Model) -> bool {
        let Some(shared) = self.shared.upgrade() else {
            return false;
        };
        if shared.has_stored_key(&model.provider) {
            return true;
        }
        match self
            .registration
            .config
            .get("apiKey")
            .and_then(Value::as_str)
        {
            Some(template) => key::is_available(template, &|name| std::env::var(name).ok()),
            // A stream without any credential configuration brings its own.
            None => !self.registration.has_oauth,
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
