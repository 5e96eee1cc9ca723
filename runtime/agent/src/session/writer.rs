//! Puts lines into one session file: exclusive creation, one write call per entry, rollback of a
//! partial write (spec/sessions.md §3). Knows bytes, not entries.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::{SessionError, SessionWarning};
use super::flush::{Flusher, SyncPolicy};
use super::lock::{self, FileLock, Locking};

/// Where entries go.
pub(super) enum Target {
    /// Nowhere: `--no-session`.
    Memory,
    /// Into a file that does not exist yet; the first message of the conversation creates it.
    Pending(PathBuf),
    File(Box<SessionFile>),
    Closed(Option<PathBuf>),
}

/// An existing file, open for appending.
pub(super) struct SessionFile {
    path: PathBuf,
    file: Arc<File>,
    flusher: Flusher,
    /// Size in bytes after the last append; more on disk means that somebody else wrote.
    len: u64,
    /// The file may end inside a line.
    mid_line: bool,
    foreign_write_reported: bool,
    policy: SyncPolicy,
    pub(super) warnings: Vec<SessionWarning>,
    /// Dropped last: the lock covers the final flush.
    _lock: Option<FileLock>,
    /// Bytes that may still be written, to play a full disk.
    #[cfg(test)]
    pub(super) space_left: Option<usize>,
}

/// Why an append did not happen.
pub(super) enum AppendError {
    /// The file was deleted while it was open.
    Vanished,
    Failed(SessionError),
}

impl SessionFile {
    /// Takes over an open file whose last line is complete.
    pub(super) fn adopt(
        path: &Path,
        file: Arc<File>,
        locking: Locking,
        policy: SyncPolicy,
    ) -> io::Result<Self> {
        let len = file.metadata()?.len();
        let (lock, warnings) = match locking {
            Locking::Held(lock) => (Some(lock), Vec::new()),
            Locking::Unsupported(reason) => (
                None,
                vec![SessionWarning::NotLocked {
                    path: path.to_owned(),
                    reason,
                }],
            ),
        };
        Ok(SessionFile {
            path: path.to_owned(),
            flusher: Flusher::new(path, file.clone()),
            file,
            len,
            mid_line: false,
            foreign_write_reported: false,
            policy,
            warnings,
            _lock: lock,
            #[cfg(test)]
            space_left: None,
        })
    }

