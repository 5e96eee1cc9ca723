//! Calls that gave extension code a context: who is being called, what for, and whether the call may still act.
//!
//! A call whose deadline passed is revoked: host calls that quote it fail, so it can have no late effect. A call that
//! simply ended stays usable, because extensions keep contexts in closures.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use pier_agent::tool::{NestedTools, ToolUpdates};
use pier_agent::tools::mutation_queue::Within;
use pier_agent::tools::operations::OutputSink;

use crate::isolate::{DeadlineClock, HostCallError};
use crate::providers::stream::StreamSink;
use crate::wire::{CallId, ExtId};

/// Revoked ids that are remembered; far more than calls that can time out while their code still runs.
const MAX_REVOKED: usize = 65_536;

/// What a call is for.
#[derive(Default)]
pub(crate) enum Purpose {
    /// An event handler. `in_run`: the agent loop waits for it.
    Event { in_run: bool },
    /// A tool execution.
    Tool {
        /// Id of the model's call.
        tool_call_id: String,
        updates: ToolUpdates,
        nested: Option<Arc<dyn NestedTools>>,
    },
    /// A command or shortcut.
    Command,
    /// A provider stream.
    Stream(Arc<StreamSink>),
    /// A command of a person run by an extension's `operations`.
    Bash(OutputSink),
    /// The `setup` callback of a new session.
    Setup,
    /// Anything else (renderers, completions, OAuth, callbacks).
    #[default]
    Other,
}

/// One open call.
pub(crate) struct Call {
    pub(crate) id: CallId,
    pub(crate) ext: ExtId,
    /// Event, tool or command name, for messages.
    pub(crate) what: String,
    pub(crate) purpose: Purpose,
    pub(crate) clock: Arc<DeadlineClock>,
    /// Fires when the work is aborted; the code sees it as its `AbortSignal`.
    pub(crate) cancel: CancellationToken,
    /// Fires when the call is given up; host calls made for it end then.
    pub(crate) gone: CancellationToken,
    pub(crate) open: AtomicBool,
    /// Turns in the queues of files that this call is part of.
    pub(crate) within: Within,
}

impl Call {
    /// Whether the agent loop waits for this call, so that waiting for the loop in it would never end.
    pub(crate) fn holds_run(&self) -> bool {
        self.open.load(Ordering::Acquire)
            && match &self.purpose {
                Purpose::Event { in_run } => *in_run,
                Purpose::Tool { .. } | Purpose::Stream(_) => true,
                _ => false,
            }
    }
}

#[derive(Default)]
struct Revoked {
    ids: HashSet<CallId>,
    order: VecDeque<CallId>,
}

/// All calls.
#[derive(Default)]
pub(crate) struct CallTable {
    next: AtomicU64,
    open: Mutex<HashMap<CallId, Arc<Call>>>,
    revoked: Mutex<Revoked>,
}

/// Ends its call when dropped.
pub(crate) struct CallScope<'a> {
    table: &'a CallTable,
    pub(crate) call: Arc<Call>,
}

