//! Commands that only xcsh has (`spec/rpc.md` §3.7, §7).

use serde_json::{Value, json};

use super::Outcome;
use crate::rpc::server::{Reply, Server};

impl Server {
    /// Remembered for the client; nothing here is translated.
    pub(super) fn set_locale(&self, locale: String) -> Outcome {
        self.client.lock().locale = Some(locale);
        Ok(Reply::Done)
    }

    /// Todo phases belong to the client; they are kept and given back by `get_state`.
    pub(super) fn set_todos(&self, phases: Vec<Value>) -> Outcome {
        if let Some(index) = phases.iter().position(|phase| !phase.is_object()) {
            return Err(format!("set_todos: \"phases[{index}]\" must be an object"));
        }
        let reply = Reply::data(&json!({ "todoPhases": phases }));
        self.client.lock().todo_phases = phases;
        reply
    }

    pub(super) fn set_host_tools(&self, tools: &[Value]) -> Outcome {
        let names = self.host_tools.replace(&self.session.tools(), tools)?;
        Reply::data(&json!({ "toolNames": names }))
    }
}
