//! Signals that end the program (`spec/rpc.md` §10.2, `spec/cli.md` §3).
//!
//! The first one begins an orderly end, the second one ends the process at once. They are taken over
//! before there is a runtime, so that one that comes while the program is still being set up is kept
//! for later instead of killing it.

use std::os::unix::net::UnixStream as Pipe;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;

/// A signal that was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Received {
    Hangup,
    Interrupt,
    Terminate,
}

impl Received {
    const ALL: [(Self, i32); 3] = [
        (Self::Hangup, SIGHUP),
        (Self::Interrupt, SIGINT),
        (Self::Terminate, SIGTERM),
    ];

    /// 128 plus the signal's number, as shells have it.
    pub(crate) fn exit_code(self) -> i32 {
        match self {
            Self::Hangup => 129,
            Self::Interrupt => 130,
            Self::Terminate => 143,
        }
    }
}

/// Signals that are kept until somebody listens.
pub struct EarlySignals([Pipe; 3]);

impl EarlySignals {
    /// Takes the signals over from the system's default, which kills the process. Starts no thread.
    ///
    /// # Errors
    /// When a handler cannot be installed.
    pub fn take_over() -> std::io::Result<Self> {
        let keep = |(_, signal)| {
            let (reader, writer) = Pipe::pair()?;
            signal_hook::low_level::pipe::register(signal, writer)?;
            reader.set_nonblocking(true)?;
            std::io::Result::Ok(reader)
        };
        let [hangup, interrupt, terminate] = Received::ALL.map(keep);
        Ok(Self([hangup?, interrupt?, terminate?]))
    }

    /// Inside a tokio runtime: the signals as they come, those that came already first.
    pub(crate) fn listen(self) -> std::io::Result<Signals> {
        let [hangup, interrupt, terminate] = self.0.map(UnixStream::from_std);
        Ok(Signals {
            hangup: hangup?,
            interrupt: interrupt?,
            terminate: terminate?,
        })
    }
}

/// The signals, one after another.
pub(crate) struct Signals {
    hangup: UnixStream,
    interrupt: UnixStream,
    terminate: UnixStream,
}

impl Signals {
    /// The next signal.
    pub(crate) async fn next(&mut self) -> Received {
        // Each signal is one byte. Reading a byte is safe to give up at any time.
        let (mut one, mut two, mut three) = ([0], [0], [0]);
        tokio::select! {
            Ok(1) = self.hangup.read(&mut one) => Received::Hangup,
            Ok(1) = self.interrupt.read(&mut two) => Received::Interrupt,
            Ok(1) = self.terminate.read(&mut three) => Received::Terminate,
            // The handlers keep their ends for as long as the process lives.
            else => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{EarlySignals, Received};

    #[test]
    fn signals_from_before_the_runtime_are_kept_each_once() {
        let early = EarlySignals::take_over().expect("handlers");
        signal_hook::low_level::raise(signal_hook::consts::SIGTERM).expect("raised");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("runtime");
        runtime.block_on(async {
            let mut signals = early.listen().expect("listening");
            assert_eq!(signals.next().await, Received::Terminate);
            let more =
                tokio::time::timeout(std::time::Duration::from_millis(20), signals.next()).await;
            assert!(more.is_err(), "one signal is one");
            signal_hook::low_level::raise(signal_hook::consts::SIGHUP).expect("raised");
            assert_eq!(signals.next().await, Received::Hangup);
        });
    }
}
