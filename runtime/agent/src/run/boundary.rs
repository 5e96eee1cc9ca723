//! Entries that boundary handlers return (`turn_end`, `agent_before_settle`; spec/extension-api.md §5.9).

use std::sync::Arc;

use pier_protocol::entry::{
    CompactionEntry, ContextEditEntry, CustomEntry, CustomMessageEntry, EntryBody,
};
use pier_protocol::message::Message;

use crate::agent_session::inner::Inner;
use crate::compaction::replayed_prompt;
use crate::hooks::{BoundaryOutcome, EntryDraft};
use crate::session::{SessionError as StorageError, SessionManager};

/// Shows what drafts would make of the session, without storing them.
#[derive(Debug, Clone)]
pub struct BoundaryPreview(SessionManager);

impl BoundaryPreview {
    pub(crate) fn new(session: &SessionManager) -> Self {
        BoundaryPreview(session.clone())
    }

    /// What the model would see after these drafts.
    ///
    /// # Errors
    /// Text that says which draft is invalid.
    pub fn context(&self, drafts: Vec<EntryDraft>) -> Result<Vec<Arc<Message>>, String> {
        let context = bodies(&self.0, drafts)
            .and_then(|bodies| self.0.context_with(bodies))
            .map_err(|error| error.to_string())?;
        Ok(context.to_messages())
    }
}

impl Inner {
    /// Stores and announces the drafts. Invalid drafts drop everything the handlers returned, with a report. True = take
    /// another turn.
    pub(crate) async fn commit_boundary(
        &self,
        outcome: BoundaryOutcome,
    ) -> Result<bool, StorageError> {
        let bodies = match bodies(&self.session, outcome.entries) {
            Ok(bodies) => bodies,
            Err(problem) => {
                self.report("<boundary>", "boundary", problem.to_string());
                return Ok(false);
            }
        };
        for body in bodies {
            let entry = match body {
                EntryBody::Compaction(body) => self.session.append_compaction(body)?,
                other => self.session.append(other)?,
            };
            self.emit_entry(&entry).await;
        }
        Ok(outcome.continue_run)
    }
}

/// The drafts as entries, all of them or none.
fn bodies(
    session: &SessionManager,
    drafts: Vec<EntryDraft>,
) -> Result<Vec<EntryBody>, StorageError> {
    drafts
        .into_iter()
        .map(|draft| body(session, draft))
        .collect()
}

fn body(session: &SessionManager, draft: EntryDraft) -> Result<EntryBody, StorageError> {
    Ok(match draft {
        EntryDraft::Custom { custom_type, data } => CustomEntry {
            custom_type,
            data,
            ..CustomEntry::default()
        }
        .into(),
        EntryDraft::CustomMessage(message) => CustomMessageEntry::from(&message).into(),
        EntryDraft::ContextEdit {
            target_id,
            replacement,
        } => ContextEditEntry {
            replacement: session.checked_edit(&target_id, replacement)?,
            target_id,
            ..ContextEditEntry::default()
        }
        .into(),
        EntryDraft::Compaction(compaction) => {
            if let Some(first) = &compaction.first_kept_entry_id
                && !session.is_on_branch(first)
            {
                return Err(StorageError::NotOnActiveBranch(first.clone()));
            }
            CompactionEntry {
                summary: compaction.summary,
                first_kept_entry_id: compaction.first_kept_entry_id,
                tokens_before: compaction.tokens_before,
                details: compaction.details,
                usage: compaction.usage,
                from_hook: Some(true),
                system_message: replayed_prompt(session).map(Arc::new),
                short_summary: compaction.short_summary,
                preserve_data: compaction.preserve_data,
                ..CompactionEntry::default()
            }
            .into()
        }
    })
}
