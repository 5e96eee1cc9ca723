//! Rules where each handler sees what the previous one made of the event.

use pier_protocol::message::{Block, ImageBlock, Message};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Answerer, Combine, Combiner, Edited, Flow, kind, object_result};
use crate::wire::{DispatchAnswer, truthy};

macro_rules! edited_event {
    () => {
        fn event(&self) -> &Map<String, Value> {
            &self.event.event
        }

        fn revision(&self) -> u64 {
            self.event.revision
        }
    };
}

/// What `input` handlers decided.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum InputOutcome {
    /// Go on with this text and these images.
    Continue {
        /// The text, possibly changed.
        text: String,
        /// The images, when a handler changed them.
        images: Option<Vec<ImageBlock>>,
    },
    /// An extension took care of it.
    Handled,
}

/// `input` (`spec/extension-api.md` §5.5): both result shapes.
pub(crate) struct Input {
    event: Edited,
    images: Option<Vec<ImageBlock>>,
    handled: bool,
}

impl Input {
    /// `event` has `text`, `images?`, `source`, `streamingBehavior?`.
    pub(crate) fn new(event: Map<String, Value>) -> Self {
        Self {
            event: Edited::new(event),
            images: None,
            handled: false,
        }
    }

    /// The decision.
    pub(crate) fn outcome(mut self) -> InputOutcome {
        if self.handled {
            return InputOutcome::Handled;
        }
        let text = match self.event.take("text") {
            Some(Value::String(text)) => text,
            _ => String::new(),
        };
        InputOutcome::Continue {
            text,
            images: self.images,
        }
    }
}

impl Combiner for Input {
    const RULE: Combine = Combine::Chain;

    edited_event!();

    fn absorb(&mut self, _: Answerer<'_>, mut answer: DispatchAnswer) -> Result<Flow, String> {
        let Some(mut result) = object_result(&mut answer)? else {
            return Ok(Flow::Continue);
        };
        let action = result.get("action").and_then(Value::as_str);
        if action == Some("handled") || result.get("handled").is_some_and(truthy) {
            self.handled = true;
            return Ok(Flow::Stop);
        }
        if action == Some("continue") {
            return Ok(Flow::Continue);
        }
        // Images count only together with a text (xcsh), even an unchanged one.
        match result.remove("text") {
            Some(text @ Value::String(_)) => {
                if let Some(images @ Value::Array(_)) = result.remove("images") {
                    self.images = Some(image_blocks(&images)?);
                    self.event.set("images", images);
                }
                self.event.set("text", text);
                Ok(Flow::Continue)
            }
            None | Some(Value::Null) => Ok(Flow::Continue),
            Some(other) => Err(format!("\"text\" is {}, expected a string", kind(&other))),
        }
    }
}

/// Image blocks that a handler returned.
fn image_blocks(value: &Value) -> Result<Vec<ImageBlock>, String> {
    let blocks: Vec<Block> = Deserialize::deserialize(value)
        .map_err(|error| format!("the returned images are not blocks: {error}"))?;
    let images = blocks.into_iter().map(|block| match block {
        Block::Image(image) => Ok(image),
        _ => Err("the returned images hold something that is not an image".to_string()),
    });
    images.collect()
}

/// `context` and `context_with_system`: `{messages}` or in-place edits.
pub(crate) struct ContextMessages {
    event: Edited,
    messages: Option<Vec<Message>>,
}

impl ContextMessages {
    /// `event` has `messages`.
    pub(crate) fn new(event: Map<String, Value>) -> Self {
        Self {
            event: Edited::new(event),
            messages: None,
        }
    }

    /// The messages, when any handler changed them.
    pub(crate) fn into_messages(self) -> Option<Vec<Message>> {
        self.messages
    }

    fn take_messages(&mut self, given: Value, how: &str) -> Result<(), String> {
        let messages = Deserialize::deserialize(&given)
            .map_err(|error| format!("the {how} messages are not messages: {error}"))?;
        self.messages = Some(messages);
        self.event.set("messages", given);
        Ok(())
    }
}

impl Combiner for ContextMessages {
    const RULE: Combine = Combine::Chain;

    edited_event!();

