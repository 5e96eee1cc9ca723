//! An isolate with a package in a temporary directory and a host that only listens.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use pier_engine::{
    CallOptions, DEFAULT_BUSY_LIMIT, Engine, EngineError, EngineOptions, HostError, HostResult,
    HostServices, Isolate, IsolateFault, IsolateOptions, OutputSink, Permissions,
};
use serde_json::{Value, json};

/// Longest a test waits for anything.
pub const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Default)]
pub struct Host {
    pub faults: Mutex<Vec<IsolateFault>>,
    pub changed: tokio::sync::Notify,
}

impl HostServices for Host {
    fn call_sync(&self, method: &str, _args: &str) -> HostResult {
        match method {
            "stateVersion" => Ok(Some("1".into())),
            "log" | "error" => Ok(None),
            other => Err(HostError::new(
                "Error",
                format!("the test host has no {other}"),
            )),
        }
    }

    fn call_async(&self, method: String, _args: String) -> BoxFuture<'static, HostResult> {
        Box::pin(async move {
            Err(HostError::new(
                "Error",
                format!("the test host has no {method}"),
            ))
        })
    }

    fn report(&self, fault: IsolateFault) {
        self.faults.lock().expect("not poisoned").push(fault);
        self.changed.notify_waiters();
    }
}

impl Host {
    /// Waits for a fault that `pick` accepts.
    pub async fn fault<T>(&self, pick: impl Fn(&IsolateFault) -> Option<T>) -> T {
        let found = async {
            loop {
                let changed = self.changed.notified();
                if let Some(found) = self
                    .faults
                    .lock()
                    .expect("not poisoned")
                    .iter()
                    .find_map(&pick)
                {
                    return found;
                }
                changed.await;
            }
        };
        tokio::time::timeout(PATIENCE, found)
            .await
            .expect("the fault is reported in time")
    }
}

#[derive(Default)]
pub struct Lines {
    lines: Mutex<Vec<String>>,
    changed: tokio::sync::Notify,
}

impl OutputSink for Lines {
    fn line(&self, name: &str, line: &str) {
        self.lines
            .lock()
            .expect("not poisoned")
            .push(format!("[{name}] {line}"));
        self.changed.notify_waiters();
    }
}

impl Lines {
    pub async fn wait_for(&self, wanted: &str) {
        let found = async {
            loop {
                let changed = self.changed.notified();
                if self
                    .lines
                    .lock()
                    .expect("not poisoned")
                    .iter()
                    .any(|line| line == wanted)
                {
                    return;
                }
                changed.await;
            }
        };
        tokio::time::timeout(PATIENCE, found)
            .await
            .unwrap_or_else(|_| panic!("no line {wanted:?} in {:?}", self.lines.lock()));
    }
}

pub struct Package {
    pub dir: tempfile::TempDir,
    pub host: Arc<Host>,
    pub output: Arc<Lines>,
    pub isolate: Isolate,
    pub engine: Engine,
}

impl Package {
    pub fn new() -> Self {
        Self::with(|_| {})
    }

    pub fn with(change: impl FnOnce(&mut IsolateOptions)) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let engine = Engine::init(
            EngineOptions {
                cache_dir: Some(dir.path().join("cache")),
            },
            tokio::runtime::Handle::current(),
        );
        let host = Arc::new(Host::default());
        let output = Arc::new(Lines::default());
        let mut options = IsolateOptions {
            name: "test".into(),
            host: host.clone(),
            output: output.clone(),
            heap_limit_bytes: None,
            busy_limit: DEFAULT_BUSY_LIMIT,
            permissions: Permissions::All,
        };
        change(&mut options);
        let isolate = engine.spawn(options);
        Self {
            dir,
            host,
            output,
            isolate,
            engine,
        }
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        std::fs::write(&path, text).expect("the file is written");
        path
    }

    pub async fn load(&self, entry: &Path) -> Result<Value, EngineError> {
        let header = json!({
            "ext": 1, "entry": format!("file://{}", entry.display()), "path": entry, "profile": "pi", "cwd": self.dir.path(), "configDirName": ".pi",
            "agentDir": self.dir.path().join("agent"), "appName": "pier", "version": "0.0.0", "flags": {},
        });
        let answer = self
            .isolate
            .call(
                "load",
                header.to_string(),
                None,
                CallOptions::within(PATIENCE),
            )
            .await?;
        Ok(serde_json::from_str(&answer.expect("load answers registrations")).expect("JSON"))
    }

    /// Loads an extension whose factory labels itself with the value of `value`, and returns that value.
    pub async fn value(&self, imports: &str, value: &str) -> Value {
        let source = format!(
            "{imports}\nexport default async function (pi: any) {{ pi.setLabel(JSON.stringify(await ({value}))); }}\n"
        );
        let entry = self.write("entry.ts", &source);
        let registrations = self
            .load(&entry)
            .await
            .unwrap_or_else(|error| panic!("{error}\n{source}"));
        let label = registrations["label"]
            .as_str()
            .unwrap_or_else(|| panic!("no label in {registrations}"));
        serde_json::from_str(label).expect("the label is JSON")
    }
}
