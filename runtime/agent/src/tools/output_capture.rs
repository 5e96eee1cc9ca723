//! Output of a command, however long, in bounded memory: the tail a model sees, a copy of everything in a temporary
//! file once something was cut, and both ends for structured results (`spec/agent-loop.md` §10, "bash").
//! Knows nothing about processes.

use std::path::PathBuf;

use tokio::fs::File;
use tokio::io::AsyncWriteExt;

use super::truncate::{
    Limits, TruncatedBy, Truncation, ceil_char_boundary, floor_char_boundary, format_size,
    truncate_tail,
};

/// Bytes of output that a structured result holds at most; more is cut in the middle.
pub const STRUCTURED_MAX_BYTES: usize = 1024 * 1024;
/// Bytes kept from the start, and at least kept from the end.
const END_BYTES: usize = STRUCTURED_MAX_BYTES / 2;
/// Room for the text that stands for the middle.
const MARK_BYTES: usize = 64;

/// Collects decoded text and the raw bytes it came from.
#[derive(Debug)]
pub struct OutputCapture {
    limits: Limits,
    head: String,
    /// Everything up to [`STRUCTURED_MAX_BYTES`], later at least the last [`END_BYTES`].
    tail: String,
    total_bytes: usize,
    breaks: usize,
    ends_with_break: bool,
    line_bytes: usize,
    last_line_bytes: usize,
    spill: Spill,
}

#[derive(Debug)]
enum Spill {
    /// All raw bytes so far, at most about one limit's worth.
    Memory(Vec<u8>),
    File {
        file: File,
        path: PathBuf,
    },
    /// The copy could not be written; holds the reason.
    Lost(String),
}

/// Where the uncut output is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FullOutput {
    /// Nothing was cut.
    NotNeeded,
    At(PathBuf),
    /// Something was cut, but the copy could not be written.
    Lost(String),
}

impl FullOutput {
    pub fn path(&self) -> Option<&PathBuf> {
        match self {
            Self::At(path) => Some(path),
            _ => None,
        }
    }
}

