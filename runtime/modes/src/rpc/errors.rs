//! `extension_error` records: what failed, where, and for which request (`spec/rpc.md` §5.9).

use pier_protocol::extension::ExtensionErrorReport;
use serde::Serialize;

use super::id::Id;
use super::response::{failure, line};
use crate::dialect::Rules;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExtensionError<'a> {
    r#type: &'static str,
    #[serde(flatten)]
    report: &'a ExtensionErrorReport,
    /// `load`, `bind` or `flags` while the program starts; absent afterwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<&'a Id>,
}

/// The lines for one report.
pub(crate) fn lines(
    rules: &Rules,
    report: &ExtensionErrorReport,
    phase: Option<&'static str>,
    request_id: Option<&Id>,
) -> Vec<String> {
    let mut lines = vec![line(&ExtensionError {
        r#type: "extension_error",
        report,
        phase,
        request_id,
    })];
    let command = match report.event.as_str() {
        "send_message" => "extension_send",
        "send_user_message" => "extension_send_user",
        _ => return lines,
    };
    if rules.send_failures_as_responses {
        lines.push(failure(None, command, &report.error, None));
    }
    lines
}

#[cfg(test)]
mod tests {
    use pier_protocol::extension::{ExtensionErrorReport, SourceLocation};
    use serde_json::{Value, json};

    use super::{Id, lines};
    use crate::dialect::Dialect;

    fn values(dialect: Dialect, report: &ExtensionErrorReport) -> Vec<Value> {
        let id = Id::from(&json!("c3"));
        lines(dialect.rules(), report, None, Some(&id))
            .iter()
            .map(|line| serde_json::from_str(line).expect("a record"))
            .collect()
    }

    #[test]
    fn a_report_carries_its_place_and_the_request() {
        let mut report = ExtensionErrorReport::new("command:fail", "command", "on purpose");
        report.location = Some(SourceLocation {
            file: "/x.ts".into(),
            line: 4,
            column: 2,
        });
        assert_eq!(
            values(Dialect::Pi, &report),
            [json!({
                "type": "extension_error", "extensionPath": "command:fail", "event": "command", "error": "on purpose",
                "location": {"file": "/x.ts", "line": 4, "column": 2}, "requestId": "c3"
            })]
        );
    }

    #[test]
    fn xcsh_clients_also_get_a_failed_send_as_a_response() {
        let report = ExtensionErrorReport::new("<runtime>", "send_message", "no");
        assert_eq!(
            values(Dialect::Xcsh, &report)[1],
            json!({"type": "response", "command": "extension_send", "success": false, "error": "no"})
        );
        assert_eq!(values(Dialect::Pi, &report).len(), 1);
    }
}
