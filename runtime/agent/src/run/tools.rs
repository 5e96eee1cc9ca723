//! The tool calls of one answer: order, parallelism, aborts and interrupts (spec/agent-loop.md §3.2, §3.3, §4.1).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use pier_protocol::message::{Extra, Message, ToolCallBlock, ToolResultMessage};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::Run;
use super::nested::NestedScope;
use super::tool_call::{Finished, Prepared};
use crate::agent_session::inner::Inner;
use crate::clock::now_ms;
use crate::session::{EntryRef, SessionError as StorageError};
use crate::settings::InterruptMode;
use crate::tool::{ExecutionMode, IS_WARNING};

const ABORTED: &str = "Operation aborted";
const SKIPPED: &str = "Skipped due to queued user message.";

/// What a batch of calls gave.
#[derive(Default)]
pub(crate) struct Batch {
    /// In call order.
    pub(crate) results: Vec<(Arc<Message>, EntryRef)>,
    /// Every result asks to end the loop.
    pub(crate) terminate: bool,
}

/// Cancellation of a batch: the run's abort, and the interrupt by a steering message.
struct BatchControl {
    token: CancellationToken,
    skipped: AtomicBool,
}

impl BatchControl {
    fn stopped_text(&self) -> Option<&'static str> {
        if self.skipped.load(Ordering::Acquire) {
            Some(SKIPPED)
        } else if self.token.is_cancelled() {
            Some(ABORTED)
        } else {
            None
        }
    }
}

/// A call on its way.
struct Slot {
    call: ToolCallBlock,
    finished: Option<Finished>,
    scope: Arc<NestedScope>,
}

impl Inner {
    pub(crate) async fn run_batch(
        self: &Arc<Self>,
        run: &Run,
        calls: &[ToolCallBlock],
    ) -> Result<Batch, StorageError> {
        let control = BatchControl {
            token: run.active.cancel.child_token(),
            skipped: AtomicBool::new(false),
        };
        if self.is_sequential(calls) {
            self.run_sequentially(&control, calls).await
        } else {
            self.run_in_parallel(&control, calls).await
        }
    }

    fn is_sequential(&self, calls: &[ToolCallBlock]) -> bool {
        self.settings().sequential_tools
            || calls.iter().any(|call| {
                self.tools
                    .get(&call.name)
                    .is_some_and(|tool| tool.spec().execution_mode == ExecutionMode::Sequential)
            })
    }

    fn slot(self: &Arc<Self>, control: &BatchControl, call: &ToolCallBlock) -> Slot {
        let scope = NestedScope::new(self, &call.id, None, control.token.clone(), 0);
        Slot {
            call: call.clone(),
            finished: None,
            scope,
        }
    }

    async fn run_sequentially(
        self: &Arc<Self>,
        control: &BatchControl,
        calls: &[ToolCallBlock],
    ) -> Result<Batch, StorageError> {
        let mut batch = Batch {
            terminate: true,
            ..Batch::default()
        };
        for call in calls {
            let mut slot = self.slot(control, call);
            if let Some(prepared) = self.begin(control, &mut slot).await {
                let finished = self.execute(control, &slot, prepared).await;
                slot.finished = Some(finished);
            }
            self.record(slot, &mut batch).await?;
        }
        Ok(batch)
    }

    async fn run_in_parallel(
        self: &Arc<Self>,
        control: &BatchControl,
        calls: &[ToolCallBlock],
    ) -> Result<Batch, StorageError> {
        let mut slots: Vec<Slot> = calls.iter().map(|call| self.slot(control, call)).collect();
        // All calls are prepared, one after another, before the first one runs.
        let mut ready: Vec<(usize, Prepared)> = Vec::new();
        for (at, slot) in slots.iter_mut().enumerate() {
            if let Some(prepared) = self.begin(control, slot).await {
                ready.push((at, prepared));
            }
        }
        let mut done: Vec<(usize, Finished)> = Vec::new();
        {
            let mut running: FuturesUnordered<_> = ready
                .into_iter()
                .filter_map(|(at, prepared)| {
                    let slot = slots.get(at)?;
                    Some(async move { (at, self.execute(control, slot, prepared).await) })
                })
                .collect();
            while let Some(finished) = running.next().await {
                done.push(finished);
            }
        }
        for (at, finished) in done {
            if let Some(slot) = slots.get_mut(at) {
                slot.finished = Some(finished);
            }
        }
        let mut batch = Batch {
            terminate: true,
            ..Batch::default()
        };
        for slot in slots {
            self.record(slot, &mut batch).await?;
        }
        Ok(batch)
    }

