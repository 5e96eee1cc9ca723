//! Rules where each handler sees what the previous one made of the event.

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
        /// The images, possibly changed; `None` when there are none.
        images: Option<Value>,
    },
    /// An extension took care of it.
    Handled,
}

/// `input` (`spec/extension-api.md` §5.5): both result shapes.
pub(crate) struct Input {
    event: Edited,
    handled: bool,
}

impl Input {
    /// `event` has `text`, `images?`, `source`, `streamingBehavior?`.
    pub(crate) fn new(event: Map<String, Value>) -> Self {
        Self {
            event: Edited::new(event),
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
            images: self.event.take("images"),
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
                self.event.set("text", text);
                if let Some(images @ Value::Array(_)) = result.remove("images") {
                    self.event.set("images", images);
                }
                Ok(Flow::Continue)
            }
            None | Some(Value::Null) => Ok(Flow::Continue),
            Some(other) => Err(format!("\"text\" is {}, expected a string", kind(&other))),
        }
    }
}

/// `context` and `context_with_system`: `{messages}` or in-place edits.
pub(crate) struct ContextMessages {
    event: Edited,
    changed: bool,
}

impl ContextMessages {
    /// `event` has `messages`.
    pub(crate) fn new(event: Map<String, Value>) -> Self {
        Self {
            event: Edited::new(event),
            changed: false,
        }
    }

    /// The messages, when any handler changed them.
    pub(crate) fn into_messages(mut self) -> Option<Vec<Value>> {
        match self.event.take("messages") {
            Some(Value::Array(messages)) if self.changed => Some(messages),
            _ => None,
        }
    }
}

impl Combiner for ContextMessages {
    const RULE: Combine = Combine::Chain;

    edited_event!();

    fn absorb(&mut self, _: Answerer<'_>, mut answer: DispatchAnswer) -> Result<Flow, String> {
        if let Some(messages @ Value::Array(_)) = answer
            .event
            .take()
            .and_then(|mut event| event.remove("messages"))
        {
            self.event.set("messages", messages);
            self.changed = true;
        }
        match object_result(&mut answer)?.and_then(|mut result| result.remove("messages")) {
            Some(messages @ Value::Array(_)) => {
                self.event.set("messages", messages);
                self.changed = true;
                Ok(Flow::Continue)
            }
            None | Some(Value::Null) => Ok(Flow::Continue),
            Some(other) => Err(format!(
                "\"messages\" is {}, expected an array",
                kind(&other)
            )),
        }
    }
}

/// `before_provider_request`: any result but `undefined` replaces the payload.
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

    /// The payload, when any handler replaced it.
    pub(crate) fn into_payload(mut self) -> Option<Value> {
        self.event.take("payload").filter(|_| self.changed)
    }
}

impl Combiner for ProviderPayload {
    const RULE: Combine = Combine::Chain;

    edited_event!();

    fn absorb(&mut self, _: Answerer<'_>, answer: DispatchAnswer) -> Result<Flow, String> {
        if let Some(payload) = answer.result {
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

impl Combiner for Headers {
    const RULE: Combine = Combine::Chain;

    edited_event!();

    fn absorb(&mut self, _: Answerer<'_>, mut answer: DispatchAnswer) -> Result<Flow, String> {
        if let Some(headers @ Value::Object(_)) = answer
            .event
            .take()
            .and_then(|mut event| event.remove("headers"))
        {
            self.event.set("headers", headers);
            self.changed = true;
        }
        Ok(Flow::Continue)
    }
}

/// `message_end`: `{message}` of the same role replaces.
pub(crate) struct MessageEnd {
    event: Edited,
    changed: bool,
}

impl MessageEnd {
    /// `event` has `message`.
    pub(crate) fn new(event: Map<String, Value>) -> Self {
        Self {
            event: Edited::new(event),
            changed: false,
        }
    }

    /// The message, when any handler replaced it.
    pub(crate) fn into_message(mut self) -> Option<Value> {
        self.event.take("message").filter(|_| self.changed)
    }
}

impl Combiner for MessageEnd {
    const RULE: Combine = Combine::Chain;

    edited_event!();

    fn absorb(&mut self, _: Answerer<'_>, mut answer: DispatchAnswer) -> Result<Flow, String> {
        let Some(message) =
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
        self.event.set("message", message);
        self.changed = true;
        Ok(Flow::Continue)
    }
}

/// `turn_end` and `agent_before_settle` (`spec/extension-api.md` §5.9): running values of `entries` and `continue`.
/// The context that drafts lead to is shown to the handlers behind.
pub(crate) struct Boundary<P> {
    event: Edited,
    changed: bool,
    preview: P,
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
            preview,
        }
    }

    /// The drafts and the wish to go on, when any handler returned one of them.
    pub(crate) fn into_outcome(mut self) -> Option<(Vec<Value>, bool)> {
        if !self.changed {
            return None;
        }
        let entries = match self.event.take("entries") {
            Some(Value::Array(entries)) => entries,
            _ => Vec::new(),
        };
        Some((
            entries,
            self.event
                .take("continue")
                .is_some_and(|value| truthy(&value)),
        ))
    }
}

impl<P: Fn(&[Value]) -> Option<Value> + Send> Combiner for Boundary<P> {
    const RULE: Combine = Combine::Chain;

    edited_event!();

    fn absorb(&mut self, _: Answerer<'_>, mut answer: DispatchAnswer) -> Result<Flow, String> {
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
