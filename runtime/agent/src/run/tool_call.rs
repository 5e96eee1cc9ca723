//! The interception pipeline of one tool call (spec/agent-loop.md §4.1, spec/extension-api.md §10).
//!
//! Preparation: look-up, argument fix-up, validation, `tool_call` hook. Execution: the tool, its updates, `tool_result` hook.
//! The same path serves calls of the model and calls of other tools.

use std::sync::Arc;
use std::time::Instant;

use futures::FutureExt as _;
use pier_protocol::event::AgentEvent;
use pier_protocol::message::ToolCallBlock;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::nested::NestedScope;
use crate::agent_session::inner::Inner;
use crate::hooks::{HookEvent, ToolCallEvent, ToolResultEvent, ToolResultPatch};
use crate::schema::failure_text;
use crate::tool::{
    IS_WARNING, NestedTools, ShellSettings, Tool, ToolCall, ToolContext, ToolError, ToolOutput,
    ToolUpdates,
};
use crate::tools::image_fit::fit_blocks;

/// Error text of a blocked call without a reason.
const BLOCKED: &str = "Tool execution was blocked";

/// A call that may run.
pub(crate) struct Prepared {
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) args: Value,
}

/// The final result of a call.
#[derive(Debug, Clone)]
pub(crate) struct Finished {
    pub(crate) output: ToolOutput,
    pub(crate) is_error: bool,
    /// Absent when the tool never ran.
    pub(crate) duration_ms: Option<u64>,
}

impl Finished {
    /// A call that never ran.
    pub(crate) fn refused(text: impl Into<String>) -> Self {
        Finished {
            output: ToolOutput::thrown(text),
            is_error: true,
            duration_ms: None,
        }
    }

    pub(crate) fn is_warning(&self) -> bool {
        !self.is_error && self.output.is_warning()
    }
}

impl Inner {
    /// Everything before the tool runs. An `Err` is the result of a call that must not run.
    pub(crate) async fn prepare_call(
        &self,
        call: &ToolCallBlock,
        parent: Option<&str>,
    ) -> Result<Prepared, Box<Finished>> {
        let refuse = |text: String| Box::new(Finished::refused(text));
        let raw = Value::Object(call.arguments.clone());
        // The model may only use what it is offered; a tool may use whatever the flags permit.
        let tool = match parent {
            None => self.tools.get_active(&call.name),
            Some(_) => self.tools.get_permitted(&call.name),
        };
        let Some(tool) = tool else {
            return Err(refuse(format!("Tool {} not found", call.name)));
        };
        if let Some(problem) = &call.arguments_error {
            return Err(refuse(failure_text(
                &call.name,
                &[("root".to_owned(), problem.clone())],
                &raw,
            )));
        }
        let fixed = tool
            .prepare(raw.clone())
            .await
            .map_err(|error| refuse(error.to_string()))?;
        let spec = tool.spec();
        let mut args = match self
            .schemas
            .check(&call.name, &spec.parameters, fixed.clone(), &raw)
        {
            Ok(args) => args,
            Err(_) if spec.lenient_validation => fixed,
            Err(error) => return Err(refuse(error.to_string())),
        };
        let hooks = self.hooks();
        if hooks.subscribed(HookEvent::ToolCall) {
            let outcome = hooks
                .tool_call(ToolCallEvent {
                    tool_call_id: call.id.clone(),
                    tool_name: call.name.clone(),
                    input: args.clone(),
                    parent_tool_call_id: parent.map(str::to_owned),
                })
                .await;
            if let Some(block) = outcome.block {
                let mut finished =
                    Finished::refused(block.reason.unwrap_or_else(|| BLOCKED.to_owned()));
                finished.output.terminate = block.terminate.then_some(true);
                return Err(Box::new(finished));
            }
            if let Some(input) = outcome.input {
                args = input;
            }
        }
        Ok(Prepared { tool, args })
    }

