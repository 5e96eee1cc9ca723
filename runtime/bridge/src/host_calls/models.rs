//! Models and credentials for extension code.

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{Answer, Args, Caller};
use crate::calls::Purpose;
use crate::isolate::{HostCallError, PermissionProfile};
use crate::providers::complete::Completion;

/// A key leaves the host only towards trusted packages.
pub(super) async fn get_api_key(caller: Caller, args: Args<'static>) -> Answer {
    if caller.slot.permissions != PermissionProfile::Trusted {
        return Ok(Some(Value::Null));
    }
    let key = caller
        .shared
        .api_key(args.text("provider")?)
        .await
        .map_err(HostCallError::new)?;
    Ok(Some(json!(key)))
}

/// Key, headers and address of requests to a provider.
pub(super) async fn request_auth(caller: Caller, args: Args<'static>) -> Answer {
    caller.require_trust("reading credentials")?;
    let (provider, model) = (args.text("provider")?, args.optional_text("model")?);
    let auth = caller.shared.request_auth(provider, model).await;
    auth.map(Some).map_err(HostCallError::new)
}

/// What is wrong with `models.json`.
pub(super) fn problem(caller: &Caller, _: Args<'_>) -> Answer {
    let problem = caller.shared.models_problem.read().clone();
    Ok(problem.map(Value::String))
}

pub(super) async fn refresh_models(caller: Caller, _: Args<'static>) -> Answer {
    caller.shared.refresh_models().await;
    Ok(None)
}

pub(super) async fn complete(caller: Caller, mut args: Args<'static>) -> Answer {
    caller.require_trust("asking a model")?;
    let call = caller.call(&args)?;
    let handle = args.optional_number("onEvent")?;
    let number = args.number("completionId")?;
    let ext = caller.ext_of(call.as_deref());
    let info = caller.shared.registry.get(ext);
    let completion = Completion {
        asked_by: info.map_or_else(|| caller.slot.name.clone(), |info| info.path.clone()),
        model: args.take("model"),
        context: args.take("context"),
        options: args.take("options"),
    };
    let cancel = call.map_or_else(CancellationToken::new, |call| call.gone.child_token());
    let pending = caller.shared.completions.add(caller.slot.id, number);
    let events = |events: Vec<Value>| {
        let caller = caller.clone();
        async move {
            if let Some(handle) = handle {
                // A failing listener must not end the request.
                let _ = caller
                    .callback(ext, "onEvent", handle, json!([events]), Purpose::Other)
                    .await;
            }
        }
    };
    let run = caller.shared.complete(completion, cancel.clone(), events);
    let outcome = pending.run(&cancel, run).await;
    outcome.map(Some).map_err(HostCallError::new)
}

pub(super) fn cancel_completion(caller: &Caller, args: Args<'_>) -> Answer {
    caller
        .shared
        .completions
        .cancel(caller.slot.id, args.number("completionId")?, ());
    Ok(None)
}
