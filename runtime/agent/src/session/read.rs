//! From the bytes of a session file to header and entries (spec/sessions.md §3.2). Reads, never writes.
//!
//! Work is linear in the size of the file: every line is looked at once, whatever it contains.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use pier_protocol::entry::{SESSION_VERSION, SessionHeader};

use super::error::{SessionError, SessionWarning};
use super::migrate;
use super::scan::{self, Scanned};
use super::stored::{EntryRef, Line, StoredEntry};

/// A file beyond this is refused: it would be held in memory as a whole.
const MAX_SESSION_BYTES: u64 = 2 * 1024 * 1024 * 1024;

/// Text of a whole file.
#[derive(Debug)]
pub(super) struct FileText {
    pub(super) text: Arc<String>,
    /// Where the first bytes that are not UTF-8 are, if any.
    invalid_at: Option<usize>,
    /// Size in bytes on disk.
    pub(super) size: u64,
    /// Bytes behind the last line end; empty when the file ends in one.
    pub(super) tail: Vec<u8>,
}

/// How a file ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tail {
    Clean,
    /// The last line is whole but has no line end.
    Unterminated,
    /// The last line was cut off.
    Torn,
}

/// A file's content.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) header: SessionHeader,
    pub(super) entries: Vec<EntryRef>,
    pub(super) tail: Tail,
    pub(super) warnings: Vec<SessionWarning>,
}

/// Opens a path for reading.
///
/// # Errors
/// No such file, no permission, or not a regular file. Pipes and devices are refused before they are
/// opened, because opening or reading one could wait for ever.
pub(super) fn open_regular(path: &Path) -> Result<File, SessionError> {
    require_regular(path)?;
    File::open(path).map_err(SessionError::io("open session file", path))
}

/// # Errors
/// As [`open_regular`].
pub(super) fn require_regular(path: &Path) -> Result<(), SessionError> {
    let metadata = std::fs::metadata(path).map_err(SessionError::io("open session file", path))?;
    if metadata.is_file() {
        Ok(())
    } else {
        Err(SessionError::NotAFile {
            path: path.to_owned(),
        })
    }
}

/// Reads a file to its end.
///
/// # Errors
/// The file is too large or cannot be read.
pub(super) fn read_text(path: &Path, file: &File) -> Result<FileText, SessionError> {
    let io = |source: io::Error| SessionError::Io {
        action: "read session file",
        path: path.to_owned(),
        source,
    };
    let size = file.metadata().map_err(io)?.len();
    if size > MAX_SESSION_BYTES {
        return Err(SessionError::TooLarge {
            path: path.to_owned(),
            size,
            limit: MAX_SESSION_BYTES,
        });
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    // The file may grow while it is read; what came later is not ours.
    file.take(size).read_to_end(&mut bytes).map_err(io)?;
    Ok(FileText::new(bytes))
}

impl FileText {
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        let size = bytes.len() as u64;
        let tail_start = bytes
            .iter()
            .rposition(|b| *b == b'\n')
            .map_or(0, |at| at + 1);
        let tail = bytes.get(tail_start..).unwrap_or_default().to_vec();
        let (text, invalid_at) = match String::from_utf8(bytes) {
            Ok(text) => (text, None),
            Err(error) => {
                let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
                (text, Some(error.utf8_error().valid_up_to()))
            }
        };
        FileText {
            text: Arc::new(text),
            invalid_at,
            size,
            tail,
        }
    }

    /// Whether bytes that are not UTF-8 were replaced; a torn last line may end inside a character and
    /// does not count.
    pub(super) fn is_lossy(&self, tail: Tail) -> bool {
        let counted = match tail {
            Tail::Torn => self.size - self.tail.len() as u64,
            Tail::Clean | Tail::Unterminated => self.size,
        };
        self.invalid_at.is_some_and(|at| (at as u64) < counted)
    }

    /// Line ranges without line ends, with their numbers from 1. A byte order mark is passed over.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, Range<usize>)> + '_ {
        let mut at = if self.text.starts_with('\u{feff}') {
            '\u{feff}'.len_utf8()
        } else {
            0
        };
        self.text
            .get(at..)
            .unwrap_or_default()
            .split_terminator('\n')
            .enumerate()
            .map(move |(n, line)| {
                let range = at..at + line.len();
                at = range.end + 1;
                (n + 1, range)
            })
    }

    fn slice(&self, range: &Range<usize>) -> &str {
        self.text.get(range.clone()).unwrap_or_default()
    }
}

