//! What a session tells: snapshots that take a short lock on memory and never wait for a disk
//! (spec/extension-api.md §4.6; spec/rpc.md §3.6).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pier_protocol::entry::{EntryBody, SessionEntry, SessionHeader};

use super::blobs::BlobDirs;
use super::context::SessionContext;
use super::error::{SessionError, SessionWarning};
use super::manager::SessionManager;
use super::partial::PartialView;
use super::state::SessionChanges;
use super::stats::SessionStats;
use super::stored::EntryRef;
use super::tree::SessionTree;
use super::writer::Target;
use super::{fork, ids};

/// Readers. All are snapshots.
impl SessionManager {
    /// The directory the session works in, from its header.
    pub fn cwd(&self) -> PathBuf {
        self.shared.state.read().cwd.clone()
    }

    /// How this session was opened; sessions that replace it are opened the same way.
    pub fn options(&self) -> super::SessionOptions {
        self.shared.options.clone()
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
        let state = self.shared.state.read();
        SessionTree::build(state.entries(), &state)
    }

    /// The tree of some of the entries, with the labels that count now.
    pub fn tree_of(&self, entries: &[EntryRef]) -> SessionTree {
        SessionTree::build(entries, &self.shared.state.read())
    }

    /// The session for a reader who does not know system messages (spec/rpc.md §11).
    ///
    /// # Errors
    /// An entry has no JSON form.
    pub fn without_system_messages(&self) -> Result<PartialView, SessionError> {
        let state = self.shared.state.read();
        PartialView::new(&state, |entry| {
            entry.message().is_some_and(|message| message.is_system())
        })
    }

    /// What the model sees of the current branch.
    pub fn context(&self) -> Arc<SessionContext> {
        self.shared
            .context
            .current(&self.shared.state, || self.blob_dirs())
    }

    /// What the model would see if these entries were appended.
    ///
    /// # Errors
    /// An entry has no JSON form.
    pub fn context_with(&self, bodies: Vec<EntryBody>) -> Result<SessionContext, SessionError> {
        let mut path = self.get_branch(None);
        for body in bodies {
            let entry = SessionEntry {
                id: ids::new_entry_id(|id| path.iter().any(|entry| entry.id() == id)),
                parent_id: path.last().map(|entry| entry.id().to_owned()),
                timestamp: ids::now_iso(),
                body,
            };
            path.push(Arc::new(fork::stored(entry)?));
        }
        Ok(SessionContext::build(&path, &self.blob_dirs()))
    }

    /// Whether the current branch has this entry.
    pub fn is_on_branch(&self, id: &str) -> bool {
        self.get_branch(None).iter().any(|entry| entry.id() == id)
    }

    /// As [`SessionManager::context`], but built anew, for the branch that ends at `leaf`; `None` is the empty one.
    pub fn build_context_at(&self, leaf: Option<&str>) -> SessionContext {
        let path = self.shared.state.read().path_to(leaf);
        SessionContext::build(&path, &self.blob_dirs())
    }

    fn blob_dirs(&self) -> BlobDirs {
        BlobDirs::near(&self.session_dir(), self.shared.options.dirs.root())
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

    pub(super) fn collect_warnings(&self, target: &mut Target) {
        if let Target::File(file) = target {
            let found = file.take_warnings();
            self.shared.warnings.lock().extend(found);
        }
    }
}
