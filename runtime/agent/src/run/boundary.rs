//! Entries that boundary handlers return (`turn_end`, `agent_before_settle`; spec/extension-api.md §5.9).

use std::collections::HashSet;
use std::sync::Arc;

use pier_protocol::entry::CompactionEntry;

use crate::agent_session::inner::Inner;
use crate::clock::now_ms;
use crate::hooks::{BoundaryOutcome, EntryDraft};
use crate::session::{EntryRef, SessionError as StorageError};

impl Inner {
    /// Stores and announces the drafts. Invalid drafts drop everything the handlers returned, with a report. True = take
    /// another turn.
    pub(crate) async fn commit_boundary(
        &self,
        outcome: BoundaryOutcome,
    ) -> Result<bool, StorageError> {
        if let Err(problem) = self.check_drafts(&outcome.entries) {
            self.report("<boundary>", "boundary", problem);
            return Ok(false);
        }
        for draft in outcome.entries {
            match self.store_draft(draft) {
                Ok(entry) => self.emit_entry(&entry).await,
                Err(
                    error @ (StorageError::EntryNotFound(_)
                    | StorageError::NotOnActiveBranch(_)
                    | StorageError::NotEditable(_)
                    | StorageError::InvalidReplacement),
                ) => {
                    self.report("<boundary>", "boundary", error.to_string());
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(outcome.continue_run)
    }

    fn check_drafts(&self, drafts: &[EntryDraft]) -> Result<(), String> {
        let wants_branch = drafts.iter().any(|draft| {
            matches!(
                draft,
                EntryDraft::ContextEdit { .. } | EntryDraft::Compaction(_)
            )
        });
        if !wants_branch {
            return Ok(());
        }
        let branch = self.session.get_branch(None);
        let ids: HashSet<&str> = branch.iter().map(|entry| entry.id()).collect();
        for draft in drafts {
            match draft {
                EntryDraft::ContextEdit { target_id, .. } if !ids.contains(target_id.as_str()) => {
                    return Err(format!("Entry {target_id} is not on the active branch"));
                }
                EntryDraft::Compaction(compaction) => {
                    if let Some(first) = compaction
                        .first_kept_entry_id
                        .as_deref()
                        .filter(|first| !ids.contains(first))
                    {
                        return Err(format!("Entry {first} is not on the active branch"));
                    }
                }
                EntryDraft::ContextEdit { .. }
                | EntryDraft::Custom { .. }
                | EntryDraft::CustomMessage(_) => {}
            }
        }
        Ok(())
    }

    fn store_draft(&self, draft: EntryDraft) -> Result<EntryRef, StorageError> {
        match draft {
            EntryDraft::Custom { custom_type, data } => {
                self.session.append_custom(custom_type, data)
            }
            EntryDraft::CustomMessage(mut message) => {
                if message.timestamp == 0 {
                    message.timestamp = now_ms();
                }
                self.session.append_custom_message(&message)
            }
            EntryDraft::ContextEdit {
                target_id,
                replacement,
            } => self.session.append_context_edit(&target_id, replacement),
            EntryDraft::Compaction(compaction) => self.session.append_compaction(CompactionEntry {
                summary: compaction.summary,
                first_kept_entry_id: compaction.first_kept_entry_id,
                tokens_before: compaction.tokens_before,
                details: compaction.details,
                usage: compaction.usage,
                from_hook: Some(true),
                system_message: self.replayed_prompt().map(Arc::new),
                short_summary: compaction.short_summary,
                preserve_data: compaction.preserve_data,
                ..CompactionEntry::default()
            }),
        }
    }
}
