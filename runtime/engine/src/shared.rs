//! The state of one isolate that its thread, its handles and the watchdog share.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use deno_core::v8;
use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};

use crate::error::{EngineError, StopReason};
use crate::fault::{JsFault, Location};
use crate::host::{HostServices, IsolateFault};
use crate::source_maps::SourceMaps;

pub(crate) type CallReply = Result<Option<String>, EngineError>;

pub(crate) struct Shared {
    /// Set once V8 exists; before that there is nothing to terminate.
    v8: OnceLock<v8::IsolateHandle>,
    cpu_clock: OnceLock<libc::clockid_t>,
    /// Microseconds since `started`, plus one; zero while the thread runs no JavaScript.
    busy_since: AtomicU64,
    started: Instant,
    busy_limit: Mutex<Duration>,
    calls: Mutex<HashMap<u32, oneshot::Sender<CallReply>>>,
    stop: watch::Sender<Option<StopReason>>,
    pub(crate) source_maps: Arc<SourceMaps>,
    /// Whether everything the code printed has been delivered.
    drained: watch::Sender<bool>,
    /// Set by a signal handler when V8 gave the isolate up; see `lost.rs`.
    pub(crate) lost: AtomicBool,
    /// Who is told of that; the thread itself no longer can.
    host: OnceLock<Weak<dyn HostServices>>,
    /// Where `process.exit` was called.
    exit_place: Mutex<Option<Location>>,
}

impl Shared {
    pub(crate) fn new(busy_limit: Duration) -> Arc<Self> {
        Arc::new(Self {
            v8: OnceLock::new(),
            cpu_clock: OnceLock::new(),
            busy_since: AtomicU64::new(0),
            started: Instant::now(),
            busy_limit: Mutex::new(busy_limit),
            calls: Mutex::new(HashMap::new()),
            stop: watch::Sender::new(None),
            source_maps: Arc::default(),
            drained: watch::Sender::new(false),
            lost: AtomicBool::new(false),
            host: OnceLock::new(),
            exit_place: Mutex::new(None),
        })
    }

    /// Called once on the isolate's thread.
    pub(crate) fn attach(&self, handle: v8::IsolateHandle) {
        let _ = self.v8.set(handle);
        let mut clock: libc::clockid_t = 0;
        // SAFETY: both calls only read the current thread's id and write one integer.
        if unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &mut clock) } == 0 {
            let _ = self.cpu_clock.set(clock);
        }
    }

    pub(crate) fn set_host(&self, host: &Arc<dyn HostServices>) {
        let _ = self.host.set(Arc::downgrade(host));
    }

    /// Ends an isolate whose thread will never do so.
    pub(crate) fn give_up(&self) {
        if self.stop(StopReason::Lost)
            && let Some(host) = self.host.get().and_then(Weak::upgrade)
        {
            host.report(IsolateFault::Stopped(StopReason::Lost));
        }
    }

    pub(crate) fn v8_handle(&self) -> Option<&v8::IsolateHandle> {
        self.v8.get()
    }

    pub(crate) fn note_drained(&self) {
        self.drained.send_replace(true);
    }

    /// Resolves when everything the code printed has been delivered.
    pub(crate) async fn drained(&self) {
        // The sender lives as long as `self`.
        let _ = self.drained.subscribe().wait_for(|drained| *drained).await;
    }

    pub(crate) fn note_exit(&self, place: Option<Location>) {
        *self.exit_place.lock() = place;
    }

    pub(crate) fn exit_place(&self) -> Option<Location> {
        self.exit_place.lock().clone()
    }

    pub(crate) fn set_busy_limit(&self, limit: Duration) {
        *self.busy_limit.lock() = limit;
    }

    pub(crate) fn busy_limit(&self) -> Duration {
        *self.busy_limit.lock()
    }

    /// Runs JavaScript with the busy mark set.
    pub(crate) fn busy<T>(&self, run: impl FnOnce() -> T) -> T {
        let now = u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX - 1) + 1;
        self.busy_since.store(now, Ordering::Release);
        let result = run();
        self.busy_since.store(0, Ordering::Release);
        result
    }

    /// The mark of the current uninterrupted stretch of JavaScript and how long it has lasted, if there is one.
    pub(crate) fn stretch(&self) -> Option<(u64, Duration)> {
        let mark = self.busy_since.load(Ordering::Acquire);
        if mark == 0 {
            return None;
        }
        Some((
            mark,
            self.started
                .elapsed()
                .saturating_sub(Duration::from_micros(mark - 1)),
        ))
    }

    /// CPU time of the isolate's thread.
    pub(crate) fn cpu_time(&self) -> Option<Duration> {
        let clock = *self.cpu_clock.get()?;
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: writes one timespec. The clock of a thread that ended gives an error, not undefined behaviour.
        if unsafe { libc::clock_gettime(clock, &mut time) } != 0 {
            return None;
        }
        Some(Duration::new(
            u64::try_from(time.tv_sec).ok()?,
            u32::try_from(time.tv_nsec).ok()?,
        ))
    }

    pub(crate) fn add_call(&self, id: u32) -> oneshot::Receiver<CallReply> {
        let (sender, receiver) = oneshot::channel();
        let mut calls = self.calls.lock();
        match self.stop_reason() {
            // Under the lock of `calls`, so that `stop` cannot slip in between and leave the call unanswered.
            Some(reason) => drop(sender.send(Err(EngineError::Stopped(reason)))),
            None => drop(calls.insert(id, sender)),
        }
        receiver
    }

    pub(crate) fn forget_call(&self, id: u32) {
        self.calls.lock().remove(&id);
    }

    pub(crate) fn finish_call(&self, id: u32, reply: CallReply) {
        let sender = self.calls.lock().remove(&id);
        if let Some(sender) = sender {
            let _ = sender.send(reply);
        }
    }

    pub(crate) fn fail_call(&self, id: u32, fault: JsFault) {
        self.finish_call(id, Err(EngineError::Js(fault)));
    }

    pub(crate) fn stop_reason(&self) -> Option<StopReason> {
        self.stop.borrow().clone()
    }

    pub(crate) fn subscribe_stop(&self) -> watch::Receiver<Option<StopReason>> {
        self.stop.subscribe()
    }

    /// Ends the isolate: interrupts running code and fails every pending call. The first reason wins; returns whether it was this one.
    pub(crate) fn stop(&self, reason: StopReason) -> bool {
        let mut calls = self.calls.lock();
        let first = self.stop.send_if_modified(|current| {
            let first = current.is_none();
            if first {
                *current = Some(reason.clone());
            }
            first
        });
        if !first {
            return false;
        }
        if let Some(v8) = self.v8.get() {
            v8.terminate_execution();
        }
        let pending: Vec<_> = calls.drain().collect();
        drop(calls);
        for (_, sender) in pending {
            let _ = sender.send(Err(EngineError::Stopped(reason.clone())));
        }
        true
    }
}
