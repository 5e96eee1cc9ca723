//! The thread of one isolate: builds it, waits for an owner, then runs calls and the event loop until something ends it.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use deno_core::error::{CoreError, CoreErrorKind};
use deno_core::{PollEventLoopOptions, v8};
use deno_runtime::deno_os::{WatcherExitHandle, WatcherExited};
use deno_runtime::worker::MainWorker;
use tokio::sync::{mpsc, oneshot};

use crate::error::StopReason;
use crate::fault::JsFault;
use crate::host::{HostError, HostResult, HostServices, IsolateFault};
use crate::isolate::{CallRequest, Command};
use crate::loader::{self, DiskCache, PierLoader};
use crate::ops::OpSink;
use crate::options::Permissions;
use crate::shared::Shared;
use crate::{interrupt, lost, stdio, worker};

/// What a warm isolate becomes when somebody takes it.
pub(crate) struct Adoption {
    pub(crate) host: Arc<dyn HostServices>,
    pub(crate) permissions: Permissions,
}

pub(crate) struct ThreadContext {
    pub(crate) shared: Arc<Shared>,
    pub(crate) commands: mpsc::UnboundedReceiver<Command>,
    pub(crate) adoption: oneshot::Receiver<Adoption>,
    pub(crate) output: stdio::OutputTarget,
    pub(crate) cache: Option<Arc<DiskCache>>,
    pub(crate) heap_limit: usize,
    /// Where host futures and output readers run.
    pub(crate) runtime: tokio::runtime::Handle,
}

/// The body of the thread. Never panics outwards: a panic ends this isolate with `Internal`.
pub(crate) fn main(context: ThreadContext) {
    let shared = context.shared.clone();
    let _lost = lost::Guard::new(shared.clone());
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(context)));
    let reason = match outcome {
        Ok(Ok(())) => StopReason::Disposed,
        Ok(Err(message)) => StopReason::Internal(message),
        Err(panic) => {
            let message = panic
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
            StopReason::Internal(message.unwrap_or_else(|| "its thread panicked".to_string()))
        }
    };
    shared.stop(reason);
}

fn run(context: ThreadContext) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, live(context))
}

async fn live(context: ThreadContext) -> Result<(), String> {
    let ThreadContext {
        shared,
        mut commands,
        adoption,
        output,
        cache,
        heap_limit,
        runtime,
    } = context;
    let drained = shared.clone();
    let pipe = stdio::output_pipe(&runtime, output, move || drained.note_drained())
        .map_err(|error| format!("cannot make its output pipe: {error}"))?;
    let loader = PierLoader::new(cache, shared.source_maps.clone());
    let mut worker = worker::build(
        &loader,
        pipe.try_clone().map_err(|error| error.to_string())?,
        heap_limit,
    )
    .map_err(|error| error.to_string())?;
    let handle = worker.js_runtime.v8_isolate().thread_safe_handle();
    shared.attach(handle.clone());
    interrupt::set_context(Some(worker.js_runtime.main_context()));
    watch_heap(&mut worker, &shared, heap_limit);
    let natives = take_natives(&mut worker)?;

    let Ok(adoption) = adoption.await else {
        interrupt::set_context(None);
        return Ok(());
    };
    shared.set_host(&adoption.host);
    loader.set_host(adoption.host.clone());
    if let Permissions::ReadOnly(folders) = &adoption.permissions {
        loader.sources.limit_reading(folders.clone());
    }
    worker::set_permissions(&mut worker, &adoption.permissions)?;
    let sink: Rc<dyn OpSink> = Rc::new(Sink {
        shared: shared.clone(),
        host: adoption.host.clone(),
        runtime,
        loader: loader.clone(),
    });
    {
        let state = worker.js_runtime.op_state();
        let mut state = state.borrow_mut();
        state.put::<Rc<dyn OpSink>>(sink);
        state.put(WatcherExitHandle(handle));
    }
    call_native(&mut worker, &natives.start, &[]).map_err(|fault| fault.to_string())?;

    let mut isolate = Running {
        worker,
        shared: shared.clone(),
        natives,
        host: adoption.host.clone(),
        loader,
    };
    std::future::poll_fn(|cx| isolate.poll(cx, &mut commands)).await;
    if shared.stop_reason().is_none() {
        isolate.run_exit_handlers();
    }
    stdio::end_output(&pipe);
    let first = shared.stop(StopReason::Disposed);
    if !first
        && let Some(reason) = shared
            .stop_reason()
            .filter(|reason| !matches!(reason, StopReason::Disposed | StopReason::Terminated(_)))
    {
        adoption.host.report(IsolateFault::Stopped(reason));
    }
    isolate
        .worker
        .js_runtime
        .v8_isolate()
        .cancel_terminate_execution();
    isolate.worker.run_napi_ref_finalizers();
    interrupt::set_context(None);
    Ok(())
}

