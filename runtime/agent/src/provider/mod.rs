//! The one interface to models (design §6): a provider turns a request into assistant-message events.
//!
//! Providers run elsewhere (an isolate, or [`scripted`]); the agent has no HTTP client and no credentials.

mod registry;
pub mod scripted;
pub mod source;
pub mod stream;
mod trace;

use std::sync::Arc;

use async_trait::async_trait;
use pier_protocol::block::ToolCallBlock;
use pier_protocol::message::{AssistantMessage, Message, Usage};
use pier_protocol::model::{Model, ThinkingLevel};
use pier_protocol::tool::ToolDeclaration;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

pub use registry::{ProviderEntry, ProviderRegistry};
pub use trace::{Outcome, RequestRole, RequestTrace, SubAgent, TraceRecord, TraceSink};

use crate::hooks::{ExtensionHooks, HookEvent, Notification};

/// A source of model answers.
#[async_trait]
pub trait ModelProvider: Send + Sync {
    /// Sends one request and pushes its events into `events`, ending with exactly one `Done` or `Error`. Waiting for room in
    /// the channel is the back-pressure. Returns soon after `cancel` fired, having pushed an `Error` with reason
    /// `aborted` if it still can. An `Err` is the same as an `Error` event with that text.
    async fn stream(
        &self,
        request: ModelRequest,
        events: mpsc::Sender<AssistantEvent>,
        cancel: CancellationToken,
    ) -> Result<(), ProviderError>;

    /// Whether a request could be authorised now, without asking anyone.
    fn has_credentials(&self, _model: &Model) -> bool {
        true
    }
}

/// Why a request failed outside its event stream.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct ProviderError(pub String);

/// Who asks, and for what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestKind {
    /// A turn of the conversation.
    Turn,
    /// The summary of a compaction: no tools, no prompt caching.
    Compaction,
    /// The summary of a branch that is left: the same.
    BranchSummary,
    /// An extension, outside the session.
    Extension {
        /// Its path, as reported.
        path: String,
        /// Session that it belongs to, once there is one.
        session_id: Option<String>,
    },
}

/// One request to a model.
#[derive(Clone)]
pub struct ModelRequest {
    pub model: Arc<Model>,
    pub kind: RequestKind,
    /// The whole system prompt as one text, for providers without mid-conversation system messages.
    pub system_prompt: String,
    /// Roles user, assistant, toolResult and system only. System messages carry prompt patches and tool changes
    /// (spec/agent-loop.md §9); a provider that uses `system_prompt` and `tools` skips them.
    /// Shared with the session, which goes on with the list once the request is gone.
    pub messages: Arc<Vec<Arc<Message>>>,
    /// Tools in force at the end of `messages`.
    pub tools: Vec<ToolDeclaration>,
    pub thinking_level: ThinkingLevel,
    pub session_id: String,
    /// Further options of the asker, as the model library names them (`maxTokens`, `temperature` …); usually none.
    pub options: serde_json::Map<String, Value>,
    /// Reports and rewrites what goes over the wire.
    pub observer: RequestObserver,
}

/// Lets extensions see and change the raw request. A provider calls it where it has the data; each call costs nothing
/// when nobody subscribed.
#[derive(Clone)]
pub struct RequestObserver {
    hooks: Option<Arc<dyn ExtensionHooks>>,
}

impl RequestObserver {
    pub fn new(hooks: Arc<dyn ExtensionHooks>) -> Self {
        RequestObserver { hooks: Some(hooks) }
    }

    /// An observer that nobody listens to.
    pub fn none() -> Self {
        RequestObserver { hooks: None }
    }

    /// Whether calling the method for `event` could have an effect.
    pub fn wants(&self, event: HookEvent) -> bool {
        self.hooks
            .as_ref()
            .is_some_and(|hooks| hooks.subscribed(event))
    }

    fn listening(&self, event: HookEvent) -> Option<&Arc<dyn ExtensionHooks>> {
        self.hooks.as_ref().filter(|hooks| hooks.subscribed(event))
    }

