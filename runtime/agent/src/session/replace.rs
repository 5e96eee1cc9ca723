//! New sessions out of parts of this one, and putting another session in this one's place
//! (spec/sessions.md §5).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pier_protocol::message::Message;

use super::error::SessionError;
use super::flush::SyncPolicy;
use super::fork;
use super::manager::{NewSession, SessionManager};
use super::open::{file_text, new_header};
use super::state::State;
use super::stored::EntryRef;
use super::writer::{SessionFile, Target};

/// Which entries a fork takes along.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForkPosition {
    /// Up to the parent of a user message.
    Before,
    /// Up to and including any entry.
    At,
}

/// A forked session, not yet in use.
#[derive(Debug)]
pub struct ForkOutcome {
    pub session: SessionManager,
    /// The text of the user message that was left out, for the editor.
    pub text: Option<String>,
}

impl SessionManager {
    /// A new session with the branch that ends at `entry_id`. This one is not changed. Of a session in
    /// memory it is again one in memory. The new file is written at once when it has a conversation,
    /// else with its first message.
    ///
    /// # Errors
    /// [`SessionError::InvalidForkEntry`], [`SessionError::NotSaved`], or the new file cannot be written.
    pub fn fork(
        &self,
        entry_id: &str,
        position: ForkPosition,
    ) -> Result<ForkOutcome, SessionError> {
        self.require_saved()?;
        let entry = self
            .get_entry(entry_id)
            .ok_or(SessionError::InvalidForkEntry)?;
        match position {
            ForkPosition::At => Ok(ForkOutcome {
                session: self.copy_of_branch(Some(entry_id))?,
                text: None,
            }),
            ForkPosition::Before => match entry.message().map(|message| &**message) {
                Some(message @ Message::User(_)) => Ok(ForkOutcome {
                    session: self.copy_of_branch(entry.parent_id())?,
                    text: Some(message.text()),
                }),
                _ => Err(SessionError::InvalidForkEntry),
            },
        }
    }

    /// A new session with the current branch, leaf included.
    ///
    /// # Errors
    /// [`SessionError::NothingToClone`], [`SessionError::NotSaved`], or the new file cannot be written.
    pub fn clone_session(&self) -> Result<SessionManager, SessionError> {
        let leaf = self.leaf_id().ok_or(SessionError::NothingToClone)?;
        self.require_saved()?;
        self.copy_of_branch(Some(&leaf))
    }

    /// Writes the current branch to a new file under the same session id.
    ///
    /// # Errors
    /// The path exists or cannot be written.
    pub fn export_branch(&self, path: impl AsRef<Path>) -> Result<(), SessionError> {
        let (mut header, entries) = {
            let state = self.shared.state.read();
            let path = state.path_to(state.leaf().map(|leaf| &**leaf));
            (state.header.clone(), fork::copy_branch(&state, &path)?)
        };
        header.parent_session = None;
        let text = file_text(&header, entries.iter())?;
        let policy = SyncPolicy {
            interval: None,
            ..self.shared.options.sync
        };
        SessionFile::create(path.as_ref(), &text, policy).map(drop)
    }

    /// All user messages with text, of all branches in file order: what [`SessionManager::fork`] accepts.
    pub fn fork_candidates(&self) -> Vec<(Arc<str>, String)> {
        self.get_entries()
            .iter()
            .filter_map(|entry| match &**entry.message()? {
                message @ Message::User(_) => Some((entry.shared_id().clone(), message.text())),
                _ => None,
            })
            .filter(|(_, text)| !text.trim().is_empty())
            .collect()
    }

    /// Makes this handle and all its clones show `other`'s session. The old session is closed; `other` must
    /// not be used any more. The epoch changes. Warnings of both stay to be taken.
    pub fn replace_with(&self, other: SessionManager) {
        if Arc::ptr_eq(&self.shared, &other.shared) {
            return;
        }
        let (target, state) = other.take();
        let found = std::mem::take(&mut *other.shared.warnings.lock());
        let old = {
            let mut writer = self.shared.writer.lock();
            self.collect_warnings(&mut writer);
            *self.shared.state.write() = state;
            std::mem::replace(&mut *writer, target)
        };
        let flusher = match &old {
            Target::File(file) => Some(file.flusher()),
            _ => None,
        };
        // The final flush happens outside the lock.
        drop(old);
        let late = flusher.map(|flusher| flusher.take_warnings());
        let mut warnings = self.shared.warnings.lock();
        warnings.extend(late.into_iter().flatten());
        warnings.extend(found);
    }

    /// Reads the file again, for instance after another program changed it. The leaf becomes the last entry,
    /// the epoch changes. Entries that wait for their first message in memory stay.
    ///
    /// # Errors
    /// As [`SessionManager::open`]; the session then stays as it was.
    pub fn reload(&self) -> Result<(), SessionError> {
        let mut writer = self.shared.writer.lock();
        let path = match &*writer {
            Target::File(file) => file.path().to_owned(),
            Target::Closed(path) => return Err(SessionError::Closed { path: path.clone() }),
            Target::Memory | Target::Pending(_) => return Ok(()),
        };
        let (header, entries, warnings) = {
            let loaded = super::read::load_read_only(&path)?;
            (loaded.header, loaded.entries, loaded.warnings)
        };
        let mut state = self.shared.state.write();
        let mut fresh = State::new(
            header,
            state.cwd.clone(),
            state.dir.clone(),
            state.file.clone(),
        )
        .with_entries(entries);
        fresh.saved = true;
        *state = fresh;
        self.shared.warnings.lock().extend(warnings);
        if let Target::File(file) = &mut *writer {
            file.accept_size();
        }
        Ok(())
    }

    fn take(&self) -> (Target, State) {
        let mut writer = self.shared.writer.lock();
        let mut state = self.shared.state.write();
        let file = state.file.clone();
        let left = State::new(
            state.header.clone(),
            state.cwd.clone(),
            state.dir.clone(),
            file.clone(),
        );
        (
            std::mem::replace(&mut *writer, Target::Closed(file)),
            std::mem::replace(&mut *state, left),
        )
    }

    fn require_saved(&self) -> Result<(), SessionError> {
        let state = self.shared.state.read();
        if state.file.is_some() && !state.saved {
            Err(SessionError::NotSaved)
        } else {
            Ok(())
        }
    }

    fn copy_of_branch(&self, leaf: Option<&str>) -> Result<SessionManager, SessionError> {
        let options = &self.shared.options;
        let (entries, cwd, dir, file): (Vec<EntryRef>, PathBuf, PathBuf, Option<PathBuf>) = {
            let state = self.shared.state.read();
            let entries = fork::copy_branch(&state, &state.path_to(leaf))?;
            (
                entries,
                state.cwd.clone(),
                state.dir.clone(),
                state.file.clone(),
            )
        };
        let parent_session = file
            .as_ref()
            .map(|file| file.to_string_lossy().into_owned());
        let header = new_header(
            &options.dirs.for_cwd(cwd.clone()),
            NewSession {
                id: None,
                parent_session,
            },
        )?;
        if file.is_none() {
            let state = State::new(header, cwd, dir, None).with_entries(entries);
            return Ok(Self::assemble(state, Target::Memory, Vec::new(), options));
        }
        let write_now = entries.iter().any(fork::is_conversation);
        Self::start_with(header, entries, options, dir, write_now)
    }
}
