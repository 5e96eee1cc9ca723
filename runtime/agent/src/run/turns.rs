//! One low-level run: turns from `agent_start` to `agent_end` (spec/agent-loop.md §4).

use std::sync::Arc;

use pier_protocol::event::AgentEvent;
use pier_protocol::message::{AssistantMessage, Message, StopReason, ToolCallBlock};

use super::tools::Batch;
use super::{Ended, Prompts, Run};
use crate::agent_session::inner::{Activity, Inner};
use crate::clock::now_ms;
use crate::hooks::{BoundaryPreview, HookEvent, TurnEndEvent};
use crate::prompt::PromptState;
use crate::queue::{Lane, Queued};
use crate::session::{EntryRef, SessionError as StorageError};

/// A finished turn.
struct Turn {
    index: u64,
    answer: (Arc<Message>, EntryRef),
    results: Vec<(Arc<Message>, EntryRef)>,
}

impl Inner {
    pub(crate) async fn low_level_run(
        self: &Arc<Self>,
        run: &mut Run,
        prompts: Prompts,
    ) -> Result<Ended, StorageError> {
        self.activity.send_replace(Activity::Busy);
        self.emit(AgentEvent::AgentStart {}).await;
        let mut produced: Vec<Arc<Message>> = Vec::new();
        let ended = self.turns(run, prompts, &mut produced).await;
        let will_retry = match &ended {
            Ok(Some((message, _))) => message
                .as_assistant()
                .is_some_and(|answer| self.will_retry(run, answer)),
            _ => false,
        };
        if !will_retry {
            self.activity.send_replace(Activity::Ending);
        }
        // Also after a storage error: clients must see the run end.
        self.emit(AgentEvent::AgentEnd {
            messages: produced,
            will_retry,
        })
        .await;
        Ok(Ended {
            answer: ended?,
            will_retry,
        })
    }

    /// Runs turns until there is nothing left to do; returns the last answer.
    async fn turns(
        self: &Arc<Self>,
        run: &mut Run,
        prompts: Prompts,
        produced: &mut Vec<Arc<Message>>,
    ) -> Result<Option<(Arc<Message>, EntryRef)>, StorageError> {
        let mut pending = prompts.messages;
        if !prompts.steering_taken {
            pending.extend(self.drain(Lane::Steering));
        }
        let mut index = 0u64;
        let mut last = None;
        // A boundary handler asked for one more turn on the context as it is.
        let mut asked_on = false;
        loop {
            let mut has_tools = true;
            while has_tools || !pending.is_empty() {
                if index > 0 {
                    self.prepare_next_turn(run).await?;
                    if pending.is_empty() {
                        pending = self.drain(Lane::Steering);
                    }
                }
                self.emit(AgentEvent::TurnStart {
                    turn_index: index,
                    timestamp: now_ms(),
                })
                .await;
                self.deliver_pending(run, std::mem::take(&mut pending), produced)
                    .await?;
                let (message, entry) = self.answer(run).await?;
                produced.push(message.clone());
                self.note_retry_success(run, &message).await;
                let answer = (message, entry);
                let (calls, stop) = calls_of(&answer.0);
                if stop.is_failure() {
                    let turn = Turn {
                        index,
                        answer,
                        results: Vec::new(),
                    };
                    self.finish_turn(&turn).await?;
                    return Ok(Some(turn.answer));
                }
                let batch = match (calls.is_empty(), &stop) {
                    (true, _) => Batch::default(),
                    (false, StopReason::Length) => self.refuse_cut_calls(&calls).await?,
                    (false, _) => self.run_batch(run, &calls).await?,
                };
                produced.extend(batch.results.iter().map(|(message, _)| message.clone()));
                has_tools = !calls.is_empty() && !batch.terminate;
                let turn = Turn {
                    index,
                    answer,
                    results: batch.results,
                };
                asked_on = self.finish_turn(&turn).await?;
                last = Some(turn.answer);
                index += 1;
                pending = self.drain(Lane::Steering);
            }
            if run.aborted() {
                return Ok(last);
            }
            pending = self.drain(Lane::FollowUp);
            if pending.is_empty() && !std::mem::take(&mut asked_on) {
                return Ok(last);
            }
        }
    }

