//! Writes session events to the output, for JSON mode and RPC mode alike.
//!
//! The session waits for each event until the output has room, so a client that stops reading
//! stalls the session instead of growing memory (`spec/rpc.md` §1.4).

use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use async_trait::async_trait;
use parking_lot::Mutex;
use pier_agent::events::EventListener;
use pier_protocol::event::AgentEvent;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::dialect::{Rules, event_lines};
use crate::output::OutputQueue;

/// A listener that writes every event as lines of one dialect.
pub(crate) struct EventWriter {
    output: OutputQueue,
    rules: &'static Rules,
    closed: CancellationToken,
    /// Prompts that are making a step just now; one of these may be the start of a run.
    admissions: watch::Sender<usize>,
    last: Mutex<Instant>,
}

impl EventWriter {
    pub(crate) fn new(output: OutputQueue, rules: &'static Rules) -> Arc<Self> {
        Arc::new(Self {
            output,
            rules,
            closed: CancellationToken::new(),
            admissions: watch::Sender::new(0),
            last: Mutex::new(Instant::now()),
        })
    }

    /// No event is written from now on, and none is waited for.
    pub(crate) fn close(&self) {
        self.closed.cancel();
    }

    /// When the latest event arrived, or when the writer was made.
    pub(crate) fn last_event(&self) -> Instant {
        *self.last.lock()
    }

    /// Waits for an admission and hands its outcome to `answer` in the very step that gives it. `agent_start` is not
    /// written during a step, so the response that says `started` comes first (`spec/rpc.md` §2). A prompt that waits, for
    /// a handler or to be queued, holds nothing up.
    pub(crate) async fn answered<T>(
        self: &Arc<Self>,
        admission: impl Future<Output = T>,
        answer: impl Fn(&T),
    ) -> T {
        let mut admission = std::pin::pin!(admission);
        std::future::poll_fn(|context| {
            let _step = self.step();
            let outcome = admission.as_mut().poll(context);
            if let Poll::Ready(outcome) = &outcome {
                answer(outcome);
            }
            outcome
        })
        .await
    }

    fn step(self: &Arc<Self>) -> Step {
        self.admissions.send_modify(|count| *count += 1);
        Step(Arc::clone(self))
    }

    async fn write(&self, event: &AgentEvent) {
        if matches!(event, AgentEvent::AgentStart {}) {
            let mut admissions = self.admissions.subscribe();
            // The sender lives as long as `self`; a step waits for nothing.
            let _ = admissions.wait_for(|count| *count == 0).await;
        }
        for line in event_lines(self.rules, event) {
            if self.output.push(line).is_err() {
                return;
            }
        }
        // A closed output is noticed by the mode; the session only must not hang on it.
        let _ = self.output.ready().await;
    }
}

#[async_trait]
impl EventListener for EventWriter {
    async fn on_event(&self, event: &Arc<AgentEvent>) {
        *self.last.lock() = Instant::now();
        if self.closed.is_cancelled() {
            return;
        }
        tokio::select! {
            () = self.closed.cancelled() => {}
            () = self.write(event) => {}
        }
    }
}

/// See [`EventWriter::answered`].
struct Step(Arc<EventWriter>);

impl Drop for Step {
    fn drop(&mut self) {
        self.0.admissions.send_modify(|count| *count -= 1);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::sync::Arc;
    use std::time::Duration;

    use pier_agent::events::EventListener;
    use pier_protocol::event::AgentEvent;

    use super::EventWriter;
    use crate::dialect::Dialect;
    use crate::output::OutputQueue;

    #[tokio::test]
    async fn a_run_start_waits_for_the_response_that_announces_it() {
        let (mut reader, writer) = std::io::pipe().expect("pipe");
        let output = OutputQueue::start(writer).expect("thread");
        let events = EventWriter::new(output.clone(), Dialect::Pi.rules());
        let step = events.step();
        let start = {
            let events = Arc::clone(&events);
            tokio::spawn(async move { events.on_event(&Arc::new(AgentEvent::AgentStart {})).await })
        };
        tokio::task::yield_now().await;
        output.push("response".into()).expect("open");
        drop(step);
        start.await.expect("written");
        output.finish();
        assert!(output.flush(Duration::from_secs(5)).await);
        let mut text = String::new();
        reader.read_to_string(&mut text).expect("read");
        assert_eq!(text, "response\n{\"type\":\"agent_start\"}\n");
    }

    #[tokio::test]
    async fn closing_releases_a_session_that_waits_for_a_client() {
        let (_reader, writer) = std::io::pipe().expect("pipe");
        let output = OutputQueue::start(writer).expect("thread");
        output.push("x".repeat(2_000_000)).expect("open");
        let events = EventWriter::new(output, Dialect::Pi.rules());
        let stalled = {
            let events = Arc::clone(&events);
            tokio::spawn(async move { events.on_event(&Arc::new(AgentEvent::AgentStart {})).await })
        };
        tokio::task::yield_now().await;
        assert!(!stalled.is_finished());
        events.close();
        tokio::time::timeout(Duration::from_secs(5), stalled)
            .await
            .expect("released")
            .expect("no panic");
    }
}
