//! Calls that a tool makes itself (`ctx.executeTool`, spec/extension-api.md §4.2).
//!
//! They pass through the same pipeline and are announced with `parentToolCallId`, but are no messages; the result of the
//! outer call lists them.

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use parking_lot::Mutex;
use pier_protocol::message::{NestedCall, NestedCalls, ToolCallBlock, joined_text};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::tool_call::Finished;
use crate::agent_session::inner::Inner;
use crate::tool::{NestedOutcome, NestedTools, ToolUpdates};

/// Tools calling tools calling tools …
const MAX_DEPTH: u32 = 16;
/// Calls of one tool that its result lists.
const MAX_LISTED: usize = 100;
/// Bytes of JSON up to which arguments are kept in the list.
const MAX_ARGUMENTS: usize = 4096;

/// The calls made by one running call.
pub(crate) struct NestedScope {
    inner: Weak<Inner>,
    /// Id of the running call.
    call_id: String,
    /// Id of the call that made the running one.
    parent: Option<String>,
    cancel: CancellationToken,
    depth: u32,
    calls: Mutex<Calls>,
}

#[derive(Default)]
struct Calls {
    made: u64,
    listed: Vec<NestedCall>,
}

impl NestedScope {
    pub(crate) fn new(
        inner: &Arc<Inner>,
        call_id: &str,
        parent: Option<&str>,
        cancel: CancellationToken,
        depth: u32,
    ) -> Arc<Self> {
        Arc::new(NestedScope {
            inner: Arc::downgrade(inner),
            call_id: call_id.to_owned(),
            parent: parent.map(str::to_owned),
            cancel,
            depth,
            calls: Mutex::new(Calls::default()),
        })
    }

    pub(crate) fn parent_of_call(&self) -> Option<&str> {
        self.parent.as_deref()
    }

    /// What the result message lists; `None` when nothing was called.
    pub(crate) fn summary(&self) -> Option<NestedCalls> {
        let calls = self.calls.lock();
        if calls.made == 0 {
            return None;
        }
        let complete = calls.made == calls.listed.len() as u64
            && calls.listed.iter().all(|call| call.status != "unfinished");
        Some(NestedCalls {
            calls: calls.listed.clone(),
            complete,
        })
    }

    fn begin(&self, name: &str, args: &Map<String, Value>) -> (String, Option<usize>) {
        let mut calls = self.calls.lock();
        calls.made += 1;
        let id = format!("{}/{}", self.call_id, calls.made);
        if calls.listed.len() >= MAX_LISTED {
            return (id, None);
        }
        let size = serde_json::to_string(args).map_or(0, |json| json.len());
        let small = size <= MAX_ARGUMENTS;
        calls.listed.push(NestedCall {
            id: id.clone(),
            name: name.to_owned(),
            arguments: small.then(|| Value::Object(args.clone())),
            arguments_bytes: (!small).then_some(size as u64),
            status: "unfinished".to_owned(),
            ..NestedCall::default()
        });
        (id, Some(calls.listed.len() - 1))
    }

    fn end(&self, slot: Option<usize>, finished: &Finished) {
        let mut calls = self.calls.lock();
        let Some(call) = slot.and_then(|slot| calls.listed.get_mut(slot)) else {
            return;
        };
        call.status = if finished.is_error { "error" } else { "ok" }.to_owned();
        call.duration_ms = finished.duration_ms;
        if finished.is_error {
            call.error = Some(
                joined_text(&finished.output.content)
                    .chars()
                    .take(500)
                    .collect(),
            );
        }
    }
}

#[async_trait]
impl NestedTools for NestedScope {
    async fn execute(
        &self,
        name: &str,
        args: Value,
        cancel: CancellationToken,
        updates: Option<ToolUpdates>,
    ) -> NestedOutcome {
        let (arguments, arguments_error) = match args {
            Value::Object(map) => (map, None),
            Value::Null => (Map::new(), None),
            other => (
                Map::new(),
                Some(format!("arguments must be an object, not {other}")),
            ),
        };
        let (id, slot) = self.begin(name, &arguments);
        let call = ToolCallBlock {
            id,
            name: name.to_owned(),
            arguments,
            arguments_error,
            ..ToolCallBlock::default()
        };
        let finished = match self.inner.upgrade() {
            Some(inner) => self.run(&inner, &call, cancel, updates).await,
            None => Finished::refused("The session has ended"),
        };
        self.end(slot, &finished);
        NestedOutcome {
            tool_call: call,
            is_error: finished.is_error,
            duration_ms: finished.duration_ms,
            result: finished.output,
        }
    }
}

impl NestedScope {
    async fn run(
        &self,
        inner: &Arc<Inner>,
        call: &ToolCallBlock,
        cancel: CancellationToken,
        updates: Option<ToolUpdates>,
    ) -> Finished {
        let parent = Some(self.call_id.as_str());
        inner.emit_tool_start(call, parent).await;
        let finished = if self.depth >= MAX_DEPTH {
            Finished::refused(format!(
                "Tools call each other more than {MAX_DEPTH} levels deep"
            ))
        } else if self.cancel.is_cancelled() || cancel.is_cancelled() {
            Finished::refused("Operation aborted")
        } else {
            match inner.prepare_call(call, parent).await {
                Err(refused) => *refused,
                Ok(prepared) => {
                    // Fires with the outer call and with the caller's own signal.
                    let token = self.cancel.child_token();
                    let scope =
                        NestedScope::new(inner, &call.id, parent, token.clone(), self.depth + 1);
                    let run = inner.execute_call(call, prepared, token.clone(), scope, updates);
                    let watch = async {
                        cancel.cancelled().await;
                        token.cancel();
                        std::future::pending::<()>().await;
                    };
                    // Boxed: a nested call contains a call.
                    let run: futures::future::BoxFuture<'_, Finished> = Box::pin(run);
                    tokio::select! {
                        finished = run => finished,
                        () = watch => Finished::refused("Operation aborted"),
                    }
                }
            }
        };
        inner.emit_tool_end(call, &finished, parent).await;
        finished
    }
}
