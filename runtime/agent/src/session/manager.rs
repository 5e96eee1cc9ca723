//! [`SessionManager`]: one open session, shared by everything that reads or extends it.
//!
//! Readers take a short lock on memory and never wait for a disk. Writers take turns: a line is on its
//! way to the file before anybody can see its entry, so a failed append leaves no trace.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard, RwLock};
use pier_protocol::entry::{SESSION_VERSION, SessionHeader};

use super::context::SessionContext;
use super::dirs::SessionDirs;
use super::error::{SessionError, SessionWarning};
use super::find;
use super::flush::SyncPolicy;
use super::fork;
use super::ids;
use super::lock::Locking;
use super::migrate;
use super::read::{self, FileText};
use super::state::{SessionChanges, State};
use super::stats::SessionStats;
use super::stored::EntryRef;
use super::torn;
use super::tree::SessionTree;
use super::writer::{self, SessionFile, Target};

/// How sessions are opened.
#[derive(Debug, Clone)]
pub struct SessionOptions {
    pub dirs: SessionDirs,
    pub sync: SyncPolicy,
}

impl SessionOptions {
    pub fn new(dirs: SessionDirs) -> Self {
        SessionOptions {
            dirs,
            sync: SyncPolicy::default(),
        }
    }
}

/// What a new session's header says.
#[derive(Debug, Clone, Default)]
pub struct NewSession {
    /// A UUIDv7 when `None`.
    pub id: Option<String>,
    pub parent_session: Option<String>,
}

/// A handle; clones share the session.
#[derive(Clone)]
pub struct SessionManager {
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Shared {
    /// Always locked before `state`.
    pub(super) writer: Mutex<Target>,
    pub(super) state: RwLock<State>,
    pub(super) warnings: Mutex<Vec<SessionWarning>>,
    pub(super) options: SessionOptions,
}

impl std::fmt::Debug for SessionManager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.shared.state.read();
        f.debug_struct("SessionManager")
            .field("id", &state.header.id)
            .field("file", &state.file)
            .field("entries", &state.entries().len())
            .finish()
    }
}

/// Opening.
impl SessionManager {
    /// A new session in the project's directory. Its file appears with the first user or assistant
    /// message (spec/sessions.md §3).
    ///
    /// # Errors
    /// [`SessionError::InvalidSessionId`].
    pub fn create(options: &SessionOptions, new: NewSession) -> Result<Self, SessionError> {
        let header = new_header(&options.dirs, new)?;
        let dir = options.dirs.dir();
        let file = dir.join(ids::session_file_name(&header.timestamp, &header.id));
        let state = State::new(
            header,
            options.dirs.cwd().to_owned(),
            dir,
            Some(file.clone()),
        );
        Ok(Self::assemble(
            state,
            Target::Pending(file),
            Vec::new(),
            options,
        ))
    }

    /// A session that is never written (`--no-session`).
    ///
    /// # Errors
    /// [`SessionError::InvalidSessionId`].
    pub fn in_memory(options: &SessionOptions, new: NewSession) -> Result<Self, SessionError> {
        let header = new_header(&options.dirs, new)?;
        let state = State::new(
            header,
            options.dirs.cwd().to_owned(),
            options.dirs.dir(),
            None,
        );
        Ok(Self::assemble(state, Target::Memory, Vec::new(), options))
    }

    /// Opens a file for writing. A path that does not exist gives a new session bound to it; an empty file
    /// gets a header at once. Repairs a torn last line and migrates old versions; see
    /// [`SessionManager::warnings`].
    ///
    /// # Errors
    /// Not a session, in use by another writer, not a regular file, or not accessible. The file is
    /// untouched then.
    pub fn open(path: impl AsRef<Path>, options: &SessionOptions) -> Result<Self, SessionError> {
        let path = path.as_ref();
        let dir = path
            .parent()
            .map_or_else(|| options.dirs.dir(), Path::to_owned);
        if !path
            .try_exists()
            .map_err(SessionError::io("open session file", path))?
        {
            let header = new_header(&options.dirs, NewSession::default())?;
            let state = State::new(
                header,
                options.dirs.cwd().to_owned(),
                dir,
                Some(path.to_owned()),
            );
            return Ok(Self::assemble(
                state,
                Target::Pending(path.to_owned()),
                Vec::new(),
                options,
            ));
        }
        let opened = open_existing(path, options)?;
        let cwd = match &opened.header.cwd {
            Some(cwd) if !cwd.is_empty() => PathBuf::from(cwd),
            _ => options.dirs.cwd().to_owned(),
        };
        let mut state =
            State::new(opened.header, cwd, dir, Some(path.to_owned())).with_entries(opened.entries);
        state.saved = true;
        Ok(Self::assemble(
            state,
            Target::File(Box::new(opened.file)),
            opened.warnings,
            options,
        ))
    }

