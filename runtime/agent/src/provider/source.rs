//! A provider at work: its events, with a bound on every wait.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use pier_protocol::message::{AssistantMessage, StopReason};
use pier_protocol::model::Model;
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::stream::{Assembler, Step};
use super::trace::TracedEnd;
use super::{AssistantEvent, ModelProvider, ModelRequest, RequestTrace};
use crate::clock::now_ms;

/// Events of a provider that may wait for the session.
const STREAM_DEPTH: usize = 64;
/// How long an aborted provider may take to say its last word.
const ABORT_GRACE: Duration = Duration::from_secs(3);
/// How long a provider may go on after its final event.
const END_GRACE: Duration = Duration::from_secs(2);
/// Longest silence of a provider, unless the setting `httpIdleTimeoutMs` says otherwise.
const IDLE_LIMIT: Duration = Duration::from_secs(300);

/// Longest silence of a provider by the (raw) settings.
pub fn idle_limit(settings: &Map<String, Value>) -> Duration {
    settings
        .get("httpIdleTimeoutMs")
        .and_then(Value::as_u64)
        .filter(|ms| *ms > 0)
        .map_or(IDLE_LIMIT, Duration::from_millis)
}

/// An empty answer of a model.
pub(crate) fn skeleton(model: &Model) -> AssistantMessage {
    AssistantMessage {
        api: model.api.clone(),
        provider: model.provider.clone(),
        model: model.id.clone(),
        stop_reason: StopReason::Pending,
        timestamp: now_ms(),
        ..AssistantMessage::default()
    }
}

/// Why nothing comes any more.
pub enum Stalled {
    /// The request was aborted and the provider did not end in time.
    Aborted,
    /// It sent nothing for so long.
    Idle(Duration),
}

impl Stalled {
    /// What has been received, as a failed message.
    pub(crate) fn message(&self, assembler: &Assembler) -> AssistantMessage {
        match self {
            Stalled::Aborted => assembler.fail(StopReason::Aborted, "Request was aborted"),
            Stalled::Idle(limit) => {
                let text = format!(
                    "The provider sent nothing for {} s: timed out",
                    limit.as_secs_f64()
                );
                assembler.fail(StopReason::Error, text)
            }
        }
    }
}

/// A provider at work and the events it sends. Dropping it stops the provider.
pub struct Source {
    events: mpsc::Receiver<AssistantEvent>,
    task: tokio::task::JoinHandle<Option<String>>,
    cancel: CancellationToken,
    idle_limit: Duration,
    trace: Option<RequestTrace>,
}

impl Source {
    pub fn open(
        provider: Arc<dyn ModelProvider>,
        request: ModelRequest,
        cancel: &CancellationToken,
        idle_limit: Duration,
        trace: Option<RequestTrace>,
    ) -> Self {
        let (sender, events) = mpsc::channel(STREAM_DEPTH);
        let token = cancel.clone();
        let task = tokio::spawn(async move {
            let work = provider.stream(request, sender, token);
            match std::panic::AssertUnwindSafe(work).catch_unwind().await {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(error.to_string()),
                Err(_) => Some("The provider failed internally".to_owned()),
            }
        });
        Source {
            events,
            task,
            cancel: cancel.clone(),
            idle_limit,
            trace,
        }
    }

    /// Records how the request ended, and tells extensions.
    pub(crate) async fn traced(&mut self, message: &AssistantMessage) {
        if let Some(ended) = self.record_end(message) {
            ended.announce().await;
        }
    }

    fn record_end(&mut self, message: &AssistantMessage) -> Option<TracedEnd> {
        self.trace.take()?.finish(message)
    }

    /// The next event; `None` at the end of the stream.
    pub async fn next(&mut self) -> Result<Option<AssistantEvent>, Stalled> {
        let next = self.wait().await;
        if let (Ok(Some(_)), Some(trace)) = (&next, &mut self.trace) {
            trace.event();
        }
        next
    }

    async fn wait(&mut self) -> Result<Option<AssistantEvent>, Stalled> {
        while !self.cancel.is_cancelled() {
            tokio::select! {
                biased;
                event = self.events.recv() => match event {
                    // Begins the wait anew.
                    Some(AssistantEvent::Alive {}) => {}
                    event => return Ok(event),
                },
                () = self.cancel.cancelled() => {}
                () = tokio::time::sleep(self.idle_limit) => {
                    return Err(Stalled::Idle(self.idle_limit));
                }
            }
        }
        tokio::time::timeout(ABORT_GRACE, said(&mut self.events))
            .await
            .map_err(|_| Stalled::Aborted)
    }

