//! Executors of commands that live in an isolate: of `createBashTool(cwd, { operations })` (`spec/sdk-exports.md` §2.1),
//! and what a `user_bash` handler may give instead of the host's shell (`spec/extension-api.md` §5.8).

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use pier_agent::hooks::UserBashOutcome;
use pier_agent::tools::BashResult;
use pier_agent::tools::operations::{
    BashExec, BashExecError, BashExit, BashOperations, OutputSink,
};
use serde_json::{Map, Value, json};

use crate::calls::Purpose;
use crate::host::Shared;
use crate::host::slot::IsolateSlot;
use crate::report::describe;
use crate::tools::operations::environment_json;
use crate::wire::ExtId;

/// Reads the winning result of the extension at `from`.
pub(crate) fn outcome(
    shared: &Arc<Shared>,
    from: &str,
    result: &Map<String, Value>,
) -> Result<UserBashOutcome, String> {
    let given = |name: &str| result.get(name).filter(|value| crate::wire::truthy(value));
    match (given("result"), given("operations")) {
        (Some(_), Some(_)) => Err("give either \"result\" or \"operations\", not both".into()),
        (Some(result), None) => {
            serde_json::from_value::<BashResult>(with_exit_code(result.clone()))
                .map(UserBashOutcome::Result)
                .map_err(|error| format!("\"result\": {error}"))
        }
        (None, Some(operations)) => {
            let handle = operations
                .get("handle")
                .and_then(Value::as_u64)
                .ok_or("\"operations\" has no exec function")?;
            let info = shared
                .registry
                .infos()
                .into_iter()
                .find(|info| info.path == from)
                .ok_or("the extension is gone")?;
            Ok(UserBashOutcome::Operations(Arc::new(Executor {
                shared: Arc::downgrade(shared),
                isolate: info.isolate.clone(),
                ext: info.id,
                handle,
                what: "user_bash",
                environment: false,
            })))
        }
        (None, None) => Err("it has neither \"result\" nor \"operations\"".into()),
    }
}

/// `exitCode: null` means the same as a missing one.
fn with_exit_code(mut result: Value) -> Value {
    if let Some(map) = result.as_object_mut() {
        map.retain(|_, value| !value.is_null());
    }
    result
}

/// An `exec` function of an isolate, released when this is dropped.
pub(crate) struct Executor {
    shared: Weak<Shared>,
    isolate: Arc<IsolateSlot>,
    ext: ExtId,
    handle: u64,
    /// For messages.
    what: &'static str,
    /// Whether the function gets the environment as well.
    environment: bool,
}

impl Executor {
    /// `operations` of a bash tool.
    pub(crate) fn for_tool(
        shared: &Arc<Shared>,
        isolate: Arc<IsolateSlot>,
        ext: ExtId,
        handle: u64,
    ) -> Self {
        Self {
            shared: Arc::downgrade(shared),
            isolate,
            ext,
            handle,
            what: "bash",
            environment: true,
        }
    }
}

#[async_trait]
impl BashOperations for Executor {
    async fn exec(&self, request: BashExec, output: OutputSink) -> Result<BashExit, BashExecError> {
        let ended = || BashExecError::Failed("the extension host has ended".to_owned());
        let shared = self.shared.upgrade().ok_or_else(ended)?;
        let scope = shared.calls.begin(
            self.ext,
            self.what,
            Purpose::Bash(output),
            request.cancel.child_token(),
        );
        let header = json!({"handle": self.handle, "callId": scope.id(), "ext": self.ext});
        let mut payload = json!({"command": request.command, "cwd": request.cwd});
        if let Some(timeout) = request.timeout {
            payload["timeout"] = json!(timeout.as_secs_f64());
        }
        if self.environment {
            payload["env"] = environment_json(&request.env);
        }
        let answer = shared
            .invoke_json(
                &self.isolate,
                "bashExec",
                &header,
                Some(payload.to_string().into()),
                &scope,
                None,
            )
            .await;
        match answer {
            _ if request.cancel.is_cancelled() => Err(BashExecError::Aborted),
            // `null`: the executor only knows that the command has no exit code. That is no abort.
            Ok(answer) => Ok(BashExit {
                code: answer
                    .get("exitCode")
                    .and_then(Value::as_i64)
                    .and_then(|code| i32::try_from(code).ok()),
            }),
            Err(error) => Err(BashExecError::from_message(&describe(self.what, &error))),
        }
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        if let Ok(api) = self.isolate.api() {
            api.post(
                "release",
                json!({"handles": [self.handle]}).to_string(),
                None,
            );
        }
    }
}