    /// The project's newest session, or a new one (`--continue`).
    ///
    /// # Errors
    /// As [`SessionManager::open`]; the directory cannot be read.
    pub fn continue_recent(options: &SessionOptions) -> Result<Self, SessionError> {
        match find::newest_session(&options.dirs)? {
            Some(path) => Self::open(path, options),
            None => Self::create(options, NewSession::default()),
        }
    }

    /// Copies all entries of `source` into a new file in the project's directory (`--fork`). The source
    /// is only read, and may be open elsewhere.
    ///
    /// # Errors
    /// The source is not a session or cannot be read; the new file cannot be written.
    pub fn fork_from(
        source: impl AsRef<Path>,
        options: &SessionOptions,
        new: NewSession,
    ) -> Result<Self, SessionError> {
        let source = source.as_ref();
        let loaded = read::load_read_only(source)?;
        let parent = std::path::absolute(source).unwrap_or_else(|_| source.to_owned());
        let parent = parent.to_string_lossy().into_owned();
        let new = NewSession {
            parent_session: new.parent_session.or(Some(parent)),
            ..new
        };
        let header = new_header(&options.dirs, new)?;
        Self::start_with(header, loaded.entries, options, options.dirs.dir(), true)
    }

    /// A new session in `dir` that starts with `entries`; written now when `write_now` says so.
    pub(super) fn start_with(
        header: SessionHeader,
        entries: Vec<EntryRef>,
        options: &SessionOptions,
        dir: PathBuf,
        write_now: bool,
    ) -> Result<Self, SessionError> {
        let path = dir.join(ids::session_file_name(&header.timestamp, &header.id));
        let cwd = header
            .cwd
            .as_deref()
            .map_or_else(|| options.dirs.cwd().to_owned(), PathBuf::from);
        let state = State::new(header, cwd, dir, Some(path.clone())).with_entries(entries);
        let manager = Self::assemble(state, Target::Pending(path), Vec::new(), options);
        if write_now {
            manager.save_now()?;
        }
        Ok(manager)
    }

    pub(super) fn assemble(
        state: State,
        target: Target,
        warnings: Vec<SessionWarning>,
        options: &SessionOptions,
    ) -> Self {
        SessionManager {
            shared: Arc::new(Shared {
                writer: Mutex::new(target),
                state: RwLock::new(state),
                warnings: Mutex::new(warnings),
                options: options.clone(),
            }),
        }
    }
}

/// Readers. All are snapshots.
impl SessionManager {
    /// The directory the session works in, from its header.
    pub fn cwd(&self) -> PathBuf {
        self.shared.state.read().cwd.clone()
    }

    pub fn session_dir(&self) -> PathBuf {
        self.shared.state.read().dir.clone()
    }

    pub fn session_id(&self) -> String {
        self.shared.state.read().header.id.clone()
    }

    /// The path, also before the file exists; `None` in memory.
    pub fn session_file(&self) -> Option<PathBuf> {
        self.shared.state.read().file.clone()
    }

    /// Whether the file exists.
    pub fn is_saved(&self) -> bool {
        self.shared.state.read().saved
    }

    /// Whether entries go to a file, now or later.
    pub fn is_persistent(&self) -> bool {
        self.shared.state.read().file.is_some()
    }

    /// The last name given in the file, on whatever branch; else xcsh's title.
    pub fn session_name(&self) -> Option<String> {
        self.shared.state.read().name().map(str::to_owned)
    }

    pub fn header(&self) -> SessionHeader {
        self.shared.state.read().header.clone()
    }

    /// The current position; `None` before the first entry.
    pub fn leaf_id(&self) -> Option<Arc<str>> {
        self.shared.state.read().leaf().cloned()
    }

    pub fn leaf_entry(&self) -> Option<EntryRef> {
        let state = self.shared.state.read();
        state.leaf().and_then(|id| state.get(id)).cloned()
    }

    pub fn get_entry(&self, id: &str) -> Option<EntryRef> {
        self.shared.state.read().get(id).cloned()
    }

    /// The label of an entry.
    pub fn get_label(&self, id: &str) -> Option<String> {
        self.shared
            .state
            .read()
            .label(id)
            .map(|label| label.label.clone())
    }

    /// Root to `from`, or to the leaf when `None`.
    pub fn get_branch(&self, from: Option<&str>) -> Vec<EntryRef> {
        let state = self.shared.state.read();
        let leaf = state.leaf().cloned();
        state.path_to(from.or(leaf.as_deref()))
    }