    /// What the provider's task said when its stream was over: an error text.
    pub(crate) async fn outcome(&mut self) -> Option<String> {
        match tokio::time::timeout(END_GRACE, &mut self.task).await {
            Ok(Ok(text)) => text,
            Ok(Err(_)) => Some("The provider was stopped".to_owned()),
            Err(_) => None,
        }
    }

    /// After the final event: whether another one comes. Waits for the provider to end, within limits.
    pub(crate) async fn extra_event(&mut self) -> bool {
        matches!(
            tokio::time::timeout(END_GRACE, said(&mut self.events)).await,
            Ok(Some(_))
        )
    }

    /// Reads the stream to its end for somebody outside the conversation: every batch of events goes to `on_events`,
    /// what they amount to is the answer. A stream that breaks the rules or stalls gives a failed message.
    pub async fn collect<F>(
        &mut self,
        model: &Model,
        mut on_events: impl FnMut(Vec<AssistantEvent>) -> F,
    ) -> AssistantMessage
    where
        F: Future<Output = ()>,
    {
        let mut assembler = Assembler::new(skeleton(model));
        let mut last = None;
        let mut ended = None;
        while last.is_none() {
            let (mut batch, gap) = self.batch().await;
            let mut good = 0;
            for event in &batch {
                match assembler.accept(event.clone()) {
                    Ok(Step::Finished(message)) => last = Some(*message),
                    Ok(_) => {}
                    Err(fault) => {
                        last = Some(assembler.fail(StopReason::Error, fault.to_string()));
                        break;
                    }
                }
                good += 1;
            }
            batch.truncate(good);
            if let Some(message) = &last {
                // Who gets the final event may go on at once; the record of this request is before all that follows.
                ended = self.record_end(message);
            }
            if !batch.is_empty() {
                on_events(batch).await;
            }
            if last.is_none() {
                last = match gap {
                    None => None,
                    Some(Gap::End) => {
                        let text = self.outcome().await;
                        let text =
                            text.or_else(|| assembler.ended().map(|fault| fault.to_string()));
                        Some(assembler.fail(self.end_reason(), text.unwrap_or_default()))
                    }
                    Some(Gap::Stalled(stalled)) => Some(stalled.message(&assembler)),
                };
            }
        }
        let message = last.unwrap_or_default();
        if let Some(ended) = ended.or_else(|| self.record_end(&message)) {
            ended.announce().await;
        }
        message
    }

    /// What has arrived, waiting for the first event only; and why no more comes, when that is so.
    async fn batch(&mut self) -> (Vec<AssistantEvent>, Option<Gap>) {
        let mut batch = match self.next().await {
            Ok(Some(event)) => vec![event],
            Ok(None) => return (Vec::new(), Some(Gap::End)),
            Err(stalled) => return (Vec::new(), Some(Gap::Stalled(stalled))),
        };
        while batch.len() < STREAM_DEPTH
            && let Ok(event) = self.events.try_recv()
        {
            if event != (AssistantEvent::Alive {}) {
                batch.push(event);
            }
        }
        (batch, None)
    }

    /// What the end of a stream without a final event means.
    pub(crate) fn end_reason(&self) -> StopReason {
        if self.cancel.is_cancelled() {
            StopReason::Aborted
        } else {
            StopReason::Error
        }
    }
}

/// The next event that says something.
async fn said(events: &mut mpsc::Receiver<AssistantEvent>) -> Option<AssistantEvent> {
    loop {
        match events.recv().await {
            Some(AssistantEvent::Alive {}) => {}
            event => return event,
        }
    }
}

enum Gap {
    End,
    Stalled(Stalled),
}

impl Drop for Source {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(events: mpsc::Receiver<AssistantEvent>) -> Source {
        Source {
            events,
            task: tokio::spawn(async { None }),
            cancel: CancellationToken::new(),
            idle_limit: Duration::from_secs(3),
            trace: None,
        }
    }

    #[tokio::test]
    async fn a_sign_of_life_begins_the_wait_anew_and_is_no_event() {
        let (sender, events) = mpsc::channel(8);
        let mut source = source(events);
        tokio::spawn(async move {
            for _ in 0..4 {
                tokio::time::sleep(Duration::from_millis(900)).await;
                let _ = sender.send(AssistantEvent::Alive {}).await;
            }
            let _ = sender.send(AssistantEvent::Start {}).await;
        });
        assert!(matches!(
            source.next().await,
            Ok(Some(AssistantEvent::Start {}))
        ));
        assert!(matches!(source.next().await, Ok(None)));
    }
}
