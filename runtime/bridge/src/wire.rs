//! Small JSON shapes of `docs/bridge-protocol.md` that only the bridge needs. Data only.
//! What extensions register is in `pier_protocol::extension`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Index of one entry file (one extension), unique in the process.
pub(crate) type ExtId = u32;
/// Identifies one call that gave extension code a context, unique in the process.
pub(crate) type CallId = u64;

/// Header of `load`.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LoadHeader<'a> {
    /// The extension.
    pub(crate) ext: ExtId,
    /// `file:` URL of the entry.
    pub(crate) entry: &'a str,
    /// Path as it is reported.
    pub(crate) path: &'a str,
    /// `pi` or `xcsh`.
    pub(crate) profile: &'a str,
    /// Session working directory.
    pub(crate) cwd: &'a str,
    /// Name of the configuration directory (`.pi`).
    pub(crate) config_dir_name: &'a str,
    /// The agent directory.
    pub(crate) agent_dir: &'a str,
    /// Name of the host program.
    pub(crate) app_name: &'a str,
    /// Version of the host program.
    pub(crate) version: &'a str,
    /// Where the file was found: `extension`, `tool` or `command`.
    pub(crate) surface: &'a str,
    /// Flag values known so far (kept from before a reload).
    pub(crate) flags: &'a serde_json::Map<String, Value>,
}

/// Header of `dispatch`.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DispatchHeader<'a> {
    /// The extension.
    pub(crate) ext: ExtId,
    /// The handler's id.
    pub(crate) handler: u64,
    /// The call.
    pub(crate) call_id: CallId,
    /// Members whose in-place edits count.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) returns: &'a [&'a str],
}

/// Answer of `dispatch`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct DispatchAnswer {
    /// What the handler returned; absent for `undefined`.
    #[serde(deserialize_with = "present")]
    pub(crate) result: Option<Value>,
    /// The members named in `returns`, when the handler changed any of them.
    pub(crate) event: Option<serde_json::Map<String, Value>>,
    /// Members that were replaced rather than mutated (`tool_result` only).
    pub(crate) assigned: Vec<String>,
}

/// Keeps `"result": null` apart from a missing `result`: a handler may return `null` on purpose.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// JavaScript's idea of truth, for results of handlers.
pub(crate) fn truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Number(number) => number
            .as_f64()
            .is_some_and(|number| number != 0.0 && !number.is_nan()),
        Value::String(text) => !text.is_empty(),
        Value::Array(_) | Value::Object(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_result_is_not_undefined() {
        let none: DispatchAnswer = serde_json::from_str("{}").unwrap();
        let null: DispatchAnswer = serde_json::from_str(r#"{"result":null}"#).unwrap();
        assert_eq!(none.result, None);
        assert_eq!(null.result, Some(Value::Null));
    }
}
