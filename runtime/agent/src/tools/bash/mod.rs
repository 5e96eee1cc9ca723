//! The `bash` tool (`spec/agent-loop.md` §10): runs a command through [`BashOperations`], shows progress, and turns the end
//! of the command into a result. Does not start processes itself.

mod kill;
mod local;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub use local::LocalBashOperations;

use super::operations::{
    BashExec, BashExecError, BashExit, BashOperations, Environment, OutputSink,
};
use super::output_capture::OutputCapture;
use super::truncate::{Limits, Truncation};
use super::utf8::Utf8Decoder;
use super::{builtin_spec, parse_args};
use crate::tool::{Tool, ToolCall, ToolContext, ToolError, ToolOutput, ToolSpec, ToolUpdates};

/// Shortest time between two updates.
const UPDATE_INTERVAL: Duration = Duration::from_millis(100);
/// How long an executor may take to notice an abort or its time limit before it is left behind.
pub(super) const EXECUTOR_GRACE: Duration = Duration::from_secs(5);

/// Variables that describe the session; inherited values of these names belong to another session.
const SESSION_VARIABLES: [&str; 5] = [
    "PI_SESSION_ID",
    "PI_SESSION_FILE",
    "PI_PROVIDER",
    "PI_MODEL",
    "PI_REASONING_LEVEL",
];

/// What a spawn hook sees and may change before the command starts.
#[derive(Debug, Clone)]
pub struct SpawnContext {
    pub command: String,
    pub cwd: PathBuf,
    pub env: Environment,
}

/// Last change of a command before it starts.
#[async_trait]
pub trait SpawnHook: Send + Sync {
    async fn spawn(&self, context: SpawnContext) -> Result<SpawnContext, String>;
}

/// Options of [`BashTool`] (`createBashTool`). Values here win over the settings in the call's context.
#[derive(Default)]
pub struct BashToolOptions {
    /// Where commands run; this machine by default.
    pub operations: Option<Arc<dyn BashOperations>>,
    pub command_prefix: Option<String>,
    pub shell_path: Option<PathBuf>,
    pub spawn_hook: Option<Arc<dyn SpawnHook>>,
    /// Leaves the `PI_*` variables of the session out.
    pub hide_session_environment: bool,
}

/// `bash`.
pub struct BashTool {
    spec: ToolSpec,
    options: BashToolOptions,
}

#[derive(Deserialize)]
struct BashArgs {
    command: String,
    /// Seconds.
    timeout: Option<f64>,
}

impl BashTool {
    pub fn new(options: BashToolOptions) -> Self {
        let mut spec = builtin_spec(
            "bash",
            "Run a shell command in the working directory. Returns stdout and stderr together. Long output is cut to its \
             last 2000 lines or 50KB, and the full output is kept in a file. A timeout in seconds is optional.",
            json!({
                "type": "object",
                "required": ["command"],
                "properties": {
                    "command": {"type": "string", "description": "Command line to run"},
                    "timeout": {"type": "number", "description": "Time limit in seconds (none by default)"},
                },
            }),
        );
        spec.prompt_snippet =
            Some("run shell commands (git, build tools, tests, file operations)".to_owned());
        Self { spec, options }
    }

    async fn request(
        &self,
        args: &BashArgs,
        context: &ToolContext,
        cancel: CancellationToken,
    ) -> Result<BashExec, ToolError> {
        let prefix = self
            .options
            .command_prefix
            .as_ref()
            .or(context.shell.command_prefix.as_ref());
        let session: &[(String, String)] = if self.options.hide_session_environment {
            &[]
        } else {
            &context.env
        };
        let mut spawn = SpawnContext {
            command: prefixed(prefix.map(String::as_str), &args.command),
            cwd: context.cwd.clone(),
            env: environment(session),
        };
        if let Some(hook) = &self.options.spawn_hook {
            spawn = hook.spawn(spawn).await.map_err(ToolError::failed)?;
        }
        Ok(BashExec {
            command: spawn.command,
            cwd: spawn.cwd,
            env: spawn.env,
            timeout: time_limit(args.timeout),
            cancel,
        })
    }
}

