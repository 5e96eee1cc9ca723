//! The `ls` tool (`spec/agent-loop.md` §10): names in one directory. Reads no file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::local::LocalFiles;
use super::operations::LsOperations;
use super::truncate::{HeadCapture, Limits, format_size};
use super::{builtin_spec, exists_locally, not_cancelled, parse_args, paths, result_limit};
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
        let cwd = &call.context.cwd;
        let input = args
            .path
            .as_deref()
            .filter(|path| !path.is_empty())
            .unwrap_or(".");
        let (operations, path): (&dyn LsOperations, PathBuf) = match &self.operations {
            Some(operations) => (operations.as_ref(), paths::resolve(input, cwd)),
            None => (
                &LocalFiles,
                paths::resolve_existing(input, cwd, &exists_locally),
            ),
        };
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
    let failed = |error: super::OpError| ToolError::failed(error.message);
    if !operations.exists(path).await.map_err(failed)? {
        return Err(ToolError::failed(format!("Path not found: {shown_path}")));
    }
    if !operations.is_directory(path).await.map_err(failed)? {
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
    let mut text = HeadCapture::new(Limits::bytes_only());
    for (at, name) in names.iter().enumerate() {
        // A link to nowhere is still an entry of the directory.
        let is_dir = operations
            .is_directory(&path.join(name))
            .await
            .unwrap_or(false);
        let mark = if is_dir { "/" } else { "" };
        let separator = if at == 0 { "" } else { "\n" };
        text.push(&format!("{separator}{name}{mark}"));
    }
    let mut notices = Vec::new();
    let mut details = Map::new();
    if limit_reached {
        notices.push(format!(
            "{limit} entries limit reached. Use limit={} for more",
            limit.saturating_mul(2)
        ));
        details.insert("entryLimitReached".to_owned(), json!(limit));
    }
    let shown = text.finish();
    if shown.truncated {
        notices.push(format!("{} limit reached", format_size(shown.max_bytes)));
        details.insert("truncation".to_owned(), json!(shown));
    }
    let mut output = ToolOutput::text(super::with_notices(shown.content, &notices));
    output.details = (!details.is_empty()).then_some(Value::Object(details));
    Ok(output)
}
