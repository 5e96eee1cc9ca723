//! What can go wrong with a session, and what is reported without failing. Texts are for people; they
//! name the file and say what to do.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a session operation did not happen. The session is unchanged then.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The first JSON line is no header. The file was not touched (spec/sessions.md §3.2).
    #[error("Session file is not a valid pi session: {}", path.display())]
    NotASession { path: PathBuf },
    /// A directory, pipe or device.
    #[error("Session path is not a regular file: {}", path.display())]
    NotAFile { path: PathBuf },
    #[error("Session file is too large to open: {} has {size} bytes, the limit is {limit}", path.display())]
    TooLarge {
        path: PathBuf,
        size: u64,
        limit: u64,
    },
    /// Another writer holds the advisory lock.
    #[error(
        "Session file is already open in {}: {}\n\
         Close it there first, or continue in a copy: --fork {}",
        holder_text(*holder), path.display(), path.display()
    )]
    Locked { path: PathBuf, holder: Option<u32> },
    #[error("Session file already exists: {}", path.display())]
    AlreadyExists { path: PathBuf },
    #[error("Entry {0} not found")]
    EntryNotFound(String),
    #[error("Entry {0} is not on the active branch")]
    NotOnActiveBranch(String),
    #[error("Entry {0} does not contribute editable model content")]
    NotEditable(String),
    #[error("Context edit replacement must be null or contain string/array content")]
    InvalidReplacement,
    #[error("Invalid entry ID for forking")]
    InvalidForkEntry,
    #[error("This session has not been saved yet. Send a message before cloning or forking it.")]
    NotSaved,
    #[error("Cannot clone session: no current entry selected")]
    NothingToClone,
    #[error(
        "Stored session working directory does not exist: {}\nSession file: {}\nCurrent working directory: {}",
        cwd.display(), file.display(), current.display()
    )]
    CwdMissing {
        cwd: PathBuf,
        file: PathBuf,
        current: PathBuf,
    },
    #[error(
        "Invalid session id '{0}': use letters, digits, '.', '_' and '-', starting and ending with a letter or digit"
    )]
    InvalidSessionId(String),
    #[error("Session name cannot be empty")]
    EmptyName,
    #[error("No session found matching '{0}'")]
    NoMatch(String),
    /// The manager was closed; a clone of it is still around.
    #[error("Session is closed: {}", path.as_deref().unwrap_or(Path::new("in memory")).display())]
    Closed { path: Option<PathBuf> },
    #[error("Cannot {action} {}: {source}", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("Cannot write a session entry of type {entry_type}: {source}")]
    Encode {
        entry_type: String,
        source: serde_json::Error,
    },
}

fn holder_text(holder: Option<u32>) -> String {
    match holder {
        Some(pid) if pid == std::process::id() => "this process".to_owned(),
        Some(pid) => format!("another process (process {pid})"),
        None => "another process".to_owned(),
    }
}

impl SessionError {
    /// Wraps an I/O error with what was being done to which path.
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> SessionError {
        let path = path.to_owned();
        move |source| SessionError::Io {
            action,
            path,
            source,
        }
    }
}

/// Something a person should hear about although the session works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionWarning {
    /// The last line was cut off, as after a crash. It was moved to `kept_in`, or, when that could not
    /// be written, left in the session file behind a line end.
    TornLine {
        path: PathBuf,
        bytes: u64,
        kept_in: Option<PathBuf>,
    },
    /// Lines in the middle that are not entries. They stay in the file and are ignored.
    SkippedLines {
        path: PathBuf,
        count: usize,
        first_line: usize,
    },
    /// Bytes that are not UTF-8 were read as replacement characters.
    InvalidUtf8 { path: PathBuf },
    /// Several entries share an id; the last one counts.
    DuplicateIds {
        path: PathBuf,
        count: usize,
        first: String,
    },
    /// The file had an older format and was rewritten; `backup` holds the original when the rewrite
    /// could not keep every byte's meaning.
    Migrated {
        path: PathBuf,
        from_version: u64,
        backup: Option<PathBuf>,
    },
    /// The file system refuses advisory locks, so a second writer would not be noticed.
    NotLocked { path: PathBuf, reason: String },
    /// Somebody else wrote to the file while it was open here.
    ForeignWrite { path: PathBuf },
    /// The file vanished while it was open and was written again from memory.
    Recreated { path: PathBuf },
    /// Data could not be forced to disk; a power loss may lose the newest entries.
    SyncFailed { path: PathBuf, reason: String },
}

impl fmt::Display for SessionWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SessionWarning::TornLine {
                path,
                bytes,
                kept_in,
            } => {
                write!(
                    f,
                    "The last line of session file {} was incomplete ({bytes} bytes); ",
                    path.display()
                )?;
                match kept_in {
                    Some(kept) => write!(f, "it was moved to {}", kept.display()),
                    None => write!(f, "it is ignored"),
                }
            }
            SessionWarning::SkippedLines {
                path,
                count,
                first_line,
            } => write!(
                f,
                "Session file {} has {count} line(s) that are not session entries, the first at line {first_line}; \
                 they are ignored",
                path.display()
            ),
            SessionWarning::InvalidUtf8 { path } => {
                write!(
                    f,
                    "Session file {} contains bytes that are not UTF-8",
                    path.display()
                )
            }
            SessionWarning::DuplicateIds { path, count, first } => write!(
                f,
                "Session file {} uses {count} entry id(s) more than once, the first is {first}; the last entry counts",
                path.display()
            ),
            SessionWarning::Migrated {
                path,
                from_version,
                backup,
            } => {
                write!(
                    f,
                    "Session file {} was converted from version {from_version}",
                    path.display()
                )?;
                match backup {
                    Some(backup) => write!(f, "; the original is kept as {}", backup.display()),
                    None => Ok(()),
                }
            }
            SessionWarning::NotLocked { path, reason } => write!(
                f,
                "Session file {} cannot be locked ({reason}); do not open it in two places at once",
                path.display()
            ),
            SessionWarning::ForeignWrite { path } => write!(
                f,
                "Session file {} was changed by another program while it was open; its entries appear after the \
                 session is opened again",
                path.display()
            ),
            SessionWarning::Recreated { path } => write!(
                f,
                "Session file {} was removed while it was open and has been written again",
                path.display()
            ),
            SessionWarning::SyncFailed { path, reason } => {
                write!(
                    f,
                    "Session file {} could not be flushed to disk: {reason}",
                    path.display()
                )
            }
        }
    }
}
