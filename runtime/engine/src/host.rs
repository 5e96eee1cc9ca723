//! What an isolate needs from whoever embeds the engine. The engine never interprets a method name.

use futures::future::BoxFuture;

use crate::fault::JsFault;

/// A failed host call: becomes a JavaScript error of class `class` in the isolate.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{class}: {message}")]
pub struct HostError {
    /// Name of the JavaScript error class (`Error`, `TypeError`, or one that js-api knows).
    pub class: String,
    pub message: String,
}

impl HostError {
    pub fn new(class: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            class: class.into(),
            message: message.into(),
        }
    }
}

/// JSON text, or `None` for `undefined`.
pub type HostResult = Result<Option<String>, HostError>;

/// Answers an isolate's calls. One object per isolate.
pub trait HostServices: Send + Sync + 'static {
    /// `hostCall`. Runs on the isolate's thread while its JavaScript waits: must answer from memory and never block.
    fn call_sync(&self, method: &str, args: &str) -> HostResult;

    /// `hostCallAsync`. The future runs on the host's runtime.
    fn call_async(&self, method: String, args: String) -> BoxFuture<'static, HostResult>;

    /// Something happened that no call carries. Called from the isolate's thread; must not block.
    fn report(&self, fault: IsolateFault);
}

/// What an isolate reports by itself.
#[derive(Debug, Clone)]
pub enum IsolateFault {
    /// An exception in a timer or event listener that nothing caught. The isolate goes on.
    UncaughtException(JsFault),
    /// A rejected promise that nothing handles. The isolate goes on.
    UnhandledRejection(JsFault),
    /// Names that extension code imports from a host module which does not have them. Each links to a value that throws when used.
    MissingExports {
        /// The specifier as written.
        specifier: String,
        /// The importing file.
        importer: String,
        names: Vec<String>,
    },
    /// The isolate ended by itself; its pending calls failed with the same reason.
    Stopped(crate::error::StopReason),
}
