//! Tools that extensions register, as tools of the agent.

pub(crate) mod bash;
pub(crate) mod operations;
pub(crate) mod result;

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use pier_agent::tool::{Tool, ToolCall, ToolError, ToolOutput, ToolSpec};
use pier_protocol::extension::ToolRegistration;
use serde_json::{Value, json};

use crate::calls::Purpose;
use crate::host::Shared;
use crate::isolate::CallError;
use crate::registry::{ExtensionInfo, Loaded};
use crate::report::describe;

/// One registered tool.
struct ExtensionTool {
    shared: Weak<Shared>,
    info: Arc<ExtensionInfo>,
    spec: ToolSpec,
    prepares: bool,
    /// xcsh `nonAbortable`: the code gets no signal.
    no_signal: bool,
}

#[async_trait]
impl Tool for ExtensionTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn prepare(&self, args: Value) -> Result<Value, ToolError> {
        if !self.prepares {
            return Ok(args);
        }
        let shared = self.host()?;
        let header = json!({"ext": self.info.id, "tool": self.spec.name});
        let payload: Arc<str> = args.to_string().into();
        match shared
            .small_call(
                &self.info,
                &self.spec.name,
                "prepareArguments",
                &header,
                Some(payload),
            )
            .await
        {
            Ok(Value::Null) => Ok(args),
            Ok(prepared) => Ok(prepared),
            Err(error) => Err(ToolError::failed(describe("prepareArguments", &error))),
        }
    }

    async fn execute(&self, call: ToolCall) -> Result<ToolOutput, ToolError> {
        let shared = self.host()?;
        let purpose = Purpose::Tool {
            tool_call_id: call.id.clone(),
            updates: call.updates.clone(),
            nested: call.context.nested.clone(),
        };
        let cancel = if self.no_signal {
            tokio_util::sync::CancellationToken::new()
        } else {
            call.cancel.child_token()
        };
        let scope = shared
            .calls
            .begin(self.info.id, &self.spec.name, purpose, cancel);
        let mut header = json!({
            "ext": self.info.id,
            "tool": self.spec.name,
            "toolCallId": call.id,
            "callId": scope.id(),
        });
        if self.no_signal {
            header["noSignal"] = json!(true);
        }
        let payload: Arc<str> = call.args.to_string().into();
        let deadline = shared.limits.read().tool;
        let answer = shared
            .invoke_json(
                &self.info.isolate,
                "executeTool",
                &header,
                Some(payload),
                &scope,
                deadline,
            )
            .await;
        match answer {
            Ok(value) => result::output(value).map_err(ToolError::Failed),
            Err(CallError::Aborted) => Err(ToolError::Aborted),
            Err(error) => {
                if !matches!(error, CallError::Js(_)) {
                    shared.reports.call_failed(
                        &self.info.path,
                        &format!("tool:{}", self.spec.name),
                        &error,
                    );
                }
                Err(ToolError::Failed(describe(&self.spec.name, &error)))
            }
        }
    }
}

impl ExtensionTool {
    fn host(&self) -> Result<Arc<Shared>, ToolError> {
        self.shared
            .upgrade()
            .ok_or_else(|| ToolError::failed("the extension host has ended"))
    }
}

impl Shared {
    /// Offers a tool to the agent. The last loaded extension wins a name, whenever it registers.
    pub(crate) fn register_tool(
        self: &Arc<Self>,
        info: &Arc<ExtensionInfo>,
        tool: &ToolRegistration,
    ) {
        self.options
            .tools
            .register(&info.owner(), self.make_tool(info, tool));
        let later: Vec<(Arc<ExtensionInfo>, ToolRegistration)> = self.registry.with(|extensions| {
            extensions
                .iter()
                .filter(|loaded| loaded.info.order() > info.order())
                .filter_map(|loaded| {
                    let same = loaded
                        .registered
                        .tools
                        .iter()
                        .find(|other| other.name == tool.name)?;
                    Some((loaded.info.clone(), same.clone()))
                })
                .collect()
        });
        for (info, tool) in later {
            self.options
                .tools
                .register(&info.owner(), self.make_tool(&info, &tool));
        }
    }

    fn make_tool(
        self: &Arc<Self>,
        info: &Arc<ExtensionInfo>,
        tool: &ToolRegistration,
    ) -> Arc<dyn Tool> {
        let flag = |name: &str| tool.extra.get(name).is_some_and(crate::wire::truthy);
        let mut extra = tool.extra.clone();
        extra.insert("own".into(), json!(tool.own));
        let spec = ToolSpec {
            name: tool.name.clone(),
            label: tool.label.clone().unwrap_or_else(|| tool.name.clone()),
            description: tool.description.clone(),
            parameters: tool.parameters.clone(),
            prompt_snippet: tool.prompt_snippet.clone(),
            prompt_guidelines: tool.prompt_guidelines.clone(),
            execution_mode: match (
                tool.execution_mode,
                tool.extra.get("concurrency").and_then(Value::as_str),
            ) {
                (Some(mode), _) => mode,
                (None, Some("exclusive")) => pier_agent::tool::ExecutionMode::Sequential,
                (None, _) => pier_agent::tool::ExecutionMode::Parallel,
            },
            default_active: !tool.default_inactive
                && tool.extra.get("defaultActive") != Some(&Value::Bool(false)),
            // xcsh does not apply `hidden` to extension tools (spec/extension-api.md §6.1).
            hidden: false,
            lenient_validation: flag("lenientArgValidation"),
            source: info.source.clone(),
            extra,
        };
        Arc::new(ExtensionTool {
            shared: Arc::downgrade(self),
            info: info.clone(),
            spec,
            prepares: tool.has_prepare_arguments,
            no_signal: flag("nonAbortable"),
        })
    }
}

/// A sentence for every tool name that two extensions register.
pub(crate) fn clash_notes(shared: &Shared, new: &[Loaded]) -> Vec<String> {
    let mut all: Vec<(usize, String, String)> = Vec::new();
    let mut collect = |extensions: &[Loaded]| {
        for loaded in extensions {
            for tool in &loaded.registered.tools {
                all.push((
                    loaded.info.order(),
                    loaded.info.path.clone(),
                    tool.name.clone(),
                ));
            }
        }
    };
    shared.registry.with(&mut collect);
    collect(new);
    all.sort_by_key(|(order, ..)| *order);
    let mut notes = Vec::new();
    for loaded in new {
        for tool in &loaded.registered.tools {
            let paths: Vec<&str> = all
                .iter()
                .filter(|(_, _, name)| *name == tool.name)
                .map(|(_, path, _)| path.as_str())
                .collect();
            if paths.len() > 1 {
                let note = format!(
                    "Tool \"{}\" is registered by {}; the last one is used.",
                    tool.name,
                    paths.join(", ")
                );
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
        }
    }
    notes
}
