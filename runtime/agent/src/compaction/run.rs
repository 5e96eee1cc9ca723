//! One compaction: hooks, summary, storage, events (spec/agent-loop.md §7.4).

use std::sync::Arc;

use pier_protocol::entry::CompactionEntry;
use pier_protocol::event::{AgentEvent, CompactionReason, CompactionResult};
use pier_protocol::message::Message;
use pier_protocol::model::Model;
use tokio_util::sync::CancellationToken;

use super::cut::{self, NothingToDo};
use super::summary::SummaryError;
use super::{CompactionPreparation, SuppliedCompaction, measure};
use crate::agent_session::SessionError;
use crate::agent_session::inner::Inner;
use crate::clock::now_ms;
use crate::hooks::{
    BeforeCompactEvent, BeforeCompactOutcome, CompactingEvent, CompactingOutcome, HookEvent,
    Notification,
};
use crate::prompt::PromptState;
use crate::session::SessionManager;

/// A compaction that is about to run.
pub(crate) struct Plan<'a> {
    pub(crate) reason: CompactionReason,
    pub(crate) model: &'a Arc<Model>,
    pub(crate) preparation: CompactionPreparation,
    pub(crate) instructions: Option<String>,
    /// The turn is tried again afterwards.
    pub(crate) will_retry: bool,
    pub(crate) cancel: &'a CancellationToken,
}

/// How it failed.
pub(super) enum Failure {
    Cancelled,
    Failed(String),
}

impl Inner {
    /// The manual command: aborts the run first and never resumes it.
    pub(crate) async fn compact_manually(
        self: &Arc<Self>,
        instructions: Option<String>,
    ) -> Result<CompactionResult, SessionError> {
        let cancel = CancellationToken::new();
        let _running = self.begin_summary(cancel.clone()).await?;
        let model = self.model().ok_or(SessionError::NoModel)?;
        let settings = self.settings().compaction_for(&model.key());
        self.emit(AgentEvent::CompactionStart {
            reason: CompactionReason::Manual,
        })
        .await;
        let preparation = match cut::prepare(&self.session, &settings) {
            Ok(preparation) => preparation,
            Err(nothing) => {
                let error = match nothing {
                    NothingToDo::AlreadyCompacted => SessionError::AlreadyCompacted,
                    NothingToDo::TooSmall => SessionError::NothingToCompact,
                };
                self.end_failed(
                    CompactionReason::Manual,
                    false,
                    Failure::Failed(error.to_string()),
                    false,
                )
                .await;
                return Err(error);
            }
        };
        let plan = Plan {
            reason: CompactionReason::Manual,
            model: &model,
            preparation,
            instructions,
            will_retry: false,
            cancel: &cancel,
        };
        self.compact_now(plan).await
    }

    /// Runs a compaction after `compaction_start` was announced, to its `compaction_end`.
    pub(crate) async fn compact_now(
        self: &Arc<Self>,
        plan: Plan<'_>,
    ) -> Result<CompactionResult, SessionError> {
        let (reason, will_retry) = (plan.reason, plan.will_retry);
        let mut from_extension = false;
        match self.try_compact(plan, &mut from_extension).await {
            Ok(result) => Ok(result),
            Err(failure) => {
                let error = match &failure {
                    Failure::Cancelled => SessionError::CompactionCancelled,
                    Failure::Failed(text) => SessionError::Failed(text.clone()),
                };
                self.end_failed(reason, will_retry, failure, from_extension)
                    .await;
                Err(error)
            }
        }
    }

    async fn try_compact(
        self: &Arc<Self>,
        plan: Plan<'_>,
        from_extension: &mut bool,
    ) -> Result<CompactionResult, Failure> {
        let hooks = self.hooks();
        let mut supplied = None;
        if hooks.subscribed(HookEvent::SessionBeforeCompact) {
            let event = BeforeCompactEvent {
                preparation: Arc::new(plan.preparation.clone()),
                branch_entries: self
                    .session
                    .get_branch(None)
                    .iter()
                    .map(|entry| entry.entry().clone())
                    .collect(),
                custom_instructions: plan.instructions.clone(),
                reason: plan.reason,
                will_retry: plan.will_retry,
                signal: plan.cancel.clone(),
            };
            match hooks.session_before_compact(event).await {
                BeforeCompactOutcome::Continue => {}
                BeforeCompactOutcome::Cancel => return Err(Failure::Cancelled),
                BeforeCompactOutcome::Supply(compaction) => supplied = Some(compaction),
            }
        }
        if plan.cancel.is_cancelled() {
            return Err(Failure::Cancelled);
        }
        *from_extension = supplied.is_some();
        let content = match supplied {
            Some(content) => content,
            None => self.ask_model(&plan).await?,
        };
        self.store_compaction(plan, content, *from_extension).await
    }

