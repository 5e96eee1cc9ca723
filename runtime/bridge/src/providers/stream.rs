//! One provider stream: JSON events from an isolate become [`AssistantEvent`]s in a bounded channel.
//!
//! The isolate may not be made to wait inside a synchronous call, so it is told when the queue is full and waits by
//! itself (`stream.drain`). An isolate that ignores this is cut off.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;
use pier_agent::provider::{AssistantEvent, RequestObserver};
use pier_protocol::model::Model;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};

use crate::dispatch::payload::assistant;

/// From this many waiting events on, the isolate is asked to wait.
const FULL: usize = 256;
/// Waiting events at which it may go on.
const ROOM: usize = 64;
/// An isolate that never waits is cut off here.
const LIMIT: usize = 100_000;

#[derive(Default)]
struct State {
    waiting: VecDeque<AssistantEvent>,
    /// Text of open blocks, for `*_end` events that leave it out.
    texts: HashMap<u64, String>,
    closed: bool,
    finished: bool,
}

/// The receiving end of a stream.
pub(crate) struct StreamSink {
    /// What must not appear in error texts: some servers repeat the key that they refuse.
    secrets: Vec<String>,
    pub(crate) model: Arc<Model>,
    pub(crate) observer: RequestObserver,
    state: Mutex<State>,
    changed: Notify,
}

impl StreamSink {
    pub(crate) fn new(
        model: Arc<Model>,
        observer: RequestObserver,
        secrets: Vec<String>,
    ) -> Arc<Self> {
        Arc::new(Self {
            secrets,
            model,
            observer,
            state: Mutex::default(),
            changed: Notify::new(),
        })
    }

    /// Takes events. True when the isolate should wait for [`drained`](Self::drained).
    pub(crate) fn push(&self, events: Vec<Value>) -> Result<bool, String> {
        let mut state = self.state.lock();
        for event in events {
            if state.finished {
                break;
            }
            if state.waiting.len() >= LIMIT {
                return Err(format!(
                    "more than {LIMIT} stream events are waiting; the provider must await stream.drain"
                ));
            }
            let mut event = event;
            if event["type"] == "error" {
                self.redact_all(&mut event);
            }
            for parsed in parse(event, &mut state.texts)? {
                state.finished |= matches!(
                    parsed,
                    AssistantEvent::Done { .. } | AssistantEvent::Error { .. }
                );
                state.waiting.push_back(parsed);
            }
        }
        let full = state.waiting.len() >= FULL;
        drop(state);
        self.changed.notify_waiters();
        Ok(full)
    }

    /// The text without secrets.
    pub(crate) fn redact(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.secrets {
            text = text.replace(secret, "[redacted]");
        }
        text
    }

    /// Every text of a failed message without secrets: its diagnostics may repeat the error.
    fn redact_all(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.redact(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_all(item)),
            Value::Object(members) => members.values_mut().for_each(|item| self.redact_all(item)),
            _ => {}
        }
    }

    /// Resolves when there is room again.
    pub(crate) async fn drained(&self) {
        loop {
            let changed = self.changed.notified();
            {
                let state = self.state.lock();
                if state.waiting.len() <= ROOM || state.closed {
                    return;
                }
            }
            changed.await;
        }
    }

    /// No more events come.
    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.changed.notify_waiters();
    }

    /// Whether the final event came.
    pub(crate) fn is_finished(&self) -> bool {
        self.state.lock().finished
    }

    /// Moves events into the agent's channel, waiting for room there, until closed and empty.
    pub(crate) async fn pump(self: Arc<Self>, events: mpsc::Sender<AssistantEvent>) {
        loop {
            let changed = self.changed.notified();
            let next = {
                let mut state = self.state.lock();
                match state.waiting.pop_front() {
                    None if state.closed => return,
                    next => next,
                }
            };
            match next {
                Some(event) => {
                    if events.send(event).await.is_err() {
                        // Nobody reads any more: let the isolate run to its end.
                        let mut state = self.state.lock();
                        state.waiting.clear();
                        if state.closed {
                            return;
                        }
                    }
                    self.changed.notify_waiters();
                }
                None => changed.await,
            }
        }
    }
}

