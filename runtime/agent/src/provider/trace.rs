//! One record for each model request, whoever asked for it: to sinks (a file, tests) and to extensions' `llm_trace`
//! handlers. Costs nothing when nobody listens. A record describes a request; it never holds prompts, answers or keys.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::RwLock;
use pier_protocol::message::{AssistantMessage, StopReason, Usage};
use serde::Serialize;
use serde_json::Value;

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
    /// As the asker gave it; absent when the provider decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<Value>,
    /// The same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<Value>,
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
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestRole {
    /// `primary` for a turn of the conversation, `sub_agent` for a turn of a session that an extension started, `helper` for
    /// everything around turns.
    pub kind: &'static str,
    /// `compaction`, `branch_summary` or `extension`; more may come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub helper: Option<&'static str>,
    /// Path of the extension that asked, or that started the sub-agent which asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extension: Option<String>,
    /// Session of the sub-agent. This member and those below are there for everything that is asked within one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// 1 for a sub-agent of the program's own session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// Session whose extension started the sub-agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session_id: Option<String>,
    /// Tool call of that session which started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_tool_call_id: Option<String>,
}

/// What makes a session a sub-agent, in the words of [`RequestRole`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubAgent {
    pub extension: String,
    pub depth: u32,
    pub parent_session_id: Option<String>,
    pub parent_tool_call_id: Option<String>,
}

impl RequestRole {
    fn new(kind: &RequestKind, session_id: &str, agent: Option<&SubAgent>) -> Self {
        let helper = |helper| RequestRole {
            kind: "helper",
            helper: Some(helper),
            ..RequestRole::default()
        };
        let mut role = match kind {
            RequestKind::Turn => RequestRole {
                kind: match agent {
                    Some(_) => "sub_agent",
                    None => "primary",
                },
                ..RequestRole::default()
            },
            RequestKind::Compaction => helper("compaction"),
            RequestKind::BranchSummary => helper("branch_summary"),
            RequestKind::Extension { path, .. } => RequestRole {
                extension: Some(path.clone()),
                ..helper("extension")
            },
        };
        if let Some(agent) = agent {
            role.extension.get_or_insert(agent.extension.clone());
            role.agent_id = Some(session_id.to_owned());
            role.depth = Some(agent.depth);
            role.parent_session_id.clone_from(&agent.parent_session_id);
            role.parent_tool_call_id
                .clone_from(&agent.parent_tool_call_id);
        }
        role
    }
}

/// Who hears of the requests of one session, and what the session is.
#[derive(Default)]
pub(super) struct Tracing {
    sinks: RwLock<Vec<Arc<dyn TraceSink>>>,
    /// Hooks of the sessions around a sub-agent, the nearest last.
    outer: Vec<Arc<dyn ExtensionHooks>>,
    agent: Option<SubAgent>,
}

impl Tracing {
    pub(super) fn add(&self, sink: Arc<dyn TraceSink>) {
        self.sinks.write().push(sink);
    }

    /// For a sub-agent of this session: whoever hears of this one's requests hears of that one's as well.
    pub(super) fn for_agent(&self, agent: SubAgent, hooks: Arc<dyn ExtensionHooks>) -> Self {
        let mut outer = self.outer.clone();
        outer.push(hooks);
        Self {
            sinks: RwLock::new(self.sinks.read().clone()),
            outer,
            agent: Some(agent),
        }
    }
}

/// One request under way. Dropped unfinished, it is recorded as aborted.
pub struct RequestTrace {
    sinks: Vec<Arc<dyn TraceSink>>,
    /// Those whose extensions listen.
    hooks: Vec<Arc<dyn ExtensionHooks>>,
    /// Taken when it is delivered.
    record: Option<TraceRecord>,
    began: Instant,
}

impl RequestTrace {
    /// `None` when nobody wants to know.
    pub(super) fn begin(
        tracing: &Tracing,
        hooks: Arc<dyn ExtensionHooks>,
        request: &ModelRequest,
    ) -> Option<Self> {
        let sinks = tracing.sinks.read().clone();
        let hooks: Vec<_> = tracing
            .outer
            .iter()
            .cloned()
            .chain([hooks])
            .filter(|hooks| hooks.subscribed(HookEvent::LlmTrace))
            .collect();
        if sinks.is_empty() && hooks.is_empty() {
            return None;
        }
        let session_id = match &request.kind {
            RequestKind::Extension {
                session_id: Some(id),
                ..
            } => id,
            _ => &request.session_id,
        };
        let option = |name: &str| request.options.get(name).filter(|value| value.is_number());
        let record = TraceRecord {
            r#type: "model_request",
            session_id: session_id.clone(),
            request_role: RequestRole::new(&request.kind, session_id, tracing.agent.as_ref()),
            provider: request.model.provider.clone(),
            api: request.model.api.clone(),
            model: request.model.id.clone(),
            thinking_level: request.thinking_level.as_str(),
            temperature: option("temperature").cloned(),
            max_tokens: option("maxTokens").cloned(),
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

    /// The request ended with this message: the sinks get their record now, extensions when it is announced.
    pub(super) fn finish(mut self, message: &AssistantMessage) -> Option<TracedEnd> {
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
        let record = self.deliver()?;
        Some(TracedEnd {
            hooks: std::mem::take(&mut self.hooks),
            record,
        })
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

/// A request whose record the sinks have.
pub(super) struct TracedEnd {
    hooks: Vec<Arc<dyn ExtensionHooks>>,
    record: Arc<TraceRecord>,
}

impl TracedEnd {
    /// Waits for extensions' handlers, which have their own bounds.
    pub(super) async fn announce(self) {
        for hooks in &self.hooks {
            let record = self.record.clone();
            hooks.notify(Notification::LlmTrace { record }).await;
        }
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{RequestKind, RequestRole, SubAgent};

    #[test]
    fn a_sub_agent_is_told_apart_and_named() {
        let asked = RequestKind::Extension {
            path: "/e/inner.ts".into(),
            session_id: None,
        };
        let agent = SubAgent {
            extension: "/e/main.ts".into(),
            depth: 2,
            parent_session_id: Some("parent".into()),
            parent_tool_call_id: Some("call_1".into()),
        };
        let role = |kind: &RequestKind, agent| {
            serde_json::to_value(RequestRole::new(kind, "own", agent)).expect("plain data")
        };
        assert_eq!(role(&RequestKind::Turn, None), json!({"kind": "primary"}));
        let within = |mut role: serde_json::Value| {
            role["agentId"] = json!("own");
            role["depth"] = json!(2);
            role["parentSessionId"] = json!("parent");
            role["parentToolCallId"] = json!("call_1");
            role
        };
        assert_eq!(
            role(&RequestKind::Turn, Some(&agent)),
            within(json!({"kind": "sub_agent", "extension": "/e/main.ts"}))
        );
        assert_eq!(
            role(&RequestKind::Compaction, Some(&agent)),
            within(json!({"kind": "helper", "helper": "compaction", "extension": "/e/main.ts"}))
        );
        // Who asked is nearer than who started the session.
        assert_eq!(
            role(&asked, Some(&agent)),
            within(json!({"kind": "helper", "helper": "extension", "extension": "/e/inner.ts"}))
        );
    }
}
