//! Extending a session: one method per entry type, moving the leaf, saving and closing
//! (spec/sessions.md §2, §3, §5).

use std::path::PathBuf;
use std::sync::Arc;

use pier_protocol::block::{Content, Extra};
use pier_protocol::entry::{
    BranchSummaryEntry, CompactionEntry, ContextEditEntry, ContextReplacement, CustomEntry,
    CustomMessageEntry, EntryBody, LabelEntry, MessageEntry, ModelChangeEntry, ROOT, SessionEntry,
    SessionInfoEntry, ThinkingLevelChangeEntry, UsageEntry,
};
use pier_protocol::message::{CustomMessage, Message};
use serde_json::Value;

use super::edit;
use super::error::{SessionError, SessionWarning};
use super::fork;
use super::ids;
use super::manager::{SessionManager, Shared};
use super::open::file_text;
use super::stored::EntryRef;
use super::writer::{AppendError, SessionFile, Target};

/// Appending. Every method returns the new entry, which is the leaf then. After an error the session is
/// as it was before: the entry does not exist and the leaf has not moved.
impl SessionManager {
    /// Any entry; the others are short forms of this one.
    ///
    /// # Errors
    /// The file cannot be written or created, or the session is closed.
    pub fn append(&self, body: impl Into<EntryBody>) -> Result<EntryRef, SessionError> {
        self.append_locked(&mut self.shared.writer.lock(), body.into())
    }

    /// A message of the conversation. Custom messages become `custom_message` entries
    /// (spec/sessions.md §2, notes).
    ///
    /// # Errors
    /// As [`SessionManager::append`].
    pub fn append_message(&self, message: Arc<Message>) -> Result<EntryRef, SessionError> {
        match &*message {
            Message::Custom(custom) => self.append_custom_message(custom),
            _ => self.append(MessageEntry::from(message)),
        }
    }

    /// Text of an extension that the model sees.
    ///
    /// # Errors
    /// As [`SessionManager::append`].
    pub fn append_custom_message(&self, message: &CustomMessage) -> Result<EntryRef, SessionError> {
        self.append(CustomMessageEntry::from(message))
    }

    /// State of an extension that the model does not see.
    ///
    /// # Errors
    /// As [`SessionManager::append`].
    pub fn append_custom(
        &self,
        custom_type: impl Into<String>,
        data: Option<Value>,
    ) -> Result<EntryRef, SessionError> {
        self.append(CustomEntry {
            custom_type: custom_type.into(),
            data,
            extra: Extra::new(),
        })
    }

    /// # Errors
    /// As [`SessionManager::append`].
    pub fn append_model_change(
        &self,
        provider: impl Into<String>,
        model_id: impl Into<String>,
    ) -> Result<EntryRef, SessionError> {
        self.append(ModelChangeEntry::new(provider, model_id))
    }

    /// # Errors
    /// As [`SessionManager::append`].
    pub fn append_thinking_level_change(
        &self,
        level: impl Into<String>,
    ) -> Result<EntryRef, SessionError> {
        self.append(ThinkingLevelChangeEntry {
            thinking_level: Some(level.into()),
            extra: Extra::new(),
        })
    }

    /// # Errors
    /// As [`SessionManager::append`].
    pub fn append_compaction(
        &self,
        mut compaction: CompactionEntry,
    ) -> Result<EntryRef, SessionError> {
        let mut writer = self.shared.writer.lock();
        let id = self.new_id();
        // One that keeps nothing names itself (spec/sessions.md §7).
        compaction
            .first_kept_entry_id
            .get_or_insert_with(|| id.clone());
        self.append_as(&mut writer, id, compaction.into())
    }

    /// # Errors
    /// As [`SessionManager::append`].
    pub fn append_branch_summary(
        &self,
        summary: BranchSummaryEntry,
    ) -> Result<EntryRef, SessionError> {
        self.append(summary)
    }

    /// # Errors
    /// As [`SessionManager::append`].
    pub fn append_usage(&self, usage: UsageEntry) -> Result<EntryRef, SessionError> {
        self.append(usage)
    }