    /// Runs the tool, announcing its updates, and asks the `tool_result` handlers.
    pub(crate) async fn execute_call(
        self: &Arc<Self>,
        call: &ToolCallBlock,
        prepared: Prepared,
        cancel: CancellationToken,
        nested: Arc<NestedScope>,
        listener: Option<ToolUpdates>,
    ) -> Finished {
        let parent = nested.parent_of_call().map(str::to_owned);
        let updates = ToolUpdates::new();
        let request = ToolCall {
            id: call.id.clone(),
            args: prepared.args.clone(),
            cancel: cancel.clone(),
            updates: updates.clone(),
            context: self.tool_context(Some(nested), parent.clone()),
        };
        let began = Instant::now();
        let mut work = std::pin::pin!(
            std::panic::AssertUnwindSafe(prepared.tool.execute(request)).catch_unwind()
        );
        let raw = Value::Object(call.arguments.clone());
        let announce = async |partial| {
            self.announce_update(call, &raw, partial, parent.as_deref(), listener.as_ref())
                .await;
            // A slow client has much of it before it; an abort must not wait for that.
            if cancel.is_cancelled() {
                updates.drop_overflow();
            }
        };
        let outcome = loop {
            tokio::select! {
                // Updates that were sent come before the result.
                biased;
                Some(partial) = updates.next() => announce(partial).await,
                outcome = &mut work => break outcome,
            }
        };
        updates.close();
        while let Some(partial) = updates.next().await {
            announce(partial).await;
        }
        let duration_ms = Some(u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX));
        let outcome = outcome.unwrap_or_else(|_| {
            Err(ToolError::failed(format!(
                "Tool {} failed internally",
                call.name
            )))
        });
        let (output, is_error) = match outcome {
            Ok(output) => {
                let is_error = output.is_error == Some(true);
                (output, is_error)
            }
            Err(error) => (ToolOutput::thrown(error.to_string()), true),
        };
        let mut finished = Finished {
            output,
            is_error,
            duration_ms,
        };
        self.patch_result(call, &prepared.args, parent, &mut finished)
            .await;
        // What a tool or handler brings along is stored and sent with every request from now on.
        fit_blocks(&mut finished.output.content, self.settings().resize_images).await;
        finished
    }

    async fn announce_update(
        &self,
        call: &ToolCallBlock,
        args: &Value,
        partial: ToolOutput,
        parent: Option<&str>,
        listener: Option<&ToolUpdates>,
    ) {
        if let Some(listener) = listener {
            listener.send(partial.clone());
        }
        self.emit(AgentEvent::ToolExecutionUpdate {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            args: args.clone(),
            partial_result: Arc::new(partial),
            parent_tool_call_id: parent.map(str::to_owned),
        })
        .await;
    }

    async fn patch_result(
        &self,
        call: &ToolCallBlock,
        input: &Value,
        parent: Option<String>,
        finished: &mut Finished,
    ) {
        let hooks = self.hooks();
        if !hooks.subscribed(HookEvent::ToolResult) {
            return;
        }
        let output = &mut finished.output;
        let patch = hooks
            .tool_result(ToolResultEvent {
                tool_call_id: call.id.clone(),
                tool_name: call.name.clone(),
                input: input.clone(),
                content: output.content.clone(),
                details: output.details.clone(),
                is_error: finished.is_error,
                structured_content: output.structured_content.clone(),
                usage: output.usage.clone(),
                parent_tool_call_id: parent,
            })
            .await;
        if patch != ToolResultPatch::default() {
            // The warning was about the result as the tool made it (spec/extension-api.md §10).
            output.extra.shift_remove(IS_WARNING);
        }
        if let Some(content) = patch.content {
            output.content = content;
            // It described the old content.
            output.structured_content = None;
        }
        if let Some(structured) = patch.structured_content {
            output.structured_content = structured;
        }
        if let Some(details) = patch.details {
            output.details = details;
        }
        if let Some(usage) = patch.usage {
            output.usage = usage;
        }
        if let Some(is_error) = patch.is_error {
            finished.is_error = is_error;
            output.is_error = output.is_error.map(|_| is_error);
        }
    }

    pub(crate) fn tool_context(
        &self,
        nested: Option<Arc<NestedScope>>,
        parent_tool_call_id: Option<String>,
    ) -> ToolContext {
        let settings = self.settings();
        ToolContext {
            cwd: self.cwd(),
            env: self.child_env(),
            shell: ShellSettings {
                path: settings.shell_path.clone(),
                command_prefix: settings.shell_command_prefix.clone(),
            },
            accepts_images: self.model().is_none_or(|model| model.accepts_images()),
            resize_images: settings.resize_images,
            parent_tool_call_id,
            nested: nested.map(|nested| nested as Arc<dyn NestedTools>),
        }
    }

    pub(crate) async fn emit_tool_start(&self, call: &ToolCallBlock, parent: Option<&str>) {
        self.emit(AgentEvent::ToolExecutionStart {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            args: Value::Object(call.arguments.clone()),
            parent_tool_call_id: parent.map(str::to_owned),
        })
        .await;
    }

    pub(crate) async fn emit_tool_end(
        &self,
        call: &ToolCallBlock,
        finished: &Finished,
        parent: Option<&str>,
    ) {
        self.emit(AgentEvent::ToolExecutionEnd {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            result: Arc::new(finished.output.clone()),
            is_error: finished.is_error,
            is_warning: finished.is_warning(),
            duration_ms: finished.duration_ms,
            parent_tool_call_id: parent.map(str::to_owned),
        })
        .await;
    }
}