/// Finds the header of a file.
///
/// # Errors
/// [`SessionError::NotASession`] when the first line that is JSON is not a header.
pub(super) fn read_header(path: &Path, text: &FileText) -> Result<SessionHeader, SessionError> {
    let invalid = || SessionError::NotASession {
        path: path.to_owned(),
    };
    for (_, range) in text.lines() {
        match header_of_line(text.slice(&range)) {
            HeaderLine::Header(header) => return Ok(*header),
            HeaderLine::Skip => {}
            HeaderLine::Other => return Err(invalid()),
        }
    }
    Err(invalid())
}

/// What a line means for the search for the header.
pub(super) enum HeaderLine {
    Header(Box<SessionHeader>),
    /// Blank or not JSON.
    Skip,
    /// JSON that is no header: the file is no session.
    Other,
}

pub(super) fn header_of_line(line: &str) -> HeaderLine {
    match scan::scan(line) {
        Scanned::NotJson => HeaderLine::Skip,
        Scanned::Object(head)
            if head.entry_type.as_deref() == Some("session") && head.id.is_some() =>
        {
            match scan::parse_json(line) {
                Ok(header) => HeaderLine::Header(Box::new(header)),
                Err(_) => HeaderLine::Other,
            }
        }
        _ => HeaderLine::Other,
    }
}

/// Reads all entries of a file of the current version (or a newer one).
///
/// # Errors
/// As [`read_header`].
pub(super) fn parse(path: &Path, text: &FileText) -> Result<Loaded, SessionError> {
    let header = read_header(path, text)?;
    let mut entries: Vec<EntryRef> = Vec::with_capacity(text.text.len() / 512);
    let mut warnings = Vec::new();
    let mut tail = if text.tail.is_empty() {
        Tail::Clean
    } else {
        Tail::Unterminated
    };
    let (mut seen_header, mut skipped, mut first_skipped) = (false, 0, 0);
    for (number, range) in text.lines() {
        let line = text.slice(&range);
        if line.trim().is_empty() {
            continue;
        }
        let is_last = range.end == text.text.len();
        match scan::scan(line) {
            // Everything before the header is not JSON.
            Scanned::Object(_) if !seen_header => seen_header = true,
            Scanned::Object(head) if head.id.is_some() => {
                let id = head.id.as_deref().unwrap_or_default();
                let part = Line::Part {
                    file: text.text.clone(),
                    range,
                };
                entries.push(Arc::new(StoredEntry::from_line(part, &head, id)));
            }
            Scanned::NotJson if is_last && tail == Tail::Unterminated => tail = Tail::Torn,
            _ => {
                if skipped == 0 {
                    first_skipped = number;
                }
                skipped += 1;
            }
        }
    }
    if text.is_lossy(tail) {
        warnings.push(SessionWarning::InvalidUtf8 {
            path: path.to_owned(),
        });
    }
    if skipped > 0 {
        let path = path.to_owned();
        warnings.push(SessionWarning::SkippedLines {
            path,
            count: skipped,
            first_line: first_skipped,
        });
    }
    warnings.extend(duplicate_ids(path, &entries));
    Ok(Loaded {
        header,
        entries,
        tail,
        warnings,
    })
}

fn duplicate_ids(path: &Path, entries: &[EntryRef]) -> Option<SessionWarning> {
    let mut seen = HashSet::with_capacity(entries.len());
    let repeated: Vec<&str> = entries
        .iter()
        .map(|entry| entry.id())
        .filter(|id| !seen.insert(*id))
        .collect();
    let first = (*repeated.first()?).to_owned();
    Some(SessionWarning::DuplicateIds {
        path: path.to_owned(),
        count: repeated.len(),
        first,
    })
}

/// Reads a file of any version without changing it; an older one is migrated in memory.
///
/// # Errors
/// As [`open_regular`], [`read_text`] and [`read_header`].
pub(super) fn load_read_only(path: &Path) -> Result<Loaded, SessionError> {
    let text = read_text(path, &open_regular(path)?)?;
    let header = read_header(path, &text)?;
    if header.effective_version() >= SESSION_VERSION {
        let mut loaded = parse(path, &text)?;
        if loaded.tail == Tail::Torn {
            loaded.warnings.push(SessionWarning::TornLine {
                path: path.to_owned(),
                bytes: text.tail.len() as u64,
                kept_in: None,
            });
        }
        return Ok(loaded);
    }
    let migrated = migrate::migrate(&text, header.effective_version());
    parse(path, &FileText::new(migrated.into_bytes()))
}
