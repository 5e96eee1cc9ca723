//! A user's shell commands (spec/rpc.md §3.5): hooks, execution, streaming, storage.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use pier_protocol::event::AgentEvent;
use pier_protocol::message::{BashExecutionMessage, Extra, Message};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::inner::{Inner, next_id};
use super::models::storage;
use super::{BashRequest, SessionError};
use crate::bash::{BashOperations, BashResult, OutputChunk};
use crate::clock::now_ms;
use crate::hooks::{HookEvent, UserBashEvent, UserBashOutcome};
use crate::tools::operations::{
    BashExec, BashExecError, BashExit, BashOperations as ToolOperations, OutputSink,
};
use crate::tools::{UserBash, run_user_bash};

/// Chunks of an extension's executor that may wait; it reports them without waiting.
const MAX_CHUNKS: usize = 4096;

impl Inner {
    pub(crate) async fn bash(
        self: &Arc<Self>,
        request: BashRequest,
    ) -> Result<BashResult, SessionError> {
        let hooks = self.hooks();
        let mut outcome = UserBashOutcome::Run;
        if hooks.subscribed(HookEvent::UserBash) {
            let event = UserBashEvent {
                command: request.command.clone(),
                exclude_from_context: request.exclude_from_context,
                cwd: self.cwd(),
            };
            outcome = hooks
                .user_bash(event)
                .await
                .map_err(|failure| SessionError::Failed(failure.message))?;
        }
        let result = match outcome {
            UserBashOutcome::Result(result) => result,
            UserBashOutcome::Run => self.run_bash(&request, None).await?,
            UserBashOutcome::Operations(operations) => {
                self.run_bash(&request, Some(operations)).await?
            }
        };
        self.record_bash(&request, &result)?;
        Ok(result)
    }

    async fn run_bash(
        self: &Arc<Self>,
        request: &BashRequest,
        operations: Option<Arc<dyn BashOperations>>,
    ) -> Result<BashResult, SessionError> {
        let settings = self.settings();
        let cancel = CancellationToken::new();
        let id = next_id();
        self.state.lock().bash_runs.insert(id, cancel.clone());
        let _running = BashGuard { inner: self, id };
        let command = UserBash {
            env: self.child_env(),
            shell_path: settings.shell_path.clone(),
            command_prefix: settings.shell_command_prefix.clone(),
            operations: operations
                .map(|operations| Arc::new(Executor(operations)) as Arc<dyn ToolOperations>),
            ..UserBash::new(request.command.clone(), self.cwd(), cancel)
        };
        let client_id: Option<Value> = request.id.clone();
        let inner = self.clone();
        let result = run_user_bash(command, move |delta| {
            let (inner, id) = (inner.clone(), client_id.clone());
            async move {
                inner
                    .emit(AgentEvent::BashExecutionUpdate { id, delta })
                    .await
            }
        })
        .await
        .map_err(|error| SessionError::Failed(error.to_string()))?;
        Ok(BashResult {
            output: result.output,
            exit_code: result.exit_code.map(i64::from),
            cancelled: result.cancelled,
            truncated: result.truncated,
            full_output_path: result
                .full_output_path
                .map(|path| path.to_string_lossy().into_owned()),
        })
    }

    /// Stored at once when idle, after the run when busy, so that tool calls and their results stay together.
    fn record_bash(&self, request: &BashRequest, result: &BashResult) -> Result<(), SessionError> {
        let message = BashExecutionMessage {
            command: request.command.clone(),
            output: result.output.clone(),
            exit_code: result.exit_code,
            cancelled: result.cancelled,
            truncated: result.truncated,
            full_output_path: result.full_output_path.clone(),
            timestamp: now_ms(),
            exclude_from_context: request.exclude_from_context.then_some(true),
            extra: Extra::new(),
        };
        let mut state = self.state.lock();
        if state.run.is_some() {
            state.bash_results.push(message);
            return Ok(());
        }
        drop(state);
        self.session
            .append_message(Arc::new(Message::BashExecution(message)))
            .map_err(storage)?;
        self.touch();
        Ok(())
    }

    pub(crate) fn abort_bash(&self) {
        for cancel in self.state.lock().bash_runs.values() {
            cancel.cancel();
        }
    }
}

/// Forgets a command when it ended, also when its caller went away.
struct BashGuard<'a> {
    inner: &'a Arc<Inner>,
    id: u64,
}

impl Drop for BashGuard<'_> {
    fn drop(&mut self) {
        if let Some(cancel) = self.inner.state.lock().bash_runs.remove(&self.id) {
            cancel.cancel();
        }
    }
}

/// An extension's executor in the form that the tools use.
struct Executor(Arc<dyn BashOperations>);

#[async_trait]
impl ToolOperations for Executor {
    async fn exec(&self, request: BashExec, output: OutputSink) -> Result<BashExit, BashExecError> {
        let (sender, mut chunks) = tokio::sync::mpsc::channel::<Bytes>(MAX_CHUNKS);
        let take: OutputChunk = Arc::new(move |chunk: &[u8]| {
            if sender.try_send(Bytes::copy_from_slice(chunk)).is_err() {
                tracing::warn!(
                    "output of an extension's shell is lost: nobody reads it fast enough"
                );
            }
        });
        let forward = async {
            while let Some(chunk) = chunks.recv().await {
                if !output.write(chunk).await {
                    break;
                }
            }
        };
        let run = self.run(&request, take);
        // The sender goes away with the executor, which ends the forwarding.
        let (ended, ()) = tokio::join!(run, forward);
        match ended {
            Ok(Some(code)) => Ok(BashExit {
                code: i32::try_from(code).ok(),
            }),
            Ok(None) => Err(BashExecError::Aborted),
            Err(text) => Err(BashExecError::from_message(&text)),
        }
    }
}

impl Executor {
    async fn run(&self, request: &BashExec, take: OutputChunk) -> Result<Option<i64>, String> {
        let cwd: &Path = &request.cwd;
        self.0
            .exec(&request.command, cwd, take, request.cancel.clone())
            .await
    }
}
