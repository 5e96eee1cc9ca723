//! Notify-only events of the agent, under the names of both families. Nothing is serialised for an event that nobody
//! listens to.

use std::sync::Arc;

use pier_agent::hooks::Notification;
use pier_protocol::event::{AgentEvent, CompactionReason};
use pier_protocol::model::Model;
use serde_json::{Map, Value, json};

use super::combine::{Fixed, event};
use super::{Circumstances, payload};
use crate::host::Shared;

impl Shared {
    pub(crate) async fn notified(self: &Arc<Self>, notification: Notification) {
        match notification {
            Notification::Event(event) => self.agent_event(&event).await,
            Notification::SessionStart {
                reason,
                previous_session_file,
            } => {
                self.session_started(reason, previous_session_file.as_deref())
                    .await;
            }
            Notification::SessionShutdown {
                reason,
                target_session_file,
            } => {
                self.session_ending(reason, target_session_file.as_deref())
                    .await;
            }
            Notification::SessionTree {
                new_leaf_id,
                old_leaf_id,
                summary_entry,
                from_extension,
            } => {
                self.announce("session_tree", || {
                    let mut map =
                        event(json!({"newLeafId": new_leaf_id, "oldLeafId": old_leaf_id}));
                    if let Some(entry) = &summary_entry {
                        map.insert("summaryEntry".into(), payload::value(&**entry));
                        map.insert("fromExtension".into(), json!(from_extension));
                    }
                    map
                })
                .await;
                self.tools_on_session(event(json!({"reason": "tree"})), None)
                    .await;
            }
            Notification::SessionCompact {
                compaction_entry,
                from_extension,
                reason,
                will_retry,
            } => {
                self.announce("session_compact", || {
                    event(json!({
                        "compactionEntry": &*compaction_entry,
                        "fromExtension": from_extension,
                        "reason": reason,
                        "willRetry": will_retry,
                    }))
                })
                .await;
            }
            Notification::SessionCompactFailed {
                reason,
                error_message,
                aborted,
                will_retry,
                from_extension,
            } => {
                self.announce("session_compact_failed", || {
                    payload::object(json!({
                        "reason": reason,
                        "errorMessage": error_message,
                        "aborted": aborted,
                        "willRetry": will_retry,
                        "fromExtension": from_extension,
                    }))
                })
                .await;
            }
            Notification::ModelSelect {
                model,
                previous_model,
                source,
            } => {
                // All packages get the same text, and not all may see headers; `ctx.model` has them.
                let visible = |model: &Model| {
                    let mut model = model.clone();
                    model.extra.shift_remove("headers");
                    model
                };
                self.announce("model_select", || {
                    payload::object(json!({
                        "model": visible(&model),
                        "previousModel": previous_model.as_deref().map(visible),
                        "source": source.as_str(),
                    }))
                })
                .await;
            }
            Notification::ThinkingLevelSelect {
                level,
                previous_level,
            } => {
                self.announce("thinking_level_select", || {
                    event(json!({"level": level, "previousLevel": previous_level}))
                })
                .await;
            }
            Notification::AfterProviderResponse { status, headers } => {
                self.announce("after_provider_response", || {
                    event(json!({"status": status, "headers": headers}))
                })
                .await;
            }
            Notification::ProviderStreamEvent {
                provider,
                api,
                model,
                data,
            } => {
                self.announce("provider_stream_event", || {
                    event(json!({"provider": provider, "api": api, "model": model, "data": data}))
                })
                .await;
            }
            Notification::LlmTrace { record } => {
                self.announce("llm_trace", || event(json!({"record": &*record})))
                    .await;
            }
        }
    }

    /// A session event under its own name and, for automatic compaction, under xcsh's.
    async fn agent_event(self: &Arc<Self>, agent_event: &Arc<AgentEvent>) {
        match &**agent_event {
            AgentEvent::CompactionStart { reason } => {
                if *reason != CompactionReason::Manual {
                    self.announce("auto_compaction_start", || {
                        event(json!({"reason": reason, "action": "context-full"}))
                    })
                    .await;
                    self.tools_on_auto("auto_compaction_start", agent_event)
                        .await;
                }
            }
            AgentEvent::CompactionEnd {
                reason,
                result,
                aborted,
                will_retry,
                error_message,
            } => {
                if *reason != CompactionReason::Manual {
                    self.announce("auto_compaction_end", || {
                        payload::object(json!({
                            "action": "context-full",
                            "result": result,
                            "aborted": aborted,
                            "willRetry": will_retry,
                            "errorMessage": error_message,
                        }))
                    })
                    .await;
                    self.tools_on_auto("auto_compaction_end", agent_event).await;
                }
            }
            // Delivered through their own hooks, before the event.
            AgentEvent::MessageUpdate { .. }
            | AgentEvent::MessageEnd { .. }
            | AgentEvent::TurnEnd { .. } => {}
            // The answers of a finished run must reach handlers after all its updates.
            AgentEvent::AgentEnd { .. } | AgentEvent::MessageStart { .. } => {
                self.updates_delivered().await;
                self.announce(agent_event.name(), || payload::agent_event(agent_event))
                    .await;
            }
            _ => {
                self.announce(agent_event.name(), || payload::agent_event(agent_event))
                    .await
            }
        }
    }

    async fn tools_on_auto(self: &Arc<Self>, name: &str, agent_event: &AgentEvent) {
        if self.registry.has_tool_sessions() {
            let mut map = payload::agent_event(agent_event);
            map.insert("reason".into(), json!(name));
            self.tools_on_session(map, None).await;
        }
    }

    async fn announce(self: &Arc<Self>, name: &str, make: impl FnOnce() -> Map<String, Value>) {
        if !self.registry.subscribed(&[name]) {
            return;
        }
        // The loop waits for these handlers, so waiting for the loop inside one is refused.
        let in_run = name != "agent_settled" && name != "session_tree";
        let circumstances = Circumstances {
            in_run,
            ..Circumstances::default()
        };
        let _ = self
            .dispatch(&[name], &mut Fixed::new(make()), circumstances)
            .await;
    }
}
