//! Settings of the engine, of one isolate and of one call.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::DeadlineClock;
use crate::host::HostServices;
use crate::stdio::OutputSink;

/// Default heap limit of an isolate, in bytes.
pub const DEFAULT_HEAP_LIMIT: usize = 512 * 1024 * 1024;

/// Default limit for uninterrupted work outside any call (a timer that loops), in CPU time.
pub const DEFAULT_BUSY_LIMIT: Duration = Duration::from_secs(10);

/// Settings of the process-wide engine.
#[derive(Debug, Clone, Default)]
pub struct EngineOptions {
    /// Where compiled code is cached; `None` caches nothing.
    pub cache_dir: Option<PathBuf>,
}

/// Settings of one isolate.
pub struct IsolateOptions {
    /// Shown in front of each line the code prints, and in logs: the extension's name.
    pub name: String,
    pub host: Arc<dyn HostServices>,
    /// Receives what the code prints to stdout and stderr, a line at a time.
    pub output: Arc<dyn OutputSink>,
    /// Limit of the JavaScript heap; `None` is [`DEFAULT_HEAP_LIMIT`]. Another value than the default costs the warm start.
    pub heap_limit_bytes: Option<usize>,
    /// CPU time that code may use without a break when no call's deadline is nearer.
    pub busy_limit: Duration,
    pub permissions: Permissions,
}

/// What an isolate may do.
#[derive(Debug, Clone, Default)]
pub enum Permissions {
    /// Everything the process may do.
    #[default]
    All,
    /// Reading below the given folders; nothing else.
    ReadOnly(Vec<PathBuf>),
}

/// Settings of one call.
#[derive(Debug, Clone, Default)]
pub struct CallOptions {
    /// How long the call may take; `None` waits until the isolate answers or stops.
    pub deadline: Option<Duration>,
    /// Stops counting while a person is asked. A fresh clock when absent.
    pub clock: Option<DeadlineClock>,
}

impl CallOptions {
    pub fn within(deadline: Duration) -> Self {
        Self {
            deadline: Some(deadline),
            clock: None,
        }
    }
}
