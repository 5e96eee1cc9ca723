//! What running code sends while its call is open: tool progress, provider events, output of shell executors.

use std::sync::Arc;

use serde_json::json;

use super::{Answer, Args, Caller};
use crate::calls::Purpose;
use crate::isolate::HostCallError;
use crate::providers::stream::StreamSink;

/// Progress of a tool. After the call has ended it is dropped silently (`spec/extension-api.md` §6.3).
pub(super) fn tool_update(caller: &Caller, mut args: Args<'_>) -> Answer {
    if let Some(call) = caller.call(&args)?
        && let Purpose::Tool { updates, .. } = &call.purpose
    {
        let partial = crate::tools::result::output(args.take("partial"))
            .map_err(|problem| HostCallError::arguments(format!("onUpdate: {problem}")))?;
        updates.send(partial);
    }
    Ok(None)
}

fn sink(caller: &Caller, args: &Args<'_>) -> Result<Arc<StreamSink>, HostCallError> {
    let call = caller.open_call(args)?;
    match &call.purpose {
        Purpose::Stream(sink) => Ok(sink.clone()),
        _ => Err(HostCallError::arguments("this call is not a stream")),
    }
}

pub(super) fn stream_events(caller: &Caller, mut args: Args<'_>) -> Answer {
    let sink = sink(caller, &args)?;
    let full = sink
        .push(args.take_array("events")?)
        .map_err(HostCallError::arguments)?;
    Ok(full.then(|| json!({"full": true})))
}

pub(super) async fn stream_event(caller: Caller, mut args: Args<'static>) -> Answer {
    let sink = sink(&caller, &args)?;
    let data = args.take("data");
    sink.observer.stream_event(&sink.model, data).await;
    Ok(None)
}

pub(super) async fn stream_drain(caller: Caller, args: Args<'static>) -> Answer {
    // A stream that was closed meanwhile has all the room in the world.
    if let Ok(sink) = sink(&caller, &args) {
        sink.drained().await;
    }
    Ok(None)
}

pub(super) async fn stream_payload(caller: Caller, mut args: Args<'static>) -> Answer {
    let sink = sink(&caller, &args)?;
    let payload = args.take("payload");
    Ok(sink
        .observer
        .payload(&payload)
        .await
        .map(|payload| json!({"payload": payload})))
}

pub(super) async fn stream_response(caller: Caller, mut args: Args<'static>) -> Answer {
    let sink = sink(&caller, &args)?;
    let status = u16::try_from(args.number("status")?).unwrap_or(0);
    sink.observer.response(status, args.take("headers")).await;
    Ok(None)
}

/// Output of an extension's executor. The answer comes when the reader has room, and the isolate keeps what follows until then.
pub(super) async fn bash_data(caller: Caller, args: Args<'static>) -> Answer {
    if let Some(call) = caller.call(&args)?
        && let Purpose::Bash(output) = &call.purpose
    {
        // Nobody reads after an abort; the executor learns of it by its signal.
        output.write(args.text("data")?.to_string()).await;
    }
    Ok(None)
}
