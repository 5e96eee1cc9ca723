//! Turns failures of extension code into reports that a person can act on: extension, event, place, stack.
//!
//! Per-token events are rate-limited: a handler that throws on every delta must not flood the client.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use pier_protocol::extension::ExtensionErrorReport;

use crate::isolate::{CallError, Fault, JsFailure};

/// Receives reports. Must not block.
pub type ErrorSink = Arc<dyn Fn(ExtensionErrorReport) + Send + Sync>;

/// Events that fire per token or per output chunk.
const FREQUENT: [&str; 3] = ["message_update", "tool_execution_update", "render"];
/// Failures outside any call: a timer that throws does so on every tick. Limited per text.
const REPEATING: [&str; 2] = ["uncaughtException", "unhandledRejection"];
/// How long further reports of a frequent event are held back.
const QUIET: Duration = Duration::from_secs(5);
/// Most (extension, event, text) triples remembered.
const MAX_KEYS: usize = 1024;
/// Reports kept while nobody listens yet.
const MAX_EARLY: usize = 256;

#[derive(Default)]
struct Seen {
    last: Option<Instant>,
    suppressed: u64,
}

/// Where all reports go through.
#[derive(Default)]
pub struct Reporter {
    sink: RwLock<Option<ErrorSink>>,
    early: Mutex<Vec<ExtensionErrorReport>>,
    seen: Mutex<HashMap<(String, String, String), Seen>>,
}

impl Reporter {
    /// Reports go to `sink` from now on; what was reported before is delivered first.
    pub fn set_sink(&self, sink: ErrorSink) {
        let early = std::mem::take(&mut *self.early.lock());
        for report in early {
            sink(report);
        }
        *self.sink.write() = Some(sink);
    }

    /// Reports a failed call.
    pub fn call_failed(&self, extension_path: &str, event: &str, error: &CallError) {
        let mut report = ExtensionErrorReport::new(extension_path, event, describe(event, error));
        report.stack = error.stack().map(str::to_string);
        report.location = error.place().cloned();
        report.follows = error.is_end_of_isolate();
        self.send(report);
    }

    /// Reports a fault outside any call. Nothing is said about a disposal that the host asked for.
    pub fn fault(&self, extension_path: &str, fault: &Fault) {
        let (event, failure) = match fault {
            Fault::UncaughtException(failure) => ("uncaughtException", failure.clone()),
            Fault::UnhandledRejection(failure) => ("unhandledRejection", failure.clone()),
            // Warnings of a load; see `host::faults`.
            Fault::MissingExports { .. } => return,
            Fault::Stopped(crate::isolate::StopCause::Disposed) => return,
            Fault::Stopped(cause) => {
                let message = format!("The extension was stopped: {cause}");
                (
                    cause.event(),
                    JsFailure {
                        message,
                        place: cause.place().cloned(),
                        ..JsFailure::default()
                    },
                )
            }
        };
        let mut report = ExtensionErrorReport::new(extension_path, event, failure.message);
        report.stack = failure.stack;
        report.location = failure.place;
        self.send(report);
    }

    /// Reports a text.
    pub fn text(&self, extension_path: &str, event: &str, message: impl Into<String>) {
        self.send(ExtensionErrorReport::new(extension_path, event, message));
    }

    /// Sends a report, unless too many of its kind were sent just now.
    pub fn send(&self, mut report: ExtensionErrorReport) {
        let frequent = FREQUENT.contains(&report.event.as_str());
        if frequent || REPEATING.contains(&report.event.as_str()) {
            let text = if frequent {
                String::new()
            } else {
                report.error.clone()
            };
            let mut seen = self.seen.lock();
            if seen.len() >= MAX_KEYS {
                seen.clear();
            }
            let entry = seen
                .entry((report.extension_path.clone(), report.event.clone(), text))
                .or_default();
            if entry.last.is_some_and(|last| last.elapsed() < QUIET) {
                entry.suppressed += 1;
                return;
            }
            entry.last = Some(Instant::now());
            let suppressed = std::mem::take(&mut entry.suppressed);
            if suppressed > 0 {
                report.error =
                    format!("{} ({suppressed} more since the last report)", report.error);
            }
        }
        if !report.follows {
            tracing::warn!(extension = %report.extension_path, event = %report.event, "{}", report.error);
        }
        let sink = self.sink.read().clone();
        match sink {
            Some(sink) => sink(report),
            None => {
                let mut early = self.early.lock();
                if early.len() < MAX_EARLY {
                    early.push(report);
                }
            }
        }
    }
}

/// The text of a failed call.
pub(crate) fn describe(event: &str, error: &CallError) -> String {
    match error {
        CallError::Timeout { after } => format!(
            "\"{event}\" did not finish within {} ms and was given up",
            after.as_millis()
        ),
        CallError::Stopped(cause) => format!("The extension was stopped: {cause}"),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_events_are_rate_limited_and_early_reports_are_kept() {
        let reporter = Reporter::default();
        reporter.text("/a.ts", "load", "early");
        let got = Arc::new(Mutex::new(Vec::new()));
        let sink = got.clone();
        reporter.set_sink(Arc::new(move |report| sink.lock().push(report)));
        for _ in 0..10 {
            reporter.text("/a.ts", "message_update", "boom");
            reporter.text("/a.ts", "turn_start", "boom");
        }
        for _ in 0..3 {
            reporter.text("/a.ts", "uncaughtException", "same");
        }
        reporter.text("/a.ts", "uncaughtException", "other");
        assert_eq!(
            got.lock()
                .iter()
                .filter(|report| report.event == "uncaughtException")
                .count(),
            2
        );
        let events: Vec<_> = got
            .lock()
            .iter()
            .map(|report| report.event.clone())
            .collect();
        assert_eq!(
            events
                .iter()
                .filter(|event| *event == "message_update")
                .count(),
            1
        );
        assert_eq!(
            events.iter().filter(|event| *event == "turn_start").count(),
            10
        );
        assert_eq!(events[0], "load");
    }
}
