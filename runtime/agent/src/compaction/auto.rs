//! When the session compacts by itself: thresholds and overflow recovery (spec/agent-loop.md §7.1).

use std::sync::Arc;

use pier_protocol::event::{AgentEvent, CompactionReason};
use pier_protocol::message::{AssistantMessage, Message, StopReason};
use pier_protocol::model::Model;
use tokio_util::sync::CancellationToken;

use super::run::{Failure, Plan};
use super::{Recovery, cut, measure};
use crate::agent_session::inner::Inner;
use crate::retry::{self, Overflow};
use crate::run::Run;
use crate::session::{EntryRef, SessionError as StorageError};

impl Inner {
    /// After a low-level run, by its last answer.
    pub(crate) async fn recover_or_compact(
        self: &Arc<Self>,
        run: &mut Run,
        message: &Message,
        entry: &EntryRef,
    ) -> Result<Recovery, StorageError> {
        let (Some(answer), Some(model)) = (message.as_assistant(), self.model()) else {
            return Ok(Recovery::Done);
        };
        let settings = self.settings().compaction_for(&model.key());
        if !settings.enabled {
            return Ok(Recovery::Done);
        }
        let own = answer.provider == model.provider && answer.model == model.id;
        match retry::overflow(answer, &model).filter(|_| own) {
            Some(Overflow::Failed | Overflow::CutShort) => {
                self.recover(run, &model, answer, entry).await
            }
            Some(Overflow::Succeeded) => {
                self.compact_automatically(
                    CompactionReason::Overflow,
                    &model,
                    false,
                    &run.active.cancel,
                )
                .await;
                Ok(Recovery::Done)
            }
            None => {
                if answer.stop_reason != StopReason::Aborted {
                    self.compact_over_threshold(&model, &run.active.cancel)
                        .await;
                }
                Ok(Recovery::Done)
            }
        }
    }

    async fn recover(
        self: &Arc<Self>,
        run: &mut Run,
        model: &Arc<Model>,
        answer: &AssistantMessage,
        entry: &EntryRef,
    ) -> Result<Recovery, StorageError> {
        if run.recovered {
            let text = answer
                .error_message
                .as_deref()
                .unwrap_or("the answer was cut off again");
            let text = format!("the request does not fit even after a compaction: {text}");
            self.end_failed(
                CompactionReason::Overflow,
                false,
                Failure::Failed(text),
                false,
            )
            .await;
            return Ok(Recovery::Done);
        }
        run.recovered = true;
        self.hide(entry).await?;
        let done = self
            .compact_automatically(CompactionReason::Overflow, model, true, &run.active.cancel)
            .await;
        Ok(if done && !run.aborted() {
            Recovery::Continue
        } else {
            Recovery::Done
        })
    }

    /// Before a prompt, by the last answer of the branch, aborted ones included.
    pub(crate) async fn compact_before_prompt(
        self: &Arc<Self>,
        cancel: &CancellationToken,
        model: &Model,
    ) {
        let model = Arc::new(model.clone());
        if !self.settings().compaction_for(&model.key()).enabled {
            return;
        }
        if self.overflowed(&model) {
            self.compact_automatically(CompactionReason::Overflow, &model, false, cancel)
                .await;
        } else {
            self.compact_over_threshold(&model, cancel).await;
        }
    }

    /// Whether the last answer since the newest compaction says that the context does not fit into this model.
    fn overflowed(&self, model: &Model) -> bool {
        let context = self.session.context();
        let since = context.messages.iter().skip(context.compacted);
        since
            .rev()
            .find_map(|part| part.message.as_assistant())
            .filter(|answer| answer.provider == model.provider && answer.model == model.id)
            .is_some_and(|answer| retry::overflow(answer, model).is_some())
    }

    /// Between two turns of a run, before the next request.
    pub(crate) async fn compact_between_turns(
        self: &Arc<Self>,
        run: &Run,
    ) -> Result<(), StorageError> {
        if let Some(model) = self.model()
            && self.settings().compaction_for(&model.key()).enabled
        {
            self.compact_over_threshold(&model, &run.active.cancel)
                .await;
        }
        Ok(())
    }

    async fn compact_over_threshold(
        self: &Arc<Self>,
        model: &Arc<Model>,
        cancel: &CancellationToken,
    ) {
        if model.context_window == 0 {
            return;
        }
        let reserve = self.settings().compaction_for(&model.key()).reserve_tokens;
        let measured = measure(&self.session);
        // What was just compacted has not been counted by the model yet; it must not be compacted on a guess.
        if !measured.uncounted && measured.tokens > model.context_window.saturating_sub(reserve) {
            self.compact_automatically(CompactionReason::Threshold, model, false, cancel)
                .await;
        }
    }

    /// True when a compaction was made. Nothing to cut means nothing is announced.
    async fn compact_automatically(
        self: &Arc<Self>,
        reason: CompactionReason,
        model: &Arc<Model>,
        will_retry: bool,
        cancel: &CancellationToken,
    ) -> bool {
        let settings = self.settings().compaction_for(&model.key());
        let Ok(preparation) = cut::prepare(&self.session, &settings) else {
            return false;
        };
        self.state.lock().auto_compaction = true;
        self.touch();
        self.emit(AgentEvent::CompactionStart { reason }).await;
        let plan = Plan {
            reason,
            model,
            preparation,
            instructions: None,
            will_retry,
            cancel,
        };
        let done = self.compact_now(plan).await.is_ok();
        self.state.lock().auto_compaction = false;
        self.touch();
        done
    }
}