    /// All entries in file order.
    pub fn get_entries(&self) -> Vec<EntryRef> {
        self.shared.state.read().entries().to_vec()
    }

    /// The entries behind `since` in file order; all of them for `None`.
    ///
    /// # Errors
    /// [`SessionError::EntryNotFound`].
    pub fn get_entries_after(&self, since: Option<&str>) -> Result<Vec<EntryRef>, SessionError> {
        let state = self.shared.state.read();
        let Some(since) = since else {
            return Ok(state.entries().to_vec());
        };
        let at = state
            .position(since)
            .ok_or_else(|| SessionError::EntryNotFound(since.to_owned()))?;
        Ok(state.entries().get(at + 1..).unwrap_or_default().to_vec())
    }

    pub fn entry_count(&self) -> usize {
        self.shared.state.read().entries().len()
    }

    pub fn get_tree(&self) -> SessionTree {
        SessionTree::build(&self.shared.state.read())
    }

    /// What the model sees of the current branch.
    pub fn build_context(&self) -> SessionContext {
        SessionContext::build(&self.get_branch(None))
    }

    /// As [`SessionManager::build_context`], for the branch that ends at `leaf`; `None` is the empty one.
    pub fn build_context_at(&self, leaf: Option<&str>) -> SessionContext {
        SessionContext::build(&self.shared.state.read().path_to(leaf))
    }

    /// Counts over all branches.
    pub fn stats(&self) -> SessionStats {
        SessionStats::count(&self.get_entries())
    }

    /// Changes when the session is replaced or read anew; never repeats in a process.
    pub fn epoch(&self) -> u64 {
        self.shared.state.read().epoch()
    }

    /// Grows with every append and every move of the leaf.
    pub fn version(&self) -> u64 {
        self.shared.state.read().version()
    }

    /// What came after `version` of `epoch`; everything when the epoch is another one.
    pub fn changes_since(&self, epoch: u64, version: u64) -> SessionChanges {
        self.shared.state.read().changes_since(epoch, version)
    }

    /// The entries appended after `version` of the current epoch, in file order.
    pub fn entries_since(&self, version: u64) -> Vec<EntryRef> {
        let state = self.shared.state.read();
        state.changes_since(state.epoch(), version).entries
    }

    /// What has been noticed so far, oldest first.
    pub fn warnings(&self) -> Vec<SessionWarning> {
        self.collect_warnings(&mut self.shared.writer.lock());
        self.shared.warnings.lock().clone()
    }

    /// As [`SessionManager::warnings`]; each is returned once.
    pub fn take_warnings(&self) -> Vec<SessionWarning> {
        self.collect_warnings(&mut self.shared.writer.lock());
        std::mem::take(&mut *self.shared.warnings.lock())
    }

    /// Whether this session is stored in `path`, under whatever name.
    pub fn refers_to(&self, path: &Path) -> bool {
        let Some(own) = self.session_file() else {
            return false;
        };
        own == path
            || match (own.canonicalize(), path.canonicalize()) {
                (Ok(own), Ok(other)) => own == other,
                _ => std::path::absolute(own).ok() == std::path::absolute(path).ok(),
            }
    }

    /// Whether the directory of the header still exists. In-memory sessions always pass.
    ///
    /// # Errors
    /// [`SessionError::CwdMissing`], with `current` as the directory to go on in.
    pub fn check_cwd(&self, current: &Path) -> Result<(), SessionError> {
        let state = self.shared.state.read();
        match &state.file {
            Some(file) if !state.cwd.is_dir() => Err(SessionError::CwdMissing {
                cwd: state.cwd.clone(),
                file: file.clone(),
                current: current.to_owned(),
            }),
            _ => Ok(()),
        }
    }

    pub(super) fn collect_warnings(&self, target: &mut MutexGuard<'_, Target>) {
        if let Target::File(file) = &mut **target {
            let found = file.take_warnings();
            self.shared.warnings.lock().extend(found);
        }
    }
}

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
    let text = if repaired.is_some() {
        read::read_text(
            path,
            &File::open(path).map_err(SessionError::io("open session file", path))?,
        )?
    } else {
        text
    };
    let migrated = migrate::migrate(&text, version);
    let (file, backup) = torn::rewrite(path, &migrated, version, text.lossy)?;
    let file = Arc::new(file);
    // The old file's lock goes with it.
    drop(locking);
    let locking = super::lock::acquire(path, &file)?;
    let mut loaded = read::parse(path, &FileText::new(migrated.into_bytes()))?;
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

/// Whether an entry brings the file into being.
pub(super) fn creates_file(entry: &EntryRef) -> bool {
    entry
        .message()
        .is_some_and(|message| fork::starts_conversation(message))
}
