//! Listing session files: headers only for look-ups, whole files for pickers (spec/sessions.md §6).
//! Read-only; a file that cannot be read is left out.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use pier_protocol::entry::{EntryBody, SessionHeader};
use pier_protocol::message::Message;
use serde::Serialize;

use super::error::SessionError;
use super::ids;
use super::read::{self, HeaderLine};

/// A header is looked for in this much of a file.
const MAX_HEADER_BYTES: usize = 1024 * 1024;
const FIRST_READ: usize = 4096;
/// Disks and two cores gain nothing from more.
const MAX_THREADS: usize = 4;

/// A session file as far as its header tells.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionStub {
    pub path: PathBuf,
    pub header: SessionHeader,
    /// Of the file.
    pub modified: SystemTime,
    /// Bytes.
    pub size: u64,
}

/// What a session picker shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionInfo {
    pub path: PathBuf,
    pub id: String,
    pub cwd: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<String>,
    /// ISO-8601, of the header.
    pub created: String,
    /// ISO-8601 time of the last user or assistant message; else of the header; else of the file.
    pub modified: String,
    /// Number of `message` entries.
    pub message_count: usize,
    /// Text of the first user message, or `(no messages)`.
    pub first_message: String,
    /// Text of all user and assistant messages, joined by spaces, for searching.
    pub all_messages_text: String,
}

/// The session files directly inside `dir` with a readable header, in no particular order. A directory
/// that does not exist has none.
///
/// # Errors
/// The directory exists and cannot be read.
pub fn list_stubs(dir: &Path) -> Result<Vec<SessionStub>, SessionError> {
    Ok(in_parallel(&session_files(dir)?, read_stub))
}

/// As [`list_stubs`], with what is in the files; newest activity first.
///
/// # Errors
/// As [`list_stubs`].
pub fn list_sessions(dir: &Path, cwd: Option<&Path>) -> Result<Vec<SessionInfo>, SessionError> {
    let mut found = in_parallel(&session_files(dir)?, |path| {
        let stub = read_stub(path)?;
        match (cwd, &stub.header.cwd) {
            (Some(wanted), Some(own)) if wanted != Path::new(own) => None,
            _ => read_info(&stub),
        }
    });
    found.sort_by(|a, b| {
        b.modified
            .cmp(&a.modified)
            .then_with(|| a.path.cmp(&b.path))
    });
    Ok(found)
}

fn session_files(dir: &Path) -> Result<Vec<PathBuf>, SessionError> {
    let listing = match std::fs::read_dir(dir) {
        Ok(listing) => listing,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => {
            return Err(SessionError::Io {
                action: "read session directory",
                path: dir.to_owned(),
                source,
            });
        }
    };
    Ok(listing
        .filter_map(|item| Some(item.ok()?.path()))
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "jsonl")
        })
        .collect())
}

/// Reads one header. `None` for what is no session, or hides its header behind too much else.
pub(super) fn read_stub(path: &Path) -> Option<SessionStub> {
    let metadata = std::fs::metadata(path)
        .ok()
        .filter(|metadata| metadata.is_file())?;
    let mut file = File::open(path).ok()?;
    let header = header_at_start(&mut file)?;
    let modified = metadata.modified().unwrap_or(UNIX_EPOCH);
    Some(SessionStub {
        path: path.to_owned(),
        header,
        modified,
        size: metadata.len(),
    })
}

fn header_at_start(file: &mut File) -> Option<SessionHeader> {
    let mut bytes = Vec::with_capacity(FIRST_READ);
    let mut checked = 0;
    loop {
        let wanted = if bytes.is_empty() {
            FIRST_READ
        } else {
            bytes.len().saturating_mul(4)
        };
        let before = bytes.len();
        let limit = wanted.min(MAX_HEADER_BYTES).saturating_sub(before) as u64;
        file.by_ref().take(limit).read_to_end(&mut bytes).ok()?;
        let ended = bytes.len() == before;
        // Whole lines only, until the file ends.
        let known = if ended {
            bytes.len()
        } else {
            bytes
                .iter()
                .rposition(|b| *b == b'\n')
                .map_or(checked, |at| at + 1)
        };
        let text =
            String::from_utf8_lossy(bytes.get(checked..known).unwrap_or_default()).into_owned();
        for line in text.trim_start_matches('\u{feff}').split_terminator('\n') {
            match read::header_of_line(line) {
                HeaderLine::Header(header) => return Some(*header),
                HeaderLine::Skip => {}
                HeaderLine::Other => return None,
            }
        }
        checked = known;
        if ended {
            return None;
        }
    }
}

fn read_info(stub: &SessionStub) -> Option<SessionInfo> {
    let loaded = read::load_read_only(&stub.path).ok()?;
    let mut info = SessionInfo {
        path: stub.path.clone(),
        id: loaded.header.id.clone(),
        cwd: loaded.header.cwd.clone().unwrap_or_default(),
        name: loaded.header.title.clone(),
        parent_session: loaded.header.parent_session.clone(),
        created: loaded.header.timestamp.clone(),
        modified: String::new(),
        message_count: 0,
        first_message: String::new(),
        all_messages_text: String::new(),
    };
    let mut last_activity = None;
    for entry in &loaded.entries {
        match entry.entry_type() {
            "session_info" => {
                if let EntryBody::SessionInfo(body) = entry.body() {
                    info.name = body.name.clone();
                }
            }
            "message" => {
                info.message_count += 1;
                let Some(message) = entry.message() else {
                    continue;
                };
                let is_user = matches!(**message, Message::User(_));
                if !is_user && !matches!(**message, Message::Assistant(_)) {
                    continue;
                }
                let time = if message.timestamp() > 0 {
                    message.timestamp()
                } else {
                    entry.timestamp_millis()
                };
                last_activity = last_activity.max(Some(time));
                let text = message.text();
                if is_user && info.first_message.is_empty() {
                    info.first_message.clone_from(&text);
                }
                if !text.is_empty() {
                    if !info.all_messages_text.is_empty() {
                        info.all_messages_text.push(' ');
                    }
                    info.all_messages_text.push_str(&text);
                }
            }
            _ => {}
        }
    }
    info.name = info.name.filter(|name| !name.is_empty());
    if info.first_message.is_empty() {
        info.first_message = "(no messages)".to_owned();
    }
    info.modified = last_activity
        .filter(|millis| *millis > 0)
        .and_then(ids::iso_from_millis)
        .or_else(|| ids::millis_from_iso(&info.created).and_then(ids::iso_from_millis))
        .or_else(|| {
            let since = stub.modified.duration_since(UNIX_EPOCH).ok()?;
            ids::iso_from_millis(i64::try_from(since.as_millis()).ok()?)
        })
        .unwrap_or_default();
    Some(info)
}

/// Maps paths on a few threads; order is not kept.
fn in_parallel<T: Send>(paths: &[PathBuf], work: impl Fn(&Path) -> Option<T> + Sync) -> Vec<T> {
    let threads = std::thread::available_parallelism()
        .map_or(1, |n| n.get())
        .min(MAX_THREADS)
        .min(paths.len() / 16 + 1);
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::with_capacity(paths.len()));
    let run = || {
        let mut own = Vec::new();
        while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
            own.extend(work(path));
        }
        found
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .extend(own);
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(run);
        }
        run();
    });
    found
        .into_inner()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}
