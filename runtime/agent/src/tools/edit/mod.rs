//! The `edit` tool (`spec/agent-loop.md` §10): replaces texts in one file. Changes of the same file never run at the same
//! time, and a file that is not UTF-8 is left alone, because writing it back would damage it.

mod apply;
mod diff;
mod input;
mod text;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::local::LocalFiles;
use super::mutation_queue::with_file_mutation_queue;
use super::operations::{EditOperations, OpError};
use super::{builtin_spec, exists_locally, not_cancelled, parse_args, paths};
use crate::tool::{Tool, ToolCall, ToolError, ToolOutput, ToolSpec};
use apply::Replacement;

/// `edit`.
pub struct EditTool {
    spec: ToolSpec,
    operations: Option<Arc<dyn EditOperations>>,
}

#[derive(Deserialize)]
struct EditArgs {
    path: String,
    edits: Vec<Replacement>,
}

impl EditTool {
    /// `operations` replaces this machine's files.
    pub fn new(operations: Option<Arc<dyn EditOperations>>) -> Self {
        let mut spec = builtin_spec(
            "edit",
            "Replace texts in one file. Every oldText must occur exactly once in the file as it is now, and no two may \
             overlap; nearby changes belong into one edit. All edits are matched against the original text, not one \
             after another.",
            json!({
                "type": "object",
                "required": ["path", "edits"],
                "properties": {
                    "path": {"type": "string", "description": "File to change (relative or absolute)"},
                    "edits": {
                        "type": "array",
                        "description": "Replacements, all against the original text",
                        "items": {
                            "type": "object",
                            "required": ["oldText", "newText"],
                            "properties": {
                                "oldText": {"type": "string", "description": "Exact text to replace; must be unique in the file"},
                                "newText": {"type": "string", "description": "Text to put in its place"},
                            },
                        },
                    },
                },
            }),
        );
        spec.prompt_snippet =
            Some("make precise changes to files by replacing exact text".to_owned());
        spec.prompt_guidelines = vec![
            "Use edit for precise changes; keep each oldText as short as it can be while unique in the file.".to_owned(),
            "Put several changes of one file into one edit call, as separate entries of edits.".to_owned(),
        ];
        Self { spec, operations }
    }

    async fn change(
        &self,
        operations: &dyn EditOperations,
        args: &EditArgs,
        path: &Path,
        cancel: &CancellationToken,
    ) -> Result<ToolOutput, ToolError> {
        not_cancelled(cancel)?;
        let refused = |error: OpError| ToolError::failed(refusal(&args.path, &error));
        operations.access(path).await.map_err(refused)?;
        not_cancelled(cancel)?;
        let bytes = operations.read_file(path).await.map_err(refused)?;
        let text = String::from_utf8(bytes).map_err(|_| {
            ToolError::failed(format!(
                "Could not edit file: {}. It is not UTF-8 text, and an edit would damage it.",
                args.path
            ))
        })?;
        let name = args.path.clone();
        let edits = args.edits.clone();
        // Matching and comparing large texts takes its time.
        let (edited, change) = tokio::task::spawn_blocking(move || {
            let edited = apply::apply(&text, &edits, &name)?;
            let change = diff::compare(&name, &edited.before, &edited.after);
            Ok::<_, String>((edited, change))
        })
        .await
        .map_err(|e| ToolError::failed(format!("Could not edit file: {}. {e}", args.path)))?
        .map_err(ToolError::failed)?;
        // The last moment: from here on the file changes.
        not_cancelled(cancel)?;
        operations
            .write_file(path, &edited.file)
            .await
            .map_err(refused)?;
        let mut output = ToolOutput::text(format!(
            "Successfully replaced {} block(s) in {}.",
            args.edits.len(),
            args.path
        ));
        let mut details = json!({ "diff": change.display, "patch": change.patch });
        if let Some(line) = change.first_changed_line {
            details["firstChangedLine"] = json!(line);
        }
        output.details = Some(details);
        Ok(output)
    }
}

fn refusal(path: &str, error: &OpError) -> String {
    match &error.code {
        Some(code) => format!("Could not edit file: {path}. Error code: {code}."),
        None => format!(
            "Could not edit file: {path}. {}.",
            error.message.trim_end_matches('.')
        ),
    }
}

#[async_trait]
impl Tool for EditTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn prepare(&self, args: Value) -> Result<Value, ToolError> {
        Ok(input::normalise(args))
    }

    async fn execute(&self, call: ToolCall) -> Result<ToolOutput, ToolError> {
        let args: EditArgs = parse_args(&self.spec.name, input::normalise(call.args))?;
        if args.edits.is_empty() {
            return Err(ToolError::failed(
                "Edit tool input is invalid. edits must contain at least one replacement.",
            ));
        }
        let cwd = &call.context.cwd;
        let (operations, path): (&dyn EditOperations, PathBuf) = match &self.operations {
            Some(operations) => (operations.as_ref(), paths::resolve(&args.path, cwd)),
            None => (
                &LocalFiles,
                paths::resolve_existing(&args.path, cwd, &exists_locally),
            ),
        };
        let change = self.change(operations, &args, &path, &call.cancel);
        with_file_mutation_queue(&path, &self.spec.name, &call.cancel, change).await
    }
}
