//! An isolate without JavaScript: calls are answered by Rust closures. For tests of the bridge and of modes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{
    CallError, CallOptions, HostCallError, IsolateApi, IsolateFactory, IsolateHost, IsolateSpec,
    JsFailure, StopCause,
};

/// Answers one call: `(kind, header, payload)`.
pub type Script =
    Arc<dyn Fn(FakeCall) -> BoxFuture<'static, Result<Value, CallError>> + Send + Sync>;

/// What a script gets.
#[derive(Clone)]
pub struct FakeCall {
    /// Call kind.
    pub kind: String,
    /// Header.
    pub header: Value,
    /// Payload, `null` when absent.
    pub payload: Value,
    /// The isolate's view of the host.
    pub host: FakeHost,
}

/// Host calls as a script makes them.
#[derive(Clone)]
pub struct FakeHost(Arc<dyn IsolateHost>);

impl FakeHost {
    /// A synchronous host call.
    pub fn call(&self, method: &str, args: Value) -> Result<Value, HostCallError> {
        parse(self.0.call_sync(method, &args.to_string()))
    }

    /// An asynchronous host call.
    pub async fn call_async(&self, method: &str, args: Value) -> Result<Value, HostCallError> {
        parse(
            self.0
                .call_async(method.to_string(), args.to_string())
                .await,
        )
    }

    /// The host object, to report faults.
    pub fn raw(&self) -> &Arc<dyn IsolateHost> {
        &self.0
    }
}

fn parse(answer: Result<Option<String>, HostCallError>) -> Result<Value, HostCallError> {
    match answer? {
        None => Ok(Value::Null),
        Some(text) => serde_json::from_str(&text)
            .map_err(|error| HostCallError::new(format!("not JSON: {error}"))),
    }
}

/// A failing answer, like `throw new Error(message)`.
pub fn throws(message: &str) -> CallError {
    CallError::Js(JsFailure {
        name: "Error".into(),
        message: message.into(),
        ..JsFailure::default()
    })
}

/// Makes an [`IsolateFactory`] whose isolates find their script by entry file name.
#[derive(Default)]
pub struct FakeFactory {
    scripts: Mutex<HashMap<String, Script>>,
    /// Every call that reached an isolate: `(isolate name, kind, header)`.
    pub log: Arc<Mutex<Vec<(String, String, Value)>>>,
    /// Isolates that were started, by name.
    pub started: Mutex<Vec<(String, Arc<FakeIsolate>)>>,
}

impl FakeFactory {
    /// An empty factory.
    pub fn new() -> Arc<Self> {
        Arc::new(Self::default())
    }

    /// Sets the script of an entry file.
    pub fn script<F, R>(&self, file_name: &str, script: F)
    where
        F: Fn(FakeCall) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Value, CallError>> + Send + 'static,
    {
        self.scripts.lock().insert(
            file_name.to_string(),
            Arc::new(move |call| script(call).boxed()),
        );
    }

    /// An extension that registers `registrations` and answers everything else with `answer(kind, header, payload)`.
    pub fn extension<F>(&self, file_name: &str, registrations: Value, answer: F)
    where
        F: Fn(&FakeCall) -> Result<Value, CallError> + Send + Sync + 'static,
    {
        self.script(file_name, move |call| {
            let answer = match call.kind.as_str() {
                "load" => Ok(registrations.clone()),
                _ => answer(&call),
            };
            async move { answer }
        });
    }

    /// The newest isolate whose name contains `part`.
    pub fn isolate(&self, part: &str) -> Option<Arc<FakeIsolate>> {
        self.started
            .lock()
            .iter()
            .rev()
            .find(|(name, _)| name.contains(part))
            .map(|(_, isolate)| isolate.clone())
    }
}

impl IsolateFactory for Arc<FakeFactory> {
    fn spawn(&self, spec: IsolateSpec) -> Result<Arc<dyn IsolateApi>, String> {
        let isolate = Arc::new(FakeIsolate {
            name: spec.name.clone(),
            host: FakeHost(spec.host),
            factory: self.clone(),
            entries: Mutex::default(),
            stopped: tokio::sync::watch::channel(None).0,
        });
        self.started.lock().push((spec.name, isolate.clone()));
        Ok(isolate)
    }
}

