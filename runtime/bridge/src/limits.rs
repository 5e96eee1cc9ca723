//! Time and size limits of extension code, with their defaults and the settings that change them.
//!
//! Settings object `extensionLimits`; every member is in milliseconds, `0` means "no limit":
//! `loadMs`, `startMs`, `handlerMs`, `toolCallMs`, `longHandlerMs`, `updateMs`, `shutdownMs`, `commandMs`, `toolMs`,
//! `abortGraceMs`, `renderMs`, `busyMs` (CPU time without a break); and `heapMb` in mebibytes.

use std::time::Duration;

use serde_json::Value;

/// Kinds of calls that share a time budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Budget {
    /// An ordinary event handler.
    Handler,
    /// `tool_call`: refuses the tool when it passes.
    Guard,
    /// Handlers that usually ask a person or a model.
    Long,
    /// `session_start`: the session waits for it before it takes its first prompt.
    Start,
    /// Per-token events.
    Update,
    /// `session_shutdown`: all handlers of all extensions together.
    Shutdown,
}

/// Budgets; `None` = no deadline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Module evaluation and factory, per extension.
    pub load: Option<Duration>,
    /// [`Budget::Handler`].
    pub handler: Option<Duration>,
    /// [`Budget::Guard`].
    pub guard: Option<Duration>,
    /// [`Budget::Long`].
    pub long: Option<Duration>,
    /// [`Budget::Start`].
    pub start: Option<Duration>,
    /// [`Budget::Update`].
    pub update: Option<Duration>,
    /// [`Budget::Shutdown`].
    pub shutdown: Duration,
    /// Commands and shortcuts: none by default, a command may drive a whole session.
    pub command: Option<Duration>,
    /// Tool execution: none by default.
    pub tool: Option<Duration>,
    /// How long aborted code may take to notice, before its call is given up.
    pub abort_grace: Duration,
    /// Renderers, completions, `prepareArguments` and other small synchronous functions.
    pub small: Option<Duration>,
    /// CPU time that code may use without giving control back; then its isolate is stopped.
    pub busy: Option<Duration>,
    /// Heap per isolate, in bytes; `None` = engine default.
    pub heap_bytes: Option<usize>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            load: Some(Duration::from_secs(30)),
            handler: Some(Duration::from_secs(30)),
            guard: Some(Duration::from_secs(30)),
            long: Some(Duration::from_secs(300)),
            start: Some(Duration::from_secs(10)),
            update: Some(Duration::from_secs(5)),
            shutdown: Duration::from_secs(2),
            command: None,
            tool: None,
            abort_grace: Duration::from_secs(5),
            small: Some(Duration::from_secs(5)),
            busy: Some(Duration::from_secs(5)),
            heap_bytes: None,
        }
    }
}

impl Limits {
    /// Reads `extensionLimits` of merged settings; bad members are named in the second part and skipped.
    pub fn from_settings(settings: &Value) -> (Self, Vec<String>) {
        let mut limits = Self::default();
        let mut warnings = Vec::new();
        let Some(section) = settings.get("extensionLimits") else {
            return (limits, warnings);
        };
        let Some(section) = section.as_object() else {
            warnings.push("settings: \"extensionLimits\" must be an object".to_string());
            return (limits, warnings);
        };
        for (name, value) in section {
            let Some(number) = value.as_u64() else {
                warnings.push(format!(
                    "settings: \"extensionLimits.{name}\" must be a whole number of milliseconds"
                ));
                continue;
            };
            let time = (number > 0).then(|| Duration::from_millis(number));
            match name.as_str() {
                "loadMs" => limits.load = time,
                "handlerMs" => limits.handler = time,
                "toolCallMs" => limits.guard = time,
                "longHandlerMs" => limits.long = time,
                "startMs" => limits.start = time,
                "updateMs" => limits.update = time,
                "shutdownMs" => limits.shutdown = Duration::from_millis(number),
                "commandMs" => limits.command = time,
                "toolMs" => limits.tool = time,
                "abortGraceMs" => limits.abort_grace = Duration::from_millis(number),
                "renderMs" => limits.small = time,
                "busyMs" => limits.busy = time,
                "heapMb" => {
                    limits.heap_bytes = usize::try_from(number)
                        .ok()
                        .and_then(|mb| mb.checked_mul(1 << 20))
                        .filter(|bytes| *bytes > 0)
                }
                other => warnings.push(format!(
                    "settings: unknown member \"extensionLimits.{other}\""
                )),
            }
        }
        (limits, warnings)
    }

    /// The deadline of one call.
    pub fn deadline(&self, budget: Budget) -> Option<Duration> {
        match budget {
            Budget::Handler => self.handler,
            Budget::Guard => self.guard,
            Budget::Long => self.long,
            Budget::Start => self.start,
            Budget::Update => self.update,
            Budget::Shutdown => Some(self.shutdown),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn zero_switches_a_limit_off_and_mistakes_are_named() {
        let (limits, warnings) = Limits::from_settings(
            &json!({"extensionLimits": {"toolCallMs": 0, "loadMs": 10, "x": 1, "handlerMs": "a"}}),
        );
        assert_eq!(limits.guard, None);
        assert_eq!(limits.load, Some(Duration::from_millis(10)));
        assert_eq!(limits.handler, Some(Duration::from_secs(30)));
        assert_eq!(warnings.len(), 2);
    }
}