    /// Start event and preparation. A call that must not run gets its end event at once.
    async fn begin(&self, control: &BatchControl, slot: &mut Slot) -> Option<Prepared> {
        self.emit_tool_start(&slot.call, None).await;
        let outcome = match control.stopped_text() {
            Some(text) => Err(Box::new(Finished::refused(text))),
            None => self.prepare_call(&slot.call, None).await,
        };
        match outcome {
            Ok(prepared) => Some(prepared),
            Err(refused) => {
                self.emit_tool_end(&slot.call, &refused, None).await;
                slot.finished = Some(*refused);
                None
            }
        }
    }

    async fn execute(
        self: &Arc<Self>,
        control: &BatchControl,
        slot: &Slot,
        prepared: Prepared,
    ) -> Finished {
        let mut finished = match control.stopped_text() {
            // Aborted while other calls of the batch were prepared.
            Some(text) => Finished::refused(text),
            None => {
                let token = control.token.child_token();
                self.execute_call(&slot.call, prepared, token, slot.scope.clone(), None)
                    .await
            }
        };
        if control.skipped.load(Ordering::Acquire) {
            finished = Finished {
                duration_ms: finished.duration_ms,
                ..Finished::refused(SKIPPED)
            };
        }
        self.emit_tool_end(&slot.call, &finished, None).await;
        self.interrupt_for_steering(control);
        finished
    }

    /// Under `interruptMode: "immediate"` a waiting steering message ends the batch.
    fn interrupt_for_steering(&self, control: &BatchControl) {
        let immediate = self.settings().interrupt_mode == InterruptMode::Immediate;
        if immediate && !control.token.is_cancelled() && self.state.lock().queues.has_steering() {
            control.skipped.store(true, Ordering::Release);
            control.token.cancel();
        }
    }

    /// Announces and stores the result message of a call.
    async fn record(&self, slot: Slot, batch: &mut Batch) -> Result<(), StorageError> {
        let finished = slot.finished.unwrap_or_else(|| Finished::refused(ABORTED));
        batch.terminate &= finished.output.terminate == Some(true);
        let mut extra = Extra::new();
        if finished.is_warning() {
            extra.insert(IS_WARNING.to_owned(), Value::Bool(true));
        }
        let message = ToolResultMessage {
            tool_call_id: slot.call.id,
            tool_name: slot.call.name,
            content: finished.output.content,
            details: finished.output.details,
            is_error: finished.is_error,
            usage: finished.output.usage,
            nested_calls: slot.scope.summary(),
            duration_ms: finished.duration_ms,
            timestamp: now_ms(),
            extra,
        };
        batch.results.push(
            self.announce(Arc::new(Message::ToolResult(message)))
                .await?,
        );
        Ok(())
    }

    /// The answer was cut at the token limit, so its calls may be incomplete: none of them runs.
    pub(crate) async fn refuse_cut_calls(
        self: &Arc<Self>,
        calls: &[ToolCallBlock],
    ) -> Result<Batch, StorageError> {
        let control = BatchControl {
            token: CancellationToken::new(),
            skipped: AtomicBool::new(false),
        };
        let mut slots = Vec::with_capacity(calls.len());
        for call in calls {
            let mut slot = self.slot(&control, call);
            let refused = Finished::refused(format!(
                "Tool call \"{}\" was not executed: the response hit the output token limit, so its arguments may be \
truncated. Re-issue the tool call with complete arguments.",
                call.name
            ));
            self.emit_tool_start(call, None).await;
            self.emit_tool_end(call, &refused, None).await;
            slot.finished = Some(refused);
            slots.push(slot);
        }
        let mut batch = Batch::default();
        for slot in slots {
            self.record(slot, &mut batch).await?;
        }
        batch.terminate = false;
        Ok(batch)
    }
}
