//! The `find` tool (`spec/agent-loop.md` §10): files and directories by glob, the way fd does it: ignore files honoured,
//! hidden entries included, smart case. Reads names only.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use globset::{GlobBuilder, GlobMatcher};
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::listing::{Listing, place};
use super::local::exists_here;
use super::operations::{FindOperations, GlobOptions, OpError};
use super::walk::{root_problem, walker};
use super::{builtin_spec, not_cancelled, parse_args, paths, result_limit};
use crate::tool::{Tool, ToolCall, ToolError, ToolOutput, ToolSpec};

const DEFAULT_LIMIT: usize = 1000;
/// Asked of executors that do not know ignore files.
const ALWAYS_IGNORED: [&str; 2] = ["**/node_modules/**", "**/.git/**"];

/// `find`.
pub struct FindTool {
    spec: ToolSpec,
    operations: Option<Arc<dyn FindOperations>>,
}

#[derive(Deserialize)]
struct FindArgs {
    pattern: String,
    path: Option<String>,
    limit: Option<f64>,
}

impl FindTool {
    /// `operations` replaces this machine's directories.
    pub fn new(operations: Option<Arc<dyn FindOperations>>) -> Self {
        let mut spec = builtin_spec(
            "find",
            "Find files and directories by glob pattern, e.g. '*.ts' or 'src/**/*.json'. Prints paths relative to the \
             directory searched. Leaves out what ignore files name. At most 1000 results or 50KB.",
            json!({
                "type": "object",
                "required": ["pattern"],
                "properties": {
                    "pattern": {"type": "string", "description": "Glob: matched on names, or on relative paths if it contains /"},
                    "path": {"type": "string", "description": "Directory to search (the working directory by default)"},
                    "limit": {"type": "number", "description": "Results at most (1000 by default)"},
                },
            }),
        );
        spec.prompt_snippet =
            Some("find files by glob pattern (leaves out ignored files)".to_owned());
        spec.default_active = false;
        Self { spec, operations }
    }
}

#[async_trait]
impl Tool for FindTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn execute(&self, call: ToolCall) -> Result<ToolOutput, ToolError> {
        let args: FindArgs = parse_args(&self.spec.name, call.args)?;
        not_cancelled(&call.cancel)?;
        let (operations, root) = place::<dyn FindOperations>(
            args.path.as_deref(),
            &call.context.cwd,
            self.operations.as_deref(),
            &LocalFind,
        );
        let limit = result_limit(args.limit, DEFAULT_LIMIT);
        let options = GlobOptions {
            ignore: ALWAYS_IGNORED.map(str::to_owned).to_vec(),
            limit,
            cancel: call.cancel.clone(),
        };
        let search = async {
            if !operations.exists(&root).await? {
                return Err(ToolError::failed(format!(
                    "Path not found: {}",
                    root.display()
                )));
            }
            operations
                .glob(&args.pattern, &root, options)
                .await
                .map_err(ToolError::from)
        };
        let found = tokio::select! {
            biased;
            () = call.cancel.cancelled() => return Err(ToolError::Aborted),
            found = search => found?,
        };
        Ok(result(&found, &root, limit))
    }
}

fn result(found: &[String], root: &Path, limit: usize) -> ToolOutput {
    if found.is_empty() {
        return ToolOutput::text("No files found matching pattern");
    }
    let mut list = Listing::new();
    for path in found.iter().take(limit) {
        list.push(&shown_path(path, root));
    }
    if found.len() >= limit {
        let advice = ", or refine pattern";
        list.limit_reached("resultLimitReached", "results", limit, advice);
    }
    list.finish(None)
}

/// Relative to the root, with the `/` of a directory kept.
fn shown_path(path: &str, root: &Path) -> String {
    let shown = paths::relative_display(Path::new(path), root);
    if path.ends_with('/') && !shown.ends_with('/') {
        format!("{shown}/")
    } else {
        shown
    }
}

/// Directories of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalFind;

#[async_trait]
impl FindOperations for LocalFind {
    async fn exists(&self, path: &Path) -> Result<bool, OpError> {
        exists_here(path).await
    }

    /// Honours ignore files itself; `options.ignore` is for executors that do not.
    async fn glob(
        &self,
        pattern: &str,
        cwd: &Path,
        options: GlobOptions,
    ) -> Result<Vec<String>, OpError> {
        let matcher = Matcher::new(pattern)?;
        let root = cwd.to_path_buf();
        // The walk stops by itself when the caller goes away.
        let cancel = options.cancel.child_token();
        let _stop = cancel.clone().drop_guard();
        tokio::task::spawn_blocking(move || walk(&matcher, &root, options.limit, &cancel))
            .await
            .map_err(|e| OpError::other(format!("The search failed: {e}")))?
    }
}

/// A glob that is matched on names, or on whole relative paths.
struct Matcher {
    glob: GlobMatcher,
    whole_path: bool,
}

impl Matcher {
    fn new(pattern: &str) -> Result<Self, OpError> {
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        let whole_path = pattern.contains('/');
        // Anchored at the root of the search, so a leading slash says nothing new; a trailing one asks for
        // directories, whose paths are matched without it.
        let pattern = pattern.strip_prefix('/').unwrap_or(pattern);
        let pattern = pattern.strip_suffix('/').unwrap_or(pattern);
        let glob = GlobBuilder::new(pattern)
            .literal_separator(true)
            .case_insensitive(!pattern.chars().any(char::is_uppercase))
            .build()
            .map_err(|e| OpError::other(format!("Invalid glob pattern: {e}")))?;
        Ok(Self {
            glob: glob.compile_matcher(),
            whole_path,
        })
    }

    fn matches(&self, relative: &Path) -> bool {
        if self.whole_path {
            self.glob.is_match(relative)
        } else {
            relative
                .file_name()
                .is_some_and(|name| self.glob.is_match(Path::new(name)))
        }
    }
}

fn walk(
    matcher: &Matcher,
    root: &Path,
    limit: usize,
    cancel: &CancellationToken,
) -> Result<Vec<String>, OpError> {
    if !root.is_dir() {
        return Err(OpError::other(format!(
            "Not a directory: {}",
            root.display()
        )));
    }
    let mut found = Vec::new();
    for entry in walker(root, ".fdignore")?.build() {
        if cancel.is_cancelled() {
            return Err(OpError::other("Operation aborted"));
        }
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => match root_problem(&error, root) {
                Some(error) => return Err(error),
                // A directory that cannot be read hides its content, not everybody else's.
                None => continue,
            },
        };
        let Ok(relative) = entry.path().strip_prefix(root) else {
            continue;
        };
        if relative.as_os_str().is_empty() || !matcher.matches(relative) {
            continue;
        }
        let mut path = relative.to_string_lossy().into_owned();
        if entry.file_type().is_some_and(|kind| kind.is_dir()) {
            path.push('/');
        }
        found.push(path);
        if found.len() >= limit {
            break;
        }
    }
    Ok(found)
}
