//! Why the process ends, and how (`spec/rpc.md` §9, §10).
//!
//! Every wait in here has a bound. The first cause decides the exit code; one signal after the
//! end of input does not cut the clean-up short, a second one ends the process at once.

use std::sync::Arc;
use std::time::Duration;

use pier_agent::hooks::ShutdownReason;
use tokio::task::JoinHandle;

use super::pump::{End, Pump};
use super::server::Server;
use crate::diagnostics;
use crate::host::ModeHost;
use crate::setup::StartError;
use crate::signals::{Received, Signals};

/// Longest clean-up: abort, `session_shutdown` handlers, isolates.
const CLEANUP_LIMIT: Duration = Duration::from_secs(10);
/// Longest wait for the client to read what is left.
pub(super) const FLUSH_LIMIT: Duration = Duration::from_secs(2);
/// How long requests may go on once nothing holds them any more.
const LAST_ANSWERS: Duration = Duration::from_millis(500);
/// How long requests other than prompts may go on after the end of input.
const LAST_REQUESTS: Duration = Duration::from_secs(10);
/// A run that the last input started is given up when it shows no event for this long.
const SILENCE_LIMIT: Duration = Duration::from_secs(300);

enum Cause {
    EndOfInput,
    Signal(Received),
    Extension,
    OutputClosed,
    StartFailed(StartError),
}

impl Cause {
    fn exit_code(&self) -> i32 {
        match self {
            Self::EndOfInput | Self::Extension => 0,
            Self::OutputClosed | Self::StartFailed(_) => 1,
            Self::Signal(signal) => signal.exit_code(),
        }
    }
}

/// Serves until there is a reason to stop, then stops. Returns the exit code.
pub(super) async fn serve(
    server: &Arc<Server>,
    host: &Arc<ModeHost>,
    pump: &mut Pump,
    signals: &mut Signals,
    mut starting: JoinHandle<Result<(), StartError>>,
) -> i32 {
    let served = async {
        // A panic was reported; the session serves without what was still to be started.
        if let Ok(Err(error)) = (&mut starting).await {
            server.gate.fail(&error.to_string());
            // What has come until now gets an answer.
            pump.ended().await;
            return Cause::StartFailed(error);
        }
        server.gate.bind();
        server.gate.start();
        tokio::select! {
            end = pump.ended() => {
                if let End::WithLastInput { alone } = end {
                    finish_last_input(server, alone).await;
                }
                Cause::EndOfInput
            }
            () = quit_requested(server, host) => Cause::Extension,
        }
    };
    let cause = tokio::select! {
        cause = served => cause,
        signal = signals.next() => Cause::Signal(signal),
        () = server.output.broken() => Cause::OutputClosed,
    };
    starting.abort();
    if let Cause::StartFailed(error) = &cause {
        super::report_start_error(&server.output, error);
    }
    let code = cause.exit_code();
    // A signal that asked for the end is the first one; after another cause the first one is spare.
    let mut spare = !matches!(cause, Cause::Signal(_));
    let stopped = tokio::select! {
        () = clean_up(server) => None,
        signal = second_signal(signals, &mut spare) => Some(signal),
    };
    match stopped {
        Some(signal) => signal.exit_code(),
        None => code,
    }
}

async fn second_signal(signals: &mut Signals, spare: &mut bool) -> Received {
    loop {
        let signal = signals.next().await;
        if !std::mem::take(spare) {
            return signal;
        }
    }
}

async fn clean_up(server: &Server) {
    server.events.close();
    // Held to the end: a handler of `session_shutdown` that asks somebody gets the cancel value.
    let _no_dialogs = server.ui.refuse();
    server.host_tools.close();
    let orderly = async {
        // Extensions that never heard of a session need not hear of its end.
        if !server.gate.is_bound() {
            return server.extensions.dispose().await;
        }
        server.session.abort_bash();
        // What is still being handled has just lost its dialog, its shell command or its run; it ends
        // with an answer instead of an error about the end of its extension.
        let last_answers = tokio::time::timeout(LAST_ANSWERS, server.requests.none_active());
        let _ = tokio::join!(server.session.shutdown(ShutdownReason::Quit), last_answers);
        server.extensions.dispose().await;
    };
    if tokio::time::timeout(CLEANUP_LIMIT, orderly).await.is_err() {
        diagnostics::warning(
            "Clean-up did not end in time; some session_shutdown handlers may not have finished",
        );
    }
    server.output.flush(FLUSH_LIMIT).await;
}

/// Resolves when an extension asked for the end and nothing is going on any more. A prompt counts
/// until its run settled.
async fn quit_requested(server: &Server, host: &ModeHost) {
    host.shutdown_requested().await;
    loop {
        server.requests.none_active().await;
        server.session.run_settled().await;
        if server.requests.count() == 0 && server.session.is_idle() {
            return;
        }
    }
}

/// Lets the last commands, and the runs they started, come to their end. `alone`: they came while nothing was going on, so
/// every run is theirs; else only those count that they asked for. (A client that leaves in the middle of a run it was
/// watching wants the run aborted.)
async fn finish_last_input(server: &Server, alone: bool) {
    let ended = tokio::time::Instant::now();
    loop {
        let done = async {
            server.requests.last_input_done().await;
            if alone {
                server.session.run_settled().await;
            }
        };
        if tokio::time::timeout(Duration::from_millis(200), done)
            .await
            .is_ok()
        {
            return;
        }
        let theirs = alone || server.requests.last_input_runs();
        let over = if theirs && !server.session.is_idle() {
            server.events.last_event().elapsed() > SILENCE_LIMIT
        } else {
            ended.elapsed() > LAST_REQUESTS
        };
        if over {
            return;
        }
    }
}
