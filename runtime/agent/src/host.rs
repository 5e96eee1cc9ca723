//! Callbacks that the program around the session supplies: a mode, or a test.
//! The session decides when they are called; it never ends the process or writes to a stream itself.

use async_trait::async_trait;
use pier_protocol::extension::ExtensionErrorReport;

use crate::hooks::{DiscoveredResources, SessionStartReason, ShutdownReason};
use crate::prompt::PromptConfig;

/// What the session asks of its surroundings. All defaults do nothing.
#[async_trait]
pub trait HostActions: Send + Sync {
    /// `ctx.shutdown()`: the mode ends the process at the next suitable moment (spec/rpc.md §9).
    fn request_shutdown(&self) {}

    /// An extension failed, or a message it sent could not be delivered.
    fn report_error(&self, _report: ExtensionErrorReport) {}

    /// Something went wrong that is no extension's fault and stops nothing; for stderr.
    fn warn(&self, _message: &str) {}

    /// The inputs of the system prompt, read anew with the files that extensions named (`resources_discover`): whenever a
    /// session starts after the first one, and when there are such files. What cannot be used is reported there, with
    /// the extension's name. `None` keeps the inputs as they are. May read files; called on a blocking thread.
    fn read_prompt(&self, _discovered: &DiscoveredResources) -> Option<PromptConfig> {
        None
    }

    /// Called between `session_shutdown` and `session_start` of a session replacement or reload: make old contexts stale,
    /// read settings again, load extensions anew. `ended` is the reason the old session ended. An error leaves the session
    /// without extensions and is reported through [`HostActions::report_error`] by the caller.
    async fn reload_runtime(
        &self,
        _ended: ShutdownReason,
        _starting: SessionStartReason,
    ) -> Result<(), String> {
        Ok(())
    }
}

/// A host that ignores everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHost;

impl HostActions for NoHost {}
