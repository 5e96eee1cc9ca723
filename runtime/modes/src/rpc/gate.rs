//! When requests may be handled: not before the session has started, and not while it is replaced.
//!
//! Extensions come and go at these times, so a request that may need one waits for the new ones
//! instead of finding none. What only reads the session, or ends something, never depends on this.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;

#[derive(Debug, Default, Clone)]
struct State {
    holds: usize,
    started: bool,
    failed: Option<Arc<str>>,
}

/// What the gate says about a request that has to wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Passage {
    /// Requests may be handled.
    Open,
    /// Not yet.
    Closed,
    /// Never, and why.
    Failed(Arc<str>),
}

/// Closed until [`Gate::start`], and while a [`Hold`] lives.
pub(crate) struct Gate {
    state: watch::Sender<State>,
    bound: AtomicBool,
}

impl Gate {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            state: watch::Sender::new(State::default()),
            bound: AtomicBool::new(false),
        })
    }

    /// Extensions are loaded and know the session; their handlers may run from now on.
    pub(crate) fn bind(&self) {
        self.bound.store(true, Ordering::Release);
    }

    /// See [`Gate::bind`].
    pub(crate) fn is_bound(&self) -> bool {
        self.bound.load(Ordering::Acquire)
    }

    /// The session has started.
    pub(crate) fn start(&self) {
        self.state.send_modify(|state| state.started = true);
    }

    /// See [`Gate::start`].
    pub(crate) fn has_started(&self) -> bool {
        self.state.borrow().started
    }

    /// The session will never start.
    pub(crate) fn fail(&self, reason: &str) {
        self.state
            .send_modify(|state| state.failed = Some(reason.into()));
    }

    /// Closes the gate for as long as the guard lives.
    pub(crate) fn hold(self: &Arc<Self>) -> Hold {
        self.state.send_modify(|state| state.holds += 1);
        Hold(Arc::clone(self))
    }

    /// What holds now.
    pub(crate) fn passage(&self) -> Passage {
        Self::passage_of(&self.state.borrow())
    }

    /// Resolves once the gate is not closed.
    pub(crate) async fn not_closed(&self) {
        let mut state = self.state.subscribe();
        // The sender lives as long as `self`.
        let _ = state
            .wait_for(|state| Self::passage_of(state) != Passage::Closed)
            .await;
    }

    fn passage_of(state: &State) -> Passage {
        match &state.failed {
            Some(reason) => Passage::Failed(Arc::clone(reason)),
            None if state.started && state.holds == 0 => Passage::Open,
            None => Passage::Closed,
        }
    }
}

/// See [`Gate::hold`].
pub(crate) struct Hold(Arc<Gate>);

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.state.send_modify(|state| state.holds -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::{Gate, Passage};

    #[tokio::test]
    async fn it_opens_with_the_start_and_closes_while_it_is_held() {
        let gate = Gate::new();
        assert_eq!(gate.passage(), Passage::Closed);
        gate.start();
        gate.not_closed().await;
        let (one, two) = (gate.hold(), gate.hold());
        drop(one);
        assert_eq!(gate.passage(), Passage::Closed);
        drop(two);
        assert_eq!(gate.passage(), Passage::Open);
    }

    #[tokio::test]
    async fn a_start_that_failed_lets_nobody_wait() {
        let gate = Gate::new();
        gate.fail("no");
        gate.not_closed().await;
        assert_eq!(gate.passage(), Passage::Failed("no".into()));
    }
}
