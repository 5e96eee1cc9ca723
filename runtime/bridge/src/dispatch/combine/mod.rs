//! How the answers of several handlers become one outcome. Pure functions over JSON; one small type per rule.

mod chain;
mod collect;
mod pick;
mod tool;

use serde_json::{Map, Value};

use crate::discovery::Profile;
use crate::dispatch::rules::Combine;
use crate::wire::DispatchAnswer;

pub(crate) use chain::{
    Boundary, ContextMessages, Headers, Input, InputOutcome, MessageEnd, ProviderPayload,
};
pub(crate) use collect::{AgentStart, Resources};
pub(crate) use pick::{FirstResult, LastResult, TrustAnswer, cancelled};
pub(crate) use tool::{ToolCall, ToolResult};

/// Whether the next handler runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// Yes.
    Continue,
    /// No: the outcome is decided.
    Stop,
}

/// Who answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answerer<'a> {
    /// Path as reported.
    pub(crate) path: &'a str,
    /// Directory of the entry file.
    pub(crate) directory: &'a str,
    pub(crate) profile: Profile,
}

/// Folds the answers of handlers, in order.
pub(crate) trait Combiner: Send {
    /// The combination key of the events that it serves.
    const RULE: Combine;

    /// The event that the next handler gets, without `type`. `revision` changes whenever it does.
    fn event(&self) -> &Map<String, Value>;

    /// Counts the changes of [`event`](Self::event), so that an unchanged event is serialised once.
    fn revision(&self) -> u64;

    /// Takes one answer. `Err` is a complaint about its shape; what is wrong then counts as `undefined`. Whatever is read of
    /// an answer is read here, so that a malformed one costs its own handler only.
    fn absorb(&mut self, by: Answerer<'_>, answer: DispatchAnswer) -> Result<Flow, String>;
}

/// An event that nobody can change.
pub(crate) struct Fixed {
    event: Map<String, Value>,
}

impl Fixed {
    /// Wraps it.
    pub(crate) fn new(event: Map<String, Value>) -> Self {
        Self { event }
    }
}

impl Combiner for Fixed {
    const RULE: Combine = Combine::Notify;

    fn event(&self) -> &Map<String, Value> {
        &self.event
    }

    fn revision(&self) -> u64 {
        0
    }

    fn absorb(&mut self, _: Answerer<'_>, _: DispatchAnswer) -> Result<Flow, String> {
        Ok(Flow::Continue)
    }
}

/// The event of a combiner that changes it, with its revision.
#[derive(Debug, Default)]
pub(crate) struct Edited {
    event: Map<String, Value>,
    revision: u64,
}

impl Edited {
    pub(crate) fn new(event: Map<String, Value>) -> Self {
        Self { event, revision: 0 }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.event.get(name)
    }

    pub(crate) fn set(&mut self, name: &str, value: Value) {
        self.revision += 1;
        self.event.insert(name.to_string(), value);
    }

    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        self.event.remove(name)
    }
}

/// The result as an object, or nothing for a falsy result; anything else is a complaint.
pub(crate) fn object_result(
    answer: &mut DispatchAnswer,
) -> Result<Option<Map<String, Value>>, String> {
    match answer.result.take() {
        None => Ok(None),
        Some(Value::Object(object)) => Ok(Some(object)),
        Some(value) if !crate::wire::truthy(&value) => Ok(None),
        Some(other) => Err(format!(
            "handler returned {}, expected an object",
            kind(&other)
        )),
    }
}

pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// An event object from JSON; a value that is not an object becomes an empty event.
pub(crate) fn event(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests;