    /// Creates the file with its first lines, all of them or none.
    ///
    /// # Errors
    /// [`SessionError::AlreadyExists`], or the directory cannot be written.
    pub(super) fn create(
        path: &Path,
        text: &str,
        policy: SyncPolicy,
    ) -> Result<Self, SessionError> {
        let io = |source: io::Error| match source.kind() {
            io::ErrorKind::AlreadyExists => SessionError::AlreadyExists {
                path: path.to_owned(),
            },
            _ => SessionError::Io {
                action: "create session file",
                path: path.to_owned(),
                source,
            },
        };
        if let Some(directory) = path.parent() {
            create_directory(directory)
                .map_err(SessionError::io("create session directory", directory))?;
        }
        if path.try_exists().map_err(io)? {
            return Err(SessionError::AlreadyExists {
                path: path.to_owned(),
            });
        }
        let mut temp = temp_beside(path).map_err(io)?;
        temp.as_file_mut().write_all(text.as_bytes()).map_err(io)?;
        let (file, locking) = match temp.persist_noclobber(path) {
            // Locking needs the final name only for its error text.
            Ok(file) => lock_new(path, file)?,
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(io(error.error));
            }
            // Some file systems have neither links nor an exclusive rename.
            Err(_) => {
                let file = private(OpenOptions::new().read(true).append(true).create_new(true))
                    .open(path)
                    .map_err(io)?;
                let written = (&file).write_all(text.as_bytes());
                if let Err(error) = written {
                    // Ours, and worthless; a failure to remove it changes nothing.
                    let _ = std::fs::remove_file(path);
                    return Err(io(error));
                }
                lock_new(path, file)?
            }
        };
        let created = SessionFile::adopt(path, file, locking, policy).map_err(io)?;
        created.flusher.created();
        created.flusher.written(policy);
        Ok(created)
    }

    /// Appends one line in one write call. After an error the file is as it was, or its broken end is
    /// remembered and closed off by the next append.
    ///
    /// # Errors
    /// [`AppendError::Vanished`] before anything was written; else the system's.
    pub(super) fn append(&mut self, line: &str) -> Result<(), AppendError> {
        let fail = |path: &Path, source: io::Error| {
            AppendError::Failed(SessionError::Io {
                action: "append to session file",
                path: path.to_owned(),
                source,
            })
        };
        self.look_around().map_err(|error| match error {
            Some(source) => fail(&self.path, source),
            None => AppendError::Vanished,
        })?;
        let mut bytes = Vec::with_capacity(line.len() + 2);
        if self.mid_line {
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
        if let Err(source) = self.write(&bytes) {
            self.roll_back();
            return Err(fail(&self.path, source));
        }
        self.len += bytes.len() as u64;
        self.mid_line = false;
        self.flusher.written(self.policy);
        Ok(())
    }

    /// Notices that the file was deleted (`Err(None)`) or written by somebody else.
    fn look_around(&mut self) -> Result<(), Option<io::Error>> {
        let metadata = self.file.metadata().map_err(Some)?;
        if is_deleted(&metadata) {
            return Err(None);
        }
        if metadata.len() == self.len {
            return Ok(());
        }
        self.len = metadata.len();
        self.mid_line = !ends_in_line_end(&self.file, self.len).map_err(Some)?;
        if !self.foreign_write_reported {
            self.foreign_write_reported = true;
            self.warnings.push(SessionWarning::ForeignWrite {
                path: self.path.clone(),
            });
        }
        Ok(())
    }

    #[cfg(not(test))]
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        (&*self.file).write_all(bytes)
    }

    #[cfg(test)]
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(space) = self.space_left.as_mut() else {
            return (&*self.file).write_all(bytes);
        };
        let fits = bytes.len().min(*space);
        *space -= fits;
        (&*self.file).write_all(&bytes[..fits])?;
        if fits < bytes.len() {
            Err(io::ErrorKind::StorageFull.into())
        } else {
            Ok(())
        }
    }

    fn roll_back(&mut self) {
        let cut = OpenOptions::new()
            .write(true)
            .open(&self.path)
            .and_then(|file| file.set_len(self.len));
        if cut.is_err() {
            // What stays is skipped by readers once it has a line end.
            self.mid_line = true;
            self.len = self
                .file
                .metadata()
                .map_or(self.len, |metadata| metadata.len());
        }
    }

    /// Takes the file as it is now for what was written here, after it was read again.
    pub(super) fn accept_size(&mut self) {
        if let Ok(metadata) = self.file.metadata() {
            self.len = metadata.len();
            self.mid_line = !ends_in_line_end(&self.file, self.len).unwrap_or(false);
            self.foreign_write_reported = false;
        }
    }

    /// A handle that flushes without the session's locks.
    pub(super) fn flusher(&self) -> Flusher {
        self.flusher.clone()
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn take_warnings(&mut self) -> Vec<SessionWarning> {
        let mut warnings = std::mem::take(&mut self.warnings);
        warnings.extend(self.flusher.take_warnings());
        warnings
    }
}

impl Drop for SessionFile {
    fn drop(&mut self) {
        if self.policy.on_close {
            self.flusher.flush_now();
        }
    }
}

/// Opens an existing file for appending and locks it.
///
/// # Errors
/// No permission, or [`SessionError::Locked`].
pub(super) fn open_locked(path: &Path) -> Result<(Arc<File>, Locking), SessionError> {
    let io = SessionError::io("open session file for writing", path);
    // A migration elsewhere may rename a new file into place between opening and locking.
    for _ in 0..20 {
        let file = match OpenOptions::new().read(true).append(true).open(path) {
            Ok(file) => Arc::new(file),
            Err(error) => return Err(io(error)),
        };
        let locking = lock::acquire(path, &file)?;
        if is_same_file(&file, path) {
            return Ok((file, locking));
        }
    }
    Err(io(io::Error::other("it is being replaced again and again")))
}

fn lock_new(path: &Path, file: File) -> Result<(Arc<File>, Locking), SessionError> {
    let file = Arc::new(file);
    let locking = lock::acquire(path, &file)?;
    Ok((file, locking))
}

/// A temporary file in the directory of `path`, open for appending, removed unless it is persisted.
pub(super) fn temp_beside(path: &Path) -> io::Result<tempfile::NamedTempFile> {
    let directory = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    // Not ending in .jsonl, so that no listing shows it.
    tempfile::Builder::new()
        .prefix(".session-")
        .suffix(".tmp")
        .make_in(directory, |name| {
            private(OpenOptions::new().read(true).append(true).create_new(true)).open(name)
        })
}

