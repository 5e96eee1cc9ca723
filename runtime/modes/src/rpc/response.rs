//! Writes the `response` family of records (`spec/rpc.md` §2).
//!
//! `id` comes first and only when the request had one; `data` only when the command has any.

use serde::Serialize;
use serde_json::Value;

use super::id::Id;
use super::record::BadRecord;

#[derive(Serialize)]
struct Response<'a, T: Serialize> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a Id>,
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'a Value>,
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

/// A success. `None` leaves `data` out; `Some(Value::Null)` writes `"data":null`.
pub(crate) fn success<T: Serialize>(id: Option<&Id>, command: &str, data: Option<T>) -> String {
    let command = Value::from(command);
    line(&Response {
        id,
        r#type: "response",
        command: Some(&command),
        success: true,
        data,
        error: None,
    })
}

/// A failure, with `data` when there is something to know besides the text.
pub(crate) fn failure(id: Option<&Id>, command: &str, error: &str, data: Option<Value>) -> String {
    let command = Value::from(command);
    line(&Response {
        id,
        r#type: "response",
        command: Some(&command),
        success: false,
        data,
        error: Some(error),
    })
}

/// The one answer to a line that is not a record.
pub(crate) fn bad_record(bad: &BadRecord) -> String {
    line(&Response::<Value> {
        id: bad.id.as_ref(),
        r#type: "response",
        command: bad.command.as_ref(),
        success: false,
        data: None,
        error: Some(&bad.error),
    })
}

/// Serialises a record. Failing here means that a value has a map with keys that are not strings,
/// which no type of the workspace has; the client then learns that instead of nothing.
pub(crate) fn line<T: Serialize>(record: &T) -> String {
    serde_json::to_string(record).unwrap_or_else(|error| {
        format!(
            r#"{{"type":"response","command":"serialize","success":false,"error":{}}}"#,
            Value::from(error.to_string())
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{bad_record, failure, success};
    use crate::rpc::id::Id;
    use crate::rpc::record::BadRecord;

    #[test]
    fn id_leads_and_keeps_its_type() {
        assert_eq!(
            success::<Value>(Some(&Id::from(&json!("a"))), "abort", None),
            r#"{"id":"a","type":"response","command":"abort","success":true}"#
        );
        assert_eq!(
            success(Some(&Id::from(&json!(7))), "cycle_model", Some(Value::Null)),
            r#"{"id":7,"type":"response","command":"cycle_model","success":true,"data":null}"#
        );
        assert_eq!(
            failure(None, "fork", "no", None),
            r#"{"type":"response","command":"fork","success":false,"error":"no"}"#
        );
    }

    #[test]
    fn a_bad_record_has_a_command_only_when_it_named_one() {
        let bad = BadRecord {
            id: None,
            command: None,
            error: "Unknown command: undefined".into(),
        };
        assert_eq!(
            bad_record(&bad),
            r#"{"type":"response","success":false,"error":"Unknown command: undefined"}"#
        );
    }
}
