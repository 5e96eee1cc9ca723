//! Late registration (`spec/extension-api.md` §1.3: effective at once, like pi).

use std::sync::Arc;

use serde_json::Value;

use super::{Answer, Args, Caller};
use crate::dispatch::rules::unknown_event;
use crate::isolate::HostCallError;
use crate::registry::{ExtensionInfo, merge, parse, withdraw};

pub(super) fn register(caller: &Caller, mut args: Args<'_>) -> Answer {
    let ext = caller.ext(&args)?;
    let change = parse::registrations(args.take("change")).map_err(HostCallError::arguments)?;
    let shared = &caller.shared;
    let Some(info) = shared.registry.get(ext) else {
        // Its factory has returned but the load of others goes on: applied together with the rest.
        return match shared.early.lock().get_mut(&ext) {
            Some(waiting) => {
                waiting.push(change);
                Ok(None)
            }
            None => Err(HostCallError::new("This extension is not active.")),
        };
    };
    // Providers can be refused; nothing of the change is kept then.
    for provider in &change.providers {
        shared
            .register_provider(&info, provider)
            .map_err(HostCallError::new)?;
    }
    for handler in &change.handlers {
        if let Some(complaint) = unknown_event(&handler.event) {
            shared.reports.text(&info.path, &handler.event, complaint);
        }
    }
    let providers: Vec<String> = change
        .providers
        .iter()
        .map(|provider| provider.name.clone())
        .collect();
    let tools = change.tools.clone();
    let flags = !change.flags.is_empty();
    let _ = shared
        .registry
        .change(ext, |registered| merge(registered, change));
    for provider in &providers {
        shared.follow_login_soon(provider);
    }
    for tool in &tools {
        shared.register_tool(&info, tool);
    }
    if flags {
        shared.send_flags();
    }
    shared.touch();
    Ok(None)
}

pub(super) fn unregister(caller: &Caller, mut args: Args<'_>) -> Answer {
    let ext = caller.ext(&args)?;
    let kind = args.text("kind")?.to_string();
    let id = args.take("id");
    let shared = &caller.shared;
    let Some(info) = shared.registry.get(ext) else {
        return Ok(None);
    };
    shared
        .registry
        .change(ext, |registered| withdraw(registered, &kind, &id))
        .unwrap_or(Ok(()))
        .map_err(HostCallError::arguments)?;
    undo(caller, &info, &kind, &id);
    Ok(None)
}

fn undo(caller: &Caller, info: &Arc<ExtensionInfo>, kind: &str, id: &Value) {
    let name = id.as_str().unwrap_or_default();
    match kind {
        "tool" => caller.shared.options.tools.unregister(&info.owner(), name),
        "provider" => caller.shared.unregister_provider(info, name),
        _ => {}
    }
    caller.shared.touch();
}

pub(super) fn unregister_provider(caller: &Caller, args: Args<'_>) -> Answer {
    let ext = caller.ext(&args)?;
    let name = args.text("name")?;
    if let Some(info) = caller.shared.registry.get(ext) {
        let id = Value::String(name.to_string());
        let _ = caller
            .shared
            .registry
            .change(ext, |registered| withdraw(registered, "provider", &id));
        undo(caller, &info, "provider", &id);
    }
    Ok(None)
}

pub(super) fn set_label(caller: &Caller, args: Args<'_>) -> Answer {
    let ext = caller.ext(&args)?;
    let label = args.text("label")?.to_string();
    let _ = caller
        .shared
        .registry
        .change(ext, |registered| registered.label = Some(label));
    Ok(None)
}
