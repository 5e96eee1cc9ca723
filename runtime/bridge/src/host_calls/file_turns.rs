//! `withFileMutationQueue`: `fileTurn.*` (`docs/bridge-protocol.md`).

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{Answer, Args, Caller, start_now};
use crate::isolate::HostCallError;

/// Takes a place in the queue of a file, at once: the order of the calls is the order of the turns.
pub(super) fn ask(caller: &Caller, mut args: Args<'_>) -> Answer {
    let call = caller.call(&args)?;
    let within = caller.within(&mut args, call.as_deref())?;
    let path = caller.shared.cwd().join(args.text("path")?);
    let ext = caller.ext_of(call.as_deref());
    let gone = call.map_or_else(CancellationToken::new, |call| call.gone.clone());
    let (number, work) =
        caller
            .shared
            .file_turns
            .ask(caller.slot.id, path, caller.path(ext), within, &gone);
    start_now(&caller.shared, work);
    Ok(Some(json!({"turn": number})))
}

pub(super) async fn wait(caller: Caller, args: Args<'static>) -> Answer {
    let turns = &caller.shared.file_turns;
    let turn = turns.wait(caller.slot.id, args.number("turn")?).await;
    turn.map(|()| None).map_err(HostCallError::new)
}

pub(super) fn end(caller: &Caller, args: Args<'_>) -> Answer {
    let turns = &caller.shared.file_turns;
    turns.end(caller.slot.id, args.number("turn")?);
    Ok(None)
}
