//! Rules that collect: `before_agent_start` (messages accumulate, prompts chain) and `resources_discover`.

use serde_json::{Map, Value};

use super::{Answerer, Combine, Combiner, Edited, Flow, kind, object_result};
use crate::wire::{DispatchAnswer, truthy};

/// `before_agent_start` (`spec/extension-api.md` §5.6).
pub(crate) struct AgentStart {
    event: Edited,
    /// Messages in handler order.
    pub(crate) messages: Vec<Value>,
    prompt_changed: bool,
}

impl AgentStart {
    /// `event` has `prompt`, `systemPrompt` and so on.
    pub(crate) fn new(event: Map<String, Value>) -> Self {
        Self {
            event: Edited::new(event),
            messages: Vec::new(),
            prompt_changed: false,
        }
    }

    /// Splits into the messages and the system prompt, when one was returned.
    pub(crate) fn into_outcome(mut self) -> (Vec<Value>, Option<String>) {
        let prompt = match self.event.take("systemPrompt") {
            Some(Value::String(prompt)) if self.prompt_changed => Some(prompt),
            _ => None,
        };
        (self.messages, prompt)
    }
}

impl Combiner for AgentStart {
    const RULE: Combine = Combine::Chain;

    fn event(&self) -> &Map<String, Value> {
        &self.event.event
    }

    fn revision(&self) -> u64 {
        self.event.revision
    }

    fn absorb(&mut self, _: Answerer<'_>, mut answer: DispatchAnswer) -> Result<Flow, String> {
        for (name, value) in answer.event.take().into_iter().flatten() {
            self.event.set(&name, value);
        }
        let Some(mut result) = object_result(&mut answer)? else {
            return Ok(Flow::Continue);
        };
        let mut complaint = None;
        match result.remove("message") {
            None => {}
            Some(message @ Value::Object(_)) => self.messages.push(message),
            Some(other) if !truthy(&other) => {}
            Some(other) => {
                complaint = Some(format!(
                    "\"message\" is {}, expected an object",
                    kind(&other)
                ))
            }
        }
        match result.remove("systemPrompt") {
            None | Some(Value::Null) => {}
            Some(prompt @ Value::String(_)) => {
                self.event.set("systemPrompt", prompt);
                self.prompt_changed = true;
            }
            Some(Value::Array(parts)) => {
                let parts: Vec<&str> = parts.iter().filter_map(Value::as_str).collect();
                self.event
                    .set("systemPrompt", Value::String(parts.join("\n\n")));
                self.prompt_changed = true;
            }
            Some(other) => {
                complaint = Some(format!(
                    "\"systemPrompt\" is {}, expected a string",
                    kind(&other)
                ))
            }
        }
        complaint.map_or(Ok(Flow::Continue), Err)
    }
}

/// Paths that `resources_discover` handlers returned, each with the extension that gave it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DiscoveredPaths {
    /// (extension path, directory of its entry, path as returned)
    pub(crate) skills: Vec<(String, String, String)>,
    /// As `skills`.
    pub(crate) prompts: Vec<(String, String, String)>,
    /// As `skills`.
    pub(crate) themes: Vec<(String, String, String)>,
}

/// `resources_discover`.
pub(crate) struct Resources {
    event: Map<String, Value>,
    /// What was collected.
    pub(crate) found: DiscoveredPaths,
}

impl Resources {
    /// `event` has `cwd` and `reason`.
    pub(crate) fn new(event: Map<String, Value>) -> Self {
        Self {
            event,
            found: DiscoveredPaths::default(),
        }
    }
}

impl Combiner for Resources {
    const RULE: Combine = Combine::Accumulate;

    fn event(&self) -> &Map<String, Value> {
        &self.event
    }

    fn revision(&self) -> u64 {
        0
    }

    fn absorb(&mut self, by: Answerer<'_>, mut answer: DispatchAnswer) -> Result<Flow, String> {
        let Some(result) = object_result(&mut answer)? else {
            return Ok(Flow::Continue);
        };
        let mut complaint = None;
        for (key, list) in [
            ("skillPaths", &mut self.found.skills),
            ("promptPaths", &mut self.found.prompts),
            ("themePaths", &mut self.found.themes),
        ] {
            match result.get(key) {
                None | Some(Value::Null) => {}
                Some(Value::Array(paths)) => {
                    list.extend(paths.iter().filter_map(Value::as_str).map(|path| {
                        (
                            by.path.to_string(),
                            by.directory.to_string(),
                            path.to_string(),
                        )
                    }))
                }
                Some(other) => {
                    complaint = Some(format!(
                        "\"{key}\" is {}, expected an array of strings",
                        kind(other)
                    ))
                }
            }
        }
        complaint.map_or(Ok(Flow::Continue), Err)
    }
}
