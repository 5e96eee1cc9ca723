//! The queue of `message_update` events: the agent never waits for their handlers, but their order is kept and
//! `message_end` waits until the queue is empty.
//!
//! When handlers fall behind, neighbouring deltas are joined: nothing is lost, and the queue stays short.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use pier_protocol::event::{AgentEvent, AssistantMessageEvent};
use tokio::sync::Notify;

use super::combine::Fixed;
use super::{Circumstances, payload};
use crate::host::Shared;

/// From this many waiting updates on, deltas are joined.
const JOIN_FROM: usize = 32;
/// Updates that may wait before the producer does.
const CAPACITY: usize = 1024;

#[derive(Default)]
struct State {
    waiting: VecDeque<Arc<AgentEvent>>,
    running: bool,
    /// Extensions that timed out during the current message; they get no more of its updates.
    muted: Vec<u32>,
}

/// Waiting updates.
#[derive(Default)]
pub(crate) struct UpdateQueue {
    state: Mutex<State>,
    changed: Notify,
}

impl Shared {
    /// Queues an update; waits only when the queue is full.
    pub(crate) async fn queue_update(self: &Arc<Self>, event: &Arc<AgentEvent>) {
        loop {
            let room = self.updates.changed.notified();
            {
                let mut state = self.updates.state.lock();
                if state.waiting.len() >= JOIN_FROM
                    && let Some(last) = state.waiting.back()
                    && let Some(joined) = join(last, event)
                {
                    state.waiting.pop_back();
                    state.waiting.push_back(Arc::new(joined));
                    return;
                }
                if state.waiting.len() < CAPACITY {
                    state.waiting.push_back(event.clone());
                    if !state.running {
                        state.running = true;
                        self.runtime.spawn(run(self.clone()));
                    }
                    return;
                }
            }
            room.await;
        }
    }

    /// Waits until every queued update was delivered. Bounded: each handler has its deadline, and one that passes it
    /// gets no further update of the message.
    pub(crate) async fn updates_delivered(&self) {
        loop {
            let changed = self.updates.changed.notified();
            if !self.updates.state.lock().running {
                self.updates.state.lock().muted.clear();
                return;
            }
            changed.await;
        }
    }
}

async fn run(shared: Arc<Shared>) {
    loop {
        let (event, muted) = {
            let mut state = shared.updates.state.lock();
            match state.waiting.pop_front() {
                Some(event) => (event, state.muted.clone()),
                None => {
                    state.running = false;
                    drop(state);
                    shared.updates.changed.notify_waiters();
                    return;
                }
            }
        };
        shared.updates.changed.notify_waiters();
        let AgentEvent::MessageUpdate { partial, .. } = &*event else {
            continue;
        };
        let mut map = payload::agent_event(&event);
        // The message so far; the isolate shows the same object as `assistantMessageEvent.partial`.
        map.insert("message".into(), partial.with(payload::assistant));
        let circumstances = Circumstances {
            muted,
            ..Circumstances::in_run()
        };
        let done = shared
            .dispatch(&["message_update"], &mut Fixed::new(map), circumstances)
            .await;
        if let Ok(done) = done
            && !done.timed_out.is_empty()
        {
            shared.updates.state.lock().muted.extend(done.timed_out);
        }
    }
}

/// Joins two neighbouring deltas of the same block.
fn join(last: &AgentEvent, next: &AgentEvent) -> Option<AgentEvent> {
    use AssistantMessageEvent::{TextDelta, ThinkingDelta, ToolCallDelta};
    let (
        AgentEvent::MessageUpdate {
            assistant_message_event: first,
            ..
        },
        AgentEvent::MessageUpdate {
            usage,
            assistant_message_event: second,
            partial,
        },
    ) = (last, next)
    else {
        return None;
    };
    let joined = match (first, second) {
        (
            TextDelta {
                content_index: a,
                delta: x,
            },
            TextDelta {
                content_index: b,
                delta: y,
            },
        ) if a == b => TextDelta {
            content_index: *a,
            delta: format!("{x}{y}"),
        },
        (
            ThinkingDelta {
                content_index: a,
                delta: x,
            },
            ThinkingDelta {
                content_index: b,
                delta: y,
            },
        ) if a == b => ThinkingDelta {
            content_index: *a,
            delta: format!("{x}{y}"),
        },
        (
            ToolCallDelta {
                content_index: a,
                delta: x,
            },
            ToolCallDelta {
                content_index: b,
                delta: y,
            },
        ) if a == b => ToolCallDelta {
            content_index: *a,
            delta: format!("{x}{y}"),
        },
        _ => return None,
    };
    Some(AgentEvent::MessageUpdate {
        usage: usage.clone(),
        assistant_message_event: joined,
        partial: partial.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delta(index: usize, text: &str) -> AgentEvent {
        AgentEvent::MessageUpdate {
            usage: pier_protocol::message::Usage::default(),
            assistant_message_event: AssistantMessageEvent::TextDelta {
                content_index: index,
                delta: text.into(),
            },
            partial: pier_protocol::event::PartialMessage::default(),
        }
    }

    #[test]
    fn only_deltas_of_one_block_are_joined() {
        let joined = join(&delta(0, "a"), &delta(0, "b")).map(|event| payload::agent_event(&event));
        assert_eq!(joined.unwrap()["assistantMessageEvent"]["delta"], "ab");
        assert!(join(&delta(0, "a"), &delta(1, "b")).is_none());
    }
}
