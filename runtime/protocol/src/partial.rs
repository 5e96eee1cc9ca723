//! The assistant message of a stream while it grows.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use crate::message::{AssistantMessage, Block};
use crate::partial_json::partial_object;

/// The growing assistant message of a stream, shared so that an update costs the delta and not the message.
#[derive(Debug, Clone, Default)]
pub struct PartialMessage(Arc<RwLock<Growing>>);

#[derive(Debug, Default)]
struct Growing {
    message: AssistantMessage,
    /// Arguments of open tool calls as text, by block; parsed when somebody looks, not with each delta.
    arguments: BTreeMap<usize, OpenArguments>,
}

#[derive(Debug, Default)]
struct OpenArguments {
    text: String,
    parsed: usize,
}

impl Growing {
    fn is_fresh(&self) -> bool {
        let mut open = self.arguments.values();
        open.all(|open| open.parsed == open.text.len())
    }

    fn refresh(&mut self) {
        for (index, open) in &mut self.arguments {
            if open.parsed != open.text.len()
                && let Some(Block::ToolCall(call)) = self.message.content.get_mut(*index)
            {
                call.arguments = partial_object(&open.text).into_iter().collect();
                open.parsed = open.text.len();
            }
        }
    }
}

impl PartialMessage {
    pub fn new(message: AssistantMessage) -> Self {
        PartialMessage(Arc::new(RwLock::new(Growing {
            message,
            arguments: BTreeMap::new(),
        })))
    }

    /// A copy of the message as it is now, with as much of open tool calls' arguments as has arrived. During the awaited
    /// delivery of an update it is the state right after that update.
    pub fn snapshot(&self) -> AssistantMessage {
        self.with(AssistantMessage::clone)
    }

    /// Looks at the message as [`snapshot`](Self::snapshot) gives it, without copying it.
    pub fn with<R>(&self, look: impl FnOnce(&AssistantMessage) -> R) -> R {
        let growing = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if growing.is_fresh() {
            return look(&growing.message);
        }
        drop(growing);
        let mut growing = self.0.write().unwrap_or_else(PoisonError::into_inner);
        growing.refresh();
        look(&growing.message)
    }

    /// Looks at everything but the arguments of open tool calls, which may be older.
    pub fn peek<R>(&self, look: impl FnOnce(&AssistantMessage) -> R) -> R {
        look(
            &self
                .0
                .read()
                .unwrap_or_else(PoisonError::into_inner)
                .message,
        )
    }

    /// Changes the message; only the owner of the stream may do so.
    pub fn update<R>(&self, change: impl FnOnce(&mut AssistantMessage) -> R) -> R {
        change(
            &mut self
                .0
                .write()
                .unwrap_or_else(PoisonError::into_inner)
                .message,
        )
    }

    /// More of the arguments of an open tool call; only the owner of the stream may call it.
    pub fn append_arguments(&self, index: usize, delta: &str) {
        let mut growing = self.0.write().unwrap_or_else(PoisonError::into_inner);
        growing
            .arguments
            .entry(index)
            .or_default()
            .text
            .push_str(delta);
    }

    /// A tool call is complete: its block holds what counts.
    pub fn close_arguments(&self, index: usize) {
        let mut growing = self.0.write().unwrap_or_else(PoisonError::into_inner);
        growing.arguments.remove(&index);
    }
}