    fn absorb(&mut self, _: Answerer<'_>, mut answer: DispatchAnswer) -> Result<Flow, String> {
        let edited = answer
            .event
            .take()
            .and_then(|mut event| event.remove("messages"));
        let edits = edited.map_or(Ok(()), |messages| self.take_messages(messages, "edited"));
        match object_result(&mut answer)?.and_then(|mut result| result.remove("messages")) {
            Some(messages @ Value::Array(_)) => {
                self.take_messages(messages, "returned")?;
                edits.map(|()| Flow::Continue)
            }
            None | Some(Value::Null) => edits.map(|()| Flow::Continue),
            Some(other) => Err(format!(
                "\"messages\" is {}, expected an array",
                kind(&other)
            )),
        }
    }
}

/// `before_provider_request`: in-place edits, and any result but `undefined` replaces the payload.
pub(crate) struct ProviderPayload {
    event: Edited,
    changed: bool,
}

impl ProviderPayload {
    /// `event` has `payload`.
    pub(crate) fn new(event: Map<String, Value>) -> Self {
        Self {
            event: Edited::new(event),
            changed: false,
        }
    }

    /// The payload, when any handler changed or replaced it.
    pub(crate) fn into_payload(mut self) -> Option<Value> {
        self.event.take("payload").filter(|_| self.changed)
    }
}

impl Combiner for ProviderPayload {
    const RULE: Combine = Combine::Chain;

    edited_event!();

    fn absorb(&mut self, _: Answerer<'_>, answer: DispatchAnswer) -> Result<Flow, String> {
        let edited = answer.event.and_then(|mut event| event.remove("payload"));
        if let Some(payload) = answer.result.or(edited) {
            self.event.set("payload", payload);
            self.changed = true;
        }
        Ok(Flow::Continue)
    }
}

/// `before_provider_headers`: in-place edits only; `null` deletes a header.
pub(crate) struct Headers {
    event: Edited,
    changed: bool,
}

impl Headers {
    /// `event` has `headers`.
    pub(crate) fn new(event: Map<String, Value>) -> Self {
        Self {
            event: Edited::new(event),
            changed: false,
        }
    }

    /// The headers, when any handler changed them; deleted ones are gone.
    pub(crate) fn into_headers(mut self) -> Option<Map<String, Value>> {
        match self.event.take("headers") {
            Some(Value::Object(mut headers)) if self.changed => {
                headers.retain(|_, value| !value.is_null());
                Some(headers)
            }
            _ => None,
        }
    }
}

/// Whether a request can carry a header. One that cannot would fail the whole request, in nobody's name.
fn sendable(name: &str, value: &Value) -> Result<(), String> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_token) {
        return Err(format!("\"{name}\" is not a name of a header"));
    }
    match value {
        Value::Null => Ok(()),
        Value::String(text) if !text.contains(['\r', '\n', '\0']) => Ok(()),
        Value::String(_) => Err(format!("header \"{name}\" has more than one line")),
        other => Err(format!(
            "header \"{name}\" is {}, expected a string, or null to remove it",
            kind(other)
        )),
    }
}

impl Combiner for Headers {
    const RULE: Combine = Combine::Chain;

    edited_event!();

    fn absorb(&mut self, _: Answerer<'_>, mut answer: DispatchAnswer) -> Result<Flow, String> {
        if let Some(Value::Object(headers)) = answer
            .event
            .take()
            .and_then(|mut event| event.remove("headers"))
        {
            let before = self.event.get("headers");
            for (name, value) in &headers {
                if before.and_then(|before| before.get(name)) != Some(value) {
                    sendable(name, value)?;
                }
            }
            self.event.set("headers", Value::Object(headers));
            self.changed = true;
        }
        Ok(Flow::Continue)
    }
}

/// `message_end`: `{message}` of the same role replaces.
pub(crate) struct MessageEnd {
    event: Edited,
    message: Option<Message>,
}

impl MessageEnd {
    /// `event` has `message`.
    pub(crate) fn new(event: Map<String, Value>) -> Self {
        Self {
            event: Edited::new(event),
            message: None,
        }
    }

    /// The message, when any handler replaced it.
    pub(crate) fn into_message(self) -> Option<Message> {
        self.message
    }
}

