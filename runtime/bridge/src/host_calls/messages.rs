//! Action methods with an immediate effect: messages, entries, labels, tools, names.

use pier_agent::agent_session::{
    CustomMessageRequest, DeliverAs, DeliveryOptions, UserMessageOptions,
};
use pier_agent::hooks::StreamingBehavior;
use pier_protocol::message::Content;
use serde_json::{Value, json};

use super::{Answer, Args, Caller, start_now};
use crate::calls::Purpose;
use crate::isolate::HostCallError;

fn content(value: Value) -> Result<Content, HostCallError> {
    let value = if value.is_null() { json!([]) } else { value };
    serde_json::from_value(value).map_err(|error| {
        HostCallError::arguments(format!(
            "\"content\" is neither a string nor blocks: {error}"
        ))
    })
}

/// `message` and `options` of `sendMessage`.
pub(super) fn custom_message(
    args: &mut Args<'_>,
    sender: String,
) -> Result<(CustomMessageRequest, DeliveryOptions), HostCallError> {
    let mut message = args.take_object("message")?;
    let options = args.take_object("options")?;
    let custom_type = message
        .get("customType")
        .and_then(Value::as_str)
        .ok_or_else(|| HostCallError::arguments("sendMessage: \"customType\" must be a string"))?
        .to_string();
    let request = CustomMessageRequest {
        custom_type,
        content: content(message.remove("content").unwrap_or(Value::Null))?,
        display: message.get("display").is_none_or(crate::wire::truthy),
        details: message.remove("details").filter(|value| !value.is_null()),
        attribution: message
            .get("attribution")
            .and_then(Value::as_str)
            .map(str::to_string),
        sender: Some(sender),
    };
    let options = DeliveryOptions {
        deliver_as: options
            .get("deliverAs")
            .and_then(Value::as_str)
            .and_then(DeliverAs::parse),
        trigger_turn: options.get("triggerTurn").and_then(Value::as_bool),
    };
    Ok((request, options))
}

pub(super) fn send_message(caller: &Caller, mut args: Args<'_>) -> Answer {
    let sender = caller.path(caller.ext(&args)?);
    caller.call(&args)?;
    let session = caller.shared.bound_session()?;
    let (request, options) = custom_message(&mut args, sender)?;
    session.send_message(request, options);
    Ok(None)
}

/// `content` and `options` of `sendUserMessage`.
pub(super) fn user_message(
    args: &mut Args<'_>,
    sender: String,
) -> Result<(Content, UserMessageOptions), HostCallError> {
    let content = content(args.take("content"))?;
    let options = args.take_object("options")?;
    let options = UserMessageOptions {
        deliver_as: match options.get("deliverAs").and_then(Value::as_str) {
            Some("steer") => Some(StreamingBehavior::Steer),
            Some("followUp") => Some(StreamingBehavior::FollowUp),
            _ => None,
        },
        expand_prompt_templates: options
            .get("expandPromptTemplates")
            .is_some_and(crate::wire::truthy),
        sender: Some(sender),
    };
    Ok((content, options))
}

pub(super) fn send_user_message(caller: &Caller, mut args: Args<'_>) -> Answer {
    let sender = caller.path(caller.ext(&args)?);
    caller.call(&args)?;
    let session = caller.shared.bound_session()?;
    let (content, options) = user_message(&mut args, sender)?;
    session.send_user_message(content, options);
    Ok(None)
}

pub(super) fn append_entry(caller: &Caller, mut args: Args<'_>) -> Answer {
    caller.ext(&args)?;
    caller.call(&args)?;
    let data = args.take_optional("data");
    let id = caller
        .shared
        .bound_session()?
        .append_entry(args.text("customType")?, data)
        .map_err(HostCallError::new)?;
    Ok(Some(json!({"id": id})))
}

pub(super) fn session_append(caller: &Caller, mut args: Args<'_>) -> Answer {
    let call = caller.open_call(&args)?;
    if !matches!(call.purpose, Purpose::Setup) {
        return Err(HostCallError::new(
            "Entries can be appended only while the setup callback of newSession runs.",
        ));
    }
    let entry = Value::Object(args.take_object("entry")?);
    let id = caller
        .shared
        .bound_session()?
        .append_raw(entry)
        .map_err(HostCallError::new)?;
    Ok(Some(json!({"id": id})))
}

pub(super) fn set_entry_label(caller: &Caller, args: Args<'_>) -> Answer {
    let session = caller.shared.bound_session()?;
    session
        .set_label(args.text("entryId")?, args.optional_text("label")?)
        .map_err(HostCallError::new)?;
    Ok(None)
}

pub(super) fn set_active_tools(caller: &Caller, args: Args<'_>) -> Answer {
    caller
        .shared
        .bound_session()?
        .set_active_tools(&args.texts("names")?);
    Ok(None)
}

pub(super) fn set_thinking_level(caller: &Caller, args: Args<'_>) -> Answer {
    let session = caller.shared.bound_session()?;
    let level = args.text("level")?.to_string();
    let (shared, path) = (caller.shared.clone(), caller.slot.reported_path(None));
    start_now(&caller.shared, async move {
        if let Err(problem) = session.set_thinking_level(&level).await {
            shared.reports.text(&path, "set_thinking_level", problem);
        }
    });
    Ok(None)
}

pub(super) fn set_session_name(caller: &Caller, args: Args<'_>) -> Answer {
    let session = caller.shared.bound_session()?;
    let name = args.text("name")?.to_string();
    let (shared, path) = (caller.shared.clone(), caller.slot.reported_path(None));
    start_now(&caller.shared, async move {
        if let Err(problem) = session.set_session_name(&name).await {
            shared.reports.text(&path, "set_session_name", problem);
        }
    });
    Ok(None)
}

pub(super) fn abort(caller: &Caller, args: Args<'_>) -> Answer {
    caller.call(&args)?;
    caller.shared.bound_session()?.request_abort();
    Ok(None)
}

pub(super) fn shutdown(caller: &Caller, _: Args<'_>) -> Answer {
    caller.shared.bound_session()?.request_shutdown();
    Ok(None)
}
