//! `complete`: one request to any registered model on behalf of an extension, outside the session.

use std::sync::Arc;

use pier_agent::provider::source::{Source, idle_limit};
use pier_agent::provider::{ModelRequest, RequestKind, RequestObserver};
use pier_protocol::message::Message;
use pier_protocol::model::{Model, ThinkingLevel};
use pier_protocol::tool::ToolDeclaration;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::dispatch::payload::assistant;
use crate::host::Shared;
use crate::providers::stream::event_json;

/// What an extension asks for.
pub(crate) struct Completion {
    /// Path of the extension.
    pub(crate) asked_by: String,
    pub(crate) model: Value,
    pub(crate) context: Value,
    pub(crate) options: Value,
}

impl Shared {
    /// Runs the request; `on_events` gets every batch of events. The answer is the final assistant message, also when it
    /// is a failed one.
    pub(crate) async fn complete<F>(
        self: &Arc<Self>,
        completion: Completion,
        cancel: CancellationToken,
        mut on_events: impl FnMut(Vec<Value>) -> F + Send,
    ) -> Result<Value, String>
    where
        F: Future<Output = ()> + Send,
    {
        let request = self.completion_request(completion)?;
        let providers = &self.options.providers;
        let entry = providers
            .get(&request.model.provider)
            .ok_or_else(|| format!("Unknown provider \"{}\"", request.model.provider))?;
        if !entry.provider.has_credentials(&request.model) {
            return Err(format!(
                "No API key found for provider \"{}\".",
                request.model.provider
            ));
        }
        let model = request.model.clone();
        let settings = self.settings();
        let limit = idle_limit(settings.as_object().unwrap_or(&Map::new()));
        let trace = providers.trace(&request, self.hooks());
        let mut source = Source::open(entry.provider, request, &cancel, limit, trace);
        let message = source
            .collect(&model, |events| {
                on_events(events.iter().map(event_json).collect())
            })
            .await;
        Ok(assistant(&message))
    }

    fn completion_request(&self, completion: Completion) -> Result<ModelRequest, String> {
        let given: Model = serde_json::from_value(completion.model)
            .map_err(|error| format!("\"model\": {error}"))?;
        // The host's own description wins: an extension must not redirect a provider's key to another endpoint.
        let model = match self.options.providers.find(&given.provider, &given.id) {
            Some(known) => known,
            None => return Err(format!("Model not found: {}/{}", given.provider, given.id)),
        };
        let member = |name: &str| {
            completion
                .context
                .get(name)
                .filter(|value| !value.is_null())
                .cloned()
        };
        let messages: Vec<Message> = match member("messages") {
            Some(value) => serde_json::from_value(value)
                .map_err(|error| format!("\"context.messages\": {error}"))?,
            None => Vec::new(),
        };
        let tools: Vec<ToolDeclaration> = match member("tools") {
            Some(value) => serde_json::from_value(value)
                .map_err(|error| format!("\"context.tools\": {error}"))?,
            None => Vec::new(),
        };
        let level = completion
            .options
            .get("reasoning")
            .and_then(Value::as_str)
            .and_then(ThinkingLevel::parse);
        Ok(ModelRequest {
            model,
            kind: RequestKind::Extension {
                path: completion.asked_by,
                session_id: self.session().map(|session| session.session_id()),
            },
            system_prompt: member("systemPrompt")
                .and_then(|prompt| prompt.as_str().map(str::to_string))
                .unwrap_or_default(),
            messages: Arc::new(messages.into_iter().map(Arc::new).collect()),
            tools,
            thinking_level: level.unwrap_or_default(),
            session_id: completion
                .options
                .get("sessionId")
                .and_then(Value::as_str)
                .unwrap_or("extension")
                .to_string(),
            options: own_options(&completion.options),
            observer: RequestObserver::none(),
        })
    }
}

/// The options that the host does not decide itself.
fn own_options(options: &Value) -> Map<String, Value> {
    let mut options = options.as_object().cloned().unwrap_or_default();
    for decided in ["sessionId", "reasoning"] {
        options.shift_remove(decided);
    }
    options
}
