//! `customTools` of `createAgentSession`: a tool of one session whose code lives in the isolate that started it.

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use pier_agent::tool::{ExecutionMode, Tool, ToolCall, ToolError, ToolOutput, ToolSpec};
use pier_protocol::extension::{SourceInfo, ToolRegistration};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::calls::Purpose;
use crate::host::Shared;
use crate::host::slot::IsolateSlot;
use crate::isolate::CallError;
use crate::report::describe;
use crate::tools::result;
use crate::wire::ExtId;

/// One custom tool.
pub(crate) struct CustomTool {
    shared: Weak<Shared>,
    slot: Weak<IsolateSlot>,
    ext: ExtId,
    /// The session that has it.
    session: u64,
    spec: ToolSpec,
    prepares: bool,
}

impl CustomTool {
    pub(crate) fn new(
        shared: &Arc<Shared>,
        slot: &Arc<IsolateSlot>,
        ext: ExtId,
        session: u64,
        tool: ToolRegistration,
    ) -> Self {
        let path = slot.reported_path(None);
        Self {
            shared: Arc::downgrade(shared),
            slot: Arc::downgrade(slot),
            ext,
            session,
            prepares: tool.has_prepare_arguments,
            spec: ToolSpec {
                label: tool.label.unwrap_or_else(|| tool.name.clone()),
                name: tool.name,
                description: tool.description,
                parameters: tool.parameters,
                prompt_snippet: tool.prompt_snippet,
                prompt_guidelines: tool.prompt_guidelines,
                execution_mode: tool.execution_mode.unwrap_or(ExecutionMode::Parallel),
                default_active: !tool.default_inactive,
                hidden: tool.hidden,
                lenient_validation: tool
                    .extra
                    .get("lenientArgValidation")
                    .is_some_and(crate::wire::truthy),
                source: SourceInfo {
                    path,
                    source: "sdk".into(),
                    scope: "temporary".into(),
                    origin: "top-level".into(),
                    base_dir: None,
                },
                extra: tool.extra,
            },
        }
    }

    async fn call(
        &self,
        op: &str,
        purpose: Purpose,
        cancel: CancellationToken,
        tool_call_id: &str,
        args: &Value,
    ) -> Result<Value, CallError> {
        let gone = || {
            CallError::Stopped(crate::isolate::StopCause::Other(
                "the extension that owns the tool has ended".into(),
            ))
        };
        let shared = self.shared.upgrade().ok_or_else(gone)?;
        let slot = self.slot.upgrade().ok_or_else(gone)?;
        let scope = shared
            .calls
            .begin(self.ext, &self.spec.name, purpose, cancel);
        let header = json!({
            "session": self.session,
            "ext": self.ext,
            "op": op,
            "tool": self.spec.name,
            "toolCallId": tool_call_id,
            "callId": scope.id(),
        });
        let payload: Arc<str> = args.to_string().into();
        let deadline = match op {
            "prepare" => shared.limits.read().small,
            _ => shared.limits.read().tool,
        };
        shared
            .invoke_json(&slot, "childTool", &header, Some(payload), &scope, deadline)
            .await
    }

    fn failed(&self, error: &CallError) -> ToolError {
        ToolError::Failed(describe(&self.spec.name, error))
    }
}

#[async_trait]
impl Tool for CustomTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn prepare(&self, args: Value) -> Result<Value, ToolError> {
        if !self.prepares {
            return Ok(args);
        }
        let token = CancellationToken::new();
        match self.call("prepare", Purpose::Other, token, "", &args).await {
            Ok(Value::Null) => Ok(args),
            Ok(prepared) => Ok(prepared),
            Err(error) => Err(self.failed(&error)),
        }
    }

    async fn execute(&self, call: ToolCall) -> Result<ToolOutput, ToolError> {
        let purpose = Purpose::Tool {
            tool_call_id: call.id.clone(),
            updates: call.updates.clone(),
            nested: call.context.nested.clone(),
        };
        let cancel = call.cancel.child_token();
        match self
            .call("execute", purpose, cancel, &call.id, &call.args)
            .await
        {
            Ok(value) => result::output(value).map_err(ToolError::Failed),
            Err(CallError::Timeout { .. }) if call.cancel.is_cancelled() => Err(ToolError::Aborted),
            Err(error) => Err(self.failed(&error)),
        }
    }
}
