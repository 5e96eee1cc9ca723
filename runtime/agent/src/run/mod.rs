//! A session run: from an accepted prompt to `agent_settled` (spec/agent-loop.md §2).
//!
//! It consists of low-level runs (`turns`): the first from the prompt, later ones for retries, overflow recovery,
//! messages queued late and boundary handlers.

mod answer;
mod boundary;
mod nested;
mod tool_call;
mod tools;
mod turns;

pub use boundary::BoundaryPreview;

use std::sync::Arc;
use std::time::Duration;

use pier_protocol::event::AgentEvent;
use pier_protocol::message::{AssistantMessage, Message, StopReason};

use crate::agent_session::delivery::Trigger;
use crate::agent_session::inner::{ActiveRun, BusyGuard, Inner};
use crate::compaction::Recovery;
use crate::hooks::{BeforeSettleEvent, HookEvent, RunOutcome};
use crate::queue::{Lane, Queued};
use crate::retry;
use crate::session::{EntryRef, SessionError as StorageError};

/// What a run starts with.
pub(crate) struct RunStart {
    /// The prompting message first.
    pub(crate) messages: Vec<Arc<Message>>,
}

/// What a low-level run starts with.
#[derive(Default)]
pub(crate) struct Prompts {
    pub(crate) messages: Vec<Queued>,
    /// The messages are steering messages, so the queue is not asked again at the start.
    pub(crate) steering_taken: bool,
}

/// State of one session run.
pub(crate) struct Run {
    pub(crate) active: ActiveRun,
    /// Retries since the last answer that was no error.
    pub(crate) retries: u32,
    /// The one overflow recovery of this user turn was used.
    pub(crate) recovered: bool,
}

impl Run {
    pub(crate) fn aborted(&self) -> bool {
        self.active.cancel.is_cancelled()
    }
}

/// How a low-level run ended.
pub(crate) struct Ended {
    /// The last answer and its entry.
    pub(crate) answer: Option<(Arc<Message>, EntryRef)>,
    pub(crate) will_retry: bool,
}

/// What follows a low-level run.
enum Next {
    Continue,
    Settle,
}

impl Inner {
    /// Starts the run in the background.
    pub(crate) fn spawn_run(self: &Arc<Self>, guard: BusyGuard, start: RunStart) {
        let inner = self.clone();
        self.runtime
            .spawn(async move { inner.drive(guard, start).await });
    }

    async fn drive(self: Arc<Self>, guard: BusyGuard, start: RunStart) {
        let mut run = Run {
            active: guard.run.clone(),
            retries: 0,
            recovered: false,
        };
        if let Err(error) = self.run_to_settlement(&mut run, start).await {
            // The session file cannot be written: going on would lose what the model and the tools do.
            self.host.warn(&format!("The run stopped: {error}"));
        }
        self.store_deferred().await;
        let aborted = run.aborted();
        guard.settling();
        self.emit(AgentEvent::AgentSettled { aborted }).await;
        self.sync_session().await;
        guard.finish();
        if std::mem::take(&mut self.state.lock().continue_with_next_turn) {
            self.push_trigger(Trigger::NextTurn);
        }
    }

    async fn run_to_settlement(
        self: &Arc<Self>,
        run: &mut Run,
        start: RunStart,
    ) -> Result<(), StorageError> {
        self.store_bash_results()?;
        self.store_turn_end_messages().await?;
        self.record_selection()?;
        let mut prompts = Prompts {
            messages: start
                .messages
                .into_iter()
                .map(|message| Queued {
                    message,
                    listed: false,
                })
                .collect(),
            steering_taken: false,
        };
        loop {
            let ended = self.low_level_run(run, prompts).await?;
            match self.after_low_level_run(run, ended).await? {
                Next::Settle => return Ok(()),
                Next::Continue => prompts = self.continuation_prompts(),
            }
        }
    }

