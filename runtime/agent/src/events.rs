//! One global order of events, with back-pressure (spec/rpc.md §1.4, §5.11).
//!
//! Extension handlers finish before a listener sees an event. Listeners are awaited one after another, so a client that
//! stops reading stalls the producers. A listener must not call back into the session and wait for it.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::RwLock;
use pier_protocol::event::AgentEvent;
use tokio::sync::Mutex;

/// Receives the events of a session.
#[async_trait]
pub trait EventListener: Send + Sync {
    /// Returns when the event is safely on its way; the session waits.
    async fn on_event(&self, event: &Arc<AgentEvent>);
}

type Listeners = RwLock<Vec<(u64, Arc<dyn EventListener>)>>;

/// The listeners of a session and the order of delivery.
pub(crate) struct EventHub {
    listeners: Arc<Listeners>,
    next_id: std::sync::atomic::AtomicU64,
    /// Held during one delivery; makes the order global.
    delivery: Mutex<()>,
}

/// Removes a listener when dropped.
pub struct Subscription {
    id: u64,
    listeners: Arc<Listeners>,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.listeners.write().retain(|(id, _)| *id != self.id);
    }
}

impl EventHub {
    pub(crate) fn new() -> Self {
        EventHub {
            listeners: Arc::new(RwLock::new(Vec::new())),
            next_id: std::sync::atomic::AtomicU64::new(1),
            delivery: Mutex::new(()),
        }
    }

    pub(crate) fn subscribe(&self, listener: Arc<dyn EventListener>) -> Subscription {
        let id = self
            .next_id
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        self.listeners.write().push((id, listener));
        Subscription {
            id,
            listeners: self.listeners.clone(),
        }
    }

    /// Removes every listener: nothing is delivered from now on.
    pub(crate) fn close(&self) {
        self.listeners.write().clear();
    }

    /// Delivers one event to every listener, after everything that was delivered before.
    pub(crate) async fn deliver(&self, event: &Arc<AgentEvent>) {
        let _order = self.delivery.lock().await;
        let listeners: Vec<_> = self
            .listeners
            .read()
            .iter()
            .map(|(_, listener)| listener.clone())
            .collect();
        for listener in listeners {
            listener.on_event(event).await;
        }
    }
}
