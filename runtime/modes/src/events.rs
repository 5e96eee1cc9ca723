//! Writes session events to the output, for JSON mode and RPC mode alike.
//!
//! The session waits for each event until the output has room, so a client that stops reading
//! stalls the session instead of growing memory (`spec/rpc.md` §1.4).

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use parking_lot::Mutex;
use pier_agent::events::EventListener;
use pier_protocol::event::AgentEvent;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::dialect::{Rules, event_lines};
use crate::output::OutputQueue;

/// Longest wait for the response of the prompt that started a run, before its `agent_start` is
/// written all the same. Only an `input` handler that waits for another run can use it up.
const ADMISSION_PATIENCE: Duration = Duration::from_secs(5);

/// A listener that writes every event as lines of one dialect.
pub(crate) struct EventWriter {
    output: OutputQueue,
    rules: &'static Rules,
    closed: CancellationToken,
    /// Prompts whose response is not written yet.
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

    /// While the guard lives, `agent_start` waits: the response that says `started` comes first
    /// (`spec/rpc.md` §2).
    pub(crate) fn admission(self: &Arc<Self>) -> Admission {
        self.admissions.send_modify(|count| *count += 1);
        Admission(Arc::clone(self))
    }

    async fn write(&self, event: &AgentEvent) {
        if matches!(event, AgentEvent::AgentStart {}) {
            let mut admissions = self.admissions.subscribe();
            let answered = admissions.wait_for(|count| *count == 0);
            // Both outcomes mean the same: write now.
            let _ = tokio::time::timeout(ADMISSION_PATIENCE, answered).await;
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

/// See [`EventWriter::admission`].
pub(crate) struct Admission(Arc<EventWriter>);

impl Drop for Admission {
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
        let admission = events.admission();
        let start = {
            let events = Arc::clone(&events);
            tokio::spawn(async move { events.on_event(&Arc::new(AgentEvent::AgentStart {})).await })
        };
        tokio::task::yield_now().await;
        output.push("response".into()).expect("open");
        drop(admission);
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