/// One wire event; a changed `usage` becomes an event of its own in front of it.
fn parse(event: Value, texts: &mut HashMap<u64, String>) -> Result<Vec<AssistantEvent>, String> {
    let Value::Object(mut map) = event else {
        return Err("a stream event must be an object".into());
    };
    let mut out = Vec::new();
    let kind = map
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_string();
    let index = map.get("contentIndex").and_then(Value::as_u64);
    if let Some(usage) = map.shift_remove("usage").filter(|value| value.is_object())
        && let Ok(usage) = serde_json::from_value(usage)
    {
        out.push(AssistantEvent::Usage { usage });
    }
    match (kind.as_str(), index) {
        ("text_start" | "thinking_start", Some(index)) => {
            texts.insert(index, String::new());
        }
        ("text_delta" | "thinking_delta", Some(index)) => {
            if let Some(delta) = map.get("delta").and_then(Value::as_str) {
                texts.entry(index).or_default().push_str(delta);
            }
        }
        ("text_end" | "thinking_end", Some(index)) => {
            let text = texts.remove(&index).unwrap_or_default();
            map.entry("content").or_insert(json!(text));
        }
        ("toolcall_start", _) => {
            map.entry("id").or_insert(json!(""));
            map.entry("toolName").or_insert(json!(""));
        }
        ("toolcall_end", _) => untag(map.get_mut("toolCall"), "type"),
        ("done", _) => untag(map.get_mut("message"), "role"),
        ("error", _) => untag(map.get_mut("error"), "role"),
        _ => {}
    }
    let parsed = serde_json::from_value(Value::Object(map))
        .map_err(|error| format!("stream event \"{kind}\": {error}"))?;
    out.push(parsed);
    Ok(out)
}

/// The tag of a block or message is implied by its place; kept, it would be written twice.
fn untag(value: Option<&mut Value>, tag: &str) {
    if let Some(map) = value.and_then(Value::as_object_mut) {
        map.shift_remove(tag);
    }
}

/// The wire form of an event, for `complete {onEvent}`.
pub(crate) fn event_json(event: &AssistantEvent) -> Value {
    match event {
        AssistantEvent::Start {} => json!({"type": "start"}),
        AssistantEvent::Alive {} => json!({"type": "alive"}),
        AssistantEvent::TextStart { content_index } => {
            json!({"type": "text_start", "contentIndex": content_index})
        }
        AssistantEvent::TextDelta {
            content_index,
            delta,
        } => {
            json!({"type": "text_delta", "contentIndex": content_index, "delta": delta})
        }
        AssistantEvent::TextEnd {
            content_index,
            content,
            text_signature,
        } => with(
            json!({"type": "text_end", "contentIndex": content_index, "content": content}),
            "textSignature",
            text_signature,
        ),
        AssistantEvent::ThinkingStart { content_index } => {
            json!({"type": "thinking_start", "contentIndex": content_index})
        }
        AssistantEvent::ThinkingDelta {
            content_index,
            delta,
        } => {
            json!({"type": "thinking_delta", "contentIndex": content_index, "delta": delta})
        }
        AssistantEvent::ThinkingEnd {
            content_index,
            content,
            thinking_signature,
        } => with(
            json!({"type": "thinking_end", "contentIndex": content_index, "content": content}),
            "thinkingSignature",
            thinking_signature,
        ),
        AssistantEvent::ToolCallStart {
            content_index,
            id,
            tool_name,
        } => {
            json!({"type": "toolcall_start", "contentIndex": content_index, "id": id, "toolName": tool_name})
        }
        AssistantEvent::ToolCallDelta {
            content_index,
            delta,
        } => {
            json!({"type": "toolcall_delta", "contentIndex": content_index, "delta": delta})
        }
        AssistantEvent::ToolCallEnd {
            content_index,
            tool_call,
        } => {
            let block = pier_protocol::message::Block::ToolCall(tool_call.clone());
            json!({"type": "toolcall_end", "contentIndex": content_index, "toolCall": block})
        }
        AssistantEvent::Usage { usage } => json!({"type": "usage", "usage": usage}),
        AssistantEvent::Done { message } => {
            json!({"type": "done", "reason": message.stop_reason, "message": assistant(message)})
        }
        AssistantEvent::Error { error } => {
            json!({"type": "error", "reason": error.stop_reason, "error": assistant(error)})
        }
    }
}

