//! `ctx.ui`: turns calls into [`UiRequest`]s for the mode's [`UiSink`](crate::ui::UiSink).

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use pier_protocol::ui::{NotifyType, UiCall, UiRequest, UiResponse};
use serde_json::{Map, Value, json};

use super::{Answer, Args, Caller};
use crate::host::Shared;
use crate::isolate::HostCallError;
use crate::isolate::clock::PauseGuard;
use crate::registry::ExtensionInfo;
use crate::ui::DialogEnd;
use crate::wire::ExtId;

/// Members that are about the call, not about the UI.
const ENVELOPE: [&str; 4] = ["ext", "callId", "dialogId", "descriptions"];

static NEXT_REQUEST: AtomicU64 = AtomicU64::new(1);

fn request_id() -> String {
    format!("ui_{}", NEXT_REQUEST.fetch_add(1, Ordering::Relaxed))
}

/// Status keys and widgets by extension, so that they can be taken off the screen when it goes.
#[derive(Default)]
pub(crate) struct OnScreen {
    shown: Mutex<HashMap<ExtId, Shown>>,
}

#[derive(Default)]
struct Shown {
    status: BTreeSet<String>,
    widgets: BTreeSet<String>,
    header: bool,
    footer: bool,
    working: bool,
}

impl OnScreen {
    fn note(&self, ext: ExtId, call: &UiCall) {
        fn mark(set: &mut BTreeSet<String>, key: &str, present: bool) {
            if present {
                set.insert(key.to_string());
            } else {
                set.remove(key);
            }
        }
        let mut all = self.shown.lock();
        let shown = all.entry(ext).or_default();
        match call {
            UiCall::SetStatus {
                status_key,
                status_text,
            } => mark(&mut shown.status, status_key, status_text.is_some()),
            UiCall::SetWidget {
                widget_key,
                widget_lines,
                component,
                ..
            } => {
                mark(
                    &mut shown.widgets,
                    widget_key,
                    widget_lines.is_some() || component.is_some(),
                );
            }
            UiCall::SetHeader { component } => shown.header = component.is_some(),
            UiCall::SetFooter { component } => shown.footer = component.is_some(),
            UiCall::SetWorkingMessage { text } => shown.working = text.is_some(),
            _ => {}
        }
    }
}

impl Shared {
    /// Takes what an extension left on the screen away.
    pub(crate) fn clear_ui_of(&self, info: &ExtensionInfo) {
        let Some(shown) = self.on_screen.shown.lock().remove(&info.id) else {
            return;
        };
        let ui = self.binding.read().ui.clone();
        let show = |call: UiCall| {
            ui.show(UiRequest {
                id: request_id(),
                call,
                extension_path: info.path.clone(),
            })
        };
        for status_key in shown.status {
            show(UiCall::SetStatus {
                status_key,
                status_text: None,
            });
        }
        for widget_key in shown.widgets {
            show(UiCall::SetWidget {
                widget_key,
                widget_lines: None,
                widget_placement: None,
                component: None,
            });
        }
        if shown.header {
            show(UiCall::SetHeader { component: None });
        }
        if shown.footer {
            show(UiCall::SetFooter { component: None });
        }
        if shown.working {
            show(UiCall::SetWorkingMessage { text: None });
        }
    }
}

fn parse(mut fields: Map<String, Value>) -> Result<UiCall, HostCallError> {
    if fields.get("method").and_then(Value::as_str) == Some("setEditorText") {
        fields.insert("method".into(), json!("set_editor_text"));
    }
    let method = fields
        .get("method")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_string();
    serde_json::from_value(Value::Object(fields))
        .map_err(|error| HostCallError::arguments(format!("ui call \"{method}\": {error}")))
}

pub(super) fn ui(caller: &Caller, args: Args<'_>) -> Answer {
    let ext = caller.ext(&args)?;
    caller.call(&args)?;
    let shared = &caller.shared;
    let binding = shared.binding.read().clone();
    match args.text("method")? {
        "unsupported" => {
            let feature = args.text("feature")?;
            if shared.unsupported.first(ext, feature) {
                binding.ui.unsupported(&caller.path(ext), feature);
            }
            return Ok(None);
        }
        "overlay" => {
            let path = caller.path(ext);
            binding
                .ui
                .overlay(&path, &Value::Object(args.into_rest(&ENVELOPE)));
            return Ok(None);
        }
        "setTheme" => {
            return Ok(Some(match binding.ui.set_theme(args.text("name")?) {
                Ok(()) => json!({"success": true}),
                Err(error) => json!({"success": false, "error": error}),
            }));
        }
        _ => {}
    }
    let call = parse(args.into_rest(&ENVELOPE))?;
    if call.is_dialog() {
        return Err(HostCallError::arguments(
            "dialogs are opened with ui.dialog",
        ));
    }
    shared.on_screen.note(ext, &call);
    binding.ui.show(UiRequest {
        id: request_id(),
        call,
        extension_path: caller.path(ext),
    });
    Ok(None)
}