/// One fake isolate.
pub struct FakeIsolate {
    name: String,
    host: FakeHost,
    factory: Arc<FakeFactory>,
    /// ext -> script, filled by `load`.
    entries: Mutex<HashMap<u64, Script>>,
    stopped: tokio::sync::watch::Sender<Option<StopCause>>,
}

impl FakeIsolate {
    /// What the isolate may call.
    pub fn host(&self) -> &FakeHost {
        &self.host
    }

    /// Ends it as the engine would, and reports it.
    pub fn stop(&self, cause: StopCause) {
        self.stopped.send_replace(Some(cause.clone()));
        self.host.0.fault(super::Fault::Stopped(cause));
    }

    fn script_for(&self, kind: &str, header: &Value) -> Option<Script> {
        let ext = header.get("ext").and_then(Value::as_u64);
        if kind == "load" {
            let file = header
                .get("entry")
                .and_then(Value::as_str)?
                .rsplit('/')
                .next()?
                .to_string();
            let script = self.factory.scripts.lock().get(&file).cloned()?;
            self.entries.lock().insert(ext?, script.clone());
            return Some(script);
        }
        let entries = self.entries.lock();
        match ext {
            Some(ext) => entries.get(&ext).cloned(),
            None => entries.values().next().cloned(),
        }
    }
}

#[async_trait]
impl IsolateApi for FakeIsolate {
    async fn call(
        &self,
        kind: &str,
        header: String,
        payload: Option<Arc<str>>,
        options: CallOptions,
    ) -> Result<Option<String>, CallError> {
        if let Some(cause) = self.stopped() {
            return Err(CallError::Stopped(cause));
        }
        let header: Value = serde_json::from_str(&header)
            .map_err(|error| CallError::Protocol(error.to_string()))?;
        let payload = match payload {
            Some(text) => serde_json::from_str(&text)
                .map_err(|error| CallError::Protocol(error.to_string()))?,
            None => Value::Null,
        };
        self.factory
            .log
            .lock()
            .push((self.name.clone(), kind.to_string(), header.clone()));
        let Some(script) = self.script_for(kind, &header) else {
            return if kind == "load" {
                Err(throws("no script for this entry"))
            } else {
                Ok(None)
            };
        };
        let call = FakeCall {
            kind: kind.to_string(),
            header,
            payload,
            host: self.host.clone(),
        };
        let clock = options.clock.unwrap_or_default();
        let expired = async {
            match options.deadline {
                Some(deadline) => {
                    clock.reached(deadline).await;
                    deadline
                }
                None => std::future::pending().await,
            }
        };
        let mut stopped = self.stopped.subscribe();
        tokio::select! {
            answer = script(call) => match answer? {
                Value::Null => Ok(None),
                value => Ok(Some(value.to_string())),
            },
            after = expired => Err(CallError::Timeout { after }),
            cause = stopped.wait_for(Option::is_some) => {
                let cause = cause.ok().and_then(|cause| cause.clone()).unwrap_or(StopCause::Disposed);
                Err(CallError::Stopped(cause))
            }
        }
    }

    fn post(&self, kind: &str, header: String, payload: Option<Arc<str>>) {
        let header: Value = serde_json::from_str(&header).unwrap_or(json!({}));
        self.factory
            .log
            .lock()
            .push((self.name.clone(), kind.to_string(), header.clone()));
        if let Some(script) = self.script_for(kind, &header) {
            let payload = payload
                .and_then(|text| serde_json::from_str(&text).ok())
                .unwrap_or(Value::Null);
            let answer = script(FakeCall {
                kind: kind.to_string(),
                header,
                payload,
                host: self.host.clone(),
            });
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                runtime.spawn(answer);
            }
        }
    }

    fn terminate(&self, cause: StopCause) {
        self.stopped.send_replace(Some(cause));
    }

    async fn dispose(&self, _: Duration) {
        self.stopped.send_replace(Some(StopCause::Disposed));
    }

    fn stopped(&self) -> Option<StopCause> {
        self.stopped.borrow().clone()
    }
}
