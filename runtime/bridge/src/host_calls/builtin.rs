//! The built-in tools as functions of the SDK: `createReadTool(cwd, options?)` and the like (`spec/sdk-exports.md` §2.1),
//! and commands of this machine's shell.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pier_agent::tool::{ShellSettings, Tool, ToolCall, ToolContext, ToolError, ToolUpdates};
use pier_agent::tools::bash::{OutputConsumer, run_executor, time_limit};
use pier_agent::tools::operations::{BashExec, BashExecError};
use pier_agent::tools::{
    BashTool, BashToolOptions, EditTool, FindTool, GrepTool, LocalBashOperations, LsTool, ReadTool,
    ReadToolOptions, WriteTool,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::tools::{forward, output_json};
use super::{Answer, Args, Caller};
use crate::calls::{Call, Purpose};
use crate::isolate::{HostCallError, PermissionProfile};
use crate::tools::bash::Executor;
use crate::tools::operations::{RemoteOperations, environment};
use crate::wire::ExtId;

/// Built-in tools that only read.
const READING: [&str; 4] = ["read", "ls", "find", "grep"];

/// `createReadTool(cwd).execute(...)` and the like: a built-in tool without a session.
pub(super) async fn run_builtin(caller: Caller, mut args: Args<'static>) -> Answer {
    let name = args.text("name")?.to_string();
    let cwd = caller
        .shared
        .cwd()
        .join(args.optional_text("cwd")?.unwrap_or_default());
    let arguments = args.take("args");
    let call = caller.call(&args)?;
    let ext = caller.ext_of(call.as_deref());
    let own = OwnParts::read(&caller, ext, &args)?;
    // A tool over the package's own functions does what these may do. The search of `grep` stays here.
    if own.operations.is_none() || name == "grep" {
        check_permission(&caller, &name, &cwd, &arguments)?;
    }
    let within = caller.within(&mut args, call.as_deref())?;
    let options = args.take("options");
    let context = builtin_context(&caller, cwd, &options, own.operations.is_some());
    let tool = own
        .tool(&name)
        .ok_or_else(|| HostCallError::arguments(format!("there is no built-in tool \"{name}\"")))?;
    let arguments = tool
        .prepare(arguments)
        .await
        .map_err(|error| HostCallError::new(error.to_string()))?;
    let (number, handle) = (
        args.optional_number("builtinId")?.unwrap_or(0),
        args.optional_number("onUpdate")?,
    );
    let pending = caller.shared.builtin.add(caller.slot.id, number);
    let cancel = work_of(call.as_deref());
    let updates = ToolUpdates::new();
    let request = ToolCall {
        id: format!("builtin-{number}"),
        args: arguments,
        cancel: cancel.clone(),
        updates: updates.clone(),
        context,
    };
    let run = async {
        let run = within.run(tool.execute(request));
        let outcome = pending.run(&cancel, run).await;
        updates.close();
        outcome
    };
    let (outcome, ()) = tokio::join!(run, forward(&caller, ext, handle, updates.clone()));
    match outcome {
        Ok(output) => Ok(Some(output_json(&output))),
        Err(error @ (ToolError::Failed(_) | ToolError::Aborted)) => {
            Err(HostCallError::new(error.to_string()))
        }
    }
}

/// Cancels what is done for a call: it ends with the call only when that is given up.
fn work_of(call: Option<&Call>) -> CancellationToken {
    call.map_or_else(CancellationToken::new, |call| call.gone.child_token())
}

/// What the tool was made with that only its package can do.
struct OwnParts {
    operations: Option<Operations>,
    spawn_hook: Option<RemoteOperations>,
}

enum Operations {
    Files(RemoteOperations),
    Shell(Executor),
}

impl OwnParts {
    fn read(caller: &Caller, ext: ExtId, args: &Args<'_>) -> Result<Self, HostCallError> {
        let remote = |handle, offers| RemoteOperations::new(caller.clone(), ext, handle, offers);
        let operations = match (
            args.optional_number("operations")?,
            args.optional_number("shell")?,
        ) {
            (Some(handle), _) => Some(Operations::Files(remote(handle, args.texts("offers")?))),
            (None, Some(handle)) => Some(Operations::Shell(Executor::for_tool(
                &caller.shared,
                caller.slot.clone(),
                ext,
                handle,
            ))),
            (None, None) => None,
        };
        let spawn_hook = args.optional_number("spawnHook")?;
        Ok(Self {
            operations,
            spawn_hook: spawn_hook.map(|handle| remote(handle, Vec::new())),
        })
    }

    fn tool(self, name: &str) -> Option<Arc<dyn Tool>> {
        let (files, shell) = match self.operations {
            Some(Operations::Files(files)) => (Some(Arc::new(files)), None),
            Some(Operations::Shell(shell)) => (None, Some(shell)),
            None => (None, None),
        };
        Some(match name {
            "read" => Arc::new(ReadTool::new(ReadToolOptions {
                operations: files.map(|files| files as _),
                images: None,
            })),
            "write" => Arc::new(WriteTool::new(files.map(|files| files as _))),
            "edit" => Arc::new(EditTool::new(files.map(|files| files as _))),
            "grep" => Arc::new(GrepTool::new(files.map(|files| files as _))),
            "find" => Arc::new(FindTool::new(files.map(|files| files as _))),
            "ls" => Arc::new(LsTool::new(files.map(|files| files as _))),
            "bash" => Arc::new(BashTool::new(BashToolOptions {
                operations: shell.map(|shell| Arc::new(shell) as _),
                spawn_hook: self.spawn_hook.map(|hook| Arc::new(hook) as _),
                ..BashToolOptions::default()
            })),
            _ => return None,
        })
    }
}

/// The session's settings, and what the tool was made with on top of them.
fn builtin_context(caller: &Caller, cwd: PathBuf, options: &Value, elsewhere: bool) -> ToolContext {
    let mut context = match caller.shared.session() {
        Some(session) => session.tool_context(),
        None => ToolContext::detached(PathBuf::new()),
    };
    context.cwd = cwd;
    if elsewhere {
        // Shell and prefix of the settings are for this machine.
        context.shell = ShellSettings::default();
    }
    if let Some(resize) = options.get("autoResizeImages").and_then(Value::as_bool) {
        context.resize_images = resize;
    }
    let text = |name: &str| options.get(name).and_then(Value::as_str);
    if let Some(path) = text("shellPath") {
        context.shell.path = Some(path.into());
    }
    if let Some(prefix) = text("commandPrefix") {
        context.shell.command_prefix = Some(prefix.to_owned());
    }
    if options.get("exposeSessionEnvironment") == Some(&Value::Bool(false)) {
        context.env.clear();
    }
    context
}

pub(super) fn cancel_builtin(caller: &Caller, args: Args<'_>) -> Answer {
    caller
        .shared
        .builtin
        .cancel(caller.slot.id, args.number("builtinId")?, ());
    Ok(None)
}

/// A restricted package reads below the project and its own directory, and does nothing else.
fn check_permission(
    caller: &Caller,
    name: &str,
    cwd: &std::path::Path,
    arguments: &Value,
) -> Result<(), HostCallError> {
    if caller.slot.permissions == PermissionProfile::Trusted {
        return Ok(());
    }
    if !READING.contains(&name) {
        return caller.require_trust(&format!("the built-in tool \"{name}\""));
    }
    let path = ["path", "file_path"]
        .iter()
        .find_map(|key| arguments.get(*key).and_then(Value::as_str));
    let target = cwd.join(path.unwrap_or_default());
    // A path that does not exist cannot be read; its nearest existing ancestor decides.
    let real = target
        .ancestors()
        .find_map(|path| std::fs::canonicalize(path).ok())
        .unwrap_or_default();
    let roots: Vec<PathBuf> = [caller.shared.cwd(), caller.slot.root.clone()]
        .into_iter()
        .filter_map(|root| std::fs::canonicalize(root).ok())
        .collect();
    if roots.iter().any(|root| real.starts_with(root))
        && !target.components().any(|part| part.as_os_str() == "..")
    {
        Ok(())
    } else {
        caller.require_trust(&format!("reading {}", target.display()))
    }
}

/// `createLocalBashOperations().exec`: a command of this machine's shell, as the built-in `bash` runs it.
pub(super) async fn local_bash(caller: Caller, mut args: Args<'static>) -> Answer {
    caller.require_trust("bash")?;
    let call = caller.call(&args)?;
    let number = args.number("builtinId")?;
    let pending = caller.shared.builtin.add(caller.slot.id, number);
    let cancel = work_of(call.as_deref());
    let seconds = args.take("timeout").as_f64();
    let variables = args.take_object("env")?.into_iter();
    let request = BashExec {
        command: args.text("command")?.to_owned(),
        cwd: caller.shared.cwd().join(args.text("cwd")?),
        env: environment(variables.filter_map(|(name, value)| match value {
            Value::String(value) => Some((name, value)),
            _ => None,
        })),
        timeout: time_limit(seconds),
        cancel: cancel.clone(),
    };
    let shell = args.optional_text("shellPath")?.map(PathBuf::from);
    let operations = LocalBashOperations::new(shell);
    let mut output = Output {
        caller: caller.clone(),
        ext: caller.ext_of(call.as_deref()),
        handle: args.number("onData")?,
    };
    let run = run_executor(&operations, request, &mut output);
    match pending.run(&cancel, run).await {
        Ok(exit) => Ok(Some(json!({"exitCode": exit.code}))),
        Err(BashExecError::TimedOut { .. }) => Err(HostCallError::new(format!(
            "timeout:{}",
            seconds.unwrap_or_default()
        ))),
        Err(error) => Err(HostCallError::new(error.to_string())),
    }
}

/// Hands output to the isolate, one chunk after the other.
struct Output {
    caller: Caller,
    ext: ExtId,
    handle: u64,
}

#[async_trait]
impl OutputConsumer for Output {
    async fn take(&mut self, chunk: bytes::Bytes) {
        let data = json!([STANDARD.encode(&chunk)]);
        // A listener that fails is the isolate's to report; the command goes on.
        let _ = self
            .caller
            .callback(self.ext, "onData", self.handle, data, Purpose::Other)
            .await;
    }
}
