//! Commands that a person runs beside the conversation (`spec/rpc.md` §3.5): the `bash` command of RPC and `!command`.
//! Output is plain text, streamed as it comes. Records nothing; the session does.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::bash::{LocalBashOperations, OutputConsumer, environment, prefixed, run_executor};
use super::operations::{BashExec, BashExecError, BashOperations};
use super::output_capture::OutputCapture;
use super::sanitize::Sanitizer;
use super::truncate::Limits;
use super::utf8::Utf8Decoder;

/// One command of a person.
#[derive(Clone)]
pub struct UserBash {
    pub command: String,
    pub cwd: PathBuf,
    /// Variables on top of this process's environment.
    pub env: Vec<(String, String)>,
    /// Setting `shellPath`; ignored with `operations`.
    pub shell_path: Option<PathBuf>,
    /// Setting `shellCommandPrefix`.
    pub command_prefix: Option<String>,
    /// Executor of an extension (`user_bash`), in place of this machine.
    pub operations: Option<Arc<dyn BashOperations>>,
    pub timeout: Option<Duration>,
    pub cancel: CancellationToken,
}

impl UserBash {
    /// `command` on this machine, without limits.
    pub fn new(command: impl Into<String>, cwd: PathBuf, cancel: CancellationToken) -> Self {
        Self {
            command: command.into(),
            cwd,
            env: Vec::new(),
            shell_path: None,
            command_prefix: None,
            operations: None,
            timeout: None,
            cancel,
        }
    }
}

/// How it went: the result of the RPC command, and what a `user_bash` handler may give in its place.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BashResult {
    /// Tail of 2000 lines or 50 KiB.
    #[serde(default)]
    pub output: String,
    /// Absent when cancelled, or when an extension's executor only knows that it failed; 128 + number after a signal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    #[serde(default)]
    pub cancelled: bool,
    #[serde(default)]
    pub truncated: bool,
    /// Everything the command wrote, as plain text, when `output` is cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_output_path: Option<String>,
}

/// Runs a command of a person. `on_delta` gets each piece of visible text and is waited for, so a slow receiver slows
/// the command down instead of filling memory; after an abort it is not called any more.
///
/// # Errors
/// When the command could not be run at all, or its time limit passed.
pub async fn run_user_bash<F, D>(
    request: UserBash,
    on_delta: F,
) -> Result<BashResult, BashExecError>
where
    F: FnMut(String) -> D + Send,
    D: Future<Output = ()> + Send,
{
    let operations = request
        .operations
        .unwrap_or_else(|| Arc::new(LocalBashOperations::new(request.shell_path)));
    let mut stream = DeltaStream {
        decoder: Utf8Decoder::new(),
        filter: Sanitizer::new(),
        capture: OutputCapture::new(Limits::default()),
        cancel: request.cancel.clone(),
        on_delta,
    };
    let exec = BashExec {
        command: prefixed(request.command_prefix.as_deref(), &request.command),
        cwd: request.cwd,
        env: environment(&request.env),
        timeout: request.timeout,
        cancel: request.cancel,
    };
    let ended = run_executor(operations.as_ref(), exec, &mut stream).await;
    stream.end().await;
    let shown = stream.capture.snapshot();
    let mut result = BashResult {
        output: shown.content,
        truncated: shown.truncated,
        full_output_path: stream
            .capture
            .full_output()
            .path()
            .map(|path| path.to_string_lossy().into_owned()),
        ..BashResult::default()
    };
    match ended {
        Ok(exit) => result.exit_code = exit.code.map(i64::from),
        Err(BashExecError::Aborted) => result.cancelled = true,
        Err(error) => return Err(error),
    }
    Ok(result)
}

struct DeltaStream<F> {
    decoder: Utf8Decoder,
    filter: Sanitizer,
    capture: OutputCapture,
    cancel: CancellationToken,
    on_delta: F,
}

impl<F, D> DeltaStream<F>
where
    F: FnMut(String) -> D + Send,
    D: Future<Output = ()> + Send,
{
    async fn deliver(&mut self, text: String) {
        if text.is_empty() {
            return;
        }
        self.capture.push(&text, text.as_bytes()).await;
        let delivery = (self.on_delta)(text);
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => {}
            () = delivery => {}
        }
    }

    async fn end(&mut self) {
        let mut rest = String::new();
        self.decoder.finish(&mut rest);
        let mut text = self.filter.push(&rest);
        text.push_str(&self.filter.finish());
        self.deliver(text).await;
        self.capture.flush().await;
    }
}

#[async_trait]
impl<F, D> OutputConsumer for DeltaStream<F>
where
    F: FnMut(String) -> D + Send,
    D: Future<Output = ()> + Send,
{
    async fn take(&mut self, chunk: Bytes) {
        let mut text = String::new();
        self.decoder.push(&chunk, &mut text);
        let visible = self.filter.push(&text);
        self.deliver(visible).await;
    }
}
