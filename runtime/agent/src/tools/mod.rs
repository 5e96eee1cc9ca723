//! The built-in tools `read bash edit write grep find ls` (`spec/agent-loop.md` §10) and the parts they are made of. They
//! know the call they serve and nothing of the loop, the session or extensions.

pub mod bash;
pub mod edit;
mod errno;
pub mod find;
pub mod grep;
pub mod image;
pub mod image_fit;
mod image_read;
mod listing;
pub mod local;
pub mod ls;
pub mod mutation_queue;
pub mod operations;
pub mod output_capture;
pub mod paths;
pub mod read;
pub mod sanitize;
pub mod truncate;
pub mod user_bash;
pub mod utf8;
mod walk;
pub mod write;

use std::path::Path;
use std::sync::Arc;

use pier_protocol::extension::SourceInfo;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub use bash::{BashTool, BashToolOptions, LocalBashOperations};
pub use edit::EditTool;
pub use errno::OpError;
pub use find::FindTool;
pub use grep::GrepTool;
pub use ls::LsTool;
pub use mutation_queue::with_file_mutation_queue;
pub use read::{ReadTool, ReadToolOptions};
pub use user_bash::{BashResult, UserBash, run_user_bash};
pub use write::WriteTool;

use crate::tool::{Tool, ToolError, ToolSpec};

/// Every built-in tool with its local executor, in the order they are offered. `read bash edit write` are active by
/// default.
pub fn builtin_tools() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(ReadTool::new(ReadToolOptions::default())),
        Arc::new(BashTool::new(BashToolOptions::default())),
        Arc::new(EditTool::new(None)),
        Arc::new(WriteTool::new(None)),
        Arc::new(GrepTool::new(None)),
        Arc::new(FindTool::new(None)),
        Arc::new(LsTool::new(None)),
    ]
}

fn builtin_spec(name: &str, description: &str, parameters: Value) -> ToolSpec {
    ToolSpec::new(name, description, parameters, SourceInfo::builtin(name))
}

/// Arguments in the tool's own form. They were validated before, but a hook may have changed them, and some callers
/// come without validation.
fn parse_args<T: DeserializeOwned>(tool: &str, args: Value) -> Result<T, ToolError> {
    serde_json::from_value(args)
        .map_err(|e| ToolError::failed(format!("Invalid arguments for tool \"{tool}\": {e}")))
}

fn not_cancelled(cancel: &CancellationToken) -> Result<(), ToolError> {
    if cancel.is_cancelled() {
        Err(ToolError::Aborted)
    } else {
        Ok(())
    }
}

fn exists_locally(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// A result limit as given: fractions are cut off, anything below 1 means 1.
fn result_limit(given: Option<f64>, default: usize) -> usize {
    // The cast saturates.
    given.map_or(default, |limit| {
        (limit.max(1.0) as usize).min(truncate::UNLIMITED)
    })
}

/// Text with the notices in one bracket after a blank line.
fn with_notices(text: String, notices: &[String]) -> String {
    if notices.is_empty() {
        text
    } else {
        format!("{text}\n\n[{}]", notices.join(". "))
    }
}
