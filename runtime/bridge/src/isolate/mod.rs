//! What the bridge needs from an isolate, as a trait.
//!
//! The bridge never names V8: the engine adapter (`engine.rs`) and the in-memory fake (`fake.rs`) both
//! implement [`IsolateApi`], so that every dispatch rule can be tested without a JavaScript engine.

pub mod clock;
pub mod engine;
#[cfg(any(test, feature = "fake-isolate"))]
pub mod fake;
pub(crate) mod realm;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::BoxFuture;

pub use clock::DeadlineClock;

/// A place in the extension's own source, after source maps.
pub use pier_protocol::extension::SourceLocation as Place;

/// An exception thrown by extension code.
#[derive(Debug, Clone, Default)]
pub struct JsFailure {
    /// `error.name`.
    pub name: String,
    /// `error.message`, or the thrown value as a string.
    pub message: String,
    /// Source-mapped stack, when the thrown value was an `Error`.
    pub stack: Option<String>,
    /// First frame inside the extension's own files.
    pub place: Option<Place>,
}

/// Why an isolate stopped for good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopCause {
    /// Its code kept the thread busy (endless loop).
    Runaway {
        /// How long it ran without a break.
        busy: Duration,
        /// Where it was.
        at: Option<Place>,
    },
    /// The heap limit was reached.
    HeapLimit {
        /// The limit.
        limit_bytes: usize,
        /// Where it was.
        at: Option<Place>,
    },
    /// V8 could not continue its code.
    Lost,
    /// The extension called `process.exit`.
    Exit {
        /// The exit code it passed.
        code: i32,
        /// Where it called.
        at: Option<Place>,
    },
    /// The host disposed of it (reload, shutdown).
    Disposed,
    /// Anything else that ended the isolate's thread.
    Other(String),
}

impl StopCause {
    /// Where the code was, when the engine knows.
    pub fn place(&self) -> Option<&Place> {
        match self {
            Self::Runaway { at, .. } | Self::HeapLimit { at, .. } | Self::Exit { at, .. } => {
                at.as_ref()
            }
            Self::Lost | Self::Disposed | Self::Other(_) => None,
        }
    }

    /// The `event` under which it is reported.
    pub fn event(&self) -> &'static str {
        match self {
            Self::Runaway { .. } => "runaway",
            Self::HeapLimit { .. } => "heap_limit",
            Self::Lost => "engine_limit",
            Self::Exit { .. } => "process_exit",
            Self::Disposed => "disposed",
            Self::Other(_) => "runtime",
        }
    }
}

impl std::fmt::Display for StopCause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Runaway { busy, .. } => write!(
                f,
                "its code kept running without a break for {} ms (setting extensionLimits.busyMs)",
                busy.as_millis()
            ),
            Self::HeapLimit { limit_bytes, .. } => {
                write!(
                    f,
                    "it reached its memory limit of {} MiB (setting extensionLimits.heapMb)",
                    limit_bytes >> 20
                )
            }
            Self::Lost => f.write_str(
                "V8 could not continue its code, which asked for an object larger than V8 can hold or for memory that V8 cannot get",
            ),
            Self::Exit { code, .. } => write!(f, "it called process.exit({code})"),
            Self::Disposed => f.write_str("it was shut down"),
            Self::Other(detail) => f.write_str(detail),
        }
    }
}

/// How a call into an isolate can fail.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CallError {
    /// Extension code threw.
    #[error("{}", .0.message)]
    Js(JsFailure),
    /// The deadline passed while the extension was waiting (the isolate lives on).
    #[error("no answer after {} ms", .after.as_millis())]
    Timeout {
        /// The budget that passed, pauses not counted.
        after: Duration,
    },
    /// The work was aborted and the code did not settle at once; nobody waits for it any more.
    #[error("aborted")]
    Aborted,
    /// The isolate is gone, before or because of this call.
    #[error("the extension was stopped: {0}")]
    Stopped(StopCause),
    /// The answer did not have the shape that the protocol page fixes.
    #[error("{0}")]
    Protocol(String),
}

impl CallError {
    /// The isolate ended by a fault of its own, which is reported once for all its calls.
    pub(crate) fn is_end_of_isolate(&self) -> bool {
        matches!(self, Self::Stopped(cause) if *cause != StopCause::Disposed)
    }

    /// Where it happened, when the engine knows.
    pub fn place(&self) -> Option<&Place> {
        match self {
            Self::Js(failure) => failure.place.as_ref(),
            Self::Stopped(cause) => cause.place(),
            _ => None,
        }
    }

