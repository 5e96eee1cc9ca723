//! The `grep` tool (`spec/agent-loop.md` §10): searches file contents with ripgrep's libraries. Hidden files are searched,
//! ignore files honoured, binary files skipped, no user configuration is read. Memory is bounded by what may be shown.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, MmapChoice, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind,
    SinkMatch,
};
use ignore::overrides::OverrideBuilder;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::listing::{Listing, place};
use super::local::{LocalFiles, open_here};
use super::operations::{GrepOperations, OpError};
use super::truncate::{GREP_MAX_LINE_UNITS, truncate_line};
use super::walk::{root_problem, walker};
use super::{builtin_spec, not_cancelled, parse_args, paths, result_limit};
use crate::tool::{Tool, ToolCall, ToolError, ToolOutput, ToolSpec};

const DEFAULT_LIMIT: usize = 100;
/// Context lines around a match at most; more is a whole file, which `read` shows better.
const MAX_CONTEXT: usize = 10_000;
/// A longer line than this makes a file unsearchable, in bytes.
const HEAP_LIMIT: usize = 64 * 1024 * 1024;

/// `grep`.
pub struct GrepTool {
    spec: ToolSpec,
    operations: Option<Arc<dyn GrepOperations>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GrepArgs {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    ignore_case: Option<bool>,
    literal: Option<bool>,
    context: Option<f64>,
    limit: Option<f64>,
}

impl GrepTool {
    /// `operations` replaces the look at the path; the search always runs on this machine.
    pub fn new(operations: Option<Arc<dyn GrepOperations>>) -> Self {
        let mut spec = builtin_spec(
            "grep",
            "Search file contents for a regular expression or literal text. Prints path:line: text. Leaves out what \
             ignore files name. At most 100 matches or 50KB; long lines are cut after 500 characters.",
            json!({
                "type": "object",
                "required": ["pattern"],
                "properties": {
                    "pattern": {"type": "string", "description": "Regular expression, or literal text with literal"},
                    "path": {"type": "string", "description": "File or directory to search (the working directory by default)"},
                    "glob": {"type": "string", "description": "Only files that match this glob, e.g. '*.ts' or 'src/**/*.json'"},
                    "ignoreCase": {"type": "boolean", "description": "Ignore upper and lower case (false by default)"},
                    "literal": {"type": "boolean", "description": "Take pattern as literal text (false by default)"},
                    "context": {"type": "number", "description": "Lines to show before and after each match (0 by default)"},
                    "limit": {"type": "number", "description": "Matches at most (100 by default)"},
                },
            }),
        );
        spec.prompt_snippet = Some("search file contents (leaves out ignored files)".to_owned());
        spec.default_active = false;
        Self { spec, operations }
    }
}

#[async_trait]
impl Tool for GrepTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn execute(&self, call: ToolCall) -> Result<ToolOutput, ToolError> {
        let args: GrepArgs = parse_args(&self.spec.name, call.args)?;
        not_cancelled(&call.cancel)?;
        let (operations, path) = place::<dyn GrepOperations>(
            args.path.as_deref(),
            &call.context.cwd,
            self.operations.as_deref(),
            &LocalFiles,
        );
        // A search that nobody waits for any more stops at the next file.
        let stop = call.cancel.child_token();
        let _stop = stop.clone().drop_guard();
        let work = async {
            let is_dir =
                operations
                    .is_directory(&path)
                    .await
                    .map_err(|error| match &error.code {
                        Some(_) if !error.is_missing() => error.into(),
                        _ => ToolError::failed(format!("Path not found: {}", path.display())),
                    })?;
            let search = Search::new(&args, path.clone(), is_dir, stop)?;
            tokio::task::spawn_blocking(move || search.run())
                .await
                .map_err(|e| ToolError::failed(format!("The search failed: {e}")))?
        };
        tokio::select! {
            biased;
            () = call.cancel.cancelled() => Err(ToolError::Aborted),
            result = work => result,
        }
    }
}

