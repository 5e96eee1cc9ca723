//! `complete`: one request to any registered model on behalf of an extension, outside the session.

use std::sync::Arc;

use pier_agent::provider::{AssistantEvent, ModelRequest, RequestKind, RequestObserver};
use pier_protocol::message::Message;
use pier_protocol::model::{Model, ThinkingLevel};
use pier_protocol::tool::ToolDeclaration;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::host::Shared;
use crate::providers::stream::{assistant, event_json};

/// Events that may wait between provider and extension.
const CHANNEL: usize = 64;

/// What an extension asks for.
pub(crate) struct Completion {
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
        let entry = self
            .options
            .providers
            .get(&request.model.provider)
            .ok_or_else(|| format!("Unknown provider \"{}\"", request.model.provider))?;
        let (sender, mut receiver) = mpsc::channel(CHANNEL);
        let run = entry.provider.stream(request, sender, cancel);
        let read = async {
            let mut last = None;
            let mut batch = Vec::new();
            while receiver.recv_many(&mut batch, CHANNEL).await > 0 {
                for event in &batch {
                    match event {
                        AssistantEvent::Done { message } => last = Some(assistant(message)),
                        AssistantEvent::Error { error } => last = Some(assistant(error)),
                        _ => {}
                    }
                }
                on_events(batch.drain(..).map(|event| event_json(&event)).collect()).await;
            }
            last
        };
        let (outcome, last) = tokio::join!(run, read);
        match (last, outcome) {
            (Some(message), _) => Ok(message),
            (None, Err(error)) => Err(error.to_string()),
            (None, Ok(())) => Err("the provider's stream ended without a result".into()),
        }
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
            kind: RequestKind::Summary,
            system_prompt: member("systemPrompt")
                .and_then(|prompt| prompt.as_str().map(str::to_string))
                .unwrap_or_default(),
            messages: messages.into_iter().map(Arc::new).collect(),
            tools,
            thinking_level: level.unwrap_or_default(),
            session_id: completion
                .options
                .get("sessionId")
                .and_then(Value::as_str)
                .unwrap_or("extension")
                .to_string(),
            observer: RequestObserver::none(),
        })
    }
}
