//! Brings recorded and new records into one form, so that only real differences remain: ids, times, paths,
//! durations, and token counts that depend on the text of the system prompt become patterns. Never drops a field, apart from
//! the content of system messages, which the recordings leave out.

use regex::Regex;
use serde_json::{Map, Value};
use std::sync::LazyLock;

static UUID: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").ok()
});
static TIME: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\d{4}-\d{2}-\d{2}T\d{2}[:-]\d{2}[:-]\d{2}[.-]\d{3}Z").ok());
static PLACE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"\$(ROOT|TMP)[^\s"\]]*"#).ok());

/// Members whose value is a clock reading or a duration.
const TIMES: [&str; 3] = ["timestamp", "durationMs", "wall_time_seconds"];
/// Members whose value names an entry or a session.
const IDS: [&str; 7] = [
    "parentId",
    "entryId",
    "leafId",
    "targetId",
    "sessionId",
    "firstKeptEntryId",
    "fromId",
];
/// Members whose value is a path.
const PATHS: [&str; 2] = ["sessionFile", "fullOutputPath"];
/// Token counts and costs that grow with the system prompt.
const COUNTS: [&str; 7] = [
    "input",
    "totalTokens",
    "total",
    "tokens",
    "percent",
    "contextTokens",
    "cost",
];

/// The comparable form of a record.
pub fn record(value: &Value) -> Value {
    let top_id = value.get("type").and_then(Value::as_str) == Some("extension_ui_request");
    let mut normal = walk(value);
    if top_id && let Some(id) = normal.get_mut("id") {
        *id = Value::from("<id>");
    }
    normal
}

fn walk(value: &Value) -> Value {
    match value {
        Value::Object(members) if members.get("role").and_then(Value::as_str) == Some("system") => {
            Value::Object(Map::from_iter([("role".to_owned(), Value::from("system"))]))
        }
        Value::Object(members) => {
            let entry = members.contains_key("parentId");
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by_key(|(name, _)| *name);
            sorted
                .into_iter()
                .map(|(name, member)| (name.clone(), one(name, member, entry)))
                .collect()
        }
        Value::Array(elements) => elements.iter().map(walk).collect(),
        Value::String(text) => Value::from(string(text)),
        _ => value.clone(),
    }
}

fn one(name: &str, value: &Value, entry: bool) -> Value {
    let number = value.as_f64();
    if TIMES.contains(&name) && !value.is_null() {
        return Value::from("<time>");
    }
    if (IDS.contains(&name) || (entry && name == "id")) && value.is_string() {
        return Value::from("<id>");
    }
    if PATHS.contains(&name) && value.is_string() {
        return Value::from("<path>");
    }
    if COUNTS.contains(&name) && number.is_some_and(|number| number != 0.0) {
        return Value::from("<count>");
    }
    match number {
        // 1 and 1.0 are one number to JavaScript.
        Some(number) if number.fract() == 0.0 && number.abs() < 9e15 => Value::from(number as i64),
        _ => walk(value),
    }
}

fn string(text: &str) -> String {
    let mut result = text.to_owned();
    for (pattern, name) in [(&UUID, "<id>"), (&TIME, "<time>"), (&PLACE, "<path>")] {
        if let Some(pattern) = pattern.as_ref() {
            result = pattern.replace_all(&result, name).into_owned();
        }
    }
    result
}

/// Joins what only timing has cut: pieces of one text, and pieces of one command's output.
pub fn merge(records: &[Value]) -> Vec<Value> {
    fold(records, &["/delta", "/assistantMessageEvent/delta"])
}

/// Joins pieces of one command's output only: how many there are says nothing.
pub fn merge_output(records: &[Value]) -> Vec<Value> {
    fold(records, &["/delta"])
}

/// Of a running command's partial results one stands for all, without its text.
fn fold(records: &[Value], pointers: &[&str]) -> Vec<Value> {
    let mut merged: Vec<Value> = Vec::new();
    for record in records {
        let mut record = record.clone();
        let of_bash = text(&record, "/type") == "tool_execution_update"
            && text(&record, "/toolName") == "bash";
        if of_bash && let Some(partial) = record.get_mut("partialResult") {
            *partial = Value::from("<partial>");
        }
        let joined = match merged.last_mut() {
            Some(last) if of_bash => *last == record,
            Some(last) => pointers.iter().any(|pointer| join(last, &record, pointer)),
            None => false,
        };
        if !joined {
            merged.push(record);
        }
    }
    merged
}

