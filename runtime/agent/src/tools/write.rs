//! The `write` tool (`spec/agent-loop.md` §10): creates or replaces a file, with the directories above it. Never runs at
//! the same time as another change of the same file.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::json;

use super::local::LocalFiles;
use super::mutation_queue::with_file_mutation_queue;
use super::operations::WriteOperations;
use super::{builtin_spec, not_cancelled, parse_args, paths};
use crate::tool::{Tool, ToolCall, ToolError, ToolOutput, ToolSpec};

/// `write`.
pub struct WriteTool {
    spec: ToolSpec,
    operations: Option<Arc<dyn WriteOperations>>,
}

#[derive(Deserialize)]
struct WriteArgs {
    path: String,
    content: String,
}

impl WriteTool {
    /// `operations` replaces this machine's files.
    pub fn new(operations: Option<Arc<dyn WriteOperations>>) -> Self {
        let mut spec = builtin_spec(
            "write",
            "Write a file: creates it, with the directories above it, or replaces its whole content.",
            json!({
                "type": "object",
                "required": ["path", "content"],
                "properties": {
                    "path": {"type": "string", "description": "File to write (relative or absolute)"},
                    "content": {"type": "string", "description": "New content of the file"},
                },
            }),
        );
        spec.prompt_snippet = Some("create or replace files".to_owned());
        spec.prompt_guidelines =
            vec!["Use write for new files and complete rewrites only.".to_owned()];
        Self { spec, operations }
    }
}

#[async_trait]
impl Tool for WriteTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn execute(&self, call: ToolCall) -> Result<ToolOutput, ToolError> {
        let args: WriteArgs = parse_args(&self.spec.name, call.args)?;
        let path = paths::resolve(&args.path, &call.context.cwd);
        let operations: &dyn WriteOperations = match &self.operations {
            Some(operations) => operations.as_ref(),
            None => &LocalFiles,
        };
        with_file_mutation_queue(&path, &self.spec.name, &call.cancel, async {
            not_cancelled(&call.cancel)?;
            let parent = path.parent().unwrap_or(Path::new("/"));
            operations.mkdir(parent).await?;
            not_cancelled(&call.cancel)?;
            operations
                .write_file(&path, &args.content)
                .await
                .map_err(ToolError::from)
        })
        .await?;
        Ok(ToolOutput::text(format!(
            "Successfully wrote to {}",
            args.path
        )))
    }
}
