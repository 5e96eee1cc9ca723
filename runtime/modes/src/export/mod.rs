//! Sessions as self-contained HTML pages (`spec/rpc.md` §3.6 `export_html`, `--export`).
//!
//! The page loads nothing and runs nothing. Every text of the session is escaped.

mod html;

use std::path::{Path, PathBuf};

use pier_agent::session::{EntryRef, SessionDirs, SessionManager, SessionOptions, find_session};
use pier_protocol::entry::SessionHeader;
use pier_protocol::message::Message;

/// Where the page goes: the given path as it is, or a name made from the session file's in the
/// process's working directory.
pub(crate) fn target(given: Option<&str>, session_file: &Path) -> PathBuf {
    match given {
        Some(path) => crate::paths::expand(path, Path::new("")),
        None => {
            let stem = session_file
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy();
            PathBuf::from(format!("pier-session-{stem}.html"))
        }
    }
}

/// The page for one branch, root to leaf, or `None` when no message is in it.
pub(crate) fn page(header: &SessionHeader, entries: &[EntryRef]) -> Option<String> {
    let mut body = String::new();
    for entry in entries {
        match entry.message() {
            Some(message) if !matches!(**message, Message::System(_)) => {
                html::message(&mut body, message)
            }
            Some(_) => {}
            None => html::entry(&mut body, entry.body()),
        }
    }
    (!body.is_empty()).then(|| html::document(header, &body))
}

/// `--export`: writes the page of a session file, named by path or id. Returns where it is.
///
/// # Errors
/// A sentence that names the session or the page.
pub fn session(
    query: &str,
    output: Option<&str>,
    cwd: &Path,
    agent_dir: &Path,
) -> Result<PathBuf, String> {
    let dirs = SessionDirs::new(cwd, agent_dir);
    let found = find_session(&dirs, query, crate::paths::home().as_deref())
        .map_err(|error| error.to_string())?;
    // Opening a path that does not exist would begin a session there.
    if !found.path.is_file() {
        return Err(format!("Session file not found: {}", found.path.display()));
    }
    let session = SessionManager::open(&found.path, &SessionOptions::new(dirs))
        .map_err(|error| error.to_string())?;
    let path = target(output, &found.path);
    let page = page(&session.header(), &session.get_branch(None))
        .ok_or("There is no message in this session")?;
    std::fs::write(&path, page)
        .map_err(|error| format!("Cannot write {}: {error}", path.display()))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{session, target};

    #[test]
    fn the_page_is_named_after_the_session_unless_a_name_is_given() {
        assert_eq!(
            target(None, Path::new("/s/2026_abc.jsonl")),
            Path::new("pier-session-2026_abc.html")
        );
        assert_eq!(
            target(Some("x/page.html"), Path::new("/s/a.jsonl")),
            Path::new("x/page.html")
        );
    }

    #[test]
    fn a_session_file_becomes_a_page() {
        let dir = tempfile::tempdir().expect("dir");
        let file = dir.path().join("s.jsonl");
        let lines = [
            r#"{"type":"session","version":3,"id":"abc","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}"#,
            r#"{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":[{"type":"text","text":"a < b"}],"timestamp":1}}"#,
        ];
        std::fs::write(&file, lines.join("\n") + "\n").expect("write");
        let page = dir.path().join("page.html");
        let written = session(
            file.to_str().expect("text"),
            page.to_str(),
            dir.path(),
            dir.path(),
        )
        .expect("exports");
        let text = std::fs::read_to_string(written).expect("read");
        assert!(
            text.contains("a &lt; b") && text.contains("Session abc"),
            "{text}"
        );
        assert!(session("/nowhere/x.jsonl", None, dir.path(), dir.path()).is_err());
    }
}