impl Combiner for MessageEnd {
    const RULE: Combine = Combine::Chain;

    edited_event!();

    fn absorb(&mut self, _: Answerer<'_>, mut answer: DispatchAnswer) -> Result<Flow, String> {
        let Some(mut message) =
            object_result(&mut answer)?.and_then(|mut result| result.remove("message"))
        else {
            return Ok(Flow::Continue);
        };
        if !truthy(&message) {
            return Ok(Flow::Continue);
        }
        let role = |message: &Value| {
            message
                .get("role")
                .and_then(Value::as_str)
                .map(str::to_string)
        };
        let before = self.event.get("message").and_then(role);
        let after = role(&message);
        if after != before {
            return Err(format!(
                "replacement message has role {}, expected {}",
                after.as_deref().unwrap_or("(none)"),
                before.as_deref().unwrap_or("(none)")
            ));
        }
        if message.get("content").is_none_or(Value::is_null) {
            message["content"] = Value::Array(Vec::new());
        }
        let replacement = Deserialize::deserialize(&message)
            .map_err(|error| format!("the replacement is not a message: {error}"))?;
        self.message = Some(replacement);
        self.event.set("message", message);
        Ok(Flow::Continue)
    }
}

/// `turn_end` and `agent_before_settle` (`spec/extension-api.md` §5.9): running values of `entries` and `continue`.
/// The context that drafts lead to is shown to the handlers behind.
pub(crate) struct Boundary<P> {
    event: Edited,
    changed: bool,
    /// Path of the extension that gave the drafts as they are.
    from: Option<String>,
    preview: P,
}

/// What the handlers of a boundary event want.
pub(crate) struct BoundaryWish {
    pub(crate) entries: Vec<Value>,
    pub(crate) continue_run: bool,
    /// Path of the extension whose entries these are, when a handler returned any.
    pub(crate) from: Option<String>,
}

impl<P: Fn(&[Value]) -> Option<Value>> Boundary<P> {
    /// `event` has at least `entries` and `continue`; `preview` gives the context after some drafts, `None` for invalid ones.
    pub(crate) fn new(mut event: Map<String, Value>, preview: P) -> Self {
        event
            .entry("entries")
            .or_insert_with(|| Value::Array(Vec::new()));
        event.entry("continue").or_insert(Value::Bool(false));
        Self {
            event: Edited::new(event),
            changed: false,
            from: None,
            preview,
        }
    }

    /// The drafts and the wish to go on, when any handler returned one of them.
    pub(crate) fn into_outcome(mut self) -> Option<BoundaryWish> {
        if !self.changed {
            return None;
        }
        let entries = match self.event.take("entries") {
            Some(Value::Array(entries)) => entries,
            _ => Vec::new(),
        };
        Some(BoundaryWish {
            entries,
            continue_run: self
                .event
                .take("continue")
                .is_some_and(|value| truthy(&value)),
            from: self.from,
        })
    }
}

impl<P: Fn(&[Value]) -> Option<Value> + Send> Combiner for Boundary<P> {
    const RULE: Combine = Combine::Chain;

    edited_event!();

    fn absorb(&mut self, by: Answerer<'_>, mut answer: DispatchAnswer) -> Result<Flow, String> {
        let Some(mut result) = object_result(&mut answer)? else {
            return Ok(Flow::Continue);
        };
        let entries = match result.remove("entries") {
            None | Some(Value::Null) => None,
            Some(entries @ Value::Array(_)) => Some(entries),
            Some(other) => {
                return Err(format!(
                    "\"entries\" is {}, expected an array",
                    kind(&other)
                ));
            }
        };
        if let Some(entries) = entries {
            if let Some(context) = entries.as_array().and_then(|drafts| (self.preview)(drafts)) {
                self.event.set("context", context);
            }
            self.event.set("entries", entries);
            self.from = Some(by.path.to_string());
            self.changed = true;
        }
        if let Some(value) = result.remove("continue")
            && !value.is_null()
        {
            self.event.set("continue", Value::Bool(truthy(&value)));
            self.changed = true;
        }
        Ok(Flow::Continue)
    }
}
