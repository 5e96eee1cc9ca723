//! Sentences for people on standard error (`spec/cli.md` §3). The text is free; programs read records instead.

use std::io::{IsTerminal, Write};

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The program stops, or the thing asked for did not happen.
    Error,
    /// Something was ignored or replaced.
    Warning,
    /// Worth knowing.
    Info,
}

/// Writes one diagnostic. A closed standard error is nobody's concern.
pub fn report(severity: Severity, message: &str) {
    let mut stderr = std::io::stderr().lock();
    let (label, colour) = match severity {
        Severity::Error => ("Error: ", "\u{1b}[31m"),
        Severity::Warning => ("Warning: ", "\u{1b}[33m"),
        Severity::Info => ("", ""),
    };
    let _ = if stderr.is_terminal() && !colour.is_empty() {
        writeln!(stderr, "{colour}{label}{message}\u{1b}[0m")
    } else {
        writeln!(stderr, "{label}{message}")
    };
}

/// `Error: …`
pub fn error(message: &str) {
    report(Severity::Error, message);
}

/// `Warning: …`
pub fn warning(message: &str) {
    report(Severity::Warning, message);
}

/// `Extension error (command:name): message (file:line:column)`
pub(crate) fn extension_error(report: &pier_protocol::extension::ExtensionErrorReport) {
    if report.follows {
        return;
    }
    let what = match report.extension_path.as_str() {
        path if path.starts_with("command:") => path.to_owned(),
        path => format!("{path}, {}", report.event),
    };
    let reason = with_place(&report.error, report.location.as_ref());
    self::report(
        Severity::Info,
        &format!("Extension error ({what}): {reason}"),
    );
}

/// The place of a failure as people write it, with the text.
pub(crate) fn with_place(
    message: &str,
    location: Option<&pier_protocol::extension::SourceLocation>,
) -> String {
    match location {
        Some(place) => format!("{message} ({}:{}:{})", place.file, place.line, place.column),
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use pier_protocol::extension::SourceLocation;

    use super::with_place;

    #[test]
    fn a_place_is_appended_when_known() {
        let place = SourceLocation {
            file: "/a.ts".into(),
            line: 3,
            column: 7,
        };
        assert_eq!(with_place("boom", Some(&place)), "boom (/a.ts:3:7)");
        assert_eq!(with_place("boom", None), "boom");
    }
}