/// What a full heap may still take until its code has stopped, in bytes.
const HEAP_RESERVE: usize = 512 * 1024 * 1024;

/// Ends the isolate before V8 would end the process. V8 needs a larger limit back, to unwind in. The first time the code is asked to stop at
/// its place; where it allocates on without reaching a stack check, the second time ends it.
fn watch_heap(worker: &mut MainWorker, shared: &Arc<Shared>, heap_limit: usize) {
    let shared = shared.clone();
    let mut asked = false;
    worker
        .js_runtime
        .add_near_heap_limit_callback(move |current, _initial| {
            let reason = StopReason::HeapLimit {
                limit_bytes: heap_limit,
                at: None,
            };
            if asked {
                shared.stop(reason);
                return current.saturating_mul(2);
            }
            asked = true;
            interrupt::request(&shared, reason);
            // Room for the largest single allocation: V8 ends the process when one still fails.
            current.saturating_mul(2).max(current + HEAP_RESERVE)
        });
}

struct Natives {
    dispatch: v8::Global<v8::Function>,
    start: v8::Global<v8::Function>,
}

/// Takes the functions that `js/host.js` left on the global object, and the property with them.
fn take_natives(worker: &mut MainWorker) -> Result<Natives, String> {
    let context = worker.js_runtime.main_context();
    deno_core::scope!(scope, &mut worker.js_runtime);
    let context = v8::Local::new(scope, context);
    let global = context.global(scope);
    let key = v8::String::new(scope, "__pierNatives").ok_or("V8 has no memory")?;
    let natives = global
        .get(scope, key.into())
        .and_then(|value| value.to_object(scope))
        .ok_or("the snapshot has no natives")?;
    let take = |name: &str| -> Result<v8::Global<v8::Function>, String> {
        let key = v8::String::new(scope, name).ok_or("V8 has no memory")?;
        let value = natives
            .get(scope, key.into())
            .ok_or_else(|| format!("the snapshot has no native {name}"))?;
        let function: v8::Local<v8::Function> = value
            .try_into()
            .map_err(|_| format!("the native {name} is not a function"))?;
        Ok(v8::Global::new(scope, function))
    };
    let natives = Natives {
        dispatch: take("dispatch")?,
        start: take("start")?,
    };
    global.delete(scope, key.into());
    Ok(natives)
}

enum Argument<'a> {
    Number(u32),
    Text(&'a str),
    Undefined,
}