struct Search {
    matcher: RegexMatcher,
    path: PathBuf,
    is_dir: bool,
    glob: Option<String>,
    context: usize,
    limit: usize,
    cancel: CancellationToken,
}

impl Search {
    fn new(
        args: &GrepArgs,
        path: PathBuf,
        is_dir: bool,
        cancel: CancellationToken,
    ) -> Result<Self, ToolError> {
        let matcher = RegexMatcherBuilder::new()
            .case_insensitive(args.ignore_case.unwrap_or(false))
            .fixed_strings(args.literal.unwrap_or(false))
            .multi_line(true)
            .line_terminator(Some(b'\n'))
            .build(&args.pattern)
            .map_err(|e| ToolError::failed(format!("Invalid search pattern: {e}")))?;
        Ok(Self {
            matcher,
            path,
            is_dir,
            glob: args.glob.clone().filter(|glob| !glob.is_empty()),
            context: args
                .context
                .map_or(0, |context| (context.max(0.0) as usize).min(MAX_CONTEXT)),
            limit: result_limit(args.limit, DEFAULT_LIMIT),
            cancel,
        })
    }

    fn run(self) -> Result<ToolOutput, ToolError> {
        let mut results = Results::new(self.limit);
        if self.is_dir {
            self.directory(&mut results)?;
        } else {
            let name = self.path.file_name().map_or_else(
                || self.path.to_string_lossy().into_owned(),
                |name| name.to_string_lossy().into_owned(),
            );
            // A file that was named is searched even if it is binary, up to its first match line.
            let mut searcher = self.searcher(BinaryDetection::convert(0));
            let searched = results.file(
                &mut searcher,
                &self.matcher,
                &self.path,
                &name,
                &self.cancel,
            );
            if !self.cancel.is_cancelled() {
                searched?;
            }
        }
        if self.cancel.is_cancelled() {
            return Err(ToolError::Aborted);
        }
        Ok(results.finish())
    }

    fn directory(&self, results: &mut Results) -> Result<(), ToolError> {
        let mut walk = walker(&self.path, ".rgignore")?;
        if let Some(glob) = &self.glob {
            let mut overrides = OverrideBuilder::new(&self.path);
            let overrides = overrides.add(glob).and_then(|builder| builder.build());
            walk.overrides(overrides.map_err(|e| ToolError::failed(format!("Invalid glob: {e}")))?);
        }
        let mut searcher = self.searcher(BinaryDetection::quit(0));
        for entry in walk.build() {
            if self.cancel.is_cancelled() || results.is_full() {
                break;
            }
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => match root_problem(&error, &self.path) {
                    Some(error) => return Err(error.into()),
                    // What cannot be read hides itself, not the rest.
                    None => continue,
                },
            };
            if !entry.file_type().is_some_and(|kind| kind.is_file()) {
                continue;
            }
            let name = paths::relative_display(entry.path(), &self.path);
            if let Err(error) = results.file(
                &mut searcher,
                &self.matcher,
                entry.path(),
                &name,
                &self.cancel,
            ) {
                tracing::debug!(file = %entry.path().display(), %error, "not searched");
            }
        }
        Ok(())
    }

    fn searcher(&self, binary: BinaryDetection) -> Searcher {
        SearcherBuilder::new()
            .line_number(true)
            .before_context(self.context)
            .after_context(self.context)
            .binary_detection(binary)
            .memory_map(MmapChoice::never())
            .heap_limit(Some(HEAP_LIMIT))
            .build()
    }
}

/// Lines found so far, as they are shown.
struct Results {
    list: Listing,
    matches: usize,
    limit: usize,
    lines_cut: bool,
}

impl Results {
    fn new(limit: usize) -> Self {
        Self {
            list: Listing::new(),
            matches: 0,
            limit,
            lines_cut: false,
        }
    }

    fn is_full(&self) -> bool {
        self.matches >= self.limit
    }

