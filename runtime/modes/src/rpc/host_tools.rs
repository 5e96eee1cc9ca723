//! Tools that the client runs (`spec/rpc.md` §7).
//!
//! A call goes out as a record, progress and result come back under its id. A call ends with its
//! result, its abort or the end of the connection, whichever is first.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use pier_agent::tool::{
    Tool, ToolCall, ToolError, ToolOutput, ToolRegistry, ToolSpec, ToolUpdates,
};
use pier_protocol::block::joined_text;
use pier_protocol::extension::SourceInfo;
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use super::response::line;
use crate::output::OutputQueue;

/// Owner of these tools in the registry.
const OWNER: &str = "rpc-client";

struct PendingCall {
    result: oneshot::Sender<Result<ToolOutput, ToolError>>,
    updates: ToolUpdates,
}

#[derive(Default)]
struct Calls {
    open: HashMap<String, PendingCall>,
    closed: bool,
}

/// The client's side of tool calls.
pub(crate) struct HostTools {
    output: OutputQueue,
    calls: Mutex<Calls>,
}

impl HostTools {
    pub(crate) fn new(output: OutputQueue) -> Arc<Self> {
        Arc::new(Self {
            output,
            calls: Mutex::default(),
        })
    }

    /// Replaces the client's whole set of tools; returns their names. Nothing changes on an error.
    ///
    /// # Errors
    /// A sentence that names the tool by its place or name.
    pub(crate) fn replace(
        self: &Arc<Self>,
        registry: &ToolRegistry,
        tools: &[Value],
    ) -> Result<Vec<String>, String> {
        let specs = tools
            .iter()
            .enumerate()
            .map(|(index, tool)| spec(index, tool))
            .collect::<Result<Vec<_>, _>>()?;
        registry.clear_owner(OWNER);
        let names = specs.iter().map(|spec| spec.name.clone()).collect();
        for spec in specs {
            registry.register(
                OWNER,
                Arc::new(HostTool {
                    spec,
                    host: Arc::clone(self),
                }),
            );
        }
        Ok(names)
    }

    /// Takes a `host_tool_result` or `host_tool_update`. Unknown ids are ignored.
    pub(crate) fn answer(&self, record: &Map<String, Value>) {
        let id = record.get("id").and_then(Value::as_str).unwrap_or_default();
        if record
            .get("type")
            .is_some_and(|kind| kind == "host_tool_update")
        {
            if let (Some(call), Some(partial)) = (
                self.calls.lock().open.get(id),
                output(record.get("partialResult")),
            ) {
                call.updates.send(partial);
            }
            return;
        }
        let Some(call) = self.calls.lock().open.remove(id) else {
            return;
        };
        let failed = record.get("isError").is_some_and(|value| value == true);
        let result = match output(record.get("result")) {
            Some(result) if failed => {
                let text = joined_text(&result.content);
                Err(ToolError::failed(if text.is_empty() {
                    "Host tool execution failed".into()
                } else {
                    text
                }))
            }
            Some(result) => Ok(result),
            None => Err(ToolError::failed(
                "Host tool execution failed: the result cannot be read",
            )),
        };
        // The waiting call may have been aborted in the same instant.
        let _ = call.result.send(result);
    }

    /// Fails every call that waits and every later one.
    pub(crate) fn close(&self) {
        let mut calls = self.calls.lock();
        calls.closed = true;
        for (_, call) in calls.open.drain() {
            let _ = call.result.send(Err(disconnected()));
        }
    }

    fn open(
        &self,
        id: &str,
        updates: ToolUpdates,
    ) -> Option<oneshot::Receiver<Result<ToolOutput, ToolError>>> {
        let mut calls = self.calls.lock();
        if calls.closed {
            return None;
        }
        let (result, receiver) = oneshot::channel();
        calls
            .open
            .insert(id.to_owned(), PendingCall { result, updates });
        Some(receiver)
    }
}

fn disconnected() -> ToolError {
    ToolError::failed("RPC client disconnected before host tool execution completed")
}

fn output(value: Option<&Value>) -> Option<ToolOutput> {
    value.and_then(|value| serde_json::from_value(value.clone()).ok())
}

fn spec(index: usize, tool: &Value) -> Result<ToolSpec, String> {
    let text = |name: &str| {
        tool.get(name)
            .and_then(Value::as_str)
            .map(str::trim)
            .unwrap_or_default()
            .to_owned()
    };
    let name = text("name");
    if name.is_empty() {
        return Err(format!(
            "Host tool at index {index} must provide a non-empty name"
        ));
    }
    let description = text("description");
    if description.is_empty() {
        return Err(format!(
            "Host tool \"{name}\" must provide a non-empty description"
        ));
    }
    let parameters = match tool.get("parameters") {
        Some(schema @ Value::Object(_)) => schema.clone(),
        _ => {
            return Err(format!(
                "Host tool \"{name}\" must provide a JSON Schema object"
            ));
        }
    };
    let mut spec = ToolSpec::new(
        name,
        description,
        parameters,
        SourceInfo::builtin("rpc-client"),
    );
    let label = text("label");
    if !label.is_empty() {
        spec.label = label;
    }
    spec.hidden = tool.get("hidden").and_then(Value::as_bool).unwrap_or(false);
    Ok(spec)
}

struct HostTool {
    spec: ToolSpec,
    host: Arc<HostTools>,
}

/// Forgets the call when the session stops waiting for it.
struct Forget<'a>(&'a HostTools, &'a str);

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.0.calls.lock().open.remove(self.1);
    }
}

#[async_trait]
impl Tool for HostTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn execute(&self, call: ToolCall) -> Result<ToolOutput, ToolError> {
        let id = format!("host-{}-{}", call.id, next_number());
        let Some(result) = self.host.open(&id, call.updates.clone()) else {
            return Err(disconnected());
        };
        let _forget = Forget(&self.host, &id);
        let request = json!({
            "type": "host_tool_call", "id": id, "toolCallId": call.id, "toolName": self.spec.name, "arguments": call.args,
        });
        self.host
            .output
            .send(line(&request))
            .await
            .map_err(|_| disconnected())?;
        tokio::select! {
            // A result, or the end of the connection, wins over an abort of the same moment.
            biased;
            result = result => result.unwrap_or_else(|_| Err(disconnected())),
            () = call.cancel.cancelled() => {
                let notice = json!({
                    "type": "host_tool_cancel", "id": format!("{id}-cancel"), "targetId": id,
                });
                // A client that is gone has stopped its tools.
                let _ = self.host.output.push(line(&notice));
                Err(ToolError::failed(format!("Host tool \"{}\" was aborted", self.spec.name)))
            }
        }
    }
}

fn next_number() -> u64 {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}

#[cfg(test)]
#[path = "host_tools_tests.rs"]
mod tests;
