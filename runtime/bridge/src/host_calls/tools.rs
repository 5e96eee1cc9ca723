//! Nested tool calls of extension code, and how results of tools cross to it.

use pier_agent::tool::{ToolOutput, ToolUpdates};
use serde_json::{Value, json};

use super::{Answer, Args, Caller};
use crate::calls::Purpose;
use crate::isolate::HostCallError;
use crate::wire::ExtId;

pub(super) fn output_json(output: &ToolOutput) -> Value {
    crate::dispatch::payload::value(output)
}

/// Passes partial results to a callback of the isolate, in order, until the queue is closed.
pub(super) async fn forward(
    caller: &Caller,
    ext: ExtId,
    handle: Option<u64>,
    updates: ToolUpdates,
) {
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
    let within = caller.within(&mut args, Some(&call))?;
    let cancel = call.cancel.child_token();
    let pending = caller.shared.nested.add(caller.slot.id, number);
    let updates = ToolUpdates::new();
    let run = async {
        let run = within.run(nested.execute(
            &name,
            arguments,
            cancel.clone(),
            handle.map(|_| updates.clone()),
        ));
        let outcome = pending.run(&cancel, run).await;
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