impl CallTable {
    /// Opens a call. `cancel` is the abort signal of the work that it belongs to.
    pub(crate) fn begin(
        &self,
        ext: ExtId,
        what: &str,
        purpose: Purpose,
        cancel: CancellationToken,
    ) -> CallScope<'_> {
        let id = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let call = Arc::new(Call {
            id,
            ext,
            what: what.to_string(),
            purpose,
            clock: Arc::new(DeadlineClock::new()),
            cancel,
            gone: CancellationToken::new(),
            open: AtomicBool::new(true),
            within: Within::current(),
        });
        self.open.lock().insert(id, call.clone());
        CallScope { table: self, call }
    }

    /// An open call.
    pub(crate) fn get(&self, id: CallId) -> Option<Arc<Call>> {
        self.open.lock().get(&id).cloned()
    }

    /// Fails when the call may not act any more.
    pub(crate) fn check(&self, id: Option<CallId>) -> Result<Option<Arc<Call>>, HostCallError> {
        let Some(id) = id else { return Ok(None) };
        if self.revoked.lock().ids.contains(&id) {
            return Err(HostCallError::of(
                "CallRevokedError",
                "This call took too long and was given up; it can have no effect any more.",
            ));
        }
        Ok(self.get(id))
    }

    /// Takes the right to act from a call.
    pub(crate) fn revoke(&self, id: CallId) {
        let mut revoked = self.revoked.lock();
        if revoked.ids.insert(id) {
            revoked.order.push_back(id);
            if revoked.order.len() > MAX_REVOKED
                && let Some(oldest) = revoked.order.pop_front()
            {
                revoked.ids.remove(&oldest);
            }
        }
    }

    /// Whether waiting for the agent loop on behalf of `id` would never end: the call itself holds the loop, or
    /// it has ended and another call of the same extension does.
    pub(crate) fn would_deadlock(&self, id: Option<CallId>, ext: Option<ExtId>) -> Option<String> {
        let open = self.open.lock();
        if let Some(call) = id.and_then(|id| open.get(&id)) {
            return call.holds_run().then(|| call.what.clone());
        }
        let ext = ext?;
        open.values()
            .find(|call| call.ext == ext && call.holds_run())
            .map(|call| call.what.clone())
    }

    /// Whether any call of these extensions is open.
    pub(crate) fn any_open(&self, extensions: &[ExtId]) -> bool {
        self.open
            .lock()
            .values()
            .any(|call| extensions.contains(&call.ext))
    }

    /// Gives up every open call of the given extensions (their isolate ended).
    pub(crate) fn cancel_all(&self, extensions: &[ExtId]) {
        let calls: Vec<_> = self
            .open
            .lock()
            .values()
            .filter(|call| extensions.contains(&call.ext))
            .cloned()
            .collect();
        for call in calls {
            call.gone.cancel();
        }
    }
}

impl CallScope<'_> {
    /// The id.
    pub(crate) fn id(&self) -> CallId {
        self.call.id
    }

    /// Gives the call up: no late effects, and what it started in the host ends.
    pub(crate) fn revoke(&self) {
        self.table.revoke(self.call.id);
        self.call.gone.cancel();
    }
}

impl Drop for CallScope<'_> {
    fn drop(&mut self) {
        self.call.open.store(false, Ordering::Release);
        self.table.open.lock().remove(&self.call.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revoked_call_cannot_act_and_an_ended_one_can() {
        let table = CallTable::default();
        let first = table.begin(
            1,
            "tool_call",
            Purpose::Event { in_run: true },
            CancellationToken::new(),
        );
        let id = first.id();
        assert!(table.check(Some(id)).is_ok_and(|call| call.is_some()));
        drop(first);
        assert!(table.check(Some(id)).is_ok_and(|call| call.is_none()));
        let second = table.begin(1, "x", Purpose::Other, CancellationToken::new());
        second.revoke();
        assert!(second.call.gone.is_cancelled());
        assert_eq!(
            table
                .check(Some(second.id()))
                .err()
                .map(|error| error.class)
                .as_deref(),
            Some("CallRevokedError")
        );
    }

    #[test]
    fn waiting_for_the_run_is_refused_inside_it() {
        let table = CallTable::default();
        let command = table.begin(1, "cmd", Purpose::Command, CancellationToken::new());
        let id = command.id();
        assert_eq!(table.would_deadlock(Some(id), Some(1)), None);
        let handler = table.begin(
            1,
            "tool_call",
            Purpose::Event { in_run: true },
            CancellationToken::new(),
        );
        assert_eq!(
            table.would_deadlock(Some(handler.id()), Some(1)).as_deref(),
            Some("tool_call")
        );
        // The command itself still runs beside the handler: it may wait.
        assert_eq!(table.would_deadlock(Some(id), Some(1)), None);
        // A kept context of an ended command, used inside the handler, may not.
        drop(command);
        assert_eq!(
            table.would_deadlock(Some(id), Some(1)).as_deref(),
            Some("tool_call")
        );
        assert_eq!(table.would_deadlock(Some(id), Some(2)), None);
    }
}
