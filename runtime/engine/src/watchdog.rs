//! Ends isolates whose code never gives the thread back, and those that V8 gave up, from a thread of its own.
//!
//! CPU time counts, not wall time: code that waits for a child process in a blocking call uses none and is left alone.

use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::error::StopReason;
use crate::interrupt;
use crate::shared::Shared;

/// How often stretches are looked at: the limit is met within this time.
const TICK: Duration = Duration::from_millis(100);

struct Watched {
    isolate: Weak<Shared>,
    /// The stretch seen at the last tick and the thread's CPU time then.
    seen: Option<(u64, Duration)>,
    /// When it was asked to stop.
    asked: Option<Instant>,
}

struct Watchdog {
    watched: Mutex<Vec<Watched>>,
    added: Condvar,
}

/// Watches `isolate` until its last handle and its thread are gone.
pub(crate) fn watch(isolate: &Arc<Shared>) {
    static WATCHDOG: OnceLock<Arc<Watchdog>> = OnceLock::new();
    let watchdog = WATCHDOG.get_or_init(|| {
        let watchdog = Arc::new(Watchdog {
            watched: Mutex::new(Vec::new()),
            added: Condvar::new(),
        });
        let for_thread = watchdog.clone();
        let started = std::thread::Builder::new()
            .name("pier-watchdog".into())
            .spawn(move || run(&for_thread));
        if let Err(error) = started {
            tracing::error!("cannot start the watchdog thread: {error}");
        }
        watchdog
    });
    watchdog.watched.lock().push(Watched {
        isolate: Arc::downgrade(isolate),
        seen: None,
        asked: None,
    });
    watchdog.added.notify_one();
}

fn run(watchdog: &Watchdog) {
    let mut watched = watchdog.watched.lock();
    loop {
        if watched.is_empty() {
            watchdog.added.wait(&mut watched);
        } else {
            watchdog.added.wait_for(&mut watched, TICK);
        }
        watched.retain_mut(|entry| match entry.isolate.upgrade() {
            Some(isolate) if isolate.stop_reason().is_none() => {
                look(&isolate, entry);
                true
            }
            _ => false,
        });
    }
}

fn look(isolate: &Arc<Shared>, entry: &mut Watched) {
    if isolate.lost.load(Ordering::Acquire) {
        isolate.give_up();
        return;
    }
    let (Some((mark, lasted)), Some(cpu)) = (isolate.stretch(), isolate.cpu_time()) else {
        entry.seen = None;
        entry.asked = None;
        return;
    };
    let reason = || StopReason::Unresponsive {
        busy: lasted,
        at: None,
    };
    match (entry.seen, entry.asked) {
        (Some((seen, _)), Some(asked)) if seen == mark => {
            if asked.elapsed() >= interrupt::PATIENCE {
                isolate.stop(reason());
            }
        }
        (Some((seen, cpu_then)), _) if seen == mark => {
            if cpu.saturating_sub(cpu_then) >= isolate.busy_limit() {
                interrupt::request(isolate, reason());
                entry.asked = Some(Instant::now());
            }
        }
        _ => {
            entry.seen = Some((mark, cpu));
            entry.asked = None;
        }
    }
}
