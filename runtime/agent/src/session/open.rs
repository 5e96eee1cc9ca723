//! Opening an existing file for writing: lock, read, repair, migrate; and the text of a new file.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use pier_protocol::entry::{SESSION_VERSION, SessionHeader};

use super::dirs::SessionDirs;
use super::error::{SessionError, SessionWarning};
use super::ids;
use super::lock::{self, Locking};
use super::manager::{NewSession, SessionOptions};
use super::migrate;
use super::read::{self, FileText, Tail};
use super::stored::EntryRef;
use super::torn;
use super::writer::{self, SessionFile};

pub(super) fn new_header(
    dirs: &SessionDirs,
    new: NewSession,
) -> Result<SessionHeader, SessionError> {
    let id = match new.id {
        Some(id) if !ids::is_valid_session_id(&id) => {
            return Err(SessionError::InvalidSessionId(id));
        }
        Some(id) => id,
        None => ids::new_session_id(),
    };
    let mut header = SessionHeader::new(id, ids::now_iso(), dirs.cwd().to_string_lossy());
    header.parent_session = new.parent_session;
    Ok(header)
}

/// An existing file, ready to be appended to.
pub(super) struct Opened {
    pub(super) header: SessionHeader,
    pub(super) entries: Vec<EntryRef>,
    pub(super) file: SessionFile,
    pub(super) warnings: Vec<SessionWarning>,
}

pub(super) fn open_existing(path: &Path, options: &SessionOptions) -> Result<Opened, SessionError> {
    read::require_regular(path)?;
    let (file, locking) = writer::open_locked(path)?;
    read_open(path, file, locking, options)
}

/// Reads a file that is open and locked, and leaves it ready for appending.
pub(super) fn read_open(
    path: &Path,
    file: Arc<File>,
    locking: Locking,
    options: &SessionOptions,
) -> Result<Opened, SessionError> {
    let text = read::read_text(path, &file)?;
    let adopt = |file: Arc<File>, locking: Locking| {
        SessionFile::adopt(path, file, locking, options.sync)
            .map_err(SessionError::io("open session file", path))
    };
    if text.size == 0 {
        let header = new_header(&options.dirs, NewSession::default())?;
        let mut file = adopt(file, locking)?;
        append_line(&mut file, &header_line(&header)?)?;
        return Ok(Opened {
            header,
            entries: Vec::new(),
            file,
            warnings: Vec::new(),
        });
    }
    let version = read::read_header(path, &text)?.effective_version();
    let mut loaded = read::parse(path, &text)?;
    let repaired = torn::repair_tail(path, &file, &text, loaded.tail)?;
    if version >= SESSION_VERSION {
        loaded.warnings.extend(repaired);
        let file = adopt(file, locking)?;
        return Ok(Opened {
            header: loaded.header,
            entries: loaded.entries,
            file,
            warnings: loaded.warnings,
        });
    }
    // The repair may have cut the text.
    let text = match repaired {
        Some(_) => read::read_text(path, &read::open_regular(path)?)?,
        None => text,
    };
    let migrated = migrate::migrate(&text, version);
    let lossy = text.is_lossy(Tail::Clean);
    let (file, backup) = torn::rewrite(path, &migrated, version, lossy)?;
    let file = Arc::new(file);
    // The old file's lock goes with it.
    drop(locking);
    let locking = lock::acquire(path, &file)?;
    let mut loaded = read::parse(path, &FileText::new(migrated.into_bytes()))?;
    if lossy {
        loaded.warnings.push(SessionWarning::InvalidUtf8 {
            path: path.to_owned(),
        });
    }
    loaded.warnings.extend(repaired);
    loaded.warnings.push(SessionWarning::Migrated {
        path: path.to_owned(),
        from_version: version,
        backup,
    });
    let file = adopt(file, locking)?;
    Ok(Opened {
        header: loaded.header,
        entries: loaded.entries,
        file,
        warnings: loaded.warnings,
    })
}

pub(super) fn append_line(file: &mut SessionFile, line: &str) -> Result<(), SessionError> {
    file.append(line).map_err(|error| match error {
        writer::AppendError::Failed(error) => error,
        writer::AppendError::Vanished => SessionError::Io {
            action: "append to session file",
            path: file.path().to_owned(),
            source: std::io::ErrorKind::NotFound.into(),
        },
    })
}

/// The header's line, without a line end.
pub(super) fn header_line(header: &SessionHeader) -> Result<String, SessionError> {
    serde_json::to_string(header).map_err(|source| SessionError::Encode {
        entry_type: "session".to_owned(),
        source,
    })
}

/// A whole file: header and entries, one line each.
pub(super) fn file_text<'a>(
    header: &SessionHeader,
    entries: impl Iterator<Item = &'a EntryRef>,
) -> Result<String, SessionError> {
    let mut text = header_line(header)?;
    text.push('\n');
    for entry in entries {
        text.push_str(entry.json());
        text.push('\n');
    }
    Ok(text)
}
