//! One record for each model request, whoever asked for it: to sinks (a file, tests) and to extensions' `llm_trace`
//! handlers. Costs nothing when nobody listens. A record describes a request; it never holds prompts, answers or keys.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::RwLock;
use pier_protocol::message::{AssistantMessage, StopReason, Usage};
use serde::Serialize;

use super::{ModelRequest, RequestKind};
use crate::clock::now_ms;
use crate::hooks::{ExtensionHooks, HookEvent, Notification};

/// Receives records. Called on the path of a request, so it must not block for long; it cannot fail.
pub trait TraceSink: Send + Sync {
    fn record(&self, record: &TraceRecord);
}

/// One request to a model, from the moment it was given to its provider.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceRecord {
    /// Always `model_request`, so that other kinds can join a file later.
    pub r#type: &'static str,
    pub session_id: String,
    pub request_role: RequestRole,
    pub provider: String,
    pub api: String,
    pub model: String,
    pub thinking_level: &'static str,
    /// Milliseconds since the epoch.
    pub started_at: i64,
    /// Milliseconds until the first event of the stream; absent when none came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_event_ms: Option<u64>,
    /// Milliseconds until the end.
    pub duration_ms: u64,
    pub outcome: Outcome,
    pub stop_reason: StopReason,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    pub usage: Usage,
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    Ok,
    Error,
    Aborted,
}

/// Who asked (`spec/kolega-contract.md` §8.3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestRole {
    /// `primary` for a turn of the conversation, `helper` for everything around it.
    pub kind: &'static str,
    /// `compaction`, `branch_summary` or `extension`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub helper: Option<&'static str>,
    /// Path of the extension that asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extension: Option<String>,
}

impl From<&RequestKind> for RequestRole {
    fn from(kind: &RequestKind) -> Self {
        let helper = |helper, extension| RequestRole {
            kind: "helper",
            helper: Some(helper),
            extension,
        };
        match kind {
            RequestKind::Turn => RequestRole {
                kind: "primary",
                helper: None,
                extension: None,
            },
            RequestKind::Compaction => helper("compaction", None),
            RequestKind::BranchSummary => helper("branch_summary", None),
            RequestKind::Extension { path } => helper("extension", Some(path.clone())),
        }
    }
}

/// The sinks of a process.
#[derive(Default)]
pub(super) struct Sinks(RwLock<Vec<Arc<dyn TraceSink>>>);

impl Sinks {
    pub(super) fn add(&self, sink: Arc<dyn TraceSink>) {
        self.0.write().push(sink);
    }

    /// The same sinks, for the registry of a session beside this one.
    pub(super) fn clone_all(&self) -> Self {
        Self(RwLock::new(self.all()))
    }

    fn all(&self) -> Vec<Arc<dyn TraceSink>> {
        self.0.read().clone()
    }
}

/// One request under way. Dropped unfinished, it is recorded as aborted.
pub struct RequestTrace {
    sinks: Vec<Arc<dyn TraceSink>>,
    hooks: Option<Arc<dyn ExtensionHooks>>,
    /// Taken when it is delivered.
    record: Option<TraceRecord>,
    began: Instant,
}

impl RequestTrace {
    /// `None` when nobody wants to know.
    pub(super) fn begin(
        sinks: &Sinks,
        hooks: Option<Arc<dyn ExtensionHooks>>,
        request: &ModelRequest,
    ) -> Option<Self> {
        let sinks = sinks.all();
        let hooks = hooks.filter(|hooks| hooks.subscribed(HookEvent::LlmTrace));
        if sinks.is_empty() && hooks.is_none() {
            return None;
        }
        let record = TraceRecord {
            r#type: "model_request",
            session_id: request.session_id.clone(),
            request_role: RequestRole::from(&request.kind),
            provider: request.model.provider.clone(),
            api: request.model.api.clone(),
            model: request.model.id.clone(),
            thinking_level: request.thinking_level.as_str(),
            started_at: now_ms(),
            first_event_ms: None,
            duration_ms: 0,
            outcome: Outcome::Aborted,
            stop_reason: StopReason::Aborted,
            error_message: None,
            usage: Usage::default(),
        };
        Some(RequestTrace {
            sinks,
            hooks,
            record: Some(record),
            began: Instant::now(),
        })
    }

    /// An event arrived.
    pub fn event(&mut self) {
        let elapsed = elapsed_ms(self.began);
        if let Some(record) = &mut self.record {
            record.first_event_ms.get_or_insert(elapsed);
        }
    }

    /// The request ended with this message; waits for extensions' handlers, which have their own bounds.
    pub async fn finish(mut self, message: &AssistantMessage) {
        if let Some(record) = &mut self.record {
            record.outcome = match message.stop_reason {
                StopReason::Error => Outcome::Error,
                StopReason::Aborted => Outcome::Aborted,
                _ => Outcome::Ok,
            };
            record.stop_reason = message.stop_reason.clone();
            record.error_message.clone_from(&message.error_message);
            record.usage = message.usage.clone();
        }
        let delivered = self.deliver();
        if let (Some(record), Some(hooks)) = (delivered, &self.hooks) {
            hooks.notify(Notification::LlmTrace { record }).await;
        }
    }

    fn deliver(&mut self) -> Option<Arc<TraceRecord>> {
        let mut record = self.record.take()?;
        record.duration_ms = elapsed_ms(self.began);
        for sink in &self.sinks {
            sink.record(&record);
        }
        Some(Arc::new(record))
    }
}

impl Drop for RequestTrace {
    fn drop(&mut self) {
        self.deliver();
    }
}

fn elapsed_ms(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