fn call_native(
    worker: &mut MainWorker,
    function: &v8::Global<v8::Function>,
    arguments: &[Argument<'_>],
) -> Result<(), JsFault> {
    deno_core::scope!(scope, &mut worker.js_runtime);
    v8::tc_scope!(scope, scope);
    let function = v8::Local::new(scope, function);
    let undefined: v8::Local<v8::Value> = v8::undefined(scope).into();
    let mut values = Vec::with_capacity(arguments.len());
    for argument in arguments {
        values.push(match argument {
            Argument::Number(number) => v8::Integer::new_from_unsigned(scope, *number).into(),
            Argument::Text(text) => match v8::String::new(scope, text) {
                Some(text) => text.into(),
                None => {
                    return Err(JsFault::new(
                        "RangeError",
                        "a value is too long for a JavaScript string",
                    ));
                }
            },
            Argument::Undefined => undefined,
        });
    }
    if function.call(scope, undefined, &values).is_some() {
        return Ok(());
    }
    match scope.exception() {
        Some(exception) if !scope.has_terminated() => {
            Err(JsFault::from_exception(scope, exception))
        }
        _ => Err(JsFault::new("Error", "the isolate was terminated")),
    }
}

struct Running {
    worker: MainWorker,
    shared: Arc<Shared>,
    natives: Natives,
    host: Arc<dyn HostServices>,
    loader: Rc<PierLoader>,
}

impl Running {
    /// Ready when the isolate shall end.
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        commands: &mut mpsc::UnboundedReceiver<Command>,
    ) -> Poll<()> {
        loop {
            if self.ended() {
                return Poll::Ready(());
            }
            let command = match commands.poll_recv(cx) {
                Poll::Ready(Some(Command::Call(call))) => {
                    self.start(&call);
                    continue;
                }
                Poll::Ready(Some(Command::Dispose) | None) => return Poll::Ready(()),
                Poll::Pending => Poll::<()>::Pending,
            };
            let shared = self.shared.clone();
            match shared.busy(|| {
                self.worker
                    .js_runtime
                    .poll_event_loop(cx, PollEventLoopOptions::default())
            }) {
                // Idle without anything to wait for; the next command wakes the task.
                Poll::Pending | Poll::Ready(Ok(())) if !self.ended() => return command,
                Poll::Ready(Err(error)) if !self.ended() => self.report_uncaught(&error),
                _ => return Poll::Ready(()),
            }
        }
    }

    fn start(&mut self, call: &CallRequest) {
        let arguments = [
            Argument::Number(call.id.unwrap_or(0)),
            Argument::Text(&call.kind),
            Argument::Text(&call.header),
            call.payload
                .as_deref()
                .map_or(Argument::Undefined, Argument::Text),
        ];
        let shared = self.shared.clone();
        let started =
            shared.busy(|| call_native(&mut self.worker, &self.natives.dispatch, &arguments));
        if let (Err(fault), Some(id)) = (started, call.id)
            && !self.ended()
        {
            self.shared.fail_call(id, fault);
        }
    }

    /// Whether the isolate was stopped from outside or its code asked to exit.
    fn ended(&mut self) -> bool {
        if self.shared.stop_reason().is_some() {
            return true;
        }
        let state = self.worker.js_runtime.op_state();
        let exited = state.borrow().has::<WatcherExited>();
        if exited {
            self.shared.stop(StopReason::ProcessExit {
                code: self.worker.exit_code(),
                at: self.shared.exit_place(),
            });
        }
        exited
    }

    /// An error that reached the event loop itself, past the listeners of `js/host.js`.
    fn report_uncaught(&self, error: &CoreError) {
        let mut fault = match error.as_kind() {
            CoreErrorKind::Js(error) => JsFault::from_js_error(error),
            other => JsFault::new("Error", other.to_string()),
        };
        self.loader.sources.place(&mut fault);
        self.host.report(IsolateFault::UncaughtException(fault));
    }

    /// `process.on("exit")` handlers: synchronous code only, as in Node, and under the busy limit.
    fn run_exit_handlers(&mut self) {
        let shared = self.shared.clone();
        if let Err(error) = shared.busy(|| self.worker.dispatch_process_exit_event())
            && !self.ended()
        {
            self.host
                .report(IsolateFault::UncaughtException(JsFault::from_js_error(
                    &error,
                )));
        }
    }
}

struct Sink {
    shared: Arc<Shared>,
    host: Arc<dyn HostServices>,
    runtime: tokio::runtime::Handle,
    loader: Rc<PierLoader>,
}

impl OpSink for Sink {
    fn call_done(&self, id: u32, value: Option<String>) {
        self.shared.finish_call(id, Ok(value));
    }

    fn call_failed(&self, id: u32, mut fault: JsFault) {
        self.loader.sources.place(&mut fault);
        self.shared.fail_call(id, fault);
    }

    fn host_call(&self, method: &str, args: &str) -> String {
        envelope(self.host.call_sync(method, args))
    }

    fn host_call_async(
        &self,
        method: String,
        args: String,
    ) -> Pin<Box<dyn Future<Output = String>>> {
        // On the host's runtime: it must go on while this thread runs JavaScript.
        let task = self.runtime.spawn(self.host.call_async(method, args));
        Box::pin(async move {
            envelope(match task.await {
                Ok(result) => result,
                Err(error) => Err(HostError::new(
                    "Error",
                    format!("the host call failed: {error}"),
                )),
            })
        })
    }

    fn host_module(&self, specifier: &str) -> Option<String> {
        loader::host_module_url(specifier)
    }

    fn exiting(&self, fault: JsFault) {
        self.shared.note_exit(fault.location);
    }

    fn uncaught(&self, kind: &str, mut fault: JsFault) {
        self.loader.sources.place(&mut fault);
        self.host.report(match kind {
            "rejection" => IsolateFault::UnhandledRejection(fault),
            _ => IsolateFault::UncaughtException(fault),
        });
    }
}

/// The answer's form for `js/host.js`.
fn envelope(result: HostResult) -> String {
    match result {
        Ok(None) => "-".to_string(),
        Ok(Some(json)) => format!("+{json}"),
        Err(error) => format!(
            "!{}",
            serde_json::json!({ "class": error.class, "message": error.message })
        ),
    }
}
