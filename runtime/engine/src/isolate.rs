//! The handle to one isolate: what other threads may ask of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, watch};

use crate::error::{EngineError, StopReason};
use crate::interrupt;
use crate::options::CallOptions;
use crate::shared::Shared;

/// How long code may hold the thread at the moment its deadline passes before it counts as stuck and not as waiting.
const STUCK_AFTER: Duration = Duration::from_millis(50);

/// How long `dispose` waits for what the code printed to be delivered.
const LAST_LINES: Duration = Duration::from_millis(200);

/// What the isolate's thread is told.
pub(crate) enum Command {
    Call(CallRequest),
    /// Run the `exit` handlers and end.
    Dispose,
}

pub(crate) struct CallRequest {
    /// `None` for a call nobody waits for.
    pub(crate) id: Option<u32>,
    pub(crate) kind: String,
    pub(crate) header: String,
    pub(crate) payload: Option<Arc<str>>,
}

/// A handle to an isolate and its thread. Clones share it; when the last one is dropped the isolate is disposed.
#[derive(Clone)]
pub struct Isolate {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    shared: Arc<Shared>,
    commands: mpsc::UnboundedSender<Command>,
    next_call: AtomicU32,
}

impl Isolate {
    pub(crate) fn new(
        name: String,
        shared: Arc<Shared>,
        commands: mpsc::UnboundedSender<Command>,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
                name,
                shared,
                commands,
                next_call: AtomicU32::new(1),
            }),
        }
    }

    /// The name given in `IsolateOptions`.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Calls the handler that js-api installed: `handle(kind, header, payload)`.
    ///
    /// Calls start in the order they were made and may overlap. `header` and `payload` are JSON text; so is the answer, `None` for
    /// `undefined`.
    ///
    /// # Errors
    /// `Js` when the code threw; `Timeout` when the deadline passed while the code waited; `Stopped` when the isolate ended, which
    /// it also does when the deadline passes while the code holds the thread.
    pub async fn call(
        &self,
        kind: &str,
        header: String,
        payload: Option<Arc<str>>,
        options: CallOptions,
    ) -> Result<Option<String>, EngineError> {
        let shared = &self.inner.shared;
        let id = self.inner.next_call.fetch_add(1, Ordering::Relaxed);
        let reply = shared.add_call(id);
        let forget = ForgetOnDrop { shared, id };
        self.send(Command::Call(CallRequest {
            id: Some(id),
            kind: kind.to_string(),
            header,
            payload,
        }));

        let expired = async {
            match options.deadline {
                Some(deadline) => {
                    options.clock.unwrap_or_default().expired(deadline).await;
                    deadline
                }
                None => std::future::pending().await,
            }
        };
        let after = tokio::select! {
            biased;
            reply = reply => return reply.unwrap_or_else(|_| Err(self.stopped_error())),
            after = expired => after,
        };
        drop(forget);
        if let Some((_, busy)) = shared
            .stretch()
            .filter(|(_, busy)| *busy >= STUCK_AFTER.min(after))
        {
            self.stop_stuck(busy).await;
            return Err(self.stopped_error());
        }
        Err(EngineError::Timeout { after })
    }

    /// The same call without an answer; failures are dropped. For notices whose outcome nobody needs.
    pub fn post(&self, kind: &str, header: String, payload: Option<Arc<str>>) {
        self.send(Command::Call(CallRequest {
            id: None,
            kind: kind.to_string(),
            header,
            payload,
        }));
    }

    /// Ends the isolate now: running code is interrupted, pending calls fail.
    pub fn terminate(&self, reason: StopReason) {
        self.inner.shared.stop(reason);
        // Wakes the thread if it was idle.
        self.send(Command::Dispose);
    }

    /// Lets the code's `exit` handlers run, then ends the isolate. After `grace` it is terminated.
    pub async fn dispose(&self, grace: Duration) {
        self.send(Command::Dispose);
        let mut stopped = self.inner.shared.subscribe_stop();
        let ended = stopped.wait_for(Option::is_some);
        if tokio::time::timeout(grace, ended).await.is_err() {
            self.terminate(StopReason::Disposed);
        }
        // The last lines are worth a moment, no more: a stuck thread never says that it is done.
        let _ = tokio::time::timeout(LAST_LINES, self.inner.shared.drained()).await;
    }

    /// `None` while the isolate lives.
    pub fn stop_reason(&self) -> Option<StopReason> {
        self.inner.shared.stop_reason()
    }

    /// While its code holds the thread: a mark of this stretch, and the processor time that the thread has used so far.
    pub fn stretch(&self) -> Option<(u64, Duration)> {
        let shared = &self.inner.shared;
        let (mark, _) = shared.stretch()?;
        Some((mark, shared.cpu_time()?))
    }

    /// Changes to `Some` when the isolate ends.
    pub fn watch_stop(&self) -> watch::Receiver<Option<StopReason>> {
        self.inner.shared.subscribe_stop()
    }

    /// Stops code that holds the thread, with its place if it is JavaScript that runs.
    async fn stop_stuck(&self, busy: Duration) {
        let shared = &self.inner.shared;
        let reason = StopReason::Unresponsive { busy, at: None };
        let mut stopped = shared.subscribe_stop();
        interrupt::request(shared, reason.clone());
        if tokio::time::timeout(interrupt::PATIENCE, stopped.wait_for(Option::is_some))
            .await
            .is_err()
        {
            shared.stop(reason);
        }
    }

    fn send(&self, command: Command) {
        // A send fails only after the thread ended; the pending call was answered with the reason then.
        let _ = self.inner.commands.send(command);
    }

    fn stopped_error(&self) -> EngineError {
        EngineError::Stopped(self.stop_reason().unwrap_or(StopReason::Disposed))
    }
}

struct ForgetOnDrop<'a> {
    shared: &'a Shared,
    id: u32,
}

impl Drop for ForgetOnDrop<'_> {
    fn drop(&mut self) {
        self.shared.forget_call(self.id);
    }
}

impl std::fmt::Debug for Isolate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Isolate")
            .field("name", &self.inner.name)
            .field("stopped", &self.stop_reason())
            .finish()
    }
}
