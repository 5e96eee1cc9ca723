//! Turns one input line into something to act on, or into exactly one error record.
//!
//! Whatever a client sends, the answer is a record and never the end of the process
//! (`spec/rpc.md` §1.3). This module must never run a command.
#![allow(
    clippy::result_large_err,
    reason = "a bad record is answered at once; boxing it would only add an allocation"
)]

use serde_json::{Map, Value};

use super::framing::{Frame, MAX_RECORD_BYTES};
use super::id::Id;

/// Identifier of a request: echoed as it came, absent when it was absent.
pub(crate) type RequestId = Option<Id>;

/// A well-formed input record.
#[derive(Debug, PartialEq)]
pub(crate) enum Incoming {
    /// A request that gets one response.
    Command(Request),
    /// An answer to a dialog; gets no response.
    UiResponse(Map<String, Value>),
    /// A key for a component, or the size of the screen; gets no response.
    UiInput(Map<String, Value>),
    /// Progress or result of a tool that the client runs; gets no response.
    HostTool(Map<String, Value>),
}

/// A request whose fields are not yet looked at.
#[derive(Debug, PartialEq)]
pub(crate) struct Request {
    /// Echoed in the response.
    pub(crate) id: RequestId,
    /// The command word.
    pub(crate) kind: String,
    /// All members of the record.
    pub(crate) fields: Map<String, Value>,
}

/// Why a line is not a record. Becomes one `response` record.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BadRecord {
    /// The id, when one could be read.
    pub(crate) id: RequestId,
    /// Value of the response's `command` member; absent when the record had no type.
    pub(crate) command: Option<Value>,
    /// What is wrong.
    pub(crate) error: String,
}

/// Reads one frame.
pub(crate) fn parse(frame: Frame) -> Result<Incoming, BadRecord> {
    let line = match frame {
        Frame::Line(line) => line,
        Frame::TooLong { bytes, head } => {
            let reason = format!(
                "the record has {bytes} bytes, more than the {MAX_RECORD_BYTES} that are accepted"
            );
            return Err(unparsable(&head, reason));
        }
    };
    let text = match std::str::from_utf8(&line) {
        Ok(text) => text,
        Err(error) => {
            let reason = format!("invalid UTF-8 at byte {}", error.valid_up_to());
            return Err(unparsable(&line, reason));
        }
    };
    if text.trim().is_empty() {
        return Err(unparsable(&line, "the line is empty".to_owned()));
    }
    match serde_json::from_str::<Value>(text).or_else(|error| {
        // JavaScript clients can send half of a surrogate pair, which no Rust string can hold.
        serde_json::from_str(&super::surrogates::repair(text).ok_or(error)?)
    }) {
        Ok(value) => classify(value, text),
        Err(error) => Err(unparsable(&line, error.to_string())),
    }
}

/// The id lets the client connect the failure; it is usually outside the damaged part.
fn unparsable(record: &[u8], reason: impl std::fmt::Display) -> BadRecord {
    BadRecord {
        id: Id::salvage(record),
        command: Some(Value::from("parse")),
        error: format!("Failed to parse command: {reason}"),
    }
}

fn classify(value: Value, text: &str) -> Result<Incoming, BadRecord> {
    let Value::Object(fields) = value else {
        return Err(BadRecord {
            id: None,
            command: None,
            error: unknown("undefined"),
        });
    };
    let id = fields.get("id").map(|id| Id::of(id, text));
    let kind = match fields.get("type") {
        Some(Value::String(kind)) => kind.clone(),
        Some(other) => {
            return Err(BadRecord {
                id,
                command: Some(other.clone()),
                error: unknown(&other.to_string()),
            });
        }
        None => {
            return Err(BadRecord {
                id,
                command: None,
                error: unknown("undefined"),
            });
        }
    };
    Ok(match kind.as_str() {
        "extension_ui_response" => Incoming::UiResponse(fields),
        "extension_ui_input" | "extension_ui_resize" => Incoming::UiInput(fields),
        "host_tool_result" if has_content(&fields, "result") => Incoming::HostTool(fields),
        "host_tool_update" if has_content(&fields, "partialResult") => Incoming::HostTool(fields),
        _ => Incoming::Command(Request { id, kind, fields }),
    })
}

/// Host-tool records without an array of content are not recognised (`spec/rpc.md` §7).
fn has_content(fields: &Map<String, Value>, member: &str) -> bool {
    fields
        .get(member)
        .and_then(|result| result.get("content"))
        .is_some_and(Value::is_array)
}