    async fn ask_model(&self, plan: &Plan<'_>) -> Result<SuppliedCompaction, Failure> {
        let hooks = self.hooks();
        let mut hints = CompactingOutcome::default();
        if hooks.subscribed(HookEvent::SessionCompacting) {
            let event = CompactingEvent {
                session_id: self.session.session_id(),
                messages: plan.preparation.messages_to_summarize.clone(),
            };
            hints = hooks.session_compacting(event).await;
        }
        let instructions = plan.instructions.as_deref();
        self.summarize(
            plan.model,
            &plan.preparation,
            instructions,
            &hints,
            plan.reason,
            plan.cancel,
        )
        .await
        .map_err(|error| match error {
            SummaryError::Cancelled => Failure::Cancelled,
            SummaryError::Failed(text) => Failure::Failed(text),
        })
    }

    async fn store_compaction(
        &self,
        plan: Plan<'_>,
        content: SuppliedCompaction,
        from_extension: bool,
    ) -> Result<CompactionResult, Failure> {
        let stored = self.session.append_compaction(CompactionEntry {
            summary: content.summary.clone(),
            first_kept_entry_id: content.first_kept_entry_id.clone(),
            tokens_before: content.tokens_before,
            details: content.details.clone(),
            usage: content.usage.clone(),
            from_hook: from_extension.then_some(true),
            system_message: replayed_prompt(&self.session).map(Arc::new),
            short_summary: content.short_summary,
            preserve_data: content.preserve_data,
            ..CompactionEntry::default()
        });
        let entry = stored.map_err(|error| Failure::Failed(error.to_string()))?;
        self.touch();
        self.notify(Notification::SessionCompact {
            compaction_entry: entry.entry().clone(),
            from_extension,
            reason: plan.reason,
            will_retry: plan.will_retry,
        })
        .await;
        let first_kept_entry_id = content
            .first_kept_entry_id
            .or_else(|| Some(entry.id().to_owned()));
        let result = CompactionResult {
            summary: content.summary,
            first_kept_entry_id,
            tokens_before: content.tokens_before,
            estimated_tokens_after: Some(measure(&self.session).tokens),
            usage: content.usage,
            details: content.details,
        };
        self.emit(AgentEvent::CompactionEnd {
            reason: plan.reason,
            result: Some(result.clone()),
            aborted: false,
            will_retry: plan.will_retry,
            error_message: None,
        })
        .await;
        Ok(result)
    }

    pub(super) async fn end_failed(
        &self,
        reason: CompactionReason,
        will_retry: bool,
        failure: Failure,
        from_extension: bool,
    ) {
        let prefix = match reason {
            CompactionReason::Manual => "Compaction failed: ",
            CompactionReason::Threshold => "Auto-compaction failed: ",
            CompactionReason::Overflow => "Context overflow recovery failed: ",
        };
        let (aborted, error_message) = match failure {
            // Nothing went wrong: who asked for it gets the answer.
            Failure::Cancelled => (true, None),
            Failure::Failed(text) => (false, Some(format!("{prefix}{text}"))),
        };
        self.emit(AgentEvent::CompactionEnd {
            reason,
            result: None,
            aborted,
            will_retry: false,
            error_message: error_message.clone(),
        })
        .await;
        self.notify(Notification::SessionCompactFailed {
            reason,
            error_message,
            aborted,
            will_retry,
            from_extension,
        })
        .await;
    }

    /// Aborts the run and claims the session for a manual compaction or branch summary.
    pub(crate) async fn begin_summary(
        self: &Arc<Self>,
        cancel: CancellationToken,
    ) -> Result<SummaryGuard, SessionError> {
        self.request_abort_run();
        self.settled().await;
        let mut state = self.state.lock();
        if state.summary.is_some() {
            return Err(SessionError::Failed(
                "A compaction or branch summary is already in progress.".to_owned(),
            ));
        }
        if state.run.is_some() {
            return Err(SessionError::Busy);
        }
        state.summary = Some(cancel);
        drop(state);
        self.touch();
        Ok(SummaryGuard(self.clone()))
    }
}

/// Prompt and tools in force, as one system message.
pub(crate) fn replayed_prompt(session: &SessionManager) -> Option<Message> {
    let state = PromptState::replay(&session.context().system_messages);
    state.as_message(now_ms()).map(Message::System)
}

/// Prompts are refused while this lives.
pub(crate) struct SummaryGuard(Arc<Inner>);

impl Drop for SummaryGuard {
    fn drop(&mut self) {
        self.0.state.lock().summary = None;
        self.0.summary_ended.notify_waiters();
        self.0.touch();
    }
}