    /// A continued run has no prompt. When the context ends with an answer, waiting messages take its place.
    fn continuation_prompts(&self) -> Prompts {
        let ends_with_answer = self
            .session
            .context()
            .messages
            .last()
            .is_some_and(|part| part.message.as_assistant().is_some());
        if !ends_with_answer {
            return Prompts::default();
        }
        let settings = self.settings();
        let mut state = self.state.lock();
        let steering = state.queues.drain(Lane::Steering, settings.steering_mode);
        if !steering.is_empty() {
            return Prompts {
                messages: steering,
                steering_taken: true,
            };
        }
        Prompts {
            messages: state.queues.drain(Lane::FollowUp, settings.follow_up_mode),
            steering_taken: false,
        }
    }

    async fn after_low_level_run(
        self: &Arc<Self>,
        run: &mut Run,
        ended: Ended,
    ) -> Result<Next, StorageError> {
        if run.aborted() {
            return Ok(Next::Settle);
        }
        if let Some((message, entry)) = &ended.answer
            && let Message::Assistant(answer) = &**message
        {
            if ended.will_retry {
                return self.wait_for_retry(run, answer, entry).await;
            }
            if answer.stop_reason == StopReason::Error && run.retries > 0 {
                let attempt = std::mem::take(&mut run.retries);
                self.emit(AgentEvent::AutoRetryEnd {
                    success: false,
                    attempt,
                    final_error: answer.error_message.clone(),
                })
                .await;
            }
            if self.recover_or_compact(run, message, entry).await? == Recovery::Continue {
                return Ok(Next::Continue);
            }
            if run.aborted() {
                return Ok(Next::Settle);
            }
        }
        if !self.state.lock().queues.is_empty() {
            return Ok(Next::Continue);
        }
        if self.boundary_before_settle(run, &ended).await? && !run.aborted() {
            return Ok(Next::Continue);
        }
        // A boundary handler may have queued something instead of asking to continue.
        let queued = !self.state.lock().queues.is_empty();
        Ok(if queued && !run.aborted() {
            Next::Continue
        } else {
            Next::Settle
        })
    }

    /// Whether the answer failed in a way that another attempt may mend, and attempts are left.
    pub(crate) fn will_retry(&self, run: &Run, answer: &AssistantMessage) -> bool {
        let settings = self.settings();
        settings.retry.enabled
            && !run.aborted()
            && run.retries < settings.retry.max_retries
            && retry::is_retryable(answer, &settings.retry)
    }

