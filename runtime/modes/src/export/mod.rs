//! Sessions as self-contained HTML pages (`spec/rpc.md` §3.6 `export_html`, `--export`).
//!
//! The page loads nothing and runs nothing. Every text of the session is escaped.

mod html;

use std::path::{Path, PathBuf};

use pier_agent::session::EntryRef;
use pier_protocol::entry::SessionHeader;
use pier_protocol::message::Message;

/// Where the page goes: the given path as it is, or a name made from the session file's in the
/// process's working directory.
pub(crate) fn target(given: Option<&str>, session_file: &Path) -> PathBuf {
    match given {
        Some(path) => crate::paths::expand(path, Path::new("")),
        None => {
            let stem = session_file.file_stem().unwrap_or_default().to_string_lossy();
            PathBuf::from(format!("pier-session-{stem}.html"))
        }
    }
}

/// The page for one branch, root to leaf, or `None` when no message is in it.
pub(crate) fn page(header: &SessionHeader, entries: &[EntryRef]) -> Option<String> {
    let mut body = String::new();
    for entry in entries {
        match entry.message() {
            Some(message) if !matches!(**message, Message::System(_)) => html::message(&mut body, message),
            Some(_) => {}
            None => html::entry(&mut body, entry.body()),
        }
    }
    (!body.is_empty()).then(|| html::document(header, &body))
}