    /// Source-mapped stack, when there is one.
    pub fn stack(&self) -> Option<&str> {
        match self {
            Self::Js(failure) => failure.stack.as_deref(),
            _ => None,
        }
    }
}

/// How long a call may take.
#[derive(Debug, Clone, Default)]
pub struct CallOptions {
    /// Budget; `None` means no deadline (tool execution, dialogs of commands).
    pub deadline: Option<Duration>,
    /// Stops the budget from running while the extension waits for a person.
    pub clock: Option<Arc<DeadlineClock>>,
}

/// An error that a host call gives back to JavaScript.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{class}: {message}")]
pub struct HostCallError {
    /// Name of the JavaScript class to throw (`Error`, `TypeError`, `CallRevokedError` ...).
    pub class: String,
    /// Its message.
    pub message: String,
}

impl HostCallError {
    /// A plain `Error`.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            class: "Error".into(),
            message: message.into(),
        }
    }

    /// A `TypeError`: the arguments do not have the shape of the protocol page.
    pub fn arguments(message: impl Into<String>) -> Self {
        Self {
            class: "TypeError".into(),
            message: message.into(),
        }
    }

    /// A named class.
    pub fn of(class: &str, message: impl Into<String>) -> Self {
        Self {
            class: class.into(),
            message: message.into(),
        }
    }
}

/// Something that happened in an isolate outside any call.
#[derive(Debug, Clone)]
pub enum Fault {
    /// A timer or event callback threw. The isolate goes on.
    UncaughtException(JsFailure),
    /// A promise was rejected and nobody handled it. The isolate goes on.
    UnhandledRejection(JsFailure),
    /// Imports of host symbols that do not exist; a warning.
    MissingExports {
        /// The specifier as written.
        specifier: String,
        /// The importing file.
        importer: String,
        /// The missing names.
        names: Vec<String>,
    },
    /// The isolate ended by itself; its pending calls failed with the same cause.
    Stopped(StopCause),
}

/// What the host answers to an isolate. Called on the isolate's thread for the synchronous half.
pub trait IsolateHost: Send + Sync + 'static {
    /// A synchronous host call; must not wait.
    fn call_sync(&self, method: &str, args: &str) -> Result<Option<String>, HostCallError>;
    /// An asynchronous host call.
    fn call_async(
        &self,
        method: String,
        args: String,
    ) -> BoxFuture<'static, Result<Option<String>, HostCallError>>;
    /// A fault outside any call.
    fn fault(&self, fault: Fault);
    /// What the extension printed, one line at a time.
    fn output(&self, line: &str);
}

/// One running isolate. Cheap to share; `dispose` ends it.
#[async_trait]
pub trait IsolateApi: Send + Sync + 'static {
    /// Calls `handle(kind, header, payload)` in the isolate. Concurrent calls are allowed and start in order.
    async fn call(
        &self,
        kind: &str,
        header: String,
        payload: Option<Arc<str>>,
        options: CallOptions,
    ) -> Result<Option<String>, CallError>;

    /// The same without an answer; failures are reported as faults.
    fn post(&self, kind: &str, header: String, payload: Option<Arc<str>>);

    /// Stops extension code at once.
    fn terminate(&self, cause: StopCause);

    /// Ends the isolate, waiting at most `grace` for its thread.
    async fn dispose(&self, grace: Duration);

    /// `None` while it runs.
    fn stopped(&self) -> Option<StopCause>;

    /// While its code holds the thread: a mark of this stretch and the processor time of the thread so far.
    fn stretch(&self) -> Option<(u64, Duration)> {
        None
    }
}

/// How far an isolate may reach. The engine turns this into its permission container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermissionProfile {
    /// Everything, like pi.
    Trusted,
    /// Read inside the project, no write, net, run, env or FFI.
    Restricted,
}

/// What to start.
#[derive(Clone)]
pub struct IsolateSpec {
    /// Shown in logs and before printed lines.
    pub name: String,
    /// Root directory of the package (or of the lone file).
    pub root: PathBuf,
    /// Working directory that `process.cwd()` shows.
    pub cwd: PathBuf,
    /// Answers its host calls.
    pub host: Arc<dyn IsolateHost>,
    /// Heap limit in bytes; `None` = engine default.
    pub heap_limit_bytes: Option<usize>,
    /// CPU time that code may use without giving control back; `None` = engine default.
    pub busy_limit: Option<Duration>,
    /// Permissions.
    pub permissions: PermissionProfile,
}

/// Starts isolates.
pub trait IsolateFactory: Send + Sync + 'static {
    /// Starts one. Errors are texts for a load report.
    fn spawn(&self, spec: IsolateSpec) -> Result<Arc<dyn IsolateApi>, String>;
}