    /// `before_provider_request`: the payload about to be sent. `None` = unchanged.
    pub async fn payload(&self, payload: &Value) -> Option<Value> {
        match self.listening(HookEvent::BeforeProviderRequest) {
            Some(hooks) => hooks.before_provider_request(payload).await,
            None => None,
        }
    }

    /// `before_provider_headers`: an object of headers. `None` = unchanged; a `null` member deletes a header.
    pub async fn headers(&self, headers: &Value) -> Option<Value> {
        match self.listening(HookEvent::BeforeProviderHeaders) {
            Some(hooks) => hooks.before_provider_headers(headers).await,
            None => None,
        }
    }

    /// `after_provider_response`: HTTP status and response headers.
    pub async fn response(&self, status: u16, headers: Value) {
        if let Some(hooks) = self.listening(HookEvent::AfterProviderResponse) {
            hooks
                .notify(Notification::AfterProviderResponse { status, headers })
                .await;
        }
    }

    /// `provider_stream_event`: one raw event of the provider's stream.
    pub async fn stream_event(&self, model: &Model, data: Value) {
        if let Some(hooks) = self.listening(HookEvent::ProviderStreamEvent) {
            hooks
                .notify(Notification::ProviderStreamEvent {
                    provider: model.provider.clone(),
                    api: model.api.clone(),
                    model: model.id.clone(),
                    data,
                })
                .await;
        }
    }
}

/// One event of a provider stream. Text crosses as deltas only; the consumer builds the message.
///
/// JSON form: `type` as in spec/extension-api.md §7.6, without `partial`. `toolcall_start` carries `id` and `toolName`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum AssistantEvent {
    #[serde(rename = "start")]
    Start {},
    /// Bytes came that are no event, such as a comment that keeps the connection open: the provider is not silent.
    #[serde(rename = "alive")]
    Alive {},
    #[serde(rename = "text_start")]
    TextStart { content_index: usize },
    #[serde(rename = "text_delta")]
    TextDelta { content_index: usize, delta: String },
    #[serde(rename = "text_end")]
    TextEnd {
        content_index: usize,
        content: String,
        #[serde(default)]
        text_signature: Option<String>,
    },
    #[serde(rename = "thinking_start")]
    ThinkingStart { content_index: usize },
    #[serde(rename = "thinking_delta")]
    ThinkingDelta { content_index: usize, delta: String },
    #[serde(rename = "thinking_end")]
    ThinkingEnd {
        content_index: usize,
        content: String,
        #[serde(default)]
        thinking_signature: Option<String>,
    },
    #[serde(rename = "toolcall_start")]
    ToolCallStart {
        content_index: usize,
        id: String,
        tool_name: String,
    },
    #[serde(rename = "toolcall_delta")]
    ToolCallDelta { content_index: usize, delta: String },
    #[serde(rename = "toolcall_end")]
    ToolCallEnd {
        content_index: usize,
        tool_call: ToolCallBlock,
    },
    /// The running usage changed.
    #[serde(rename = "usage")]
    Usage { usage: Usage },
    /// The final message; its blocks replace what was streamed, but tool calls must be the streamed ones.
    #[serde(rename = "done")]
    Done { message: AssistantMessage },
    /// The final failed message (`stopReason` `error` or `aborted`).
    #[serde(rename = "error")]
    Error { error: AssistantMessage },
}

impl AssistantEvent {
    /// Reads one event of the wire form, where any event may also carry the running `usage`.
    ///
    /// # Errors
    /// The value is no known event; the text names its type.
    pub fn from_wire(mut value: Value) -> Result<Vec<AssistantEvent>, ProviderError> {
        let name = value
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or("(none)")
            .to_owned();
        let mut events = Vec::with_capacity(1);
        if name != "usage"
            && let Some(usage) = value
                .as_object_mut()
                .and_then(|map| map.shift_remove("usage"))
            && let Ok(usage) = serde_json::from_value(usage)
        {
            events.push(AssistantEvent::Usage { usage });
        }
        let event = serde_json::from_value(value).map_err(|error| {
            ProviderError(format!(
                "Provider sent an invalid \"{name}\" event: {error}"
            ))
        })?;
        events.push(event);
        Ok(events)
    }
}
