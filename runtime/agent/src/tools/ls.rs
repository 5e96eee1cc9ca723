//! The `ls` tool (`spec/agent-loop.md` §10): names in one directory. Reads no file.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::json;

use super::listing::{Listing, place};
use super::local::LocalFiles;
use super::operations::LsOperations;
use super::{builtin_spec, not_cancelled, parse_args, result_limit};
use crate::tool::{Tool, ToolCall, ToolError, ToolOutput, ToolSpec};

const DEFAULT_LIMIT: usize = 500;

/// `ls`.
pub struct LsTool {
    spec: ToolSpec,
    operations: Option<Arc<dyn LsOperations>>,
}

#[derive(Deserialize)]
struct LsArgs {
    path: Option<String>,
    limit: Option<f64>,
}

impl LsTool {
    /// `operations` replaces this machine's directories.
    pub fn new(operations: Option<Arc<dyn LsOperations>>) -> Self {
        let mut spec = builtin_spec(
            "ls",
            "List a directory: names in alphabetical order, directories with a / after them, dotfiles included. At most \
             500 entries or 50KB.",
            json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "Directory to list (the working directory by default)"},
                    "limit": {"type": "number", "description": "Entries at most (500 by default)"},
                },
            }),
        );
        spec.prompt_snippet = Some("list directories".to_owned());
        spec.default_active = false;
        Self { spec, operations }
    }
}

#[async_trait]
impl Tool for LsTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn execute(&self, call: ToolCall) -> Result<ToolOutput, ToolError> {
        let args: LsArgs = parse_args(&self.spec.name, call.args)?;
        not_cancelled(&call.cancel)?;
        let (operations, path) = place::<dyn LsOperations>(
            args.path.as_deref(),
            &call.context.cwd,
            self.operations.as_deref(),
            &LocalFiles,
        );
        let limit = result_limit(args.limit, DEFAULT_LIMIT);
        tokio::select! {
            biased;
            result = list(operations, &path, limit) => result,
            () = call.cancel.cancelled() => Err(ToolError::Aborted),
        }
    }
}

async fn list(
    operations: &dyn LsOperations,
    path: &Path,
    limit: usize,
) -> Result<ToolOutput, ToolError> {
    let shown_path = path.display();
    if !operations.exists(path).await? {
        return Err(ToolError::failed(format!("Path not found: {shown_path}")));
    }
    if !operations.is_directory(path).await? {
        return Err(ToolError::failed(format!("Not a directory: {shown_path}")));
    }
    let mut names = operations
        .readdir(path)
        .await
        .map_err(|e| ToolError::failed(format!("Cannot read directory: {}", e.message)))?;
    if names.is_empty() {
        return Ok(ToolOutput::text("(empty directory)"));
    }
    names.sort_by_cached_key(|name| (name.to_lowercase(), name.clone()));
    let limit_reached = names.len() > limit;
    names.truncate(limit);
    let mut list = Listing::new();
    for name in &names {
        // A link to nowhere is still an entry of the directory.
        let is_dir = operations
            .is_directory(&path.join(name))
            .await
            .unwrap_or(false);
        let mark = if is_dir { "/" } else { "" };
        list.push(&format!("{name}{mark}"));
    }
    if limit_reached {
        list.limit_reached("entryLimitReached", "entries", limit, "");
    }
    Ok(list.finish(None))
}
