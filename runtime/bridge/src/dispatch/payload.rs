//! From the agent's typed values to the JSON that handlers get, and back. Pure.

use pier_agent::compaction::{CompactionPreparation, SuppliedCompaction};
use pier_agent::hooks::{BeforeTreeOutcome, CompactingOutcome, EntryDraft, SuppliedSummary};
use pier_protocol::event::AgentEvent;
use pier_protocol::message::{AssistantMessage, Content, CustomMessage, Usage};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::combine::cancelled;
use crate::wire::truthy;

/// A JSON value of anything; a value that cannot be written becomes `null`.
pub(crate) fn value(of: &impl Serialize) -> Value {
    serde_json::to_value(of).unwrap_or(Value::Null)
}

/// An assistant message outside of a [`Message`](pier_protocol::message::Message), with the `role` that makes it one.
pub(crate) fn assistant(of: &AssistantMessage) -> Value {
    let mut message = Map::from_iter([("role".to_string(), json!("assistant"))]);
    message.extend(super::combine::event(value(of)));
    Value::Object(message)
}

/// An object without the members that are `null`.
pub(crate) fn object(of: Value) -> Map<String, Value> {
    let mut map = super::combine::event(of);
    map.retain(|_, value| !value.is_null());
    map
}

/// The event of a session event: its wire form, plus the members that the wire form leaves out.
pub(crate) fn agent_event(event: &AgentEvent) -> Map<String, Value> {
    let mut map = super::combine::event(value(event));
    map.shift_remove("type");
    match event {
        AgentEvent::TurnStart {
            turn_index,
            timestamp,
        } => {
            map.insert("turnIndex".into(), json!(turn_index));
            map.insert("timestamp".into(), json!(timestamp));
        }
        AgentEvent::TurnEnd { turn_index, .. } => {
            map.insert("turnIndex".into(), json!(turn_index));
        }
        _ => {}
    }
    map
}

/// `preparation` of `session_before_compact`. File sets are arrays on the wire.
pub(crate) fn preparation(of: &CompactionPreparation) -> Value {
    let mut out = json!({
        "firstKeptEntryId": of.first_kept_entry_id,
        "messagesToSummarize": of.messages_to_summarize,
        "turnPrefixMessages": of.turn_prefix_messages,
        "recentMessages": of.recent_messages,
        "isSplitTurn": of.is_split_turn,
        "tokensBefore": of.tokens_before,
        "fileOps": {"read": of.file_ops.read, "written": of.file_ops.written, "edited": of.file_ops.edited},
        "settings": {
            "enabled": of.settings.enabled,
            "reserveTokens": of.settings.reserve_tokens,
            "keepRecentTokens": of.settings.keep_recent_tokens,
        },
    });
    if let Some(summary) = &of.previous_summary {
        out["previousSummary"] = json!(summary);
    }
    if let Some(data) = &of.previous_preserve_data {
        out["previousPreserveData"] = data.clone();
    }
    out
}

/// `compaction` of a result: `summary`, `firstKeptEntryId`, `tokensBefore` and optional members.
pub(crate) fn supplied_compaction(
    of: &Value,
    default_tokens: u64,
) -> Result<SuppliedCompaction, String> {
    let summary = of
        .get("summary")
        .and_then(Value::as_str)
        .ok_or("\"compaction.summary\" must be a string")?;
    Ok(SuppliedCompaction {
        summary: summary.to_string(),
        first_kept_entry_id: of
            .get("firstKeptEntryId")
            .and_then(Value::as_str)
            .map(str::to_string),
        tokens_before: of
            .get("tokensBefore")
            .and_then(Value::as_u64)
            .unwrap_or(default_tokens),
        details: present(of, "details"),
        usage: usage(of.get("usage"))?,
        short_summary: of
            .get("shortSummary")
            .and_then(Value::as_str)
            .map(str::to_string),
        preserve_data: present(of, "preserveData"),
    })
}

/// `summary` of a `session_before_tree` result.
pub(crate) fn supplied_summary(of: &Value) -> Result<SuppliedSummary, String> {
    let summary = of
        .get("summary")
        .and_then(Value::as_str)
        .ok_or("\"summary.summary\" must be a string")?;
    Ok(SuppliedSummary {
        summary: summary.to_string(),
        details: present(of, "details"),
        usage: usage(of.get("usage"))?,
    })
}

/// A `session_before_tree` result.
pub(crate) fn tree_outcome(result: &Map<String, Value>) -> Result<BeforeTreeOutcome, String> {
    let cancel = cancelled(result);
    let summary = result
        .get("summary")
        .filter(|value| !cancel && truthy(value))
        .map(supplied_summary)
        .transpose()?;
    let text = |name: &str| result.get(name).and_then(Value::as_str).map(str::to_string);
    Ok(BeforeTreeOutcome {
        cancel,
        summary,
        custom_instructions: text("customInstructions"),
        replace_instructions: result.get("replaceInstructions").and_then(Value::as_bool),
        label: text("label"),
    })
}

