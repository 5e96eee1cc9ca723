//! Progress of a running tool on its way to whoever shows it (spec/extension-api.md §6.3).
//!
//! `onUpdate` cannot wait, so a tool may be faster than the client reads. What a little memory does not hold waits in a file
//! ([`overflow`]): nothing is lost, and a client that stops reading costs disk space instead of memory.

mod overflow;

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use pier_protocol::message::Block;
use serde_json::Value;
use tokio::sync::Notify;

use crate::tool::ToolOutput;
use overflow::Overflow;

/// Updates of one call that wait in memory.
const MEMORY_UPDATES: usize = 1024;
/// The same in bytes.
const MEMORY_BYTES: usize = 4 * 1024 * 1024;

/// Sink for `onUpdate`. Sending never waits; after [`ToolUpdates::close`] it does nothing.
#[derive(Clone, Default)]
pub struct ToolUpdates(Arc<Queue>);

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Notify,
}

/// Oldest first: memory, file, the newest.
#[derive(Default)]
struct State {
    memory: VecDeque<ToolOutput>,
    /// Weight of `memory`.
    bytes: usize,
    overflow: Overflow,
    /// Found no room in the file. Further ones replace it, because each shows the whole progress.
    newest: Option<ToolOutput>,
    closed: bool,
}

impl ToolUpdates {
    pub fn new() -> Self {
        Self::default()
    }

    /// Shows a partial result.
    pub fn send(&self, partial: ToolOutput) {
        let mut state = self.0.state.lock();
        if !state.closed {
            state.push(partial);
            drop(state);
            self.0.changed.notify_one();
        }
    }

    /// Drops everything sent from now on; what was sent before is still delivered.
    pub fn close(&self) {
        self.0.state.lock().closed = true;
        self.0.changed.notify_one();
    }

    /// Gives up what waits in the file: after an abort nobody wants to wait for it.
    pub fn drop_overflow(&self) {
        self.0.state.lock().overflow = Overflow::default();
    }

    /// The next partial result, or `None` after the queue was closed and emptied. One reader at a time.
    pub async fn next(&self) -> Option<ToolOutput> {
        loop {
            let changed = self.0.changed.notified();
            {
                let mut state = self.0.state.lock();
                if let Some(partial) = state.pop() {
                    return Some(partial);
                }
                if state.closed {
                    return None;
                }
            }
            changed.await;
        }
    }
}

impl State {
    fn push(&mut self, partial: ToolOutput) {
        let behind = self.newest.is_some() || !self.overflow.is_empty();
        let size = weight(&partial);
        if !behind && self.memory.len() < MEMORY_UPDATES && self.bytes + size <= MEMORY_BYTES {
            self.bytes += size;
            self.memory.push_back(partial);
        } else if self.newest.is_some() || self.overflow.push(&partial).is_err() {
            self.newest = Some(partial);
        }
    }

    fn pop(&mut self) -> Option<ToolOutput> {
        if let Some(partial) = self.memory.pop_front() {
            self.bytes -= weight(&partial);
            return Some(partial);
        }
        self.overflow.pop().or_else(|| self.newest.take())
    }
}

/// Bytes that a partial result takes up, more or less.
fn weight(partial: &ToolOutput) -> usize {
    let content: usize = partial
        .content
        .iter()
        .map(|block| match block {
            Block::Text(text) => text.text.len(),
            Block::Image(image) => image.data.len(),
            _ => 0,
        })
        .sum();
    let others = [&partial.details, &partial.structured_content];
    content
        + others
            .into_iter()
            .flatten()
            .map(value_weight)
            .sum::<usize>()
}

fn value_weight(value: &Value) -> usize {
    let inner = match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(value_weight).sum(),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| name.len() + value_weight(value))
            .sum(),
        _ => 0,
    };
    size_of::<Value>() + inner
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(n: usize, bytes: usize) -> ToolOutput {
        let mut update = ToolOutput::text("x".repeat(bytes));
        update.details = Some(n.into());
        update
    }

    async fn numbers(updates: &ToolUpdates) -> Vec<u64> {
        let mut seen = Vec::new();
        while let Some(partial) = updates.next().await {
            seen.push(partial.details.and_then(|n| n.as_u64()).unwrap());
        }
        seen
    }

    #[tokio::test]
    async fn nothing_is_lost_and_memory_holds_little() {
        let updates = ToolUpdates::new();
        for n in 0..1_000 {
            updates.send(update(n, 100_000));
        }
        {
            let state = updates.0.state.lock();
            assert!(state.bytes <= MEMORY_BYTES && state.memory.len() < 100);
            assert!(state.newest.is_none());
        }
        // What comes while the file is read goes behind it.
        for n in 0..100 {
            let next = updates.next().await.unwrap();
            assert_eq!(next.details, Some(n.into()));
        }
        updates.send(update(1_000, 1));
        updates.close();
        updates.send(update(1_001, 1));
        assert_eq!(numbers(&updates).await, (100..=1_000).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn many_small_ones_wait_too() {
        let updates = ToolUpdates::new();
        for n in 0..5_000 {
            updates.send(update(n, 1));
        }
        assert!(updates.0.state.lock().memory.len() <= MEMORY_UPDATES);
        updates.close();
        assert_eq!(numbers(&updates).await, (0..5_000).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn when_the_file_is_full_the_newest_stays() {
        let updates = ToolUpdates::new();
        updates.0.state.lock().overflow = Overflow::with_capacity(1_000_000);
        for n in 0..100 {
            updates.send(update(n, 100_000));
        }
        updates.close();
        let seen = numbers(&updates).await;
        assert_eq!(seen.last(), Some(&99));
        assert!(seen.is_sorted_by(|a, b| a < b), "{seen:?}");
        assert!(seen.len() > 45 && seen.len() < 55, "{}", seen.len());
    }

    #[tokio::test]
    async fn an_abort_leaves_what_memory_holds() {
        let updates = ToolUpdates::new();
        for n in 0..1_000 {
            updates.send(update(n, 100_000));
        }
        updates.close();
        updates.drop_overflow();
        let seen = numbers(&updates).await;
        assert_eq!(seen, (0..seen.len() as u64).collect::<Vec<_>>());
        assert!(seen.len() < 100, "{}", seen.len());
    }

    #[test]
    fn details_weigh_too() {
        let heavy = ToolOutput {
            details: Some(serde_json::json!({"rows": vec!["x".repeat(1_000); 100]})),
            ..ToolOutput::default()
        };
        assert!(weight(&heavy) > 100_000);
    }
}
