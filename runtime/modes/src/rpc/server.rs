//! Takes requests one after another and runs them at the same time (`spec/rpc.md` §2).
//!
//! Each request starts before the next one is looked at, so requests that need no waiting answer
//! in order; one that waits goes on beside the others. Exactly one response a request, whatever
//! happens inside, with the exception that the xcsh dialect makes for prompts.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt as _;
use parking_lot::Mutex;
use pier_agent::AgentSession;
use serde::Serialize;
use serde_json::Value;

use super::command::Command;
use super::gate::Gate;
use super::host_tools::HostTools;
use super::record::{Request, RequestId};
use super::requests::{Active, Requests};
use super::response;
use super::screen::Screen;
use super::ui::UiProxy;
use crate::dialect::Rules;
use crate::events::EventWriter;
use crate::extensions::Extensions;
use crate::output::OutputQueue;

/// Most requests that may be handled at the same time, and as many again that may wait for the gate, each with a few kilobytes. A client that
/// sends more has lost count.
pub(crate) const MAX_ACTIVE: usize = 16_384;

/// Everything a handler can reach.
pub(crate) struct Server {
    pub(crate) session: AgentSession,
    pub(crate) extensions: Arc<dyn Extensions>,
    pub(crate) output: OutputQueue,
    pub(crate) rules: &'static Rules,
    pub(crate) events: Arc<EventWriter>,
    pub(crate) ui: Arc<UiProxy>,
    pub(crate) screen: Arc<Screen>,
    pub(crate) host_tools: Arc<HostTools>,
    pub(crate) requests: Arc<Requests>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) client: Mutex<ClientState>,
    /// One `abort_and_prompt` at a time, from its abort to its admission.
    pub(crate) replacing_prompt: tokio::sync::Mutex<()>,
}

/// What xcsh clients store here for themselves.
#[derive(Debug, Default)]
pub(crate) struct ClientState {
    pub(crate) todo_phases: Vec<Value>,
}

/// What a handler answers.
pub(crate) enum Reply {
    /// Success without data.
    Done,
    /// Success with the JSON text of the data.
    Data(Box<serde_json::value::RawValue>),
    /// Failure with data beside the text.
    Failed { error: String, data: Value },
    /// The handler has written the response itself.
    Written,
}

impl Reply {
    /// Success with data.
    ///
    /// # Errors
    /// When the value has no JSON form.
    pub(crate) fn data<T: Serialize>(data: &T) -> Result<Self, String> {
        serde_json::value::to_raw_value(data)
            .map(Self::Data)
            .map_err(|error| error.to_string())
    }
}

/// The request a handler works for.
pub(crate) struct Context {
    pub(crate) id: RequestId,
    pub(crate) command: String,
    /// Keeps the request active; a prompt hands it to its run.
    pub(crate) active: Option<Active>,
}

impl Server {
    /// Starts one request. Returns once it has either ended or begun to wait.
    pub(crate) async fn submit(self: &Arc<Self>, request: Request) {
        let id = request.id.clone();
        let refuse =
            |error: &str| self.write(response::failure(id.as_ref(), &request.kind, error, None));
        if self.requests.count() >= MAX_ACTIVE {
            return refuse("Too many requests are being handled; wait for some of their responses");
        }
        let command = match Command::decode(&request) {
            Ok(command) => command,
            Err(error) => return refuse(&error),
        };
        let Some(active) = self.requests.enter(&request.id) else {
            return refuse("A request with this id is still being handled");
        };
        let server = Arc::clone(self);
        let mut context = Context {
            id: request.id,
            command: request.kind,
            active: Some(active),
        };
        let mut handling = Box::pin(async move {
            let outcome = AssertUnwindSafe(server.handle(command, &mut context))
                .catch_unwind()
                .await;
            let outcome =
                outcome.unwrap_or_else(|_| Err("Internal error; see standard error".to_owned()));
            server.answer(&context, outcome);
        });
        if futures::poll!(handling.as_mut()).is_pending() {
            tokio::spawn(handling);
        }
    }

    fn answer(&self, context: &Context, outcome: Result<Reply, String>) {
        let id = context.id.as_ref();
        self.write(match outcome {
            Ok(Reply::Written) => return,
            Ok(Reply::Done) => response::success::<Value>(id, &context.command, None),
            Ok(Reply::Data(data)) => response::success(id, &context.command, Some(data)),
            Ok(Reply::Failed { error, data }) => {
                response::failure(id, &context.command, &error, Some(data))
            }
            Err(error) => response::failure(id, &context.command, &error, None),
        });
    }

    /// Writes a record. That the reader is gone is noticed by the main loop.
    pub(crate) fn write(&self, line: String) {
        let _ = self.output.push(line);
    }
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