    fn drain(&self, lane: Lane) -> Vec<Queued> {
        let settings = self.settings();
        let mode = match lane {
            Lane::Steering => settings.steering_mode,
            Lane::FollowUp => settings.follow_up_mode,
        };
        self.state.lock().queues.drain(lane, mode)
    }

    /// Between two turns: compaction if the next request would not fit.
    async fn prepare_next_turn(self: &Arc<Self>, run: &mut Run) -> Result<(), StorageError> {
        if !run.aborted() {
            self.compact_between_turns(run).await?;
        }
        Ok(())
    }

    /// Announces a prompt patch, if one is due, and the waiting messages.
    async fn deliver_pending(
        &self,
        run: &mut Run,
        pending: Vec<Queued>,
        produced: &mut Vec<Arc<Message>>,
    ) -> Result<(), StorageError> {
        if let Some(patch) = self.prompt_patch() {
            produced.push(self.announce(patch).await?.0);
        }
        for queued in pending {
            if queued.message.as_user().is_some() {
                // A new user turn may overflow anew.
                run.recovered = false;
            }
            if queued.listed {
                let changed = self.state.lock().queues.delivered(&queued.message.text());
                if changed {
                    self.emit_queue().await;
                }
            }
            let message = match queued.listed {
                true => self.fitted(queued.message).await,
                false => queued.message,
            };
            produced.push(self.announce(message).await?.0);
        }
        Ok(())
    }

    /// The system message that brings the session's prompt state to what is wanted.
    fn prompt_patch(&self) -> Option<Arc<Message>> {
        let context = self.session.context();
        let current = PromptState::replay(&context.system_messages);
        let patch = current.patch_to(&self.wanted_prompt(), now_ms())?;
        Some(Arc::new(Message::System(patch)))
    }

    /// The first answer that is no error ends a series of retries.
    async fn note_retry_success(&self, run: &mut Run, message: &Message) {
        let failed = message
            .as_assistant()
            .is_some_and(|answer| answer.stop_reason == StopReason::Error);
        if run.retries > 0 && !failed {
            let attempt = std::mem::take(&mut run.retries);
            self.emit(AgentEvent::AutoRetryEnd {
                success: true,
                attempt,
                final_error: None,
            })
            .await;
        }
    }

    /// `turn_end`: handlers first, then the event, then what waited for the end of the turn. True = a handler asks for
    /// another turn.
    async fn finish_turn(&self, turn: &Turn) -> Result<bool, StorageError> {
        let hooks = self.hooks();
        let tool_results: Vec<Arc<Message>> = turn
            .results
            .iter()
            .map(|(message, _)| message.clone())
            .collect();
        let mut asked_on = false;
        if hooks.subscribed(HookEvent::TurnEnd) {
            let outcome = hooks
                .turn_end(TurnEndEvent {
                    turn_index: turn.index,
                    message: turn.answer.0.clone(),
                    tool_results: tool_results.clone(),
                    message_entry_id: Some(turn.answer.1.id().to_owned()),
                    tool_result_entry_ids: turn
                        .results
                        .iter()
                        .map(|(_, entry)| entry.id().to_owned())
                        .collect(),
                    context: self.session.context().to_messages(),
                    preview: BoundaryPreview::new(&self.session),
                })
                .await;
            asked_on = self.commit_boundary(outcome).await?;
        }
        let message = turn.answer.0.clone();
        self.deliver(&Arc::new(AgentEvent::TurnEnd {
            message,
            tool_results,
            turn_index: turn.index,
        }))
        .await;
        self.store_turn_end_messages().await?;
        Ok(asked_on)
    }
}

/// The calls of an answer and why it stopped.
fn calls_of(message: &Message) -> (Vec<ToolCallBlock>, StopReason) {
    match message {
        Message::Assistant(AssistantMessage { stop_reason, .. }) => {
            let calls = message
                .as_assistant()
                .map(|answer| answer.tool_calls().cloned().collect())
                .unwrap_or_default();
            (calls, stop_reason.clone())
        }
        _ => (Vec::new(), StopReason::Stop),
    }
}
