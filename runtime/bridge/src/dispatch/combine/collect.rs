//! Rules that collect: `before_agent_start` (messages accumulate, prompts chain) and `resources_discover`.

use std::path::Path;

use pier_agent::hooks::{DiscoveredPath, DiscoveredResources};
use pier_agent::prompt::PromptOptions;
use pier_protocol::message::CustomMessage;
use serde_json::{Map, Value};

use super::{Answerer, Combine, Combiner, Edited, Flow, kind, object_result};
use crate::dispatch::payload;
use crate::wire::{DispatchAnswer, truthy};

/// `before_agent_start`: the event shows each handler the prompt as the handlers before it left it.
pub(crate) struct AgentStart {
    event: Edited,
    /// Messages in handler order.
    messages: Vec<CustomMessage>,
    options: PromptOptions,
    edited: bool,
}

impl AgentStart {
    /// `event` has `prompt` and so on; what belongs to the system prompt is added here.
    pub(crate) fn new(mut event: Map<String, Value>, options: PromptOptions) -> Self {
        event.insert("systemPrompt".into(), Value::String(options.text()));
        event.insert("systemPromptOptions".into(), options.to_value());
        Self {
            event: Edited::new(event),
            messages: Vec::new(),
            options,
            edited: false,
        }
    }

    /// Splits into the messages and the inputs of the prompt, when handlers changed them.
    pub(crate) fn into_outcome(self) -> (Vec<CustomMessage>, Option<PromptOptions>) {
        let options = Some(self.options).filter(|_| self.edited);
        (self.messages, options)
    }

    fn take_options(&mut self, options: PromptOptions) {
        if options == self.options {
            return;
        }
        self.edited = true;
        self.options = options;
        self.event
            .set("systemPrompt", Value::String(self.options.text()));
        self.event
            .set("systemPromptOptions", self.options.to_value());
    }

    fn force(&mut self, text: String) {
        let mut options = self.options.clone();
        options.force_system_prompt = Some(text);
        self.take_options(options);
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
        let mut complaint = None;
        let edits = answer.event.take().unwrap_or_default();
        if let Some(edit) = edits.get("systemPromptOptions") {
            match PromptOptions::edited(edit) {
                Ok(options) => self.take_options(options),
                Err(problem) => complaint = Some(problem),
            }
        }
        let Some(mut result) = object_result(&mut answer)? else {
            return complaint.map_or(Ok(Flow::Continue), Err);
        };
        match result.remove("message") {
            None => {}
            Some(message) if truthy(&message) => {
                match payload::custom_message(message, payload::now_ms()) {
                    Ok(message) => self.messages.push(message),
                    Err(problem) => complaint = Some(format!("\"message\": {problem}")),
                }
            }
            Some(_) => {}
        }
        match result.remove("systemPrompt") {
            None | Some(Value::Null) => {}
            Some(Value::String(prompt)) => self.force(prompt),
            Some(Value::Array(parts)) => {
                let parts: Vec<&str> = parts.iter().filter_map(Value::as_str).collect();
                self.force(parts.join("\n\n"));
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

/// `resources_discover`.
pub(crate) struct Resources {
    event: Map<String, Value>,
    /// What was collected.
    pub(crate) found: DiscoveredResources,
}

impl Resources {
    /// `event` has `cwd` and `reason`.
    pub(crate) fn new(event: Map<String, Value>) -> Self {
        Self {
            event,
            found: DiscoveredResources::default(),
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
                Some(Value::Array(paths)) => list.extend(
                    paths
                        .iter()
                        .filter_map(Value::as_str)
                        .map(|path| DiscoveredPath {
                            extension: by.path.to_string(),
                            base_dir: by.directory.into(),
                            path: Path::new(by.directory).join(path),
                        }),
                ),
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
