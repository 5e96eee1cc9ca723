//! Commands that a person runs through the session (`bash` of RPC, `!cmd`): the executor interface and its result
//! (spec/rpc.md §3.5, spec/extension-api.md §5.8). The `bash` tool of the model is in `tools/`.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

/// Result of a command, in the form of the RPC response.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BashResult {
    #[serde(default)]
    pub output: String,
    /// Absent when cancelled; signal death is 128 + n.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    #[serde(default)]
    pub cancelled: bool,
    #[serde(default)]
    pub truncated: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_output_path: Option<String>,
}

/// Receives raw output as it comes. Must not block.
pub type OutputChunk = Arc<dyn Fn(&[u8]) + Send + Sync>;

/// Runs a command line somewhere. Extensions replace it through `user_bash`.
#[async_trait]
pub trait BashOperations: Send + Sync {
    /// Returns the exit code, or `None` when the command was cancelled. An error text is shown as the command's failure.
    async fn exec(
        &self,
        command: &str,
        cwd: &Path,
        output: OutputChunk,
        cancel: CancellationToken,
    ) -> Result<Option<i64>, String>;
}

impl std::fmt::Debug for dyn BashOperations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BashOperations")
    }
}
