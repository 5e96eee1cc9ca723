//! The steering and follow-up queues (spec/agent-loop.md §4.2). Plain state; who drains them and when is the loop's.

use std::collections::VecDeque;
use std::sync::Arc;

use pier_protocol::message::Message;

use crate::agent_session::QueuedTexts;
use crate::settings::QueueMode;

/// One waiting message.
#[derive(Debug, Clone)]
pub(crate) struct Queued {
    pub(crate) message: Arc<Message>,
    /// It is shown in the queue lists until it is delivered: a user's text.
    pub(crate) listed: bool,
}

/// Both queues and the texts that clients are shown.
#[derive(Debug, Default)]
pub(crate) struct Queues {
    steering: VecDeque<Queued>,
    follow_up: VecDeque<Queued>,
    texts: QueuedTexts,
}

/// Which queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    Steering,
    FollowUp,
}

impl Queues {
    fn lane(&mut self, lane: Lane) -> &mut VecDeque<Queued> {
        match lane {
            Lane::Steering => &mut self.steering,
            Lane::FollowUp => &mut self.follow_up,
        }
    }

    /// Appends a message. `text` is what the lists show, for user messages.
    pub(crate) fn push(&mut self, lane: Lane, message: Arc<Message>, text: Option<String>) {
        let listed = text.is_some();
        if let Some(text) = text {
            match lane {
                Lane::Steering => self.texts.steering.push(text),
                Lane::FollowUp => self.texts.follow_up.push(text),
            }
        }
        self.lane(lane).push_back(Queued { message, listed });
    }

    /// Takes what one drain point may deliver. The texts stay listed until delivery.
    pub(crate) fn drain(&mut self, lane: Lane, mode: QueueMode) -> Vec<Queued> {
        let queue = self.lane(lane);
        match mode {
            QueueMode::OneAtATime => queue.pop_front().into_iter().collect(),
            QueueMode::All => queue.drain(..).collect(),
        }
    }

    /// Takes a delivered user message off the lists: the first equal text, steering before follow-up. True when a list
    /// changed.
    pub(crate) fn delivered(&mut self, text: &str) -> bool {
        for list in [&mut self.texts.steering, &mut self.texts.follow_up] {
            if let Some(at) = list.iter().position(|listed| listed == text) {
                list.remove(at);
                return true;
            }
        }
        false
    }

    /// Empties both queues, custom messages included; returns the listed texts.
    pub(crate) fn clear(&mut self) -> QueuedTexts {
        self.steering.clear();
        self.follow_up.clear();
        std::mem::take(&mut self.texts)
    }

    pub(crate) fn texts(&self) -> &QueuedTexts {
        &self.texts
    }

    pub(crate) fn has_steering(&self) -> bool {
        !self.steering.is_empty()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.steering.is_empty() && self.follow_up.is_empty()
    }

    /// Number of listed texts.
    pub(crate) fn listed(&self) -> usize {
        self.texts.steering.len() + self.texts.follow_up.len()
    }
}
