//! Cutting tool output down to what a model may see, and saying what was cut (`spec/agent-loop.md` §10).
//! Pure text functions: nothing here reads a file, waits or fails.

use serde::{Deserialize, Serialize};

/// Lines a tool result holds at most.
pub const DEFAULT_MAX_LINES: usize = 2000;
/// UTF-8 bytes a tool result holds at most (50 KiB).
pub const DEFAULT_MAX_BYTES: usize = 51200;
/// UTF-16 units of one `grep` line that are shown.
pub const GREP_MAX_LINE_UNITS: usize = 500;
/// "No limit" in a form that survives JSON numbers on the JavaScript side (2^53 - 1).
pub const UNLIMITED: usize = 9_007_199_254_740_991;

const LINE_CUT_MARK: &str = "... [truncated]";

/// Which limit decided where the text was cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TruncatedBy {
    Lines,
    Bytes,
}

/// Limits of one truncation: lines and UTF-8 bytes, whichever is hit first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub max_lines: usize,
    pub max_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_lines: DEFAULT_MAX_LINES,
            max_bytes: DEFAULT_MAX_BYTES,
        }
    }
}

impl Limits {
    /// Only the byte limit counts; for tools that have a result limit of their own.
    pub fn bytes_only() -> Self {
        Self {
            max_lines: UNLIMITED,
            max_bytes: DEFAULT_MAX_BYTES,
        }
    }
}

/// What was kept of a text and how much there was. Sizes are UTF-8 bytes; a trailing LF counts
/// as a byte but not as a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Truncation {
    pub content: String,
    pub truncated: bool,
    pub truncated_by: Option<TruncatedBy>,
    pub total_lines: usize,
    pub total_bytes: usize,
    pub output_lines: usize,
    pub output_bytes: usize,
    /// Tail only: the single kept line lost its beginning.
    pub last_line_partial: bool,
    /// Head only: not even the first line fits, so nothing is kept.
    pub first_line_exceeds_limit: bool,
    pub max_lines: usize,
    pub max_bytes: usize,
}

impl Truncation {
    fn whole(text: String, total_lines: usize, limits: Limits) -> Self {
        let bytes = text.len();
        Self {
            content: text,
            truncated: false,
            truncated_by: None,
            total_lines,
            total_bytes: bytes,
            output_lines: total_lines,
            output_bytes: bytes,
            last_line_partial: false,
            first_line_exceeds_limit: false,
            max_lines: limits.max_lines,
            max_bytes: limits.max_bytes,
        }
    }
}