impl OutputCapture {
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            head: String::new(),
            tail: String::new(),
            total_bytes: 0,
            breaks: 0,
            ends_with_break: false,
            line_bytes: 0,
            last_line_bytes: 0,
            spill: Spill::Memory(Vec::new()),
        }
    }

    /// Adds text and the raw bytes that belong in the copy of the full output.
    pub async fn push(&mut self, text: &str, raw: &[u8]) {
        self.add_text(text);
        match &mut self.spill {
            Spill::Memory(bytes) => {
                bytes.extend_from_slice(raw);
                if self.exceeds_limits() {
                    self.open_spill().await;
                }
            }
            Spill::File { file, path } => {
                if let Err(error) = file.write_all(raw).await {
                    let reason = format!("cannot write {}: {error}", path.display());
                    self.spill = Spill::Lost(reason);
                }
            }
            Spill::Lost(_) => {}
        }
    }

    fn add_text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if self.head.len() < END_BYTES {
            let end = floor_char_boundary(text, END_BYTES - self.head.len());
            // The head must stay contiguous; a character that does not fit ends it.
            if self.head.len() == self.total_bytes {
                self.head.push_str(&text[..end]);
            }
        }
        self.tail.push_str(text);
        if self.tail.len() > STRUCTURED_MAX_BYTES {
            let cut = ceil_char_boundary(&self.tail, self.tail.len() - END_BYTES);
            self.tail.drain(..cut);
        }
        self.total_bytes += text.len();
        for piece in text.split_inclusive('\n') {
            self.line_bytes += piece.trim_end_matches('\n').len();
            self.last_line_bytes = self.line_bytes;
            if piece.ends_with('\n') {
                self.breaks += 1;
                self.line_bytes = 0;
            }
        }
        self.ends_with_break = text.ends_with('\n');
    }

    async fn open_spill(&mut self) {
        let Spill::Memory(bytes) = std::mem::replace(&mut self.spill, Spill::Lost(String::new()))
        else {
            return;
        };
        self.spill = match create_spill_file(&bytes).await {
            Ok((file, path)) => Spill::File { file, path },
            Err(error) => Spill::Lost(format!("cannot create a temporary file: {error}")),
        };
    }

    fn total_lines(&self) -> usize {
        self.breaks + usize::from(self.total_bytes > 0 && !self.ends_with_break)
    }

    fn exceeds_limits(&self) -> bool {
        self.total_bytes > self.limits.max_bytes || self.total_lines() > self.limits.max_lines
    }

    /// The tail so far, with the totals of everything so far.
    pub fn snapshot(&self) -> Truncation {
        let mut tail = truncate_tail(&self.tail, self.limits);
        tail.total_bytes = self.total_bytes;
        tail.total_lines = self.total_lines();
        if self.exceeds_limits() && !tail.truncated {
            // Only the LF at the very end is over the limit of what is left.
            tail.truncated = true;
            tail.truncated_by = Some(TruncatedBy::Bytes);
        }
        tail
    }

    pub fn full_output(&self) -> FullOutput {
        match &self.spill {
            Spill::Memory(_) => FullOutput::NotNeeded,
            Spill::File { path, .. } => FullOutput::At(path.clone()),
            Spill::Lost(reason) => FullOutput::Lost(reason.clone()),
        }
    }

    /// Makes sure that the copy is complete on disk.
    pub async fn flush(&mut self) {
        if let Spill::File { file, path } = &mut self.spill
            && let Err(error) = file.flush().await
        {
            let reason = format!("cannot write {}: {error}", path.display());
            self.spill = Spill::Lost(reason);
        }
    }

    /// All output up to [`STRUCTURED_MAX_BYTES`]; longer output loses its middle. The flag tells which.
    pub fn structured(&self) -> (String, bool) {
        if self.total_bytes == self.tail.len() {
            return (self.tail.clone(), false);
        }
        let head = &self.head[..floor_char_boundary(&self.head, END_BYTES - MARK_BYTES)];
        let tail =
            &self.tail[ceil_char_boundary(&self.tail, self.tail.len().saturating_sub(END_BYTES))..];
        let cut = self.total_bytes - head.len() - tail.len();
        (format!("{head}\n[... {cut} bytes cut ...]\n{tail}"), true)
    }

    /// The bracketed line that tells a model what it does not see; `None` if it sees everything.
    pub fn notice(&self, shown: &Truncation) -> Option<String> {
        if !shown.truncated {
            return None;
        }
        let full = match self.full_output() {
            FullOutput::At(path) => path.display().to_string(),
            FullOutput::Lost(reason) => format!("not available ({reason})"),
            FullOutput::NotNeeded => "not available".to_owned(),
        };
        let last = shown.total_lines;
        if shown.last_line_partial {
            return Some(format!(
                "[Showing last {} of line {last} (line is {}). Full output: {full}]",
                format_size(shown.output_bytes),
                format_size(self.last_line_bytes),
            ));
        }
        let first = last + 1 - shown.output_lines.min(last);
        let limit = match shown.truncated_by {
            Some(TruncatedBy::Bytes) => format!(" ({} limit)", format_size(shown.max_bytes)),
            _ => String::new(),
        };
        Some(format!(
            "[Showing lines {first}-{last} of {last}{limit}. Full output: {full}]"
        ))
    }
}

async fn create_spill_file(bytes: &[u8]) -> std::io::Result<(File, PathBuf)> {
    let (file, path) = tempfile::Builder::new()
        .prefix("pier-bash-")
        .suffix(".log")
        .tempfile()?
        .keep()
        .map_err(|e| e.error)?;
    let mut file = File::from_std(file);
    file.write_all(bytes).await?;
    Ok((file, path))
}
