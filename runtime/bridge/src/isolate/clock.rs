//! A stopwatch that a call's deadline is measured on, and that stands still while a person is asked.
//!
//! It only measures; whoever waits on it (the engine's watchdog, the fake) decides what happens at the end.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

type PauseListener = Box<dyn Fn(bool) + Send + Sync>;

struct State {
    running_since: Option<Instant>,
    elapsed: Duration,
    pauses: u32,
    listener: Option<PauseListener>,
}

/// Counts run time; nested pauses are counted.
pub struct DeadlineClock {
    state: Mutex<State>,
}

impl std::fmt::Debug for DeadlineClock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeadlineClock")
            .field("elapsed", &self.elapsed())
            .finish()
    }
}

impl Default for DeadlineClock {
    fn default() -> Self {
        Self::new()
    }
}

impl DeadlineClock {
    /// A clock that starts running now.
    pub fn new() -> Self {
        Self {
            state: Mutex::new(State {
                running_since: Some(Instant::now()),
                elapsed: Duration::ZERO,
                pauses: 0,
                listener: None,
            }),
        }
    }

    /// Called with `true` when the clock stops and `false` when it runs again. Used by the engine adapter
    /// to drive the engine's own clock.
    pub fn set_listener(&self, listener: impl Fn(bool) + Send + Sync + 'static) {
        let mut state = self.state.lock();
        if state.pauses > 0 {
            listener(true);
        }
        state.listener = Some(Box::new(listener));
    }

    /// Stops the clock until the matching [`resume`](Self::resume).
    pub fn pause(&self) {
        let mut state = self.state.lock();
        state.pauses += 1;
        if state.pauses == 1 {
            if let Some(since) = state.running_since.take() {
                state.elapsed += since.elapsed();
            }
            if let Some(listener) = &state.listener {
                listener(true);
            }
        }
    }

    /// Undoes one pause. Extra calls do nothing.
    pub fn resume(&self) {
        let mut state = self.state.lock();
        if state.pauses == 0 {
            return;
        }
        state.pauses -= 1;
        if state.pauses == 0 {
            state.running_since = Some(Instant::now());
            if let Some(listener) = &state.listener {
                listener(false);
            }
        }
    }

    /// Time spent running.
    pub fn elapsed(&self) -> Duration {
        let state = self.state.lock();
        state.elapsed
            + state
                .running_since
                .map(|since| since.elapsed())
                .unwrap_or_default()
    }

    /// Whether somebody is being asked right now.
    pub fn is_paused(&self) -> bool {
        self.state.lock().pauses > 0
    }

    /// Resolves when the running time reaches `budget`.
    pub async fn reached(&self, budget: Duration) {
        loop {
            let elapsed = self.elapsed();
            if elapsed >= budget && !self.is_paused() {
                return;
            }
            // While paused the remaining time cannot shrink, so the same sleep serves as a poll with a bound.
            let left = budget
                .saturating_sub(elapsed)
                .max(Duration::from_millis(5))
                .min(Duration::from_secs(1));
            tokio::time::sleep(left).await;
        }
    }
}

/// Pauses a clock for as long as it lives.
pub struct PauseGuard(std::sync::Arc<DeadlineClock>);

impl PauseGuard {
    /// Pauses now.
    pub fn new(clock: std::sync::Arc<DeadlineClock>) -> Self {
        clock.pause();
        Self(clock)
    }
}

impl Drop for PauseGuard {
    fn drop(&mut self) {
        self.0.resume();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_pauses_stop_the_clock_until_the_last_resume() {
        let clock = DeadlineClock::new();
        clock.pause();
        clock.pause();
        let at = clock.elapsed();
        std::thread::sleep(Duration::from_millis(15));
        clock.resume();
        assert!(clock.is_paused());
        assert_eq!(clock.elapsed(), at);
        clock.resume();
        clock.resume();
        std::thread::sleep(Duration::from_millis(15));
        assert!(clock.elapsed() >= at + Duration::from_millis(10));
    }
}
