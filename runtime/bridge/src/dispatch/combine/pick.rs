//! Rules that choose one result: last truthy, first truthy, first decided trust.

use serde_json::{Map, Value};

use super::{Answerer, Combine, Combiner, Edited, Flow};
use crate::wire::{DispatchAnswer, truthy};

/// L: the last truthy result that can be read wins; `cancel: true` ends the dispatch. In-place edits of the event are kept.
pub(crate) struct LastResult<T, R> {
    event: Edited,
    read: R,
    result: Option<T>,
}

impl<T, R: Fn(Answerer<'_>, Map<String, Value>) -> Result<T, String>> LastResult<T, R> {
    /// Starts with an event; `read` says what a result means.
    pub(crate) fn new(event: Map<String, Value>, read: R) -> Self {
        Self {
            event: Edited::new(event),
            read,
            result: None,
        }
    }

    /// The winning result.
    pub(crate) fn into_result(self) -> Option<T> {
        self.result
    }
}

impl<T, R> Combiner for LastResult<T, R>
where
    T: Send,
    R: Fn(Answerer<'_>, Map<String, Value>) -> Result<T, String> + Send,
{
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
            let cancelled = cancelled(&result);
            self.result = Some((self.read)(by, result)?);
            if cancelled {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }
}

/// Whether a result asks to stop what it is about.
pub(crate) fn cancelled(result: &Map<String, Value>) -> bool {
    result.get("cancel") == Some(&Value::Bool(true))
}

/// F: the first truthy result wins and ends the dispatch. A truthy result with none of the wanted keys, or one that cannot be
/// read, is complained about and does not end it (`spec/extension-api.md` §5.8).
pub(crate) struct FirstResult<T, R> {
    event: Map<String, Value>,
    wanted: &'static [&'static str],
    read: R,
    result: Option<T>,
}

impl<T, R: Fn(Answerer<'_>, Map<String, Value>) -> Result<T, String>> FirstResult<T, R> {
    /// Starts with an event; `wanted` are the members of which a result needs one, and `read` says what it means.
    pub(crate) fn new(event: Map<String, Value>, wanted: &'static [&'static str], read: R) -> Self {
        Self {
            event,
            wanted,
            read,
            result: None,
        }
    }

    /// The winning result.
    pub(crate) fn into_result(self) -> Option<T> {
        self.result
    }
}

impl<T, R> Combiner for FirstResult<T, R>
where
    T: Send,
    R: Fn(Answerer<'_>, Map<String, Value>) -> Result<T, String> + Send,
{
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
        self.result = Some((self.read)(by, result)?);
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