pub(super) fn ui_state(caller: &Caller, args: Args<'_>) -> Answer {
    let ui = caller.shared.binding.read().ui.clone();
    Ok(
        Some(ui.state(args.text("what")?, args.optional_text("name")?))
            .filter(|value| !value.is_null()),
    )
}

/// A drawing is out of date: terminal UIs draw again on their own schedule; other modes have nothing to do.
pub(super) fn invalidate(caller: &Caller, args: Args<'_>) -> Answer {
    let ui = caller.shared.binding.read().ui.clone();
    ui.redraw_tool(args.text("toolCallId")?);
    Ok(None)
}

pub(super) fn cancel_dialog(caller: &Caller, args: Args<'_>) -> Answer {
    let end = match args.optional_text("reason")? {
        Some("timeout") => DialogEnd::Timeout,
        Some("done") => DialogEnd::Done,
        _ => DialogEnd::Signal,
    };
    caller
        .shared
        .dialogs
        .cancel(caller.slot.id, args.number("dialogId")?, end);
    Ok(None)
}

pub(super) async fn dialog(caller: Caller, mut args: Args<'static>) -> Answer {
    let ext = caller.ext(&args)?;
    let call = caller.call(&args)?;
    let number = args.number("dialogId")?;
    let descriptions = args.take_array("descriptions")?;
    let mut fields = args.into_rest(&ENVELOPE);
    describe_options(&mut fields, &descriptions);
    let ui_call = parse(fields)?;
    if !ui_call.is_dialog() {
        return Err(HostCallError::arguments("ui.dialog opens dialogs only"));
    }
    let answer = caller
        .shared
        .ask(&caller, ext, call.as_ref(), number, ui_call)
        .await;
    Ok(Some(match answer {
        UiResponse::Value(value) => json!({"value": value}),
        UiResponse::Confirmed(confirmed) => json!({"confirmed": confirmed}),
        UiResponse::Cancelled { timed_out: true } => json!({"cancelled": true, "timedOut": true}),
        UiResponse::Cancelled { timed_out: false } => json!({"cancelled": true}),
    }))
}

/// Puts descriptions beside the options they belong to.
fn describe_options(fields: &mut Map<String, Value>, descriptions: &[Value]) {
    let Some(options) = fields.get_mut("options").and_then(Value::as_array_mut) else {
        return;
    };
    for (option, description) in options.iter_mut().zip(descriptions) {
        if let (Some(label), Some(text)) = (
            option.as_str(),
            description.as_str().filter(|text| !text.is_empty()),
        ) {
            *option = json!({"label": label, "description": text});
        }
    }
}

impl Shared {
    /// Shows a dialog and waits for its end. The deadline of the call stands still meanwhile, and the dialog closes when
    /// the call is given up.
    async fn ask(
        self: &std::sync::Arc<Self>,
        caller: &Caller,
        ext: ExtId,
        call: Option<&std::sync::Arc<crate::calls::Call>>,
        number: u64,
        ui_call: UiCall,
    ) -> UiResponse {
        let _pause = call.map(|call| PauseGuard::new(call.clock.clone()));
        let gone = call.map(|call| call.gone.clone()).unwrap_or_default();
        let mut pending = self.dialogs.add(caller.slot.id, number);
        let (kind, title) = kind_and_title(&ui_call);
        self.prompt_event("ui_prompt_start", kind, title.as_deref())
            .await;
        let id = request_id();
        let ui = self.binding.read().ui.clone();
        let request = UiRequest {
            id: id.clone(),
            call: ui_call,
            extension_path: caller.path(ext),
        };
        let end = tokio::select! {
            answer = ui.dialog(request) => Ok(answer),
            end = &mut pending.cancelled => Err(end.unwrap_or(DialogEnd::Gone)),
            () = gone.cancelled() => Err(DialogEnd::Gone),
        };
        let answer = end.unwrap_or_else(|end| {
            ui.cancel(&id, end);
            UiResponse::Cancelled {
                timed_out: end == DialogEnd::Timeout,
            }
        });
        self.prompt_event("ui_prompt_end", kind, title.as_deref())
            .await;
        answer
    }

