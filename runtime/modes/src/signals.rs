//! Signals that end the program (`spec/rpc.md` §10.2, `spec/cli.md` §3).
//!
//! The first one begins an orderly end, the second one ends the process at once.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// A signal that was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Received {
    Hangup,
    Interrupt,
    Terminate,
}

impl Received {
    /// 128 plus the signal's number, as shells have it.
    pub(crate) fn exit_code(self) -> i32 {
        match self {
            Self::Hangup => 129,
            Self::Interrupt => 130,
            Self::Terminate => 143,
        }
    }
}

/// Listens to the signals from the moment it is made.
pub(crate) struct Signals {
    hangup: Signal,
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// Takes the signals over from the system's default, which kills the process.
    ///
    /// # Errors
    /// When a handler cannot be installed.
    pub(crate) fn listen() -> std::io::Result<Self> {
        Ok(Self {
            hangup: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// The next signal.
    pub(crate) async fn next(&mut self) -> Received {
        tokio::select! {
            Some(()) = self.hangup.recv() => Received::Hangup,
            Some(()) = self.interrupt.recv() => Received::Interrupt,
            Some(()) = self.terminate.recv() => Received::Terminate,
            // All three streams ended, which happens only while the runtime is torn down.
            else => std::future::pending().await,
        }
    }
}
