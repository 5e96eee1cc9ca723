//! The two events around a tool call (`spec/extension-api.md` §10).

use pier_agent::hooks::ToolResultPatch;
use serde_json::{Map, Value};

use super::{Answerer, Combine, Combiner, Edited, Flow, object_result};
use crate::discovery::Profile;
use crate::tools::result::patch;
use crate::wire::{DispatchAnswer, truthy};

/// Reason of xcsh where a handler gives none; pi's stands in the agent core.
const XCSH_BLOCKED: &str = "Tool execution was blocked by an extension";

/// `tool_call`: `event.input` is what the tool will get, edited in place; the last truthy result counts and
/// `block` ends the dispatch.
pub(crate) struct ToolCall {
    event: Edited,
    input_changed: bool,
    result: Option<Map<String, Value>>,
}

impl ToolCall {
    /// `event` has `toolCallId`, `toolName`, `input`.
    pub(crate) fn new(event: Map<String, Value>) -> Self {
        Self {
            event: Edited::new(event),
            input_changed: false,
            result: None,
        }
    }

    /// The edited arguments, if they changed, and the winning result.
    pub(crate) fn into_outcome(mut self) -> (Option<Value>, Option<Map<String, Value>>) {
        (
            self.event.take("input").filter(|_| self.input_changed),
            self.result,
        )
    }
}

impl Combiner for ToolCall {
    const RULE: Combine = Combine::Last;

    fn event(&self) -> &Map<String, Value> {
        &self.event.event
    }

    fn revision(&self) -> u64 {
        self.event.revision
    }

    fn absorb(&mut self, by: Answerer<'_>, mut answer: DispatchAnswer) -> Result<Flow, String> {
        if let Some(input) = answer
            .event
            .take()
            .and_then(|mut event| event.remove("input"))
        {
            self.event.set("input", input);
            self.input_changed = true;
        }
        if let Some(mut result) = object_result(&mut answer)? {
            let blocked = result.get("block").is_some_and(truthy);
            let reasoned = result.get("reason").is_some_and(truthy);
            if blocked && !reasoned && by.profile == Profile::Xcsh {
                result.insert("reason".into(), Value::from(XCSH_BLOCKED));
            }
            self.result = Some(result);
            if blocked {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }
}

/// Members of a result that a handler may return.
const PATCHABLE: [&str; 5] = [
    "content",
    "details",
    "isError",
    "structuredContent",
    "usage",
];

/// `tool_result`: one event object for all handlers. Returned members replace; mutations behind `content` and
/// `details` always count; plain assignments count only if some handler also returned a member.
pub(crate) struct ToolResult {
    event: Edited,
    returned: bool,
    mutated: Vec<String>,
    set: Vec<String>,
}

impl ToolResult {
    /// `event` has `toolCallId`, `toolName`, `input`, `content`, `details`, `isError`.
    pub(crate) fn new(event: Map<String, Value>) -> Self {
        Self {
            event: Edited::new(event),
            returned: false,
            mutated: Vec::new(),
            set: Vec::new(),
        }
    }

    /// The members that changed, with their final values; empty when nothing counts.
    pub(crate) fn into_patch(mut self) -> Map<String, Value> {
        let counting: Vec<String> = if self.returned {
            PATCHABLE
                .iter()
                .map(|name| (*name).to_string())
                .filter(|name| self.set.contains(name))
                .collect()
        } else {
            self.mutated.clone()
        };
        let mut patch = Map::new();
        for name in counting {
            if let Some(value) = self.event.take(&name) {
                patch.insert(name, value);
            }
        }
        patch
    }

    /// What changed; nothing of it when nothing counts.
    pub(crate) fn into_changes(self) -> Result<ToolResultPatch, String> {
        patch(self.into_patch())
    }

    fn note(list: &mut Vec<String>, name: &str) {
        if !list.iter().any(|known| known == name) {
            list.push(name.to_string());
        }
    }
}

/// Whether a member can become part of a result.
fn readable(name: &str, value: &Value) -> Result<(), String> {
    patch(Map::from_iter([(name.to_string(), value.clone())])).map(|_| ())
}

impl Combiner for ToolResult {
    const RULE: Combine = Combine::Chain;

    fn event(&self) -> &Map<String, Value> {
        &self.event.event
    }

    fn revision(&self) -> u64 {
        self.event.revision
    }

    fn absorb(&mut self, by: Answerer<'_>, mut answer: DispatchAnswer) -> Result<Flow, String> {
        let mut edits = Ok(());
        for (name, value) in answer.event.take().into_iter().flatten() {
            if !PATCHABLE.contains(&name.as_str()) || self.event.get(&name) == Some(&value) {
                continue;
            }
            if let Err(problem) = readable(&name, &value) {
                edits = Err(problem);
                continue;
            }
            if !answer.assigned.contains(&name) && matches!(name.as_str(), "content" | "details") {
                Self::note(&mut self.mutated, &name);
            }
            Self::note(&mut self.set, &name);
            self.event.set(&name, value);
        }
        let Some(mut result) = object_result(&mut answer)? else {
            return edits.map(|()| Flow::Continue);
        };
        for name in PATCHABLE {
            if let Some(value) = result.get(name) {
                readable(name, value)?;
            }
        }
        let mut content_returned = false;
        for name in PATCHABLE {
            let Some(value) = result.remove(name) else {
                continue;
            };
            self.returned = true;
            // xcsh falls back to what was there (§10 step 7).
            if name == "details" && value.is_null() && by.profile == Profile::Xcsh {
                continue;
            }
            // A null content would break every later reader; it means "no content" (spec/agent-loop.md §1.3).
            let value = if name == "content" && value.is_null() {
                Value::Array(Vec::new())
            } else {
                value
            };
            content_returned |= name == "content";
            self.event.set(name, value);
            Self::note(&mut self.set, name);
        }
        // New content without new structured content makes the old structured content a lie.
        if content_returned
            && !self.set.iter().any(|name| name == "structuredContent")
            && self.event.get("structuredContent").is_some()
        {
            self.event.set("structuredContent", Value::Null);
            Self::note(&mut self.set, "structuredContent");
        }
        edits.map(|()| Flow::Continue)
    }
}