#[async_trait]
impl Tool for BashTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn execute(&self, call: ToolCall) -> Result<ToolOutput, ToolError> {
        let args: BashArgs = parse_args(&self.spec.name, call.args)?;
        let operations = self.options.operations.clone().unwrap_or_else(|| {
            let shell = self
                .options
                .shell_path
                .clone()
                .or_else(|| call.context.shell.path.clone());
            Arc::new(LocalBashOperations::new(shell))
        });
        let request = self.request(&args, &call.context, call.cancel).await?;
        call.updates.send(ToolOutput::default());
        let started = Instant::now();
        let mut progress = Progress::new(call.updates);
        let ended = run_executor(operations.as_ref(), request, &mut progress).await;
        progress.end().await;
        finish(progress.capture, ended, args.timeout, started.elapsed())
    }
}

/// `command` after the line `prefix`, if there is one.
pub(super) fn prefixed(prefix: Option<&str>, command: &str) -> String {
    match prefix {
        Some(prefix) if !prefix.is_empty() => format!("{prefix}\n{command}"),
        _ => command.to_owned(),
    }
}

/// This process's environment with the session's variables.
pub(super) fn environment(session: &[(String, String)]) -> Environment {
    let mut env: Environment = std::env::vars_os().collect();
    for name in SESSION_VARIABLES {
        env.remove(&OsString::from(name));
    }
    for (name, value) in session {
        env.insert(name.into(), value.into());
    }
    env
}

/// Zero, negative and absurdly long limits are none.
pub fn time_limit(seconds: Option<f64>) -> Option<Duration> {
    let seconds = seconds.filter(|seconds| *seconds > 0.0)?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// Gets the output of a running command.
#[async_trait]
pub trait OutputConsumer: Send {
    async fn take(&mut self, chunk: Bytes);
    /// When [`OutputConsumer::wake`] wants to be called next.
    fn wake_at(&self) -> Option<Instant> {
        None
    }
    fn wake(&mut self) {}
}

/// Runs the command and feeds its output to `consumer`. Returns when both are done; an executor that ignores an
/// abort or its time limit is left behind after [`EXECUTOR_GRACE`].
pub async fn run_executor(
    operations: &dyn BashOperations,
    request: BashExec,
    consumer: &mut dyn OutputConsumer,
) -> Result<BashExit, BashExecError> {
    let cancel = request.cancel.clone();
    let limit = request
        .timeout
        .and_then(|limit| limit.checked_add(EXECUTOR_GRACE));
    let (sink, mut output) = OutputSink::channel();
    let mut executor = operations.exec(request, sink);
    let overrun = async {
        tokio::select! {
            () = async { cancel.cancelled().await; tokio::time::sleep(EXECUTOR_GRACE).await } => BashExecError::Aborted,
            () = sleep_for(limit) => BashExecError::TimedOut { shell_exited: false },
        }
    };
    let ended = CancellationToken::new();
    let consume = consume(&mut output, consumer, &ended);
    tokio::pin!(overrun, consume);
    let mut consumed = false;
    let result = loop {
        // Side by side: a consumer that waits for a slow client must not keep the executor from its time limit.
        tokio::select! {
            biased;
            result = &mut executor => break result,
            error = &mut overrun => break Err(error),
            () = &mut consume, if !consumed => consumed = true,
        }
    };
    drop(executor);
    ended.cancel();
    if !consumed {
        consume.await;
    }
    result
}

/// Hands all output to the consumer, up to what had arrived when the command `ended`.
async fn consume(
    output: &mut mpsc::Receiver<Bytes>,
    consumer: &mut dyn OutputConsumer,
    ended: &CancellationToken,
) {
    let mut closed = false;
    loop {
        let wake = if closed { None } else { consumer.wake_at() };
        tokio::select! {
            biased;
            // An executor that kept its sink can add nothing any more; what is in the channel still comes out.
            () = ended.cancelled(), if !closed => {
                output.close();
                closed = true;
            }
            chunk = output.recv() => match chunk {
                Some(chunk) => consumer.take(chunk).await,
                None => return,
            },
            () = sleep_to(wake) => consumer.wake(),
        }
    }
}

async fn sleep_for(limit: Option<Duration>) {
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => std::future::pending().await,
    }
}