/// Lines of `text`; a trailing LF ends the last line and starts none.
pub fn count_lines(text: &str) -> usize {
    let breaks = text.bytes().filter(|b| *b == b'\n').count();
    breaks + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

/// Keeps whole lines from the start of `text`.
pub fn truncate_head(text: &str, limits: Limits) -> Truncation {
    let mut head = HeadCapture::new(limits);
    head.push(text);
    head.finish()
}

/// Keeps whole lines from the end of `text`; a last line longer than the byte limit loses its beginning.
pub fn truncate_tail(text: &str, limits: Limits) -> Truncation {
    let total_lines = count_lines(text);
    if total_lines <= limits.max_lines && text.len() <= limits.max_bytes {
        return Truncation::whole(text.to_owned(), total_lines, limits);
    }
    let body = text.strip_suffix('\n').unwrap_or(text);
    let mut start = body.len();
    let mut lines = 0;
    // If only the final line feed does not fit, all lines are kept; pi calls that a cut by lines, and callers compare.
    let mut by = TruncatedBy::Lines;
    let mut partial = false;
    loop {
        if lines >= limits.max_lines {
            break;
        }
        // The line before `start`, without the LF that separates it from what is already kept.
        let line_end = if lines == 0 { start } else { start - 1 };
        let line_start = body[..line_end].rfind('\n').map_or(0, |at| at + 1);
        if body.len() - line_start > limits.max_bytes {
            by = TruncatedBy::Bytes;
            if lines == 0 {
                start = ceil_char_boundary(body, body.len() - limits.max_bytes);
                lines = 1;
                partial = true;
            }
            break;
        }
        start = line_start;
        lines += 1;
        if start == 0 {
            break;
        }
    }
    let content = body[start..].to_owned();
    Truncation {
        truncated: true,
        truncated_by: Some(by),
        total_lines,
        total_bytes: text.len(),
        output_lines: lines,
        output_bytes: content.len(),
        content,
        last_line_partial: partial,
        first_line_exceeds_limit: false,
        max_lines: limits.max_lines,
        max_bytes: limits.max_bytes,
    }
}

/// Cuts one line after `max_units` UTF-16 units, never inside a character. The flag tells whether it was cut.
pub fn truncate_line(line: &str, max_units: usize) -> (String, bool) {
    let mut units = 0;
    for (at, c) in line.char_indices() {
        units += c.len_utf16();
        if units > max_units {
            return (format!("{}{LINE_CUT_MARK}", &line[..at]), true);
        }
    }
    (line.to_owned(), false)
}

/// A byte count for people: `512B`, `1.5KB`, `2.0MB`.
pub fn format_size(bytes: usize) -> String {
    // Integer arithmetic, because float formatting rounds ties differently from JavaScript's `toFixed`.
    fn tenths(bytes: usize, unit: usize) -> String {
        let tenths = (bytes as u128 * 10 + unit as u128 / 2) / unit as u128;
        format!("{}.{}", tenths / 10, tenths % 10)
    }
    const KIB: usize = 1024;
    const MIB: usize = 1024 * 1024;
    if bytes < KIB {
        format!("{bytes}B")
    } else if bytes < MIB {
        format!("{}KB", tenths(bytes, KIB))
    } else {
        format!("{}MB", tenths(bytes, MIB))
    }
}

/// First character boundary at or after `at`.
pub(crate) fn ceil_char_boundary(text: &str, mut at: usize) -> usize {
    while at < text.len() && !text.is_char_boundary(at) {
        at += 1;
    }
    at.min(text.len())
}

/// Last character boundary at or before `at`.
pub(crate) fn floor_char_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// [`truncate_head`] over text that arrives in pieces, in memory bounded by the limits.
#[derive(Debug)]
pub struct HeadCapture {
    limits: Limits,
    /// A prefix of everything pushed: all of it, or just more than the limits need.
    prefix: String,
    prefix_breaks: usize,
    total_bytes: usize,
    breaks: usize,
    ends_with_break: bool,
    first_line_bytes: usize,
}

impl HeadCapture {
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            prefix: String::new(),
            prefix_breaks: 0,
            total_bytes: 0,
            breaks: 0,
            ends_with_break: false,
            first_line_bytes: 0,
        }
    }

    /// Adds the next piece of the text.
    pub fn push(&mut self, piece: &str) {
        if piece.is_empty() {
            return;
        }
        if self.breaks == 0 {
            self.first_line_bytes += piece.find('\n').unwrap_or(piece.len());
        }
        // The prefix must stay contiguous: once a piece was left out, nothing more is added.
        if self.prefix.len() == self.total_bytes {
            self.extend_prefix(piece);
        }
        self.total_bytes += piece.len();
        self.breaks += piece.bytes().filter(|b| *b == b'\n').count();
        self.ends_with_break = piece.ends_with('\n');
    }

    fn extend_prefix(&mut self, piece: &str) {
        let room = self
            .limits
            .max_bytes
            .saturating_add(1)
            .saturating_sub(self.prefix.len());
        let mut end = ceil_char_boundary(piece, room.min(piece.len()));
        for (at, _) in piece[..end].match_indices('\n') {
            self.prefix_breaks += 1;
            if self.prefix_breaks > self.limits.max_lines {
                end = at + 1;
                break;
            }
        }
        self.prefix.push_str(&piece[..end]);
    }

    /// Size in bytes of the first line, kept or not.
    pub fn first_line_bytes(&self) -> usize {
        self.first_line_bytes
    }

    pub fn finish(self) -> Truncation {
        let limits = self.limits;
        let total_lines = self.breaks + usize::from(self.total_bytes > 0 && !self.ends_with_break);
        if total_lines <= limits.max_lines && self.total_bytes <= limits.max_bytes {
            return Truncation::whole(self.prefix, total_lines, limits);
        }
        let mut result = Truncation {
            content: String::new(),
            truncated: true,
            // As in `truncate_tail`.
            truncated_by: Some(TruncatedBy::Lines),
            total_lines,
            total_bytes: self.total_bytes,
            output_lines: 0,
            output_bytes: 0,
            last_line_partial: false,
            first_line_exceeds_limit: false,
            max_lines: limits.max_lines,
            max_bytes: limits.max_bytes,
        };
        if self.first_line_bytes > limits.max_bytes {
            result.first_line_exceeds_limit = true;
            result.truncated_by = Some(TruncatedBy::Bytes);
            return result;
        }
        let mut end = 0;
        let mut next = 0;
        while next < self.prefix.len() {
            if result.output_lines >= limits.max_lines {
                break;
            }
            let line_end = self.prefix[next..]
                .find('\n')
                .map_or(self.prefix.len(), |at| next + at);
            if line_end > limits.max_bytes {
                break;
            }
            end = line_end;
            next = line_end + 1;
            result.output_lines += 1;
        }
        if result.output_lines < total_lines.min(limits.max_lines) {
            result.truncated_by = Some(TruncatedBy::Bytes);
        }
        result.content = self.prefix;
        result.content.truncate(end);
        result.output_bytes = end;
        result
    }
}
