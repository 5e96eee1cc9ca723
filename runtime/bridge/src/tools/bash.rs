//! What a `user_bash` handler may give instead of the host's shell (`spec/extension-api.md` §5.8): a finished result, or
//! an executor that lives in its isolate.

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
use crate::registry::ExtensionInfo;
use crate::report::describe;

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
                info,
                handle,
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

struct Executor {
    shared: Weak<Shared>,
    info: Arc<ExtensionInfo>,
    handle: u64,
}

#[async_trait]
impl BashOperations for Executor {
    async fn exec(&self, request: BashExec, output: OutputSink) -> Result<BashExit, BashExecError> {
        let ended = || BashExecError::Failed("the extension host has ended".to_owned());
        let shared = self.shared.upgrade().ok_or_else(ended)?;
        let scope = shared.calls.begin(
            self.info.id,
            "user_bash",
            Purpose::Bash(output),
            request.cancel.child_token(),
        );
        let header = json!({"handle": self.handle, "callId": scope.id(), "ext": self.info.id});
        let mut payload = json!({"command": request.command, "cwd": request.cwd});
        if let Some(timeout) = request.timeout {
            payload["timeout"] = json!(timeout.as_secs_f64());
        }
        let answer = shared
            .invoke_json(
                &self.info.isolate,
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
            Err(error) => Err(BashExecError::from_message(&describe("user_bash", &error))),
        }
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        if let Ok(api) = self.info.isolate.api() {
            api.post(
                "release",
                json!({"handles": [self.handle]}).to_string(),
                None,
            );
        }
    }
}