    /// Replaces the content of an earlier entry for the model, or hides it (`None`).
    ///
    /// # Errors
    /// As [`SessionManager::append`]; the target does not exist, is not on the active branch, or cannot
    /// be edited.
    pub fn append_context_edit(
        &self,
        target_id: &str,
        replacement: Option<Content>,
    ) -> Result<EntryRef, SessionError> {
        let mut writer = self.shared.writer.lock();
        let replacement = self.checked_edit(target_id, replacement)?;
        let edit = ContextEditEntry {
            target_id: target_id.to_owned(),
            replacement,
            extra: Extra::new(),
        };
        self.append_locked(&mut writer, edit.into())
    }

    /// What [`SessionManager::append_context_edit`] would store now.
    ///
    /// # Errors
    /// As there, apart from storage.
    pub fn checked_edit(
        &self,
        target_id: &str,
        replacement: Option<Content>,
    ) -> Result<Option<ContextReplacement>, SessionError> {
        edit::checked(&self.shared.state.read(), target_id, replacement)
    }

    /// As [`SessionManager::append_context_edit`], for a `replacement` of JavaScript: `null` or `{content}`.
    ///
    /// # Errors
    /// As there; [`SessionError::InvalidReplacement`].
    pub fn append_context_edit_json(
        &self,
        target_id: &str,
        replacement: &Value,
    ) -> Result<EntryRef, SessionError> {
        let content = match replacement {
            Value::Null => None,
            Value::Object(object) => match object.get("content") {
                Some(content @ (Value::String(_) | Value::Array(_))) => {
                    let content = serde_json::from_value(content.clone());
                    Some(content.map_err(|_| SessionError::InvalidReplacement)?)
                }
                _ => return Err(SessionError::InvalidReplacement),
            },
            _ => return Err(SessionError::InvalidReplacement),
        };
        self.append_context_edit(target_id, content)
    }

    /// Names an entry; `None` or an empty label removes the name.
    ///
    /// # Errors
    /// As [`SessionManager::append`]; [`SessionError::EntryNotFound`].
    pub fn append_label(
        &self,
        target_id: &str,
        label: Option<&str>,
    ) -> Result<EntryRef, SessionError> {
        let mut writer = self.shared.writer.lock();
        if !self.shared.state.read().contains(target_id) {
            return Err(SessionError::EntryNotFound(target_id.to_owned()));
        }
        let label = label.filter(|label| !label.is_empty()).map(str::to_owned);
        let entry = LabelEntry {
            target_id: target_id.to_owned(),
            label,
            extra: Extra::new(),
        };
        self.append_locked(&mut writer, entry.into())
    }

    /// Names the session. Line ends become single spaces; an empty name removes it.
    ///
    /// # Errors
    /// As [`SessionManager::append`].
    pub fn append_session_info(&self, name: &str) -> Result<EntryRef, SessionError> {
        self.append(SessionInfoEntry {
            name: Some(clean_name(name)),
            extra: Extra::new(),
        })
    }

    fn append_locked(
        &self,
        target: &mut Target,
        body: EntryBody,
    ) -> Result<EntryRef, SessionError> {
        let id = self.new_id();
        self.append_as(target, id, body)
    }

    /// An id that no entry has. Only holders of the writer's lock change the state, so this stays true while they hold it.
    fn new_id(&self) -> String {
        let state = self.shared.state.read();
        ids::new_entry_id(|id| state.contains(id))
    }

    fn append_as(
        &self,
        target: &mut Target,
        id: String,
        body: EntryBody,
    ) -> Result<EntryRef, SessionError> {
        let parent_id = self.shared.state.read().leaf().map(|leaf| leaf.to_string());
        let entry = SessionEntry {
            id,
            parent_id,
            timestamp: ids::now_iso(),
            body,
        };
        let entry = Arc::new(fork::stored(entry)?);
        let written = self.shared.write_entry(target, &entry);
        self.collect_warnings(target);
        written?;
        self.shared.state.write().push(entry.clone());
        Ok(entry)
    }
}

/// Moving the leaf. Nothing is written: the next append starts a sibling there.
impl SessionManager {
    /// Makes `id` the leaf.
    ///
    /// # Errors
    /// [`SessionError::EntryNotFound`].
    pub fn branch(&self, id: &str) -> Result<(), SessionError> {
        let _writer = self.shared.writer.lock();
        let mut state = self.shared.state.write();
        let Some(entry) = state.get(id) else {
            return Err(SessionError::EntryNotFound(id.to_owned()));
        };
        let leaf = entry.shared_id().clone();
        state.set_leaf(Some(leaf));
        Ok(())
    }

