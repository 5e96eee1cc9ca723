//! Errors of the engine's public API.

use std::time::Duration;

use crate::fault::{JsFault, Location};

/// Why a call into an isolate failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EngineError {
    /// The code threw or rejected.
    #[error("{0}")]
    Js(JsFault),
    /// The deadline passed while the code was waiting for something. The isolate goes on; the late result is dropped.
    #[error("did not answer within {} ms", after.as_millis())]
    Timeout { after: Duration },
    /// The isolate has ended, before or during the call.
    #[error("{0}")]
    Stopped(StopReason),
}

/// Why an isolate ended. The first reason wins.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StopReason {
    #[error("the isolate was disposed")]
    Disposed,
    /// Code kept the thread busy: past the deadline of a call, or past the limit for uninterrupted work.
    #[error("stopped: its code kept running without a break for {} ms{}", busy.as_millis(), place(at))]
    Unresponsive {
        busy: Duration,
        at: Option<Location>,
    },
    /// The heap reached its limit.
    #[error("stopped: it reached its memory limit of {} MiB{}", limit_bytes / (1024 * 1024), place(at))]
    HeapLimit {
        limit_bytes: usize,
        at: Option<Location>,
    },
    /// The code called `process.exit` or `Deno.exit`.
    #[error("stopped: it called process.exit({code}){}", place(at))]
    ProcessExit { code: i32, at: Option<Location> },
    /// V8 gave it up: the code asked for something beyond what V8 can do, and V8 cannot continue it. What it was is on stderr.
    #[error(
        "stopped: V8 could not continue its code; it asked for an object larger than V8 can hold, or for memory that it cannot get"
    )]
    Lost,
    /// Asked for through `Isolate::terminate`.
    #[error("stopped: {0}")]
    Terminated(String),
    /// The isolate could not be created or its thread failed; a defect of the host, never of an extension.
    #[error("the isolate failed: {0}")]
    Internal(String),
}

impl StopReason {
    /// The same reason at a place, for those that have one.
    pub(crate) fn at(self, place: Option<Location>) -> Self {
        match self {
            Self::Unresponsive { busy, .. } => Self::Unresponsive { busy, at: place },
            Self::HeapLimit { limit_bytes, .. } => Self::HeapLimit {
                limit_bytes,
                at: place,
            },
            Self::ProcessExit { code, .. } => Self::ProcessExit { code, at: place },
            other => other,
        }
    }

    /// Where the code was, when that is known.
    pub fn location(&self) -> Option<&Location> {
        match self {
            Self::Unresponsive { at, .. }
            | Self::HeapLimit { at, .. }
            | Self::ProcessExit { at, .. } => at.as_ref(),
            Self::Disposed | Self::Lost | Self::Terminated(_) | Self::Internal(_) => None,
        }
    }
}

fn place(at: &Option<Location>) -> String {
    at.as_ref().map(|at| format!(" ({at})")).unwrap_or_default()
}
