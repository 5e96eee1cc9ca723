//! Announcing: extension handlers first, then storage, then listeners (spec/rpc.md §5.11).
//!
//! Effects of synchronous calls (an extension appends an entry) are announced from the outbox, a queue that is emptied
//! before the next event of the loop, so that the order is the order of the effects.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use pier_protocol::event::AgentEvent;
use pier_protocol::message::Message;
use tokio::sync::watch;

use super::inner::Inner;
use crate::hooks::{HookEvent, Notification};
use crate::session::{EntryRef, SessionError as StorageError};

/// Longest wait of the loop for announcements of synchronous calls. Only a handler that waits for the loop can take so long.
const OUTBOX_PATIENCE: Duration = Duration::from_secs(2);

/// Something a synchronous call did that must still be announced.
#[expect(clippy::large_enum_variant, reason = "jobs are few and short-lived")]
pub(crate) enum Job {
    Event(AgentEvent),
    Notify(Notification),
    /// A custom message that was stored while idle.
    Stored(Arc<Message>),
}

pub(crate) struct Outbox {
    jobs: Mutex<VecDeque<Job>>,
    /// Queued and running jobs.
    pending: watch::Sender<usize>,
    worker: tokio::sync::Mutex<()>,
}

impl Default for Outbox {
    fn default() -> Self {
        Outbox {
            jobs: Mutex::default(),
            pending: watch::Sender::new(0),
            worker: tokio::sync::Mutex::new(()),
        }
    }
}

impl Inner {
    /// Announces one event: handlers, then listeners.
    pub(crate) async fn emit(&self, event: AgentEvent) {
        let event = Arc::new(event);
        self.notify_event(&event).await;
        self.deliver(&event).await;
    }

    /// As [`Inner::emit`] for `message_update`: handlers are queued, not awaited.
    pub(crate) async fn emit_update(&self, event: AgentEvent) {
        let event = Arc::new(event);
        let hooks = self.hooks();
        if hooks.subscribed(HookEvent::MessageUpdate) {
            hooks.message_update(&event).await;
        }
        self.deliver(&event).await;
    }

    /// Delivers to listeners, after everything that synchronous calls left to announce.
    pub(crate) async fn deliver(&self, event: &Arc<AgentEvent>) {
        self.flush().await;
        self.hub.deliver(event).await;
    }

    pub(crate) async fn notify(&self, notification: Notification) {
        let hooks = self.hooks();
        if notification
            .hook()
            .is_some_and(|hook| hooks.subscribed(hook))
        {
            hooks.notify(notification).await;
        }
    }

    async fn notify_event(&self, event: &Arc<AgentEvent>) {
        let hooks = self.hooks();
        if HookEvent::of(event).is_some_and(|hook| hooks.subscribed(hook)) {
            hooks.notify(Notification::Event(event.clone())).await;
        }
    }

    /// `message_start` and `message_end` of a message that is complete, with storage in between.
    pub(crate) async fn announce(
        &self,
        message: Arc<Message>,
    ) -> Result<(Arc<Message>, EntryRef), StorageError> {
        self.emit(AgentEvent::MessageStart {
            message: message.clone(),
        })
        .await;
        self.finish_message(message).await
    }

    /// `message_end`: handlers may replace the message, then it is stored, then listeners see it.
    pub(crate) async fn finish_message(
        &self,
        message: Arc<Message>,
    ) -> Result<(Arc<Message>, EntryRef), StorageError> {
        let hooks = self.hooks();
        let mut message = message;
        if hooks.subscribed(HookEvent::MessageEnd)
            && let Some(replacement) = hooks.message_end(&message).await
        {
            if replacement.role() == message.role() {
                message = Arc::new(replacement);
            } else {
                self.report(
                    "<runtime>",
                    "message_end",
                    format!(
                        "a {} message cannot be replaced by a {} message",
                        message.role(),
                        replacement.role()
                    ),
                );
            }
        }
        let entry = self.session.append_message(message.clone())?;
        self.touch();
        self.deliver(&Arc::new(AgentEvent::MessageEnd {
            message: message.clone(),
        }))
        .await;
        Ok((message, entry))
    }

    /// Announces an entry that clients do not see as a message.
    pub(crate) async fn emit_entry(&self, entry: &EntryRef) {
        self.touch();
        self.emit(AgentEvent::EntryAppended {
            entry: entry.entry().clone(),
        })
        .await;
    }

    /// Leaves something to be announced; callable from any thread.
    pub(crate) fn post(self: &Arc<Self>, job: Job) {
        self.touch();
        self.outbox.pending.send_modify(|pending| *pending += 1);
        self.outbox.jobs.lock().push_back(job);
        let inner = self.clone();
        self.runtime.spawn(async move { inner.work_outbox().await });
    }

    /// Waits until everything posted so far was announced.
    pub(crate) async fn flush(&self) {
        if *self.outbox.pending.borrow() == 0 {
            return;
        }
        // Only waits: a worker that is dropped in the middle of a job would lose it.
        let mut pending = self.outbox.pending.subscribe();
        if tokio::time::timeout(OUTBOX_PATIENCE, pending.wait_for(|pending| *pending == 0))
            .await
            .is_err()
        {
            tracing::warn!("an extension handler holds up announcements");
        }
    }

    async fn work_outbox(&self) {
        let _worker = self.outbox.worker.lock().await;
        loop {
            let job = self.outbox.jobs.lock().pop_front();
            let Some(job) = job else { return };
            // Counted down also when a handler panics.
            let _done = Countdown(&self.outbox.pending);
            match job {
                Job::Event(event) => {
                    let event = Arc::new(event);
                    self.notify_event(&event).await;
                    self.hub.deliver(&event).await;
                }
                Job::Notify(notification) => self.notify(notification).await,
                Job::Stored(message) => {
                    let start = Arc::new(AgentEvent::MessageStart {
                        message: message.clone(),
                    });
                    self.notify_event(&start).await;
                    self.hub.deliver(&start).await;
                    let hooks = self.hooks();
                    if hooks.subscribed(HookEvent::MessageEnd)
                        && hooks.message_end(&message).await.is_some()
                    {
                        tracing::debug!("a message that is already stored cannot be replaced");
                    }
                    self.hub
                        .deliver(&Arc::new(AgentEvent::MessageEnd { message }))
                        .await;
                }
            }
        }
    }
}

struct Countdown<'a>(&'a watch::Sender<usize>);

impl Drop for Countdown<'_> {
    fn drop(&mut self) {
        self.0
            .send_modify(|pending| *pending = pending.saturating_sub(1));
    }
}
