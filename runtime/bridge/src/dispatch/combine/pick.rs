//! Rules that choose one result: last truthy, first truthy, first decided trust.

use serde_json::{Map, Value};

use super::{Answerer, Combine, Combiner, Edited, Flow};
use crate::wire::{DispatchAnswer, truthy};

/// L: the last truthy result wins; `cancel: true` ends the dispatch. In-place edits of the event are kept.
pub(crate) struct LastResult {
    event: Edited,
    result: Option<Map<String, Value>>,
    from: Option<String>,
}

impl LastResult {
    /// Starts with an event.
    pub(crate) fn new(event: Map<String, Value>) -> Self {
        Self {
            event: Edited::new(event),
            result: None,
            from: None,
        }
    }

    /// The winning result and the path of the extension that gave it.
    pub(crate) fn into_result(self) -> Option<(Map<String, Value>, String)> {
        self.result.zip(self.from)
    }
}

impl Combiner for LastResult {
    const RULE: Combine = Combine::Last;

    fn event(&self) -> &Map<String, Value> {
        &self.event.event
    }

    fn revision(&self) -> u64 {
        self.event.revision
    }

    fn absorb(&mut self, by: Answerer<'_>, mut answer: DispatchAnswer) -> Result<Flow, String> {
        for (name, value) in answer.event.take().into_iter().flatten() {
            self.event.set(&name, value);
        }
        if let Some(result) = super::object_result(&mut answer)? {
            let cancelled = result.get("cancel") == Some(&Value::Bool(true));
            self.result = Some(result);
            self.from = Some(by.path.to_string());
            if cancelled {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }
}

/// F: the first truthy result wins and ends the dispatch. A truthy result with none of the wanted keys is
/// complained about and does not end it (`spec/extension-api.md` §5.8).
pub(crate) struct FirstResult {
    event: Map<String, Value>,
    wanted: &'static [&'static str],
    result: Option<Map<String, Value>>,
    from: Option<String>,
}

impl FirstResult {
    /// Starts with an event; `wanted` are the members of which a result needs one.
    pub(crate) fn new(event: Map<String, Value>, wanted: &'static [&'static str]) -> Self {
        Self {
            event,
            wanted,
            result: None,
            from: None,
        }
    }

    /// The winning result and the path of the extension that gave it.
    pub(crate) fn into_result(self) -> Option<(Map<String, Value>, String)> {
        self.result.zip(self.from)
    }
}

impl Combiner for FirstResult {
    const RULE: Combine = Combine::First;

    fn event(&self) -> &Map<String, Value> {
        &self.event
    }

    fn revision(&self) -> u64 {
        0
    }

    fn absorb(&mut self, by: Answerer<'_>, mut answer: DispatchAnswer) -> Result<Flow, String> {
        let Some(result) = super::object_result(&mut answer)? else {
            return Ok(Flow::Continue);
        };
        if !self
            .wanted
            .iter()
            .any(|key| result.get(*key).is_some_and(truthy))
        {
            return Err(format!(
                "handler result has neither of: {}",
                self.wanted.join(", ")
            ));
        }
        self.result = Some(result);
        self.from = Some(by.path.to_string());
        Ok(Flow::Stop)
    }
}

/// `project_trust`: the first `yes` or `no` decides.
pub(crate) struct TrustAnswer {
    event: Map<String, Value>,
    /// Decision and whether to store it.
    pub(crate) decision: Option<(bool, bool)>,
}

impl TrustAnswer {
    /// Starts with an event.
    pub(crate) fn new(event: Map<String, Value>) -> Self {
        Self {
            event,
            decision: None,
        }
    }
}

impl Combiner for TrustAnswer {
    const RULE: Combine = Combine::First;

    fn event(&self) -> &Map<String, Value> {
        &self.event
    }

    fn revision(&self) -> u64 {
        0
    }

    fn absorb(&mut self, _: Answerer<'_>, mut answer: DispatchAnswer) -> Result<Flow, String> {
        let Some(result) = super::object_result(&mut answer)? else {
            return Ok(Flow::Continue);
        };
        let trusted = match result.get("trusted").and_then(Value::as_str) {
            Some("yes") => true,
            Some("no") => false,
            Some("undecided") | None => return Ok(Flow::Continue),
            Some(other) => {
                return Err(format!(
                    "\"trusted\" is \"{other}\", expected yes, no or undecided"
                ));
            }
        };
        let remember = result.get("remember").is_some_and(truthy);
        self.decision = Some((trusted, remember));
        Ok(Flow::Stop)
    }
}
