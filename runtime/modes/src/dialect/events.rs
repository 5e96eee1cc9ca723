//! Session events as lines of a dialect.
//!
//! One event is usually one line; a dialect may drop it or add its own name for it. JSON mode and
//! RPC mode both come through here, so they cannot drift apart (`spec/cli.md` §4.4).

use std::sync::Arc;

use pier_protocol::event::{
    AgentEvent, AssistantMessageEvent, CompactionReason, CompactionResult, PartialMessage,
};
use pier_protocol::message::{Message, Usage};
use serde::Serialize;

use super::{AutoCompactionEvents, Rules};

/// The lines for one event, without LF.
pub(crate) fn event_lines(rules: &Rules, event: &AgentEvent) -> Vec<String> {
    if !rules.system_messages && event.is_system_message() {
        return Vec::new();
    }
    let main = match event {
        AgentEvent::MessageUpdate {
            usage,
            assistant_message_event,
            partial,
        } if rules.cumulative_updates => line(&cumulative(usage, assistant_message_event, partial)),
        AgentEvent::AgentEnd {
            messages,
            will_retry,
        } if !rules.system_messages => line(&AgentEvent::AgentEnd {
            messages: without_system(messages),
            will_retry: *will_retry,
        }),
        AgentEvent::EntryAppended { entry } if !rules.system_messages && is_system_entry(entry) => {
            return Vec::new();
        }
        other => line(other),
    };
    let mut lines = vec![main];
    lines.extend(auto_compaction(rules.auto_compaction, event));
    lines
}

/// The messages that a dialect without system messages shows.
pub(crate) fn without_system(messages: &[Arc<Message>]) -> Vec<Arc<Message>> {
    messages
        .iter()
        .filter(|message| !message.is_system())
        .cloned()
        .collect()
}

fn is_system_entry<T: Serialize>(entry: &T) -> bool {
    serde_json::to_value(entry).is_ok_and(|entry| {
        entry
            .pointer("/message/role")
            .is_some_and(|role| role == "system")
    })
}

fn line<T: Serialize>(record: &T) -> String {
    crate::rpc::response::line(record)
}

#[derive(Serialize)]
struct CumulativeUpdate<'a> {
    r#type: &'static str,
    usage: &'a Usage,
    message: Arc<Message>,
    #[serde(rename = "assistantMessageEvent")]
    event: WithPartial<'a>,
}

#[derive(Serialize)]
struct WithPartial<'a> {
    #[serde(flatten)]
    event: &'a AssistantMessageEvent,
    partial: Arc<Message>,
}

fn cumulative<'a>(
    usage: &'a Usage,
    event: &'a AssistantMessageEvent,
    partial: &PartialMessage,
) -> CumulativeUpdate<'a> {
    let message = Arc::new(Message::Assistant(partial.snapshot()));
    CumulativeUpdate {
        r#type: "message_update",
        usage,
        message: Arc::clone(&message),
        event: WithPartial {
            event,
            partial: message,
        },
    }
}

#[derive(Serialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
enum AutoCompaction<'a> {
    AutoCompactionStart {
        reason: CompactionReason,
        #[serde(skip_serializing_if = "Option::is_none")]
        action: Option<&'static str>,
    },
    AutoCompactionEnd {
        #[serde(skip_serializing_if = "Option::is_none")]
        action: Option<&'static str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<&'a CompactionResult>,
        aborted: bool,
        will_retry: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        error_message: Option<&'a str>,
    },
}

