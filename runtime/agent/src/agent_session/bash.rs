//! A user's shell commands (spec/rpc.md §3.5): hooks, execution, streaming, storage.

use std::sync::Arc;

use pier_protocol::event::AgentEvent;
use pier_protocol::message::{BashExecutionMessage, Extra, Message};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::inner::{Inner, next_id};
use super::models::storage;
use super::{BashRequest, SessionError};
use crate::clock::now_ms;
use crate::hooks::{HookEvent, UserBashEvent, UserBashOutcome};
use crate::tools::operations::BashOperations;
use crate::tools::{BashResult, UserBash, run_user_bash};

impl Inner {
    pub(crate) async fn bash(
        self: &Arc<Self>,
        request: BashRequest,
    ) -> Result<BashResult, SessionError> {
        let hooks = self.hooks();
        let begun_in = self.session.session_id();
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
        // Another session has nothing to do with it.
        if self.session.session_id() == begun_in {
            self.record_bash(&request, &result)?;
        }
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
            operations,
            ..UserBash::new(request.command.clone(), self.cwd(), cancel)
        };
        let client_id: Option<Value> = request.id.clone();
        let inner = self.clone();
        run_user_bash(command, move |delta| {
            let (inner, id) = (inner.clone(), client_id.clone());
            async move {
                inner
                    .emit(AgentEvent::BashExecutionUpdate { id, delta })
                    .await
            }
        })
        .await
        .map_err(|error| SessionError::Failed(error.to_string()))
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
