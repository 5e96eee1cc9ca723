//! Print mode and JSON mode: answer the prompts of the command line and exit (`spec/cli.md` §4).
//!
//! The end never waits for what extensions left behind: after `session_shutdown`, within its
//! budget, the output is flushed and the caller exits the process.

mod answer;
mod files;
mod prompts;

use std::io::Read;
use std::time::Duration;

use pier_agent::AgentSession;
use pier_agent::agent_session::{Disposition, PromptRequest};
use pier_agent::events::Subscription;
use pier_agent::hooks::{InputSource, SessionStartReason, ShutdownReason};
use pier_agent::session::SessionManager;
use pier_bridge::Mode;

use crate::diagnostics;
use crate::dialect::Dialect;
use crate::events::EventWriter;
use crate::extensions::Extensions;
use crate::host::ModeHost;
use crate::output::OutputQueue;
use crate::setup::{Boot, Started, Surroundings};
use crate::signals::{EarlySignals, Received};
use answer::Answer;
use prompts::Prompt;

pub use files::FileArgumentError;

/// Time for `session_shutdown` handlers and the end of isolates. The answer is written before.
const CLEANUP_LIMIT: Duration = Duration::from_millis(1500);
/// Time for the reader to take what is left. Long, because a pager may stand on the other end.
const FLUSH_LIMIT: Duration = Duration::from_secs(600);

/// What is written to standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The last answer.
    Text,
    /// Every event as one JSON line.
    Json,
}

/// What a one-shot run needs besides a session.
pub struct PrintOptions {
    pub format: Format,
    /// `@file` arguments.
    pub files: Vec<String>,
    /// Whether standard input belongs to the prompt: it does unless it is a terminal.
    pub read_stdin: bool,
    pub dialect: Dialect,
}

/// Runs all prompts. Returns the exit code.
///
/// # Errors
/// When the process cannot be set up, or standard input cannot be read.
pub async fn run(
    boot: Boot,
    output: OutputQueue,
    options: PrintOptions,
    signals: EarlySignals,
) -> std::io::Result<i32> {
    let mut signals = signals.listen()?;
    let preparing = prepare(boot, &options);
    let prepared = tokio::select! {
        prepared = preparing => prepared?,
        signal = signals.next() => return Ok(signal.exit_code()),
    };
    let (started, prompts) = match prepared {
        Ok(prepared) => prepared,
        Err(sentence) => {
            diagnostics::error(&sentence);
            return Ok(1);
        }
    };
    let run = Run {
        session: started.session,
        output,
        format: options.format,
    };
    let subscription = run.announce(options.dialect);
    let code = tokio::select! {
        code = run.prompts(prompts) => code,
        signal = signals.next() => signal.exit_code(),
        // Nobody reads any more, as with `| head`.
        () = run.output.broken() => 1,
    };
    let stopped = tokio::select! {
        () = run.clean_up(&*started.extensions) => None,
        signal = signals.next() => Some(signal),
    };
    drop(subscription);
    Ok(stopped.map_or(code, Received::exit_code))
}

/// Reads files and standard input while the session is being put together.
async fn prepare(
    boot: Boot,
    options: &PrintOptions,
) -> std::io::Result<Result<(Started, Vec<Prompt>), String>> {
    let attachments = match files::read_all(&options.files, boot.cwd()) {
        Ok(attachments) => attachments,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let host = ModeHost::new(
        |report| diagnostics::extension_error(&report),
        || Box::new(()),
    );
    let mode = match options.format {
        Format::Text => Mode::Print,
        Format::Json => Mode::Json,
    };
    let booting = boot.start(Surroundings {
        mode,
        host,
        ui: None,
        ui_profile: serde_json::Value::Null,
    });
    let (stdin, started) = tokio::join!(read_stdin(options.read_stdin), booting);
    let stdin = stdin?;
    Ok(match started {
        Ok(mut started) => {
            let messages = std::mem::take(&mut started.messages);
            Ok((
                started,
                prompts::build(stdin.as_deref(), attachments, messages),
            ))
        }
        Err(error) => Err(error.to_string()),
    })
}

/// Standard input to its end, when it belongs to the prompt.
async fn read_stdin(wanted: bool) -> std::io::Result<Option<String>> {
    if !wanted {
        return Ok(None);
    }
    let mut stdin = crate::output::take_stdin()?;
    let reading = tokio::task::spawn_blocking(move || {
        let mut bytes = Vec::new();
        stdin.read_to_end(&mut bytes).map(|_| bytes)
    });
    let bytes = reading.await.map_err(std::io::Error::other)??;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

struct Run {
    session: AgentSession,
    output: OutputQueue,
    format: Format,
}

impl Run {
    /// Writes the session header and every event from now on, in JSON mode.
    fn announce(&self, dialect: Dialect) -> Option<Subscription> {
        if self.format == Format::Text {
            return None;
        }
        let header = self.session.with_session(SessionManager::header);
        // A reader that is gone is noticed by the flush.
        let _ = self.output.push(crate::rpc::response::line(&header));
        Some(
            self.session
                .subscribe(EventWriter::new(self.output.clone(), dialect.rules())),
        )
    }

    /// Runs the prompts one after another and writes what text mode has to say. Returns the exit code.
    async fn prompts(&self, prompts: Vec<Prompt>) -> i32 {
        self.session.start(SessionStartReason::Startup).await;
        let any = !prompts.is_empty();
        for prompt in prompts {
            // Work that an extension began on its own comes first; two runs cannot overlap.
            self.session.run_settled().await;
            let request = PromptRequest {
                images: prompt.images,
                ..PromptRequest::new(prompt.text, InputSource::Interactive)
            };
            match self.session.prompt(request).await {
                // A command that has ended may have asked for a run: its answer belongs to this prompt.
                Ok(Disposition::Started | Disposition::Queued | Disposition::Handled) => {
                    self.session.run_settled().await;
                }
                Err(error) => {
                    diagnostics::error(&error.to_string());
                    return 1;
                }
            }
        }
        if self.format == Format::Json || !any {
            return 0;
        }
        let answer = Answer::of(self.session.messages().last().map(|message| &**message));
        if let Some(text) = answer.text.strip_suffix('\n') {
            let _ = self.output.push(text.to_owned());
        }
        match answer.complaint {
            Some(complaint) => {
                diagnostics::report(diagnostics::Severity::Info, &complaint);
                1
            }
            None => 0,
        }
    }

    async fn clean_up(&self, extensions: &dyn Extensions) {
        // The answer goes out while extensions end, so a slow one does not hold it back.
        let ending = async {
            self.session.abort_bash();
            self.session.shutdown(ShutdownReason::Quit).await;
            extensions.dispose().await;
        };
        if tokio::time::timeout(CLEANUP_LIMIT, ending).await.is_err() {
            diagnostics::warning(
                "Clean-up did not end in time; some session_shutdown handlers may not have finished",
            );
        }
        self.output.flush(FLUSH_LIMIT).await;
    }
}