async fn sleep_to(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Collects output and reports it, no more often than [`UPDATE_INTERVAL`].
struct Progress {
    capture: OutputCapture,
    decoder: Utf8Decoder,
    updates: ToolUpdates,
    sent: Option<Instant>,
    unsent: bool,
}

impl Progress {
    fn new(updates: ToolUpdates) -> Self {
        Self {
            capture: OutputCapture::new(Limits::default()),
            decoder: Utf8Decoder::new(),
            updates,
            sent: None,
            unsent: false,
        }
    }

    fn send(&mut self) {
        let shown = self.capture.snapshot();
        let details = details(&self.capture, &shown);
        let mut update = ToolOutput::text(shown.content);
        update.details = details;
        self.updates.send(update);
        self.sent = Some(Instant::now());
        self.unsent = false;
    }

    async fn end(&mut self) {
        let mut rest = String::new();
        self.decoder.finish(&mut rest);
        self.capture.push(&rest, &[]).await;
        self.capture.flush().await;
    }
}

#[async_trait]
impl OutputConsumer for Progress {
    async fn take(&mut self, chunk: Bytes) {
        let mut text = String::new();
        self.decoder.push(&chunk, &mut text);
        self.capture.push(&text, &chunk).await;
        self.unsent = true;
        if self.sent.is_none_or(|at| at.elapsed() >= UPDATE_INTERVAL) {
            self.send();
        }
    }

    fn wake_at(&self) -> Option<Instant> {
        self.sent
            .filter(|_| self.unsent)
            .map(|at| at + UPDATE_INTERVAL)
    }

    fn wake(&mut self) {
        self.send();
    }
}

fn details(capture: &OutputCapture, shown: &Truncation) -> Option<Value> {
    if !shown.truncated {
        return None;
    }
    let mut details = json!({ "truncation": shown });
    if let Some(path) = capture.full_output().path() {
        details["fullOutputPath"] = Value::String(path.display().to_string());
    }
    Some(details)
}

fn finish(
    capture: OutputCapture,
    ended: Result<BashExit, BashExecError>,
    timeout: Option<f64>,
    wall_time: Duration,
) -> Result<ToolOutput, ToolError> {
    let shown = capture.snapshot();
    let mut text = shown.content.clone();
    if let Some(notice) = capture.notice(&shown) {
        text = format!("{text}\n\n{notice}");
    }
    let (exit, code) = match ended {
        Ok(exit @ BashExit { code: Some(code) }) => (exit, code),
        Ok(BashExit { code: None }) => {
            let reason = "Command terminated without an exit code";
            return Err(ToolError::failed(joined(text, reason)));
        }
        Err(error) => {
            return Err(ToolError::failed(joined(
                text,
                &failure_text(&error, timeout),
            )));
        }
    };
    if text.is_empty() {
        text = "(no output)".to_owned();
    }
    let failure = (code != 0).then(|| format!("Command exited with code {code}"));
    let mut output = ToolOutput::text(match &failure {
        Some(failure) => joined(text, failure),
        None => text,
    });
    output.is_error = failure.map(|_| true);
    output.details = details(&capture, &shown);
    output.structured_content = Some(structured(&capture, exit, wall_time));
    Ok(output)
}

fn failure_text(error: &BashExecError, timeout: Option<f64>) -> String {
    match error {
        BashExecError::Aborted => "Command aborted".to_owned(),
        BashExecError::TimedOut { shell_exited } => {
            let seconds = timeout.unwrap_or_default();
            let remark = if *shell_exited {
                " (the shell had already exited, but processes it started kept its output open)"
            } else {
                ""
            };
            format!("Command timed out after {seconds} seconds{remark}")
        }
        other => other.to_string(),
    }
}

fn joined(text: String, addition: &str) -> String {
    if text.is_empty() {
        addition.to_owned()
    } else {
        format!("{text}\n\n{addition}")
    }
}

/// The form for programs, which get more of the output than the model does.
fn structured(capture: &OutputCapture, exit: BashExit, wall_time: Duration) -> Value {
    let (output, cut) = capture.structured();
    let mut value = json!({
        "output": output,
        "truncated": cut,
        "exit_code": exit.code,
        "wall_time_seconds": wall_time.as_secs_f64(),
    });
    if cut && let Some(path) = capture.full_output().path() {
        value["full_output_path"] = Value::String(path.display().to_string());
    }
    value
}