/// A `session.compacting` result.
pub(crate) fn compacting_outcome(
    mut result: Map<String, Value>,
) -> Result<CompactingOutcome, String> {
    let mut given = |name: &str| result.shift_remove(name).filter(|value| !value.is_null());
    let read = |name: &str, expected: &str| format!("\"{name}\" must be {expected}");
    let context = match given("context") {
        None => Vec::new(),
        Some(lines) => {
            serde_json::from_value(lines).map_err(|_| read("context", "an array of strings"))?
        }
    };
    let prompt = match given("prompt") {
        None => None,
        Some(Value::String(prompt)) => Some(prompt),
        Some(_) => return Err(read("prompt", "a string")),
    };
    Ok(CompactingOutcome {
        context,
        prompt,
        preserve_data: given("preserveData"),
    })
}

fn usage(of: Option<&Value>) -> Result<Option<Usage>, String> {
    match of {
        None | Some(Value::Null) => Ok(None),
        Some(value) => serde_json::from_value(value.clone())
            .map(Some)
            .map_err(|error| format!("\"usage\": {error}")),
    }
}

fn present(of: &Value, name: &str) -> Option<Value> {
    of.get(name).filter(|value| !value.is_null()).cloned()
}

/// A custom message that an extension returned; `content: null` means none.
pub(crate) fn custom_message(of: Value, now_ms: i64) -> Result<CustomMessage, String> {
    let Value::Object(mut map) = of else {
        return Err("a message must be an object".into());
    };
    if !map.get("customType").is_some_and(Value::is_string) {
        return Err("a message needs a \"customType\"".into());
    }
    map.shift_remove("role");
    if map.get("content").is_none_or(Value::is_null) {
        map.insert("content".into(), json!([]));
    }
    map.entry("display").or_insert(json!(true));
    map.insert("timestamp".into(), json!(now_ms));
    serde_json::from_value(Value::Object(map)).map_err(|error| format!("message: {error}"))
}

/// Drafts of a boundary event (`spec/extension-api.md` §5.9). One bad draft makes the whole list invalid.
pub(crate) fn drafts(entries: Vec<Value>, now_ms: i64) -> Result<Vec<EntryDraft>, String> {
    entries
        .into_iter()
        .enumerate()
        .map(|(index, entry)| {
            draft(entry, now_ms).map_err(|error| format!("entries[{index}]: {error}"))
        })
        .collect()
}

fn draft(entry: Value, now_ms: i64) -> Result<EntryDraft, String> {
    let text = |name: &str| entry.get(name).and_then(Value::as_str).map(str::to_string);
    match entry.get("type").and_then(Value::as_str) {
        Some("custom") => Ok(EntryDraft::Custom {
            custom_type: text("customType").ok_or("\"customType\" must be a string")?,
            data: entry.get("data").cloned(),
        }),
        Some("custom_message") => {
            let mut message = entry.clone();
            if let Some(map) = message.as_object_mut() {
                map.shift_remove("type");
            }
            custom_message(message, now_ms).map(EntryDraft::CustomMessage)
        }
        Some("context_edit") => {
            let replacement = match entry.get("replacement") {
                None | Some(Value::Null) => None,
                Some(value) => {
                    // `{content}` as stored, or the content itself.
                    let content = value.get("content").unwrap_or(value);
                    Some(
                        serde_json::from_value::<Content>(content.clone())
                            .map_err(|error| format!("\"replacement\": {error}"))?,
                    )
                }
            };
            Ok(EntryDraft::ContextEdit {
                target_id: text("targetId").ok_or("\"targetId\" must be a string")?,
                replacement,
            })
        }
        Some("compaction") => supplied_compaction(&entry, 0).map(EntryDraft::Compaction),
        Some(other) => Err(format!("type \"{other}\" cannot be written here")),
        None => Err("\"type\" must be a string".into()),
    }
}

/// Milliseconds since the epoch.
pub(crate) fn now_ms() -> i64 {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_draft_names_its_place() {
        assert!(drafts(vec![json!({"type": "custom", "customType": "t"})], 1).is_ok());
        let error = drafts(
            vec![
                json!({"type": "custom", "customType": "t"}),
                json!({"type": "label"}),
            ],
            1,
        )
        .unwrap_err();
        assert!(error.starts_with("entries[1]:"), "{error}");
    }

    #[test]
    fn null_content_means_no_content() {
        let message = custom_message(json!({"customType": "t", "content": null}), 5).unwrap();
        assert_eq!(message.timestamp, 5);
        assert!(message.display);
        assert_eq!(serde_json::to_value(&message.content).unwrap(), json!([]));
        assert!(custom_message(json!({"content": "x"}), 5).is_err());
    }
}
