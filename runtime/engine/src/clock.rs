//! A deadline that does not run while a person is being asked.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::Notify;

/// Counts the time a call has used, leaving out the pauses. Cheap to clone; clones share one count.
#[derive(Debug, Clone)]
pub struct DeadlineClock {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug)]
struct State {
    used: Duration,
    /// `None` while paused.
    running_since: Option<Instant>,
    pauses: u32,
}

/// Keeps the clock paused until dropped.
#[derive(Debug)]
pub struct Pause {
    clock: DeadlineClock,
}

impl Default for DeadlineClock {
    fn default() -> Self {
        Self::new()
    }
}

impl DeadlineClock {
    /// A running clock at zero.
    pub fn new() -> Self {
        let state = State {
            used: Duration::ZERO,
            running_since: Some(Instant::now()),
            pauses: 0,
        };
        Self {
            inner: Arc::new(Inner {
                state: Mutex::new(state),
                changed: Notify::new(),
            }),
        }
    }

    /// Stops the clock until the guard is dropped; pauses nest.
    pub fn pause(&self) -> Pause {
        let mut state = self.inner.state.lock();
        if let Some(since) = state.running_since.take() {
            state.used += since.elapsed();
        }
        state.pauses += 1;
        drop(state);
        self.inner.changed.notify_waiters();
        Pause {
            clock: self.clone(),
        }
    }

    /// Time used so far.
    pub fn used(&self) -> Duration {
        let state = self.inner.state.lock();
        state.used
            + state
                .running_since
                .map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Resolves once `limit` has been used.
    pub async fn expired(&self, limit: Duration) {
        loop {
            let changed = self.inner.changed.notified();
            let paused = self.inner.state.lock().running_since.is_none();
            if paused {
                changed.await;
                continue;
            }
            let Some(left) = limit
                .checked_sub(self.used())
                .filter(|left| !left.is_zero())
            else {
                return;
            };
            tokio::select! {
                () = tokio::time::sleep(left) => {}
                () = changed => {}
            }
        }
    }
}

impl Drop for Pause {
    fn drop(&mut self) {
        let mut state = self.clock.inner.state.lock();
        state.pauses -= 1;
        if state.pauses == 0 {
            state.running_since = Some(Instant::now());
        }
        drop(state);
        self.clock.inner.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_pause_does_not_count() {
        let clock = DeadlineClock::new();
        let pause = clock.pause();
        let used = clock.used();
        let waiter = tokio::spawn({
            let clock = clock.clone();
            async move { clock.expired(used + Duration::from_millis(1)).await }
        });
        let waited = tokio::time::timeout(
            Duration::from_millis(30),
            clock.expired(used + Duration::from_millis(1)),
        )
        .await;
        assert!(waited.is_err() && clock.used() == used);
        drop(pause);
        waiter
            .await
            .expect("the waiter ends once the clock runs again");
    }

    #[test]
    fn pauses_nest() {
        let clock = DeadlineClock::new();
        let outer = clock.pause();
        drop(clock.pause());
        assert!(clock.inner.state.lock().running_since.is_none());
        drop(outer);
        assert!(clock.inner.state.lock().running_since.is_some());
    }
}
