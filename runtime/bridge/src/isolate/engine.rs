//! The V8 side of [`super::IsolateApi`]: a thin adapter over `pier_engine`. No rule of the bridge lives here.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use pier_engine as engine;

use super::{
    CallError, CallOptions, Fault, HostCallError, IsolateApi, IsolateFactory, IsolateHost,
    IsolateSpec, JsFailure, PermissionProfile, Place, StopCause,
};

/// "No limit" for code that holds the thread: far beyond any session, still a number.
const UNLIMITED_BUSY: Duration = Duration::from_secs(365 * 24 * 3600);

/// Starts isolates on the process-wide engine.
pub struct EngineFactory {
    engine: Arc<engine::Engine>,
}

impl EngineFactory {
    /// Wraps an initialised engine.
    pub fn new(engine: Arc<engine::Engine>) -> Self {
        Self { engine }
    }
}

impl IsolateFactory for EngineFactory {
    fn spawn(&self, spec: IsolateSpec) -> Result<Arc<dyn IsolateApi>, String> {
        let permissions = match spec.permissions {
            PermissionProfile::Trusted => engine::Permissions::All,
            PermissionProfile::Restricted => {
                engine::Permissions::ReadOnly(vec![spec.cwd.clone(), spec.root.clone()])
            }
        };
        let host = Arc::new(Services(spec.host.clone()));
        let isolate = self.engine.spawn(engine::IsolateOptions {
            name: spec.name,
            host,
            output: Arc::new(Output(spec.host)),
            heap_limit_bytes: spec.heap_limit_bytes,
            busy_limit: spec.busy_limit.unwrap_or(UNLIMITED_BUSY),
            permissions,
        });
        Ok(Arc::new(Adapter(isolate)))
    }
}

struct Adapter(engine::Isolate);

#[async_trait]
impl IsolateApi for Adapter {
    async fn call(
        &self,
        kind: &str,
        header: String,
        payload: Option<Arc<str>>,
        options: CallOptions,
    ) -> Result<Option<String>, CallError> {
        let clock = options.clock.map(|clock| {
            let mirrored = engine::DeadlineClock::new();
            let held = Mutex::new(None);
            let target = mirrored.clone();
            clock.set_listener(move |paused| *held.lock() = paused.then(|| target.pause()));
            mirrored
        });
        let options = engine::CallOptions {
            deadline: options.deadline,
            clock,
        };
        self.0
            .call(kind, header, payload, options)
            .await
            .map_err(call_error)
    }

    fn post(&self, kind: &str, header: String, payload: Option<Arc<str>>) {
        self.0.post(kind, header, payload);
    }

    fn terminate(&self, cause: StopCause) {
        self.0.terminate(match cause {
            StopCause::Disposed => engine::StopReason::Disposed,
            other => engine::StopReason::Terminated(other.to_string()),
        });
    }

    async fn dispose(&self, grace: Duration) {
        self.0.dispose(grace).await;
    }

    fn stopped(&self) -> Option<StopCause> {
        self.0.stop_reason().map(stop_cause)
    }

    fn stretch(&self) -> Option<(u64, Duration)> {
        self.0.stretch()
    }
}

fn call_error(error: engine::EngineError) -> CallError {
    match error {
        engine::EngineError::Js(fault) => CallError::Js(failure(fault)),
        engine::EngineError::Timeout { after } => CallError::Timeout { after },
        engine::EngineError::Stopped(reason) => CallError::Stopped(stop_cause(reason)),
    }
}

fn failure(fault: engine::JsFault) -> JsFailure {
    JsFailure {
        name: fault.name,
        message: fault.message,
        stack: fault.stack,
        place: fault.location.map(place),
    }
}

fn place(at: engine::Location) -> Place {
    Place {
        file: at.file,
        line: at.line,
        column: at.column,
    }
}

fn stop_cause(reason: engine::StopReason) -> StopCause {
    match reason {
        engine::StopReason::Disposed => StopCause::Disposed,
        engine::StopReason::Unresponsive { busy, at } => StopCause::Runaway {
            busy,
            at: at.map(place),
        },
        engine::StopReason::HeapLimit { limit_bytes, at } => StopCause::HeapLimit {
            limit_bytes,
            at: at.map(place),
        },
        engine::StopReason::Lost => StopCause::Lost,
        engine::StopReason::ProcessExit { code, at } => StopCause::Exit {
            code,
            at: at.map(place),
        },
        engine::StopReason::Terminated(text) | engine::StopReason::Internal(text) => {
            StopCause::Other(text)
        }
    }
}

struct Services(Arc<dyn IsolateHost>);

impl engine::HostServices for Services {
    fn call_sync(&self, method: &str, args: &str) -> engine::HostResult {
        self.0.call_sync(method, args).map_err(host_error)
    }

    fn call_async(&self, method: String, args: String) -> BoxFuture<'static, engine::HostResult> {
        let answer = self.0.call_async(method, args);
        Box::pin(async move { answer.await.map_err(host_error) })
    }

    fn report(&self, fault: engine::IsolateFault) {
        self.0.fault(match fault {
            engine::IsolateFault::UncaughtException(fault) => {
                Fault::UncaughtException(failure(fault))
            }
            engine::IsolateFault::UnhandledRejection(fault) => {
                Fault::UnhandledRejection(failure(fault))
            }
            engine::IsolateFault::MissingExports {
                specifier,
                importer,
                names,
            } => Fault::MissingExports {
                specifier,
                importer,
                names,
            },
            engine::IsolateFault::Stopped(reason) => Fault::Stopped(stop_cause(reason)),
        });
    }
}

fn host_error(error: HostCallError) -> engine::HostError {
    engine::HostError::new(error.class, error.message)
}

struct Output(Arc<dyn IsolateHost>);

impl engine::OutputSink for Output {
    fn line(&self, _: &str, line: &str) {
        self.0.output(line);
    }
}
