//! Events of a session on their way to `session.subscribe` in the isolate that started it.
//!
//! The queue is bounded, so a subscriber that does not keep up slows the session down; what is waiting goes over in one
//! piece.

use std::sync::Arc;

use async_trait::async_trait;
use pier_agent::AgentSession;
use pier_agent::events::{EventListener, Subscription};
use pier_protocol::event::AgentEvent;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use crate::calls::Purpose;
use crate::dispatch::payload;
use crate::host_calls::Caller;
use crate::isolate::CallError;
use crate::wire::ExtId;

/// Events that may wait.
const CAPACITY: usize = 256;

enum Item {
    Event(Arc<AgentEvent>),
    /// Answered once everything before it was delivered.
    Flush(oneshot::Sender<()>),
}

struct Listener(mpsc::Sender<Item>);

#[async_trait]
impl EventListener for Listener {
    async fn on_event(&self, event: &Arc<AgentEvent>) {
        // The other end is gone when the subscriber is; nobody waits then.
        let _ = self.0.send(Item::Event(event.clone())).await;
    }
}

/// Delivers until it is dropped.
pub(crate) struct Pump {
    items: mpsc::Sender<Item>,
    _subscription: Subscription,
}

impl Pump {
    /// Sends the events of `session` to the function `handle`.
    pub(crate) fn start(session: &AgentSession, caller: Caller, ext: ExtId, handle: u64) -> Self {
        let (items, receiver) = mpsc::channel(CAPACITY);
        let runtime = caller.shared.runtime.clone();
        runtime.spawn(deliver(receiver, caller, ext, handle));
        Self {
            _subscription: session.subscribe(Arc::new(Listener(items.clone()))),
            items,
        }
    }

    /// Resolves when everything that was queued before has been delivered.
    pub(crate) fn flush(&self) -> impl Future<Output = ()> + use<> {
        let items = self.items.clone();
        async move {
            let (done, wait) = oneshot::channel();
            if items.send(Item::Flush(done)).await.is_ok() {
                let _ = wait.await;
            }
        }
    }
}

async fn deliver(mut items: mpsc::Receiver<Item>, caller: Caller, ext: ExtId, handle: u64) {
    let mut batch = Vec::new();
    while items.recv_many(&mut batch, CAPACITY).await > 0 {
        let mut events: Vec<Value> = Vec::new();
        let mut flushes = Vec::new();
        for item in batch.drain(..) {
            match item {
                Item::Event(event) => events.push(wire_form(&event)),
                // What came after it in this batch is delivered first; nobody can tell.
                Item::Flush(done) => flushes.push(done),
            }
        }
        if !events.is_empty() {
            let told = caller
                .callback(ext, "subscribe", handle, json!([events]), Purpose::Other)
                .await;
            // A listener that throws is reported by the isolate; without the isolate there is nobody to tell.
            if let Err(CallError::Stopped(_)) = told {
                return;
            }
        }
        for done in flushes {
            let _ = done.send(());
        }
    }
}

/// An event as listeners see it; the isolate adds the message so far to updates.
fn wire_form(event: &AgentEvent) -> Value {
    let mut map = payload::agent_event(event);
    map.insert("type".into(), json!(event.name()));
    Value::Object(map)
}
