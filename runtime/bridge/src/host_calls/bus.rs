//! The event bus between isolates, log lines, and errors that no call carries.

use std::sync::Arc;

use pier_protocol::extension::ExtensionErrorReport;
use serde_json::json;

use super::{Answer, Args, Caller};
use crate::host::slot::IsolateSlot;

/// Longest log text that is kept, in bytes.
const MAX_LOG: usize = 16 * 1024;

/// Other isolates with a listener on `channel`, in load order.
fn listeners(caller: &Caller, channel: &str) -> Vec<Arc<IsolateSlot>> {
    caller.shared.registry.with(|extensions| {
        let mut slots: Vec<Arc<IsolateSlot>> = Vec::new();
        for loaded in extensions {
            let slot = &loaded.info.isolate;
            if slot.id != caller.slot.id
                && loaded.registered.bus.iter().any(|known| known == channel)
                && !slots.iter().any(|known| known.id == slot.id)
            {
                slots.push(slot.clone());
            }
        }
        slots
    })
}

pub(super) fn targets(caller: &Caller, args: Args<'_>) -> Answer {
    Ok(Some(json!(listeners(caller, args.text("channel")?).len())))
}

pub(super) fn emit(caller: &Caller, mut args: Args<'_>) -> Answer {
    let ext = caller.ext(&args)?;
    let channel = args.text("channel")?.to_string();
    let data: Arc<str> = args.take("data").to_string().into();
    let header = json!({"channel": channel, "from": ext}).to_string();
    for slot in listeners(caller, &channel) {
        if let Ok(api) = slot.api() {
            api.post("busDeliver", header.clone(), Some(data.clone()));
        }
    }
    Ok(None)
}

pub(super) fn log(caller: &Caller, mut args: Args<'_>) -> Answer {
    let ext = caller.ext(&args)?;
    let path = caller.path(ext);
    let context = args.take("context");
    let mut message = args.text("message")?.to_string();
    if !context.is_null() {
        message = format!("{message} {context}");
    }
    if message.len() > MAX_LOG {
        let cut = (0..=MAX_LOG)
            .rev()
            .find(|at| message.is_char_boundary(*at))
            .unwrap_or(0);
        message.truncate(cut);
    }
    match args.text("level")? {
        "error" => tracing::error!(extension = %path, "{message}"),
        "warn" => tracing::warn!(extension = %path, "{message}"),
        "info" => tracing::info!(extension = %path, "{message}"),
        _ => tracing::debug!(extension = %path, "{message}"),
    }
    Ok(None)
}

pub(super) fn error(caller: &Caller, args: Args<'_>) -> Answer {
    let ext = caller.ext(&args)?;
    let mut report =
        ExtensionErrorReport::new(caller.path(ext), args.text("event")?, args.text("message")?);
    report.stack = args.optional_text("stack")?.map(str::to_string);
    caller.shared.reports.send(report);
    Ok(None)
}
