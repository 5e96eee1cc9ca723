//! Synchronous getters: answered from state that the agent shares, never by asking it to do something.

use base64::Engine as _;
use pier_agent::tool::ToolRegistry;
use serde_json::{Value, json};

use super::{Answer, Args, Caller};
use crate::isolate::HostCallError;

/// `session.sync`: JSON text, because the entries are text already.
pub(super) fn session_sync(caller: &Caller, args: &Args<'_>) -> Result<String, HostCallError> {
    let session = caller.shared.bound_session()?;
    // Anything that is no position of this session means "nothing known yet".
    let epoch = args
        .optional_number("epoch")
        .unwrap_or_default()
        .unwrap_or(0);
    let version = args
        .optional_number("version")
        .unwrap_or_default()
        .unwrap_or(0);
    session
        .changes_since(epoch, version)
        .map_err(HostCallError::new)
}

fn version(caller: &Caller) -> u64 {
    let own = caller
        .shared
        .changes
        .load(std::sync::atomic::Ordering::Acquire);
    let session = caller
        .shared
        .session()
        .map_or(0, |session| session.state_version());
    // JavaScript numbers are exact up to 2^53; only equality matters.
    session.wrapping_add(own.wrapping_mul(0x9E37_79B9)) & ((1 << 53) - 1)
}

pub(super) fn state_version(caller: &Caller, _: Args<'_>) -> Answer {
    Ok(Some(json!(version(caller))))
}

pub(super) fn state(caller: &Caller, _: Args<'_>) -> Answer {
    let session = caller.shared.bound_session()?;
    // The version is read first: a change in between makes the answer look older, never newer, than it is.
    let version = version(caller);
    let mut state = session.state();
    if let Some(model) = state.get_mut("model") {
        caller.hide_headers(model);
    }
    let scoped = state.get_mut("scopedModels").and_then(Value::as_array_mut);
    for entry in scoped.into_iter().flatten() {
        caller.hide_headers(&mut entry["model"]);
    }
    state.insert("version".into(), json!(version));
    if let Some(run) = session.run() {
        state.insert("runId".into(), json!(run.id));
    }
    state.insert(
        "trusted".into(),
        json!(
            caller
                .shared
                .trusted
                .load(std::sync::atomic::Ordering::Acquire)
        ),
    );
    Ok(Some(Value::Object(state)))
}

pub(super) fn run_watch(caller: &Caller, args: Args<'_>) -> Answer {
    let id = args.number("runId")?;
    let session = caller.shared.bound_session()?;
    let Some(run) = session.run().filter(|run| run.id == id) else {
        return Ok(Some(json!({"aborted": false})));
    };
    let aborted = run.cancel.is_cancelled();
    if !aborted {
        let slot = caller.slot.clone();
        caller.shared.runtime.spawn(async move {
            tokio::select! {
                () = run.cancel.cancelled() => {
                    if let Ok(api) = slot.api() {
                        api.post("abort", json!({"runId": id}).to_string(), None);
                    }
                }
                () = session.wait_for_idle() => {}
            }
        });
    }
    Ok(Some(json!({"aborted": aborted})))
}

pub(super) fn all_tools(caller: &Caller, _: Args<'_>) -> Answer {
    Ok(Some(tool_infos(&caller.shared.options.tools)))
}

/// `ToolInfo[]`.
pub(super) fn tool_infos(registry: &ToolRegistry) -> Value {
    let tools = registry.all();
    let infos = tools.iter().map(|tool| {
        let spec = tool.spec();
        let mut info = json!({
            "name": spec.name,
            "description": spec.description,
            "parameters": spec.parameters,
            "promptGuidelines": spec.prompt_guidelines,
            "sourceInfo": spec.source,
        });
        for name in ["exposure", "namespace", "annotations", "reachesTools"] {
            if let Some(value) = spec.extra.get(name) {
                info[name] = value.clone();
            }
        }
        if info.get("exposure").is_none() {
            info["exposure"] = json!(if spec.hidden { "hidden" } else { "direct" });
        }
        info
    });
    Value::Array(infos.collect())
}