fn auto_compaction(form: AutoCompactionEvents, event: &AgentEvent) -> Option<String> {
    let action = match form {
        AutoCompactionEvents::None => return None,
        AutoCompactionEvents::WithAction => Some("context-full"),
        AutoCompactionEvents::Plain => None,
    };
    let record = match event {
        AgentEvent::CompactionStart { reason } if *reason != CompactionReason::Manual => {
            AutoCompaction::AutoCompactionStart {
                reason: *reason,
                action,
            }
        }
        AgentEvent::CompactionEnd {
            reason,
            result,
            aborted,
            will_retry,
            error_message,
        } if *reason != CompactionReason::Manual => AutoCompaction::AutoCompactionEnd {
            action,
            result: result.as_ref(),
            aborted: *aborted,
            will_retry: *will_retry,
            error_message: error_message.as_deref(),
        },
        _ => return None,
    };
    Some(line(&record))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pier_protocol::event::{
        AgentEvent, AssistantMessageEvent, CompactionReason, PartialMessage,
    };
    use pier_protocol::message::{AssistantMessage, Block, Message, SystemMessage, Usage};
    use serde_json::{Value, json};

    use super::event_lines;
    use crate::dialect::Dialect;

    fn lines(dialect: Dialect, event: &AgentEvent) -> Vec<Value> {
        event_lines(dialect.rules(), event)
            .iter()
            .map(|line| serde_json::from_str(line).expect("a line is JSON"))
            .collect()
    }

    fn update(text: &str, delta: &str) -> AgentEvent {
        AgentEvent::MessageUpdate {
            usage: Usage::default(),
            assistant_message_event: AssistantMessageEvent::TextDelta {
                content_index: 0,
                delta: delta.into(),
            },
            partial: PartialMessage::new(AssistantMessage {
                content: vec![Block::text(text)],
                ..AssistantMessage::default()
            }),
        }
    }

    fn system() -> Arc<Message> {
        Arc::new(Message::System(SystemMessage::default()))
    }

    #[test]
    fn pi_updates_carry_the_delta_only() {
        let lines = lines(Dialect::Pi, &update("so far", "far"));
        assert_eq!(
            lines[0]["assistantMessageEvent"],
            json!({"type": "text_delta", "contentIndex": 0, "delta": "far"})
        );
        assert!(lines[0].get("message").is_none());
        assert!(lines[0].get("usage").is_some());
    }

    #[test]
    fn xcsh_and_omp_updates_add_the_message_twice() {
        for dialect in [Dialect::Xcsh, Dialect::Omp] {
            let lines = lines(dialect, &update("so far", "far"));
            assert_eq!(lines[0]["message"]["role"], "assistant");
            assert_eq!(lines[0]["message"]["content"][0]["text"], "so far");
            assert_eq!(
                lines[0]["assistantMessageEvent"]["partial"],
                lines[0]["message"]
            );
            assert_eq!(lines[0]["assistantMessageEvent"]["delta"], "far");
        }
    }

    #[test]
    fn system_messages_are_hidden_where_clients_do_not_know_them() {
        let start = AgentEvent::MessageStart { message: system() };
        assert_eq!(lines(Dialect::Pi, &start).len(), 1);
        assert_eq!(lines(Dialect::Xcsh, &start).len(), 0);
        let end = AgentEvent::AgentEnd {
            messages: vec![system()],
            will_retry: false,
        };
        assert_eq!(
            lines(Dialect::Union, &end)[0]["messages"]
                .as_array()
                .map(Vec::len),
            Some(1)
        );
        assert_eq!(lines(Dialect::Omp, &end)[0]["messages"], json!([]));
    }

    #[test]
    fn only_automatic_compaction_gets_a_second_name() {
        let start = |reason| AgentEvent::CompactionStart { reason };
        assert_eq!(
            lines(Dialect::Xcsh, &start(CompactionReason::Threshold))[1],
            json!({"type": "auto_compaction_start", "reason": "threshold", "action": "context-full"})
        );
        assert_eq!(
            lines(Dialect::Omp, &start(CompactionReason::Overflow))[1],
            json!({"type": "auto_compaction_start", "reason": "overflow"})
        );
        assert_eq!(
            lines(Dialect::Xcsh, &start(CompactionReason::Manual)).len(),
            1
        );
        assert_eq!(
            lines(Dialect::Pi, &start(CompactionReason::Threshold)).len(),
            1
        );
    }
}