    async fn prompt_event(
        self: &std::sync::Arc<Self>,
        name: &str,
        kind: &str,
        title: Option<&str>,
    ) {
        let map = crate::dispatch::payload::object(
            json!({"reason": "ui_prompt", "kind": kind, "title": title}),
        );
        self.tell(name, map, None).await;
    }
}

fn kind_and_title(call: &UiCall) -> (&'static str, Option<String>) {
    match call {
        UiCall::Select { title, .. } => ("select", Some(title.clone())),
        UiCall::Confirm { title, .. } => ("confirm", Some(title.clone())),
        UiCall::Input { title, .. } => ("input", Some(title.clone())),
        UiCall::Editor { title, .. } => ("editor", Some(title.clone())),
        _ => ("custom", None),
    }
}

/// Steps of a login, shown with the ordinary UI.
pub(super) async fn oauth_interact(caller: Caller, args: Args<'static>) -> Answer {
    let call = caller.open_call(&args)?;
    let ext = call.ext;
    let text = |name: &str| -> Result<String, HostCallError> {
        Ok(args.optional_text(name)?.unwrap_or_default().to_string())
    };
    let show = |message: String| {
        let ui = caller.shared.binding.read().ui.clone();
        let call = UiCall::Notify {
            message,
            notify_type: Some(NotifyType::Info),
        };
        ui.show(UiRequest {
            id: request_id(),
            call,
            extension_path: caller.path(ext),
        });
    };
    let kind = args.text("kind")?.to_string();
    let ui_call = match kind.as_str() {
        "auth" => {
            show(
                format!("Open {} {}", text("url")?, text("instructions")?)
                    .trim_end()
                    .to_string(),
            );
            return Ok(None);
        }
        "deviceCode" => {
            show(format!(
                "Enter the code {} at {}",
                text("userCode")?,
                text("verificationUri")?
            ));
            return Ok(None);
        }
        "progress" => {
            show(text("message")?);
            return Ok(None);
        }
        "prompt" => UiCall::Input {
            title: text("message")?,
            placeholder: args.optional_text("placeholder")?.map(str::to_string),
            timeout: None,
        },
        "manualCode" => UiCall::Input {
            title: "Paste the authorization code".into(),
            placeholder: None,
            timeout: None,
        },
        "select" => {
            let mut fields = args.into_rest(&["callId", "kind"]);
            let options = fields
                .remove("options")
                .and_then(|value| value.as_array().cloned())
                .unwrap_or_default();
            return select_step(&caller, ext, &call, fields, &options).await;
        }
        other => {
            return Err(HostCallError::arguments(format!(
                "oauth.interact: unknown kind \"{other}\""
            )));
        }
    };
    let number = u64::MAX - NEXT_REQUEST.fetch_add(1, Ordering::Relaxed);
    match caller
        .shared
        .ask(&caller, ext, Some(&call), number, ui_call)
        .await
    {
        UiResponse::Value(value) => Ok(Some(json!({"value": value}))),
        _ => Ok(Some(json!({}))),
    }
}

async fn select_step(
    caller: &Caller,
    ext: ExtId,
    call: &std::sync::Arc<crate::calls::Call>,
    fields: Map<String, Value>,
    options: &[Value],
) -> Answer {
    let label = |option: &Value| {
        option
            .get("label")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_string()
    };
    let ui_call = UiCall::Select {
        title: fields
            .get("message")
            .and_then(Value::as_str)
            .unwrap_or("Choose")
            .to_string(),
        options: options
            .iter()
            .map(|option| pier_protocol::ui::SelectOption::Text(label(option)))
            .collect(),
        timeout: None,
        initial_index: None,
        help_text: None,
    };
    let number = u64::MAX - NEXT_REQUEST.fetch_add(1, Ordering::Relaxed);
    let UiResponse::Value(chosen) = caller
        .shared
        .ask(caller, ext, Some(call), number, ui_call)
        .await
    else {
        return Ok(Some(json!({})));
    };
    let id = options
        .iter()
        .find(|option| Some(label(option).as_str()) == chosen.as_str())
        .and_then(|option| option.get("id"));
    Ok(Some(json!({"value": id})))
}