    fn file(
        &mut self,
        searcher: &mut Searcher,
        matcher: &RegexMatcher,
        path: &Path,
        name: &str,
        cancel: &CancellationToken,
    ) -> Result<(), OpError> {
        let source = Source {
            file: open_here(path)?,
            cancel,
        };
        let sink = FileSink {
            results: self,
            name,
            cancel,
            after_left: searcher.after_context(),
        };
        searcher
            .search_reader(matcher, source, sink)
            .map_err(|error| OpError::io(&error, "read", path))
    }

    fn line(&mut self, name: &str, separator: char, number: Option<u64>, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_end_matches(['\n', '\r']);
        let (text, cut) = truncate_line(text, GREP_MAX_LINE_UNITS);
        self.lines_cut |= cut;
        let number = number.unwrap_or_default();
        self.list
            .push(&format!("{name}{separator}{number}{separator} {text}"));
    }

    fn finish(mut self) -> ToolOutput {
        if self.matches == 0 {
            return ToolOutput::text("No matches found");
        }
        if self.is_full() {
            let advice = ", or refine pattern";
            self.list
                .limit_reached("matchLimitReached", "matches", self.limit, advice);
        }
        let cut = || {
            format!(
                "Some lines truncated to {GREP_MAX_LINE_UNITS} chars. Use read tool to see full lines"
            )
        };
        self.list
            .finish(self.lines_cut.then(|| ("linesTruncated", cut())))
    }
}

/// A file whose reading ends when nobody waits for the search any more.
struct Source<'a> {
    file: File,
    cancel: &'a CancellationToken,
}

impl Read for Source<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Err(std::io::Error::other("cancelled"));
        }
        self.file.read(buffer)
    }
}

/// Receives the matches of one file.
struct FileSink<'a> {
    results: &'a mut Results,
    name: &'a str,
    cancel: &'a CancellationToken,
    /// Context lines still wanted after the last match that counts.
    after_left: usize,
}

impl Sink for FileSink<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, searcher: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        if self.cancel.is_cancelled() {
            return Ok(false);
        }
        if self.results.is_full() {
            // Inside the context of the last match that counts, another match is just a line.
            return Ok(self.context_line(found.line_number(), found.bytes()));
        }
        self.results
            .line(self.name, ':', found.line_number(), found.bytes());
        self.results.matches += 1;
        self.after_left = searcher.after_context();
        Ok(!self.results.is_full() || self.after_left > 0)
    }

    fn context(
        &mut self,
        _searcher: &Searcher,
        context: &SinkContext<'_>,
    ) -> Result<bool, Self::Error> {
        if self.cancel.is_cancelled() {
            return Ok(false);
        }
        if self.results.is_full() {
            if *context.kind() == SinkContextKind::Before {
                return Ok(false);
            }
            return Ok(self.context_line(context.line_number(), context.bytes()));
        }
        self.results
            .line(self.name, '-', context.line_number(), context.bytes());
        Ok(true)
    }
}

impl FileSink<'_> {
    /// Shows one line after the last match; false when there are enough.
    fn context_line(&mut self, number: Option<u64>, bytes: &[u8]) -> bool {
        if self.after_left == 0 {
            return false;
        }
        self.results.line(self.name, '-', number, bytes);
        self.after_left -= 1;
        self.after_left > 0
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_search_in_a_huge_file_ends_when_it_is_cancelled() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        // A hole: takes no space, and hours to read.
        file.as_file_mut().set_len(1 << 40).unwrap();
        let args = serde_json::from_value(json!({"pattern": "needle"})).unwrap();
        let cancel = CancellationToken::new();
        let search = Search::new(&args, file.path().to_path_buf(), false, cancel.clone()).unwrap();
        let run = std::thread::spawn(move || search.run());
        std::thread::sleep(Duration::from_millis(20));
        cancel.cancel();
        assert!(matches!(run.join(), Ok(Err(ToolError::Aborted))));
    }
}
