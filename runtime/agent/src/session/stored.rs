//! An entry as it lies in the file: its line, the members every reader needs, and the typed view made on demand.
//!
//! The line is the truth. A typed view is never written back, so nothing a reader does not know gets lost.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use pier_protocol::entry::{EntryBody, SessionEntry, UnknownEntry};
use pier_protocol::message::Message;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::scan::{self, Head};

/// Shared, immutable.
pub type EntryRef = Arc<StoredEntry>;

/// One entry.
#[derive(Debug)]
pub struct StoredEntry {
    line: Line,
    id: Arc<str>,
    parent_id: Option<Arc<str>>,
    timestamp: Box<str>,
    entry_type: Cow<'static, str>,
    typed: OnceLock<Arc<SessionEntry>>,
}

/// Text of a line without its line end: a part of the loaded file, or text of its own.
#[derive(Debug, Clone)]
pub(super) enum Line {
    Part {
        file: Arc<String>,
        range: Range<usize>,
    },
    Own(Box<str>),
}

impl Line {
    pub(super) fn as_str(&self) -> &str {
        match self {
            Line::Part { file, range } => &file[range.clone()],
            Line::Own(text) => text,
        }
    }
}

impl StoredEntry {
    /// An entry from a scanned line; `id` is the line's id.
    pub(super) fn from_line(line: Line, head: &Head<'_>, id: &str) -> Self {
        StoredEntry {
            id: Arc::from(id),
            parent_id: head.parent_id.as_deref().map(Arc::from),
            timestamp: head.timestamp.as_deref().unwrap_or_default().into(),
            entry_type: intern(head.entry_type.as_deref().unwrap_or_default()),
            typed: OnceLock::new(),
            line,
        }
    }

    /// An entry that was made here.
    ///
    /// # Errors
    /// When the entry has no JSON form.
    pub(super) fn from_entry(entry: SessionEntry) -> Result<Self, serde_json::Error> {
        let line = serde_json::to_string(&entry)?;
        Ok(StoredEntry {
            id: Arc::from(entry.id.as_str()),
            parent_id: entry.parent_id.as_deref().map(Arc::from),
            timestamp: entry.timestamp.as_str().into(),
            entry_type: intern(entry.entry_type()),
            typed: OnceLock::from(Arc::new(entry)),
            line: Line::Own(line.into()),
        })
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    /// The id as shared text.
    pub fn shared_id(&self) -> &Arc<str> {
        &self.id
    }

    pub fn parent_id(&self) -> Option<&str> {
        self.parent_id.as_deref()
    }

    /// ISO-8601; empty when the line has none.
    pub fn timestamp(&self) -> &str {
        &self.timestamp
    }

    /// Milliseconds since the epoch; zero when the timestamp cannot be read.
    pub fn timestamp_millis(&self) -> i64 {
        super::ids::millis_from_iso(&self.timestamp).unwrap_or(0)
    }

    /// The `type` member; empty when the line has none.
    pub fn entry_type(&self) -> &str {
        &self.entry_type
    }

    /// The JSON text of the entry exactly as it is in the file, without a line end.
    pub fn json(&self) -> &str {
        self.line.as_str()
    }

    /// The typed view, parsed at the first call.
    pub fn entry(&self) -> &Arc<SessionEntry> {
        self.typed.get_or_init(|| Arc::new(self.parse()))
    }

    /// The body of the typed view.
    pub fn body(&self) -> &EntryBody {
        &self.entry().body
    }

    /// The message of a `message` entry.
    pub fn message(&self) -> Option<&Arc<Message>> {
        if self.entry_type != "message" {
            return None;
        }
        self.entry().message()
    }

    fn parse(&self) -> SessionEntry {
        let problem = match scan::parse_json::<SessionEntry>(self.json()) {
            Ok(entry) => return entry,
            Err(error) => error.to_string(),
        };
        // Valid JSON that has no value here, such as a number too large for a double or nesting deeper
        // than any message has. It stays in the file and contributes nothing.
        SessionEntry {
            id: self.id.to_string(),
            parent_id: self.parent_id.as_deref().map(str::to_owned),
            timestamp: self.timestamp.to_string(),
            body: EntryBody::Unknown(UnknownEntry {
                entry_type: self.entry_type.to_string(),
                members: serde_json::Map::new(),
                problem: Some(problem),
            }),
        }
    }
}

impl Serialize for StoredEntry {
    /// Writes the line as it is.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serde_json::from_str::<&RawValue>(self.json())
            .map_err(serde::ser::Error::custom)?
            .serialize(serializer)
    }
}

/// Known type names need no allocation.
fn intern(entry_type: &str) -> Cow<'static, str> {
    const KNOWN: [&str; 11] = [
        "message",
        "custom",
        "custom_message",
        "model_change",
        "thinking_level_change",
        "compaction",
        "branch_summary",
        "context_edit",
        "label",
        "session_info",
        "usage",
    ];
    match KNOWN.iter().find(|known| **known == entry_type) {
        Some(known) => Cow::Borrowed(known),
        None => Cow::Owned(entry_type.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(text: &str) -> StoredEntry {
        let head = scan::head(text).unwrap();
        StoredEntry::from_line(Line::Own(text.into()), &head, head.id.as_deref().unwrap())
    }

    #[test]
    fn the_line_is_given_back_byte_for_byte() {
        let text = r#"{ "type":"later", "id":"a","parentId":null,  "n": 1.50, "n": 12345678901234567890123 }"#;
        let entry = stored(text);
        assert_eq!(entry.json(), text);
        assert_eq!(serde_json::to_string(&entry).unwrap(), text);
        assert_eq!(entry.entry_type(), "later");
        assert_eq!(entry.parent_id(), None);
    }

    #[test]
    fn json_without_a_value_here_stays_opaque() {
        let deep = format!(
            r#"{{"type":"message","id":"a","parentId":null,"timestamp":"t","message":{}{}}}"#,
            "[".repeat(5000),
            "]".repeat(5000)
        );
        let entry = stored(&deep);
        assert!(entry.message().is_none());
        let EntryBody::Unknown(unknown) = entry.body() else {
            panic!()
        };
        assert_eq!(unknown.entry_type, "message");
        assert!(unknown.problem.is_some());
        assert_eq!(entry.json(), deep);
    }

    #[test]
    fn lone_surrogates_are_read_as_replacement_characters() {
        let entry = stored(
            r#"{"type":"message","id":"a","parentId":null,"timestamp":"t","message":{"role":"user","content":"x\ud83dy\ud83d\ude00\\ud83d","timestamp":1}}"#,
        );
        assert_eq!(
            entry.message().unwrap().text(),
            "x\u{fffd}y\u{1f600}\\ud83d"
        );
        assert!(entry.json().contains(r"\ud83dy"));
    }
}
