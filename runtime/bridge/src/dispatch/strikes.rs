//! Handlers that run out of time again and again.
//!
//! One handler that never settles would cost its whole time budget at every event. After a few such times in a row it is
//! not called any more; a handler that guards something goes on refusing, because silence must not open the gate.

use std::collections::HashMap;

use parking_lot::Mutex;

use super::rules::EventRule;
use crate::host::Shared;
use crate::isolate::CallError;
use crate::limits::Budget;
use crate::registry::Subscriber;
use crate::wire::ExtId;

/// Times in a row that a handler may run out of time.
pub(crate) const LIMIT: u32 = 3;

type Key = (ExtId, u64);

/// How often which handler ran out of time in a row. Extension ids are never used twice, so a reload starts anew.
#[derive(Default)]
pub(crate) struct Strikes(Mutex<HashMap<Key, u32>>);

impl Strikes {
    /// Whether a handler is not called any more.
    pub(crate) fn is_out(&self, subscriber: &Subscriber) -> bool {
        let counts = self.0.lock();
        // Almost always empty, and this is asked for every handler of every event.
        !counts.is_empty()
            && counts
                .get(&key(subscriber))
                .is_some_and(|count| *count >= LIMIT)
    }

    /// Counts one time; true when it was the last one.
    fn count(&self, subscriber: &Subscriber) -> bool {
        let mut counts = self.0.lock();
        let count = counts.entry(key(subscriber)).or_default();
        *count += 1;
        *count == LIMIT
    }

    fn forget(&self, subscriber: &Subscriber) {
        let mut counts = self.0.lock();
        if !counts.is_empty() {
            counts.remove(&key(subscriber));
        }
    }
}

fn key(subscriber: &Subscriber) -> Key {
    (subscriber.info.id, subscriber.handler)
}

/// What a guard that is not called any more says.
pub(crate) fn refusal(subscriber: &Subscriber) -> String {
    format!(
        "Extension {} failed: its \"{}\" handler did not finish {LIMIT} times in a row and is not asked any more; reload or remove the extension",
        subscriber.info.path, subscriber.event
    )
}

impl Shared {
    /// Keeps the count of a handler that was just called, and ends its subscription when it is full.
    pub(super) fn count_strike(
        &self,
        subscriber: &Subscriber,
        rule: &EventRule,
        error: Option<&CallError>,
    ) {
        match error {
            Some(CallError::Timeout { .. }) => {}
            // Says nothing about the handler.
            Some(CallError::Aborted) => return,
            _ => return self.strikes.forget(subscriber),
        }
        if rule.budget == Budget::Shutdown || !self.strikes.count(subscriber) {
            return;
        }
        let consequence = if rule.on_failure.refuses(subscriber.info.profile) {
            "what it guards is refused from now on without asking it"
        } else {
            let handler = subscriber.handler;
            let _ = self.registry.change(subscriber.info.id, |registered| {
                registered.handlers.retain(|known| known.id != handler);
            });
            self.strikes.forget(subscriber);
            self.touch();
            "it gets no more events"
        };
        self.reports.text(
            &subscriber.info.path,
            &subscriber.event,
            format!(
                "The \"{}\" handler did not finish {LIMIT} times in a row; {consequence} until the extension is reloaded",
                subscriber.event
            ),
        );
    }
}
