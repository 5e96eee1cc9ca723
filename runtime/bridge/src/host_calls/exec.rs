//! `pi.exec` (`spec/extension-api.md` §2.3).

use std::time::Duration;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{Answer, Args, Caller};
use crate::exec::{DEFAULT_MAX_BUFFER, ExecRequest};
use crate::isolate::HostCallError;

pub(super) async fn exec(caller: Caller, args: Args<'static>) -> Answer {
    let ext = caller.ext(&args)?;
    let call = caller.call(&args)?;
    caller.require_trust("exec")?;
    let max_buffer = match args.optional_number("maxBuffer") {
        Ok(given) => given.unwrap_or(DEFAULT_MAX_BUFFER),
        Err(error) => return Err(HostCallError::of("RangeError", error.message)),
    };
    let cwd = match args.optional_text("cwd")? {
        Some(cwd) => caller.shared.cwd().join(cwd),
        None => caller.shared.cwd(),
    };
    let request = ExecRequest {
        command: args.text("command")?.to_string(),
        args: args.texts("args")?,
        cwd,
        timeout: args
            .optional_number("timeout")?
            .filter(|ms| *ms > 0)
            .map(Duration::from_millis),
        max_buffer,
    };
    // Ends with the call only when the call is given up: an aborted tool decides by itself, through `signal`.
    let parent = call.map_or_else(CancellationToken::new, |call| call.gone.clone());
    let result = caller
        .shared
        .execs
        .run(ext, args.number("execId")?, request, &parent)
        .await;
    Ok(Some(json!(result)))
}

pub(super) fn cancel(caller: &Caller, args: Args<'_>) -> Answer {
    caller
        .shared
        .execs
        .cancel(&caller.slot.ids(), args.number("execId")?);
    Ok(None)
}