    async fn wait_for_retry(
        self: &Arc<Self>,
        run: &mut Run,
        answer: &AssistantMessage,
        entry: &EntryRef,
    ) -> Result<Next, StorageError> {
        let settings = self.settings();
        run.retries += 1;
        let attempt = run.retries;
        let delay_ms = retry::delay_ms(&settings.retry, attempt, answer);
        self.emit(AgentEvent::AutoRetryStart {
            attempt,
            max_attempts: settings.retry.max_retries,
            delay_ms,
            error_message: answer.error_message.clone().unwrap_or_default(),
        })
        .await;
        self.hide(entry).await?;
        let waited = tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(delay_ms)) => true,
            () = run.active.cancel.cancelled() => false,
            () = run.active.skip_retry.cancelled() => false,
        };
        if waited {
            return Ok(Next::Continue);
        }
        run.retries = 0;
        self.emit(AgentEvent::AutoRetryEnd {
            success: false,
            attempt,
            final_error: Some("Retry cancelled".into()),
        })
        .await;
        Ok(Next::Settle)
    }

    /// Keeps a failed attempt out of later requests, and the results of its calls with it: a request must not hold a result
    /// without its call (spec/agent-loop.md §3.4).
    pub(crate) async fn hide(&self, attempt: &EntryRef) -> Result<(), StorageError> {
        for id in entries_of_attempt(&self.session.get_branch(None), attempt.id()) {
            let edit = self.session.append_context_edit(&id, None)?;
            self.emit_entry(&edit).await;
        }
        Ok(())
    }

    async fn boundary_before_settle(
        self: &Arc<Self>,
        run: &Run,
        ended: &Ended,
    ) -> Result<bool, StorageError> {
        let hooks = self.hooks();
        if !hooks.subscribed(HookEvent::AgentBeforeSettle) {
            return Ok(false);
        }
        let outcome = match ended
            .answer
            .as_ref()
            .and_then(|(message, _)| message.as_assistant())
        {
            _ if run.aborted() => RunOutcome::Aborted,
            Some(answer) if answer.stop_reason == StopReason::Error => RunOutcome::Error,
            Some(answer) if answer.stop_reason == StopReason::Aborted => RunOutcome::Aborted,
            _ => RunOutcome::Completed,
        };
        let context = self.session.context().to_messages();
        let result = hooks
            .agent_before_settle(BeforeSettleEvent {
                outcome,
                context,
                preview: BoundaryPreview::new(&self.session),
            })
            .await;
        self.commit_boundary(result).await
    }

    /// What waited for the end of the run.
    async fn store_deferred(self: &Arc<Self>) {
        let stored = self.store_bash_results();
        let flushed = self.store_turn_end_messages().await;
        if let Err(error) = stored.and(flushed) {
            self.host
                .warn(&format!("Messages of the run could not be stored: {error}"));
        }
    }

    pub(crate) fn store_bash_results(&self) -> Result<(), StorageError> {
        let results = std::mem::take(&mut self.state.lock().bash_results);
        for result in results {
            self.session
                .append_message(Arc::new(Message::BashExecution(result)))?;
            self.touch();
        }
        Ok(())
    }

    /// Custom messages that must not cause a request. They are announced, but are no part of the run.
    pub(crate) async fn store_turn_end_messages(&self) -> Result<(), StorageError> {
        let messages = std::mem::take(&mut self.state.lock().turn_end);
        for message in messages {
            self.announce(Arc::new(Message::Custom(message))).await?;
        }
        Ok(())
    }

    /// Forces the session to disk and tells people what was noticed about its file.
    pub(crate) async fn sync_session(&self) {
        let session = self.session.clone();
        // A failed flush is among the session's warnings.
        let _ = tokio::task::spawn_blocking(move || session.sync()).await;
        self.report_session_warnings();
    }

    pub(crate) fn report_session_warnings(&self) {
        for warning in self.session.take_warnings() {
            self.host.warn(&warning.to_string());
        }
    }
}

/// An answer's entry, and those of its results behind it.
fn entries_of_attempt(branch: &[EntryRef], answer: &str) -> Vec<String> {
    let behind = branch.iter().skip_while(|entry| entry.id() != answer);
    let results = behind
        .skip(1)
        .map_while(|entry| match entry.message().map(|message| &**message) {
            Some(Message::Assistant(_)) => None,
            Some(Message::ToolResult(_)) => Some(Some(entry.id().to_owned())),
            _ => Some(None),
        })
        .flatten();
    std::iter::once(answer.to_owned()).chain(results).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{NewSession, SessionDirs, SessionManager, SessionOptions};
    use pier_protocol::message::ToolResultMessage;

    #[test]
    fn an_attempt_is_the_answer_and_its_own_results() {
        let options = SessionOptions::new(SessionDirs::new("/p", "/a"));
        let session = SessionManager::in_memory(&options, NewSession::default()).unwrap();
        let append = |message: Message| {
            let entry = session.append_message(Arc::new(message)).unwrap();
            entry.id().to_owned()
        };
        let answer = || Message::from(AssistantMessage::default());
        let result = || Message::from(ToolResultMessage::default());
        append(Message::user("question", Vec::new(), 1));
        append(answer());
        append(result());
        let failed = append(answer());
        let first = append(result());
        session.append_custom("state", None).unwrap();
        let second = append(result());
        append(answer());
        append(result());
        assert_eq!(
            entries_of_attempt(&session.get_branch(None), &failed),
            [failed, first, second]
        );
    }
}
