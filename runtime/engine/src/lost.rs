//! Keeps the process alive when V8 gives an isolate up.
//!
//! Where one of V8's own checks fails (an array longer than it can represent, memory that it cannot get) it ends its process, by a trap
//! instruction. Only the isolate is lost then: nothing has gone wrong yet, the code just cannot continue. So the handler notes the loss and parks the
//! thread for good; the watchdog, on a sound thread, tells everybody. What the isolate occupied stays occupied until the process ends.
//!
//! A failure of memory itself (a segmentation fault, an abort of the allocator) is not touched: nothing could be relied on after it.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::shared::Shared;

thread_local! {
    /// The mark of the isolate that runs on this thread. A plain pointer, since a signal handler may neither allocate nor register destructors.
    static MARK: Cell<*const AtomicBool> = const { Cell::new(std::ptr::null()) };
}

/// The signals that V8's trap instructions raise.
const TRAPS: [libc::c_int; 2] = [libc::SIGTRAP, libc::SIGILL];

/// Installs the handler, for the whole process. Call it once.
pub(crate) fn catch_traps() {
    for signal in TRAPS {
        // SAFETY: an all-zero `sigaction` is a valid value; the handler is async-signal-safe and lives as long as the process.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_trap as extern "C" fn(libc::c_int) as libc::sighandler_t;
            libc::sigemptyset(&mut action.sa_mask);
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

/// While it lives, a trap on this thread loses the isolate of `shared` and nothing else.
pub(crate) struct Guard {
    _shared: Arc<Shared>,
}

impl Guard {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        MARK.set(&raw const shared.lost);
        Self { _shared: shared }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        MARK.set(std::ptr::null());
    }
}

/// Only calls what a signal handler may call.
extern "C" fn on_trap(signal: libc::c_int) {
    let mark = MARK.get();
    if mark.is_null() {
        // Not an isolate's thread: a defect of the host, which shall end as if nobody had listened.
        // SAFETY: both calls are async-signal-safe. The signal arrives when the handler returns.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
        return;
    }
    // SAFETY: the guard on this thread's stack keeps the value alive, and that stack is never unwound from here.
    unsafe { &*mark }.store(true, Ordering::Release);
    loop {
        // SAFETY: waits for a signal and touches no memory.
        unsafe { libc::pause() };
    }
}