/// Conversations are nobody else's business: files that are created here are private to the user.
pub(super) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

fn create_directory(directory: &Path) -> io::Result<()> {
    if directory.as_os_str().is_empty() || directory.is_dir() {
        return Ok(());
    }
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

fn ends_in_line_end(mut file: &File, len: u64) -> io::Result<bool> {
    if len == 0 {
        return Ok(true);
    }
    let mut last = [0];
    file.seek(SeekFrom::Start(len - 1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

#[cfg(unix)]
fn is_deleted(metadata: &std::fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(metadata) == 0
}

#[cfg(not(unix))]
fn is_deleted(_metadata: &std::fs::Metadata) -> bool {
    // An open file cannot be deleted there.
    false
}

#[cfg(unix)]
pub(super) fn is_same_file(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(open), Ok(named)) => open.dev() == named.dev() && open.ino() == named.ino(),
        _ => false,
    }
}

#[cfg(not(unix))]
pub(super) fn is_same_file(_file: &File, _path: &Path) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{NewSession, SessionDirs, SessionManager, SessionOptions};
    use pier_protocol::message::Message;

    fn created(dir: &Path) -> SessionFile {
        SessionFile::create(&dir.join("s.jsonl"), "{\"h\":1}\n", SyncPolicy::OFF).unwrap()
    }

    fn message(text: &str) -> Arc<Message> {
        Arc::new(Message::user(text, Vec::new(), 1))
    }

    #[test]
    fn a_full_disk_leaves_whole_lines_only() {
        let temp = tempfile::tempdir().unwrap();
        let mut file = created(temp.path());
        file.append("{\"a\":1}").map_err(|_| "append").unwrap();
        let before = std::fs::read(file.path()).unwrap();
        for space in 0..8 {
            file.space_left = Some(space);
            let Err(AppendError::Failed(error)) = file.append("{\"b\":1}") else {
                panic!("{space}")
            };
            assert!(error.to_string().contains("s.jsonl"), "{error}");
            assert_eq!(std::fs::read(file.path()).unwrap(), before, "{space}");
        }
        file.space_left = None;
        file.append("{\"c\":1}").map_err(|_| "append").unwrap();
        assert!(
            std::fs::read(file.path())
                .unwrap()
                .ends_with(b"{\"a\":1}\n{\"c\":1}\n")
        );
        assert!(file.take_warnings().is_empty());
    }

    #[test]
    fn a_partial_line_that_cannot_be_cut_off_is_closed_off() {
        let temp = tempfile::tempdir().unwrap();
        let mut file = created(temp.path());
        file.space_left = Some(3);
        // Cutting goes by name; without the name it fails.
        let real = file.path.clone();
        file.path = temp.path().join("gone.jsonl");
        assert!(file.append("{\"b\":1}").is_err());
        file.path = real;
        file.space_left = None;
        file.append("{\"c\":1}").map_err(|_| "append").unwrap();
        assert_eq!(
            std::fs::read_to_string(file.path()).unwrap(),
            "{\"h\":1}\n{\"b\n{\"c\":1}\n"
        );
    }

    #[test]
    fn a_failed_append_takes_its_entry_back() {
        let temp = tempfile::tempdir().unwrap();
        let dirs = SessionDirs::new(temp.path(), temp.path().join("agent"));
        let options = SessionOptions {
            dirs,
            sync: SyncPolicy::OFF,
        };
        let session = SessionManager::create(&options, NewSession::default()).unwrap();
        let first = session.append_message(message("one")).unwrap();
        let version = session.version();
        let limit = |space: Option<usize>| {
            let mut target = session.shared.writer.lock();
            let Target::File(file) = &mut *target else {
                panic!("not saved")
            };
            file.space_left = space;
        };
        limit(Some(20));
        assert!(session.append_message(message("two")).is_err());
        assert!(session.append_label(first.id(), Some("label")).is_err());
        assert!(session.append_session_info("name").is_err());
        assert_eq!(session.leaf_id().as_deref(), Some(first.id()));
        assert_eq!((session.entry_count(), session.version()), (1, version));
        assert_eq!(
            (session.get_label(first.id()), session.session_name()),
            (None, None)
        );
        limit(None);
        let second = session.append_message(message("two")).unwrap();
        assert_eq!(second.parent_id(), Some(first.id()));
        let path = session.session_file().unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap().lines().count(), 3);
    }
}