/// Appends the text at `pointer` when the two records are equal apart from it.
fn join(last: &mut Value, next: &Value, pointer: &str) -> bool {
    let (Some(Value::String(left)), Some(Value::String(right))) =
        (last.pointer(pointer), next.pointer(pointer))
    else {
        return false;
    };
    let whole = format!("{left}{right}");
    let mut candidate = next.clone();
    if let Some(place) = candidate.pointer_mut(pointer) {
        *place = Value::from(left.as_str());
    }
    if candidate != *last {
        return false;
    }
    if let Some(place) = last.pointer_mut(pointer) {
        *place = Value::from(whole);
    }
    true
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Where two records differ, as `path: recorded -> ours`.
pub fn explain(path: &str, recorded: &Value, ours: &Value, found: &mut Vec<String>) {
    match (recorded, ours) {
        (Value::Object(left), Value::Object(right)) => {
            let extra = right.keys().filter(|name| !left.contains_key(*name));
            for name in left.keys().chain(extra) {
                let place = format!("{path}.{name}");
                match (left.get(name), right.get(name)) {
                    (Some(value), Some(other)) => explain(&place, value, other, found),
                    (Some(value), None) => found.push(format!("{place}: {value} -> (absent)")),
                    (None, Some(other)) => found.push(format!("{place}: (absent) -> {other}")),
                    (None, None) => {}
                }
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (index, (value, other)) in left.iter().zip(right).enumerate() {
                explain(&format!("{path}[{index}]"), value, other, found);
            }
        }
        _ if recorded == ours => {}
        _ => found.push(format!("{path}: {recorded} -> {ours}")),
    }
}

/// What kind of record this is, for finding its counterpart: never holds anything that varies.
pub fn signature(value: &Value) -> String {
    let text = |pointer: &str| match value.pointer(pointer) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let id = if text("/type") == "response" {
        text("/id")
    } else {
        String::new()
    };
    [
        text("/type"),
        id,
        text("/command"),
        text("/method"),
        text("/title"),
        text("/message/role"),
        text("/toolCallId"),
        text("/assistantMessageEvent/type"),
        text("/assistantMessageEvent/contentIndex"),
    ]
    .join("|")
}

/// Strings that a client would quote back: ids in the recording and the ids at the same places now.
pub fn ids(recorded: &Value, actual: &Value, found: &mut Vec<(String, String)>) {
    match (recorded, actual) {
        (Value::Object(left), Value::Object(right)) => {
            for (name, value) in left {
                if let Some(other) = right.get(name) {
                    ids(value, other, found);
                }
            }
        }
        (Value::Array(left), Value::Array(right)) => {
            for (value, other) in left.iter().zip(right) {
                ids(value, other, found);
            }
        }
        (Value::String(left), Value::String(right)) if left != right && looks_like_id(left) => {
            found.push((left.clone(), right.clone()));
        }
        _ => {}
    }
}

fn looks_like_id(text: &str) -> bool {
    let hex = |text: &str| text.chars().all(|c| c.is_ascii_hexdigit());
    (text.len() == 8 && hex(text)) || (text.len() == 36 && text.split('-').all(hex))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_varies_is_hidden() {
        let left = json!({"type": "a", "timestamp": 5, "text": "kept", "n": 1.0, "usage": {"input": 0, "output": 3}});
        let right = json!({"n": 1, "usage": {"output": 3, "input": 0}, "type": "a", "timestamp": 9, "text": "kept"});
        assert_eq!(record(&left).to_string(), record(&right).to_string());
        assert_ne!(record(&json!({"text": "a"})), record(&json!({"text": "b"})));
        assert_ne!(
            record(&json!({"usage": {"input": 0}})),
            record(&json!({"usage": {"input": 4}}))
        );
    }

    #[test]
    fn pieces_of_one_text_are_joined() {
        let piece = |index: u64, delta: &str| json!({"type": "message_update", "assistantMessageEvent": {"type": "text_delta", "contentIndex": index, "delta": delta}});
        let merged = merge(&[
            piece(0, "a"),
            piece(0, "b"),
            piece(1, "c"),
            json!({"type": "x"}),
            piece(1, "d"),
        ]);
        assert_eq!(
            merged,
            [
                piece(0, "ab"),
                piece(1, "c"),
                json!({"type": "x"}),
                piece(1, "d")
            ]
        );
    }

    #[test]
    fn ids_of_both_sides_are_paired() {
        let mut found = Vec::new();
        ids(
            &json!({"id": "0a1b2c3d", "x": "other"}),
            &json!({"id": "ffffffff", "x": "thing"}),
            &mut found,
        );
        assert_eq!(found, [("0a1b2c3d".to_owned(), "ffffffff".to_owned())]);
    }
}
