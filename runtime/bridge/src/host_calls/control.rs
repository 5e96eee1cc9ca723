//! Control over the session from commands: waiting, models, compaction, replacing and moving the session.

use std::path::PathBuf;

use pier_agent::agent_session::NavigateOptions;
use pier_agent::hooks::ForkPosition;
use serde_json::{Value, json};

use super::{Answer, Args, Caller};
use crate::calls::Purpose;
use crate::discovery::Profile;
use crate::isolate::HostCallError;
use crate::isolate::clock::PauseGuard;
use crate::session_port::Session;

/// Waiting for the agent is not the extension's doing: the deadline of its call stands still.
fn pause(caller: &Caller, args: &Args<'_>) -> Result<Option<PauseGuard>, HostCallError> {
    Ok(caller
        .call(args)?
        .map(|call| PauseGuard::new(call.clock.clone())))
}

pub(super) async fn wait_for_idle(caller: Caller, args: Args<'static>) -> Answer {
    caller.refuse_deadlock("waitForIdle", &args)?;
    let session = caller.shared.bound_session()?;
    let _pause = pause(&caller, &args)?;
    session.wait_for_idle().await;
    Ok(None)
}

pub(super) async fn set_model(caller: Caller, args: Args<'static>) -> Answer {
    let session = caller.shared.bound_session()?;
    let done = session
        .set_model(args.text("provider")?, args.text("id")?)
        .await
        .map_err(HostCallError::new)?;
    Ok(Some(json!(done)))
}

/// Not refused inside a run: handlers start a compaction without waiting for it, which aborts the run.
pub(super) async fn compact(caller: Caller, args: Args<'static>) -> Answer {
    caller.call(&args)?;
    let session = caller.shared.bound_session()?;
    let instructions = args
        .optional_text("customInstructions")?
        .map(str::to_string);
    session
        .compact(instructions)
        .await
        .map(Some)
        .map_err(HostCallError::new)
}

/// Runs a change of the session and then the callbacks that belong to the new one.
async fn replace<F, R>(caller: &Caller, args: &Args<'static>, method: &str, change: F) -> Answer
where
    F: FnOnce(Session) -> R,
    R: Future<Output = Result<bool, String>>,
{
    let call = caller.call(args)?;
    caller.refuse_deadlock(method, args)?;
    let session = caller.shared.bound_session()?;
    let _pause = pause(caller, args)?;
    let ext = caller.ext_of(call.as_deref());
    let cancelled = change(session).await.map_err(HostCallError::new)?;
    if !cancelled {
        for (name, purpose) in [("setup", Purpose::Setup), ("withSession", Purpose::Command)] {
            if let Some(handle) = args.optional_number(name)? {
                caller
                    .callback(ext, &format!("{method}:{name}"), handle, json!([]), purpose)
                    .await
                    .map_err(|error| HostCallError::new(error.to_string()))?;
            }
        }
    }
    Ok(Some(json!({"cancelled": cancelled})))
}

pub(super) async fn new_session(caller: Caller, args: Args<'static>) -> Answer {
    let parent = args.optional_text("parentSession")?.map(str::to_string);
    replace(&caller, &args, "newSession", |session| async move {
        session.new_session(parent).await
    })
    .await
}

pub(super) async fn switch_session(caller: Caller, args: Args<'static>) -> Answer {
    let text = args.text("path")?.to_string();
    let path = expand(&caller, &text);
    replace(&caller, &args, "switchSession", |session| async move {
        session.switch_session(path).await
    })
    .await
}

fn expand(caller: &Caller, text: &str) -> PathBuf {
    match text.strip_prefix("~/").zip(std::env::var_os("HOME")) {
        Some((rest, home)) => PathBuf::from(home).join(rest),
        None => caller.shared.cwd().join(text),
    }
}

pub(super) async fn fork(caller: Caller, args: Args<'static>) -> Answer {
    let entry = args.text("entryId")?.to_string();
    let position = match args.optional_text("position")? {
        None | Some("before") => ForkPosition::Before,
        Some("at") => ForkPosition::At,
        Some(other) => {
            return Err(HostCallError::arguments(format!(
                "fork: position must be \"before\" or \"at\", not \"{other}\""
            )));
        }
    };
    replace(&caller, &args, "fork", |session| async move {
        session.fork(entry, position).await
    })
    .await
}

pub(super) async fn navigate_tree(caller: Caller, args: Args<'static>) -> Answer {
    let target = args.text("targetId")?.to_string();
    let options = NavigateOptions {
        summarize: args.flag("summarize")?,
        custom_instructions: args
            .optional_text("customInstructions")?
            .map(str::to_string),
        replace_instructions: args.flag("replaceInstructions")?,
        label: args.optional_text("label")?.map(str::to_string),
    };
    replace(&caller, &args, "navigateTree", |session| async move {
        session.navigate(&target, options).await
    })
    .await
}

/// xcsh re-opens the session file, pi reloads the extensions (`spec/extension-api.md` §11.1).
pub(super) async fn reload(caller: Caller, args: Args<'static>) -> Answer {
    let call = caller.call(&args)?;
    caller.refuse_deadlock("reload", &args)?;
    let session = caller.shared.bound_session()?;
    let _pause = pause(&caller, &args)?;
    let profile = call
        .and_then(|call| caller.shared.registry.get(call.ext))
        .map_or(Profile::Xcsh, |info| info.profile);
    match profile {
        Profile::Pi => session.reload().await,
        Profile::Xcsh => session.reopen().await,
    }
    .map_err(HostCallError::new)?;
    Ok(None::<Value>)
}