pub(super) fn commands(caller: &Caller, _: Args<'_>) -> Answer {
    Ok(Some(Value::Array(caller.shared.slash_commands())))
}

pub(super) fn models(caller: &Caller, args: Args<'_>) -> Answer {
    let providers = &caller.shared.options.providers;
    let list = if args.flag("available")? {
        providers.available_models()
    } else {
        providers.models()
    };
    let mut list = json!(list);
    for model in list.as_array_mut().into_iter().flatten() {
        caller.hide_headers(model);
    }
    Ok(Some(list))
}

pub(super) fn providers(caller: &Caller, _: Args<'_>) -> Answer {
    let shared = &caller.shared;
    let list = shared.options.providers.names().into_iter().map(|name| {
        let file = shared.models_file();
        let registrations = shared.registrations_of(&name);
        let configs: Vec<&Value> = file
            .provider(&name)
            .into_iter()
            .chain(registrations.iter().map(|(_, known)| &known.config))
            .collect();
        let member = |key: &str| {
            let mut values = configs
                .iter()
                .filter_map(|config| config.get(key)?.as_str());
            values.next()
        };
        let template = shared.key_template(&name);
        let auth = match (shared.stored_kind(&name).as_deref(), template) {
            (Some("oauth"), _) => "oauth",
            (Some(_), _) => "api_key",
            (None, Some(template)) => match std::env::var_os(&template) {
                Some(_) => "env",
                None if template.contains('$') => "env",
                None => "api_key",
            },
            (None, None) => "none",
        };
        // As for `models` with `available` and for `setModel`; a provider that has no models yet goes by its key.
        let configured = match shared.options.providers.get(&name) {
            Some(entry) if !entry.models.is_empty() => {
                let mut models = entry.models.iter();
                models.any(|model| entry.provider.has_credentials(model))
            }
            _ => shared.key_available(&name).unwrap_or_default(),
        };
        let mut info = json!({"name": name, "auth": auth, "configured": configured});
        if let Some(display) = member("name") {
            info["displayName"] = json!(display);
        }
        if let Some(url) = member("baseUrl") {
            info["baseUrl"] = json!(url);
        }
        info
    });
    Ok(Some(Value::Array(list.collect())))
}

pub(super) fn settings(caller: &Caller, _: Args<'_>) -> Answer {
    Ok(Some(caller.shared.settings()))
}

pub(super) fn system_prompt_options(caller: &Caller, _: Args<'_>) -> Answer {
    let session = caller.shared.bound_session()?;
    Ok(Some(session.system_prompt_options()))
}

/// Artifacts are files beside the session: `<session file without .jsonl>/<n>.<tool>.log`.
pub(super) async fn artifact(caller: Caller, args: Args<'static>) -> Answer {
    let session = caller.shared.bound_session()?;
    let directory = session
        .artifacts_dir()
        .ok_or_else(|| HostCallError::new("Artifacts need a session that is stored in a file."))?;
    let op = args.text("op")?.to_string();
    let tool = args
        .optional_text("toolType")?
        .unwrap_or("tool")
        .to_string();
    let content = args
        .optional_text("content")?
        .unwrap_or_default()
        .to_string();
    let id = args.optional_text("id")?.map(str::to_string);
    let run = move || crate::artifacts::run(&directory, &op, &tool, &content, id.as_deref());
    match tokio::task::spawn_blocking(run).await {
        Ok(answer) => answer.map(Some).map_err(HostCallError::new),
        Err(error) => Err(HostCallError::new(error.to_string())),
    }
}

/// `sessionManager.putBlob`: the bytes come as base64.
pub(super) async fn put_blob(caller: Caller, args: Args<'static>) -> Answer {
    caller.require_trust("putBlob")?;
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(args.text("data")?)
        .map_err(|error| HostCallError::arguments(format!("\"data\" is no base64: {error}")))?;
    let agent_dir = caller.shared.options.agent_dir.clone();
    let put = move || crate::blobs::put(&agent_dir, &bytes);
    match tokio::task::spawn_blocking(put).await {
        Ok(answer) => answer.map(Some).map_err(HostCallError::new),
        Err(error) => Err(HostCallError::new(error.to_string())),
    }
}