fn with(mut event: Value, name: &str, value: &Option<String>) -> Value {
    if let Some(value) = value {
        event[name] = json!(value);
    }
    event
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sink() -> Arc<StreamSink> {
        StreamSink::new(
            Arc::new(Model::default()),
            RequestObserver::none(),
            vec!["sk-secret".into()],
        )
    }

    #[tokio::test]
    async fn a_full_queue_asks_to_wait_and_draining_ends_the_wait() {
        let sink = sink();
        let delta = || json!({"type": "text_delta", "contentIndex": 0, "delta": "x"});
        assert_eq!(sink.push(vec![delta()]), Ok(false));
        assert_eq!(sink.push((0..FULL).map(|_| delta()).collect()), Ok(true));
        let (sender, mut receiver) = mpsc::channel(1);
        let pump = tokio::spawn(sink.clone().pump(sender));
        let reader = tokio::spawn(async move {
            let mut count = 0;
            while receiver.recv().await.is_some() {
                count += 1;
            }
            count
        });
        tokio::time::timeout(std::time::Duration::from_secs(5), sink.drained())
            .await
            .unwrap();
        sink.close();
        pump.await.unwrap();
        assert_eq!(reader.await.unwrap(), FULL + 1);
    }

    #[test]
    fn events_are_completed_and_nothing_follows_the_end() {
        let sink = sink();
        let push = |event: Value| sink.push(vec![event]);
        push(json!({"type": "text_start", "contentIndex": 0})).unwrap();
        push(json!({"type": "text_delta", "contentIndex": 0, "delta": "ab"})).unwrap();
        push(json!({"type": "text_end", "contentIndex": 0, "usage": {"input": 3}})).unwrap();
        push(json!({"type": "done", "message": {"role": "assistant", "content": [], "stopReason": "stop"}})).unwrap();
        push(json!({"type": "text_delta", "contentIndex": 0, "delta": "late"})).unwrap();
        let state = sink.state.lock();
        assert_eq!(state.waiting.len(), 5);
        assert!(matches!(&state.waiting[2], AssistantEvent::Usage { usage } if usage.input == 3));
        assert!(
            matches!(&state.waiting[3], AssistantEvent::TextEnd { content, .. } if content == "ab")
        );
        assert!(
            matches!(&state.waiting[4], AssistantEvent::Done { message } if message.extra.is_empty())
        );
        drop(state);
        assert!(sink.is_finished());
        assert!(
            self::sink()
                .push(vec![json!({"type": "nonsense"})])
                .is_err()
        );
    }

    #[test]
    fn an_error_does_not_repeat_the_key() {
        let sink = sink();
        let error =
            json!({"content": [], "stopReason": "error", "errorMessage": "bad key sk-secret!"});
        sink.push(vec![json!({"type": "error", "error": error})])
            .unwrap();
        let state = sink.state.lock();
        let Some(AssistantEvent::Error { error }) = state.waiting.front() else {
            panic!("no error")
        };
        assert_eq!(error.error_message.as_deref(), Some("bad key [redacted]!"));
    }

    #[test]
    fn events_survive_a_round_trip() {
        let call = json!({"type": "toolcall_end", "contentIndex": 1,
            "toolCall": {"type": "toolCall", "id": "c", "name": "n", "arguments": {"a": 1}}});
        let parsed = parse(call.clone(), &mut HashMap::new()).unwrap();
        assert_eq!(event_json(&parsed[0]), call);
    }
}
