//! Host calls by name: the table, and what all of them share. Every method of `docs/bridge-protocol.md` is a row.
//!
//! Synchronous calls run on the isolate's thread: they read or change shared state and never wait.

mod args;
mod builtin;
mod bus;
mod children;
mod control;
mod exec;
mod file_turns;
mod messages;
mod models;
mod register;
mod state;
mod streams;
pub(crate) mod tables;
mod tools;
pub(crate) mod ui;

use std::sync::Arc;

use futures::future::BoxFuture;
use pier_agent::tools::mutation_queue::Within;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::calls::{Call, Purpose};
use crate::host::Shared;
use crate::host::slot::IsolateSlot;
use crate::isolate::{CallError, HostCallError, PermissionProfile};
use crate::wire::ExtId;
pub(crate) use args::Args;

/// Result of a host call: JSON text, or nothing for `undefined`.
pub(crate) type Answer = Result<Option<Value>, HostCallError>;

/// The caller.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) shared: Arc<Shared>,
    pub(crate) slot: Arc<IsolateSlot>,
}

type SyncCall = fn(&Caller, Args<'_>) -> Answer;
type AsyncCall = fn(Caller, Args<'static>) -> BoxFuture<'static, Answer>;

const SYNC: &[(&str, SyncCall)] = &[
    ("register", register::register),
    ("unregister", register::unregister),
    ("unregisterProvider", register::unregister_provider),
    ("setLabel", register::set_label),
    ("state", state::state),
    ("stateVersion", state::state_version),
    ("run.watch", state::run_watch),
    ("allTools", state::all_tools),
    ("commands", state::commands),
    ("models", state::models),
    ("providers", state::providers),
    ("settings", state::settings),
    ("systemPromptOptions", state::system_prompt_options),
    ("sendMessage", messages::send_message),
    ("sendUserMessage", messages::send_user_message),
    ("appendEntry", messages::append_entry),
    ("session.append", messages::session_append),
    ("setEntryLabel", messages::set_entry_label),
    ("setActiveTools", messages::set_active_tools),
    ("setThinkingLevel", messages::set_thinking_level),
    ("setSessionName", messages::set_session_name),
    ("abort", messages::abort),
    ("shutdown", messages::shutdown),
    ("ui", ui::ui),
    ("uiState", ui::ui_state),
    ("ui.cancelDialog", ui::cancel_dialog),
    ("render.invalidate", ui::invalidate),
    ("tool.update", streams::tool_update),
    ("stream.events", streams::stream_events),
    ("bus.targets", bus::targets),
    ("bus.emit", bus::emit),
    ("log", bus::log),
    ("error", bus::error),
    ("exec.cancel", exec::cancel),
    ("executeTool.cancel", tools::cancel_nested),
    ("runBuiltinTool.cancel", builtin::cancel_builtin),
    ("fileTurn.ask", file_turns::ask),
    ("fileTurn.end", file_turns::end),
    ("complete.cancel", models::cancel_completion),
    ("modelsProblem", models::problem),
    ("child.state", children::state),
    ("child.get", children::get),
    ("child.act", children::act),
];

const ASYNC: &[(&str, AsyncCall)] = &[
    ("exec", |caller, args| Box::pin(exec::exec(caller, args))),
    ("ui.dialog", |caller, args| {
        Box::pin(ui::dialog(caller, args))
    }),
    ("waitForIdle", |caller, args| {
        Box::pin(control::wait_for_idle(caller, args))
    }),
    ("setModel", |caller, args| {
        Box::pin(control::set_model(caller, args))
    }),
    ("compact", |caller, args| {
        Box::pin(control::compact(caller, args))
    }),
    ("newSession", |caller, args| {
        Box::pin(control::new_session(caller, args))
    }),
    ("switchSession", |caller, args| {
        Box::pin(control::switch_session(caller, args))
    }),
    ("fork", |caller, args| Box::pin(control::fork(caller, args))),
    ("navigateTree", |caller, args| {
        Box::pin(control::navigate_tree(caller, args))
    }),
    ("reload", |caller, args| {
        Box::pin(control::reload(caller, args))
    }),
    ("executeTool", |caller, args| {
        Box::pin(tools::execute_nested(caller, args))
    }),
    ("runBuiltinTool", |caller, args| {
        Box::pin(builtin::run_builtin(caller, args))
    }),
    ("localBash", |caller, args| {
        Box::pin(builtin::local_bash(caller, args))
    }),
    ("fileTurn.wait", |caller, args| {
        Box::pin(file_turns::wait(caller, args))
    }),
    ("session.artifact", |caller, args| {
        Box::pin(state::artifact(caller, args))
    }),
    ("putBlob", |caller, args| {
        Box::pin(state::put_blob(caller, args))
    }),
    ("getApiKey", |caller, args| {
        Box::pin(models::get_api_key(caller, args))
    }),
    ("requestAuth", |caller, args| {
        Box::pin(models::request_auth(caller, args))
    }),
    ("complete", |caller, args| {
        Box::pin(models::complete(caller, args))
    }),
    ("refreshModels", |caller, args| {
        Box::pin(models::refresh_models(caller, args))
    }),
    ("stream.event", |caller, args| {
        Box::pin(streams::stream_event(caller, args))
    }),
    ("stream.drain", |caller, args| {
        Box::pin(streams::stream_drain(caller, args))
    }),
    ("stream.payload", |caller, args| {
        Box::pin(streams::stream_payload(caller, args))
    }),
    ("stream.response", |caller, args| {
        Box::pin(streams::stream_response(caller, args))
    }),
    ("bash.data", |caller, args| {
        Box::pin(streams::bash_data(caller, args))
    }),
    ("child.create", |caller, args| {
        Box::pin(children::create(caller, args))
    }),
    ("child.resources", |caller, args| {
        Box::pin(children::resources(caller, args))
    }),
    ("child.run", |caller, args| {
        Box::pin(children::run(caller, args))
    }),
    ("oauth.interact", |caller, args| {
        Box::pin(ui::oauth_interact(caller, args))
    }),
];

/// Answers a synchronous call.
pub(crate) fn call_sync(
    shared: &Arc<Shared>,
    slot: &Arc<IsolateSlot>,
    method: &str,
    text: &str,
) -> Result<Option<String>, HostCallError> {
    let caller = Caller {
        shared: shared.clone(),
        slot: slot.clone(),
    };
    if method == "session.sync" {
        // The entries are text already; they are not parsed on the way.
        return state::session_sync(&caller, &Args::parse(method, text)?).map(Some);
    }
    if method == "child.sync" {
        return children::sync(&caller, &Args::parse(method, text)?).map(Some);
    }
    let call = SYNC
        .iter()
        .find(|(name, _)| *name == method)
        .ok_or_else(|| unknown(method))?
        .1;
    Ok(call(&caller, Args::parse(method, text)?)?.map(|value| value.to_string()))
}

/// Answers an asynchronous call.
pub(crate) async fn call_async(
    shared: Arc<Shared>,
    slot: Arc<IsolateSlot>,
    method: String,
    text: String,
) -> Result<Option<String>, HostCallError> {
    let (name, call) = ASYNC
        .iter()
        .find(|(name, _)| *name == method)
        .ok_or_else(|| unknown(&method))?;
    let args = Args::parse(name, &text)?;
    let answer = call(Caller { shared, slot }, args).await?;
    Ok(answer.map(|value| value.to_string()))
}

fn unknown(method: &str) -> HostCallError {
    HostCallError::arguments(format!("host call \"{method}\" does not exist"))
}

impl Caller {
    /// The calling extension: `ext` must live in the calling isolate.
    pub(crate) fn ext(&self, args: &Args<'_>) -> Result<ExtId, HostCallError> {
        let ext = ExtId::try_from(args.number("ext")?).unwrap_or(0);
        if self.slot.ids().contains(&ext) {
            Ok(ext)
        } else {
            Err(HostCallError::arguments(format!(
                "extension {ext} does not live in this isolate"
            )))
        }
    }

    /// The extension that a call belongs to; without one the isolate's first.
    pub(crate) fn ext_of(&self, call: Option<&Call>) -> ExtId {
        call.map(|call| call.ext)
            .or_else(|| self.slot.ids().first().copied())
            .unwrap_or_default()
    }

    /// Path of the calling extension for reports, loaded or not.
    pub(crate) fn path(&self, ext: ExtId) -> String {
        match self.shared.registry.get(ext) {
            Some(info) => info.path.clone(),
            None => self.slot.reported_path(None),
        }
    }

    /// The quoted call. Fails for a revoked one; `None` when none is quoted or it has ended.
    pub(crate) fn call(&self, args: &Args<'_>) -> Result<Option<Arc<Call>>, HostCallError> {
        let id = args.optional_number("callId")?;
        let call = self.shared.calls.check(id)?;
        match call {
            Some(call) if !self.slot.ids().contains(&call.ext) => Err(HostCallError::arguments(
                "\"callId\" belongs to another isolate",
            )),
            other => Ok(other),
        }
    }

    /// An open call of a certain purpose.
    pub(crate) fn open_call(&self, args: &Args<'_>) -> Result<Arc<Call>, HostCallError> {
        args.number("callId")?;
        self.call(args)?
            .ok_or_else(|| HostCallError::new("This call has ended."))
    }

    /// Turns in the queues of files that the calling code is part of: those that its call was made in, and those that it has.
    pub(crate) fn within(
        &self,
        args: &mut Args<'_>,
        call: Option<&Call>,
    ) -> Result<Within, HostCallError> {
        let mut within = call.map(|call| call.within.clone()).unwrap_or_default();
        // A turn that is over does not count, whatever names it.
        for number in args.take_array("inside")?.iter().filter_map(Value::as_u64) {
            within.extend(&self.shared.file_turns.within(self.slot.id, number));
        }
        Ok(within)
    }

    /// Refuses what a restricted package may not do.
    pub(crate) fn require_trust(&self, what: &str) -> Result<(), HostCallError> {
        match self.slot.permissions {
            PermissionProfile::Trusted => Ok(()),
            PermissionProfile::Restricted => Err(HostCallError::of(
                "PermissionDenied",
                format!(
                    "{what} is not allowed: the package {} runs with restricted permissions (setting extensionPermissions)",
                    self.slot.package.0
                ),
            )),
        }
    }

    /// A model as this package may see it: headers are where people put keys of endpoints that want more than one.
    fn hide_headers(&self, model: &mut Value) {
        if self.slot.permissions == PermissionProfile::Restricted
            && let Some(members) = model.as_object_mut()
        {
            members.shift_remove("headers");
        }
    }

    /// Refuses to wait for the agent inside a handler that the agent waits for.
    pub(crate) fn refuse_deadlock(
        &self,
        method: &str,
        args: &Args<'_>,
    ) -> Result<(), HostCallError> {
        let id = args.optional_number("callId")?;
        let ext = self.slot.ids().first().copied();
        match self.shared.calls.would_deadlock(id, ext) {
            None => Ok(()),
            Some(what) => Err(HostCallError::new(format!(
                "{method}() cannot be used here: the agent is waiting for \"{what}\" of this extension, so it would wait for itself"
            ))),
        }
    }

    /// Calls a function of the isolate that was passed as a handle.
    pub(crate) async fn callback(
        &self,
        ext: ExtId,
        what: &str,
        handle: u64,
        arguments: Value,
        purpose: Purpose,
    ) -> Result<Value, CallError> {
        let scope = self
            .shared
            .calls
            .begin(ext, what, purpose, CancellationToken::new());
        let header = serde_json::json!({"handle": handle, "callId": scope.id()});
        let deadline = self.shared.limits.read().long;
        let payload: Arc<str> = arguments.to_string().into();
        self.shared
            .invoke_json(
                &self.slot,
                "callback",
                &header,
                Some(payload),
                &scope,
                deadline,
            )
            .await
    }
}

/// Starts an operation whose first steps must be visible at once, and lets the rest go on by itself.
pub(crate) fn start_now<F>(shared: &Shared, operation: F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut operation: BoxFuture<'static, ()> = Box::pin(operation);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    if operation.as_mut().poll(&mut context).is_pending() {
        // Polled again with a real waker, so nothing that happened in between is missed.
        shared.runtime.spawn(operation);
    }
}

#[cfg(test)]
mod tests {
    use super::{ASYNC, SYNC};

    /// The protocol page and the table must name the same methods.
    #[test]
    fn every_method_of_the_protocol_page_is_in_the_table() {
        let page = include_str!("../../../../docs/bridge-protocol.md");
        let tables = page
            .split("## Isolate to host, synchronous")
            .nth(1)
            .unwrap();
        let mut documented: Vec<String> = Vec::new();
        for line in tables.lines().filter(|line| line.starts_with("| `")) {
            let cell = line.split('|').nth(1).unwrap();
            documented.extend(cell.split('`').skip(1).step_by(2).map(str::to_string));
        }
        assert!(documented.len() > 50);
        for method in documented {
            let known = matches!(method.as_str(), "session.sync" | "child.sync")
                || SYNC.iter().any(|(name, _)| *name == method)
                || ASYNC.iter().any(|(name, _)| *name == method);
            assert!(known, "{method} is documented but not implemented");
        }
    }
}
