//! Tools called by extension code: nested calls of a tool, and the built-in tools as functions.

use std::path::PathBuf;

use pier_agent::tool::{ToolCall, ToolContext, ToolError, ToolOutput, ToolUpdates};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{Answer, Args, Caller};
use crate::calls::Purpose;
use crate::isolate::{HostCallError, PermissionProfile};
use crate::wire::ExtId;

/// Built-in tools that only read.
const READING: [&str; 4] = ["read", "ls", "find", "grep"];

fn output_json(output: &ToolOutput) -> Value {
    crate::dispatch::payload::value(output)
}

/// Passes partial results to a callback of the isolate, in order, until the queue is closed.
async fn forward(caller: &Caller, ext: ExtId, handle: Option<u64>, updates: ToolUpdates) {
    while let Some(partial) = updates.next().await {
        if let Some(handle) = handle {
            // A failing progress callback is the isolate's to report; the call goes on.
            let _ = caller
                .callback(
                    ext,
                    "onUpdate",
                    handle,
                    json!([output_json(&partial)]),
                    Purpose::Other,
                )
                .await;
        }
    }
}

/// `ctx.executeTool`: through the whole interception pipeline of the agent.
pub(super) async fn execute_nested(caller: Caller, mut args: Args<'static>) -> Answer {
    let call = caller.open_call(&args)?;
    let Purpose::Tool {
        nested: Some(nested),
        ..
    } = &call.purpose
    else {
        return Err(HostCallError::new(
            "executeTool() works only inside a tool of a session.",
        ));
    };
    let (number, handle) = (args.number("nestedId")?, args.optional_number("onUpdate")?);
    let name = args.text("name")?.to_string();
    let arguments = args.take("args");
    let cancel = call.cancel.child_token();
    let mut pending = caller.shared.nested.add(caller.slot.id, number);
    let updates = ToolUpdates::new();
    let run = async {
        let run = nested.execute(
            &name,
            arguments,
            cancel.clone(),
            handle.map(|_| updates.clone()),
        );
        tokio::pin!(run);
        let outcome = tokio::select! {
            outcome = &mut run => outcome,
            Ok(()) = &mut pending.cancelled => {
                cancel.cancel();
                run.await
            }
        };
        updates.close();
        outcome
    };
    let (outcome, ()) = tokio::join!(run, forward(&caller, call.ext, handle, updates.clone()));
    let block = pier_protocol::message::Block::ToolCall(outcome.tool_call);
    let mut answer = json!({"toolCall": block, "result": output_json(&outcome.result), "isError": outcome.is_error});
    if let Some(duration) = outcome.duration_ms {
        answer["durationMs"] = json!(duration);
    }
    Ok(Some(answer))
}

pub(super) fn cancel_nested(caller: &Caller, args: Args<'_>) -> Answer {
    caller
        .shared
        .nested
        .cancel(caller.slot.id, args.number("nestedId")?, ());
    Ok(None)
}

/// `createReadTool(cwd).execute(...)` and the like: a built-in tool without a session.
pub(super) async fn run_builtin(caller: Caller, mut args: Args<'static>) -> Answer {
    let name = args.text("name")?.to_string();
    let cwd = caller
        .shared
        .cwd()
        .join(args.optional_text("cwd")?.unwrap_or_default());
    let arguments = args.take("args");
    check_permission(&caller, &name, &cwd, &arguments)?;
    let tool = pier_agent::tools::builtin_tools()
        .into_iter()
        .find(|tool| tool.spec().name == name)
        .ok_or_else(|| HostCallError::arguments(format!("there is no built-in tool \"{name}\"")))?;
    let arguments = tool
        .prepare(arguments)
        .await
        .map_err(|error| HostCallError::new(error.to_string()))?;
    let (number, handle) = (
        args.optional_number("builtinId")?.unwrap_or(0),
        args.optional_number("onUpdate")?,
    );
    let mut pending = caller.shared.builtin.add(caller.slot.id, number);
    let cancel = CancellationToken::new();
    let updates = ToolUpdates::new();
    let call = ToolCall {
        id: format!("builtin-{number}"),
        args: arguments,
        cancel: cancel.clone(),
        updates: updates.clone(),
        context: builtin_context(&caller, cwd, &args.take("options")),
    };
    let ext = caller.slot.ids().first().copied().unwrap_or_default();
    let run = async {
        let run = tool.execute(call);
        tokio::pin!(run);
        let outcome = tokio::select! {
            outcome = &mut run => outcome,
            Ok(()) = &mut pending.cancelled => {
                cancel.cancel();
                run.await
            }
        };
        updates.close();
        outcome
    };
    let (outcome, ()) = tokio::join!(run, forward(&caller, ext, handle, updates.clone()));
    match outcome {
        Ok(output) => Ok(Some(output_json(&output))),
        Err(error @ (ToolError::Failed(_) | ToolError::Aborted)) => {
            Err(HostCallError::new(error.to_string()))
        }
    }
}

/// The session's settings, and what the tool was made with on top of them.
fn builtin_context(caller: &Caller, cwd: PathBuf, options: &Value) -> ToolContext {
    let mut context = match caller.shared.session() {
        Some(session) => session.tool_context(),
        None => ToolContext::detached(PathBuf::new()),
    };
    context.cwd = cwd;
    let text = |name: &str| options.get(name).and_then(Value::as_str);
    if let Some(path) = text("shellPath") {
        context.shell.path = Some(path.into());
    }
    if let Some(prefix) = text("commandPrefix") {
        context.shell.command_prefix = Some(prefix.to_owned());
    }
    if options.get("exposeSessionEnvironment") == Some(&Value::Bool(false)) {
        context.env.clear();
    }
    context
}

pub(super) fn cancel_builtin(caller: &Caller, args: Args<'_>) -> Answer {
    caller
        .shared
        .builtin
        .cancel(caller.slot.id, args.number("builtinId")?, ());
    Ok(None)
}

/// A restricted package reads below the project and its own directory, and does nothing else.
fn check_permission(
    caller: &Caller,
    name: &str,
    cwd: &std::path::Path,
    arguments: &Value,
) -> Result<(), HostCallError> {
    if caller.slot.permissions == PermissionProfile::Trusted {
        return Ok(());
    }
    if !READING.contains(&name) {
        return caller.require_trust(&format!("the built-in tool \"{name}\""));
    }
    let path = ["path", "file_path"]
        .iter()
        .find_map(|key| arguments.get(*key).and_then(Value::as_str));
    let target = cwd.join(path.unwrap_or_default());
    // A path that does not exist cannot be read; its nearest existing ancestor decides.
    let real = target
        .ancestors()
        .find_map(|path| std::fs::canonicalize(path).ok())
        .unwrap_or_default();
    let roots: Vec<PathBuf> = [caller.shared.cwd(), caller.slot.root.clone()]
        .into_iter()
        .filter_map(|root| std::fs::canonicalize(root).ok())
        .collect();
    if roots.iter().any(|root| real.starts_with(root))
        && !target.components().any(|part| part.as_os_str() == "..")
    {
        Ok(())
    } else {
        caller.require_trust(&format!("reading {}", target.display()))
    }
}