/// The text P gives for a record that names no known command.
pub(crate) fn unknown(kind: &str) -> String {
    format!("Unknown command: {kind}")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::framing::Frame;
    use super::super::id::Id;
    use super::{BadRecord, Incoming, parse};

    fn id(value: Value) -> Option<Id> {
        Some(Id::from(&value))
    }

    fn read(line: &[u8]) -> Result<Incoming, BadRecord> {
        parse(Frame::Line(line.to_vec()))
    }

    fn bad(line: &[u8]) -> BadRecord {
        read(line).expect_err("must be refused")
    }

    #[test]
    fn what_is_not_json_is_a_parse_error_without_id() {
        for line in [
            &b"not json"[..],
            b"",
            b"   ",
            b"{\"a\":",
            b"{} {}",
            b"{\"a\":NaN}",
        ] {
            let bad = bad(line);
            assert_eq!(bad.command, Some(Value::from("parse")), "{line:?}");
            assert_eq!(bad.id, None);
            assert!(
                bad.error.starts_with("Failed to parse command: "),
                "{}",
                bad.error
            );
        }
    }

    #[test]
    fn values_that_are_no_objects_are_unknown_commands_null_included() {
        for line in ["42", "\"str\"", "[]", "true", "null", "{}"] {
            let bad = bad(line.as_bytes());
            assert_eq!((bad.id, bad.command), (None, None), "{line}");
            assert_eq!(bad.error, "Unknown command: undefined");
        }
    }

    #[test]
    fn a_record_without_a_usable_type_keeps_its_id() {
        assert_eq!(bad(br#"{"id":"x"}"#).id, id(json!("x")));
        let bad = bad(br#"{"id":7,"type":5}"#);
        assert_eq!((bad.id, bad.command), (id(json!(7)), Some(json!(5))));
    }

    #[test]
    fn invalid_utf8_names_the_byte_and_keeps_the_id() {
        let bad = bad(b"{\"id\":\"u\",\"type\":\"prompt\",\"message\":\"a\xff\"}");
        assert_eq!(bad.id, id(json!("u")));
        assert!(
            bad.error.contains("invalid UTF-8 at byte 38"),
            "{}",
            bad.error
        );
    }

    #[test]
    fn nesting_beyond_reason_is_refused_and_does_not_exhaust_the_stack() {
        let mut line = "[".repeat(200_000);
        line.push_str(&"]".repeat(200_000));
        assert!(bad(line.as_bytes()).error.contains("recursion limit"));
    }

    #[test]
    fn a_line_that_was_too_long_is_one_error() {
        let bad = parse(Frame::TooLong {
            bytes: 999,
            head: b"{\"id\":\"long\",\"message\":\"aaa".to_vec(),
        })
        .expect_err("refused");
        assert!(bad.error.contains("999 bytes"), "{}", bad.error);
        assert_eq!(bad.id, id(json!("long")));
    }

    #[test]
    fn what_is_wrong_elsewhere_does_not_cost_the_id() {
        let deep = format!(
            "{{\"id\":\"a\",\"type\":\"x\",\"x\":{}{}}}",
            "[".repeat(200),
            "]".repeat(200)
        );
        for line in [
            r#"{"id":"a","type":"prompt","message":1e999}"#,
            r#"{"type":"prompt","n":1e999,"id":"a"}"#,
            r#"{"id":"a","type":"prompt","message":"cut"#,
            &deep,
        ] {
            let bad = bad(line.as_bytes());
            assert_eq!(bad.id, id(json!("a")), "{line}");
            assert_eq!(bad.command, Some(Value::from("parse")));
        }
    }

    #[test]
    fn separators_that_are_not_line_feeds_survive_in_strings() {
        let text = "\u{2028}\u{2029}\u{85}";
        let line = format!(r#"{{"type":"prompt","message":"{text}"}}"#);
        let Ok(Incoming::Command(request)) = read(line.as_bytes()) else {
            panic!("a command")
        };
        assert_eq!(request.fields["message"], text);
    }

    #[test]
    fn dialog_answers_and_host_tool_records_are_told_apart_from_commands() {
        assert!(matches!(
            read(br#"{"type":"extension_ui_response","id":"a"}"#),
            Ok(Incoming::UiResponse(_))
        ));
        assert!(matches!(
            read(br#"{"type":"host_tool_result","id":"a","result":{"content":[]}}"#),
            Ok(Incoming::HostTool(_))
        ));
        assert!(matches!(
            read(br#"{"type":"host_tool_result","id":"a","result":{"content":"text"}}"#),
            Ok(Incoming::Command(_))
        ));
    }

    #[test]
    fn half_a_surrogate_pair_becomes_a_replacement_character() {
        let Ok(Incoming::Command(request)) = read(br#"{"type":"prompt","message":"a\ud83d b"}"#)
        else {
            panic!("a command")
        };
        assert_eq!(request.fields["message"], "a\u{fffd} b");
    }

    proptest::proptest! {
        #[test]
        fn no_input_panics(line: Vec<u8>) {
            let _ = read(&line);
        }
    }
}
