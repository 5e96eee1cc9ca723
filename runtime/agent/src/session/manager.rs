//! [`SessionManager`]: one open session, shared by everything that reads or extends it.
//!
//! Readers take a short lock on memory and never wait for a disk. Writers take turns: a line is on its
//! way to the file before anybody can see its entry, so a failed append leaves no trace.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use pier_protocol::entry::SessionHeader;

use super::context_cache::ContextCache;
use super::dirs::SessionDirs;
use super::error::{SessionError, SessionWarning};
use super::find;
use super::flush::SyncPolicy;
use super::ids;
use super::open::{new_header, open_existing};
use super::read;
use super::state::State;
use super::stored::EntryRef;
use super::writer::Target;

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
    pub(super) context: ContextCache,
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
        let path = &std::path::absolute(path.as_ref())
            .map_err(SessionError::io("open session file", path.as_ref()))?;
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
        let manager = Self::start_with(header, loaded.entries, options, options.dirs.dir(), true)?;
        manager.shared.warnings.lock().extend(loaded.warnings);
        Ok(manager)
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
                context: ContextCache::default(),
            }),
        }
    }
}