    /// Moves the leaf before the first entry; the next append is a new root.
    pub fn reset_leaf(&self) {
        let _writer = self.shared.writer.lock();
        self.shared.state.write().set_leaf(None);
    }

    /// Moves the leaf to `target` (`None`: before the first entry) and appends the summary of what was
    /// left behind there. `fromId` is set to the old leaf. When the append fails, the leaf stays.
    ///
    /// # Errors
    /// As [`SessionManager::append`]; [`SessionError::EntryNotFound`].
    pub fn branch_with_summary(
        &self,
        target: Option<&str>,
        mut summary: BranchSummaryEntry,
    ) -> Result<EntryRef, SessionError> {
        let mut writer = self.shared.writer.lock();
        let old = {
            let mut state = self.shared.state.write();
            let new = match target {
                Some(id) => match state.get(id) {
                    Some(entry) => Some(entry.shared_id().clone()),
                    None => return Err(SessionError::EntryNotFound(id.to_owned())),
                },
                None => None,
            };
            let old = state.leaf().cloned();
            state.set_leaf(new);
            old
        };
        summary.from_id = old.as_deref().unwrap_or(ROOT).to_owned();
        self.append_locked(&mut writer, summary.into())
            .inspect_err(|_| self.shared.state.write().set_leaf(old))
    }
}

/// Saving.
impl SessionManager {
    /// Writes a session that waits for its first message now. No effect on one that is saved or in memory.
    ///
    /// # Errors
    /// The file exists already or cannot be written.
    pub fn save_now(&self) -> Result<(), SessionError> {
        let mut target = self.shared.writer.lock();
        match &*target {
            Target::Pending(path) => {
                let path = path.clone();
                self.shared.create_file(&mut target, path, None)
            }
            _ => Ok(()),
        }
    }

    /// Forces everything written so far to disk. Problems become warnings. Appends do not wait for it.
    pub fn sync(&self) {
        let flusher = match &*self.shared.writer.lock() {
            Target::File(file) => Some(file.flusher()),
            _ => None,
        };
        if let Some(flusher) = flusher {
            flusher.flush_now();
        }
    }

    /// Flushes, releases the file and refuses further appends. Reading goes on. Dropping the last clone
    /// does the same.
    pub fn close(&self) {
        let closed = {
            let mut target = self.shared.writer.lock();
            self.collect_warnings(&mut target);
            let path = self.shared.state.read().file.clone();
            std::mem::replace(&mut *target, Target::Closed(path))
        };
        // The final flush happens outside the lock.
        drop(closed);
    }
}

impl Shared {
    fn write_entry(&self, target: &mut Target, entry: &EntryRef) -> Result<(), SessionError> {
        match target {
            Target::Memory => Ok(()),
            Target::Closed(path) => Err(SessionError::Closed { path: path.clone() }),
            Target::Pending(path) if begins_file(entry) => {
                let path = path.clone();
                self.create_file(target, path, Some(entry))
            }
            Target::Pending(_) => Ok(()),
            Target::File(file) => match file.append(entry.json()) {
                Ok(()) => Ok(()),
                Err(AppendError::Failed(error)) => Err(error),
                Err(AppendError::Vanished) => {
                    let path = file.path().to_owned();
                    self.create_file(target, path.clone(), Some(entry))?;
                    self.warnings
                        .lock()
                        .push(SessionWarning::Recreated { path });
                    Ok(())
                }
            },
        }
    }

    /// Writes header, all entries and maybe one more into a new file.
    fn create_file(
        &self,
        target: &mut Target,
        path: PathBuf,
        last: Option<&EntryRef>,
    ) -> Result<(), SessionError> {
        let text = {
            let state = self.state.read();
            file_text(&state.header, state.entries().iter().chain(last))?
        };
        let file = SessionFile::create(&path, &text, self.options.sync)?;
        *target = Target::File(Box::new(file));
        self.state.write().saved = true;
        Ok(())
    }
}

/// Whether an entry brings the file of a new session into being: the first message of a run. That is the system message of the
/// first run already; it is announced, and what was announced must survive a kill.
fn begins_file(entry: &EntryRef) -> bool {
    let message = entry.message().map(|message| &**message);
    fork::is_conversation(entry) || matches!(message, Some(Message::System(_)))
}

fn clean_name(name: &str) -> String {
    name.split(['\r', '\n'])
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
        .trim()
        .to_owned()
}
