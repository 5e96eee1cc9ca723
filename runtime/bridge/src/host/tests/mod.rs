//! The host with fake isolates: what the tests of each part share.

mod dispatch;
mod loading;
mod sessions;
mod tools;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use pier_agent::hooks::{
    ExtensionHooks, HookEvent, InputEvent, InputOutcome, InputSource, Notification,
    SessionStartReason, ShutdownReason, ToolCallEvent, ToolResultEvent,
};
use pier_agent::provider::ProviderRegistry;
use pier_agent::tool::{ToolCall, ToolContext, ToolRegistry, ToolUpdates};
use pier_protocol::extension::ExtensionErrorReport;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{ExtensionHost, HostOptions, LoadOutcome};
use crate::discovery::{DiscoveredExtension, Discovery, PackageKey, Profile, Scope};
use crate::isolate::fake::{FakeCall, FakeFactory, throws};
use crate::isolate::{CallError, StopCause};
use crate::limits::Limits;
use crate::registry::flags::GivenFlag;

/// A host, its factory and what it reported.
struct Bench {
    host: ExtensionHost,
    factory: Arc<FakeFactory>,
    reports: Arc<Mutex<Vec<ExtensionErrorReport>>>,
    tools: Arc<ToolRegistry>,
}

impl Bench {
    fn new() -> Self {
        Self::with_limits(Limits {
            handler: Some(Duration::from_millis(100)),
            guard: Some(Duration::from_millis(100)),
            load: Some(Duration::from_millis(200)),
            abort_grace: Duration::from_millis(50),
            ..Limits::default()
        })
    }

    fn with_limits(limits: Limits) -> Self {
        let factory = FakeFactory::new();
        let tools = Arc::new(ToolRegistry::default());
        let host = ExtensionHost::new(
            HostOptions {
                app_name: "pier".into(),
                version: "0".into(),
                cwd: std::env::temp_dir(),
                agent_dir: std::env::temp_dir().join("no-agent-dir"),
                config_dir_name: ".pi".into(),
                limits,
                tools: tools.clone(),
                providers: Arc::new(ProviderRegistry::new()),
                settings: json!({}),
            },
            Arc::new(factory.clone()),
        );
        let reports = Arc::new(Mutex::new(Vec::new()));
        let sink = reports.clone();
        host.set_error_sink(Arc::new(move |report| sink.lock().push(report)));
        Self {
            host,
            factory,
            reports,
            tools,
        }
    }

    async fn load(&self, files: &[&str]) -> LoadOutcome {
        self.load_as(files, Profile::Xcsh).await
    }

    async fn load_as(&self, files: &[&str], profile: Profile) -> LoadOutcome {
        let extensions = files.iter().map(|file| discovered(file, profile)).collect();
        self.host
            .load(
                &Discovery {
                    extensions,
                    ..Discovery::default()
                },
                |_| true,
            )
            .await
    }

    fn hooks(&self) -> Arc<dyn ExtensionHooks> {
        self.host.hooks()
    }

    /// Number of the extension of a file.
    fn ext(&self, stem: &str) -> u32 {
        let path = format!("/ext/{stem}.ts");
        self.host
            .shared
            .registry
            .infos()
            .iter()
            .find(|info| info.path == path)
            .map(|info| info.id)
            .unwrap()
    }

    fn reported(&self, event: &str) -> Vec<ExtensionErrorReport> {
        self.reports
            .lock()
            .iter()
            .filter(|report| report.event == event)
            .cloned()
            .collect()
    }
}

fn discovered(file: &str, profile: Profile) -> DiscoveredExtension {
    let path = Path::new("/ext").join(file);
    DiscoveredExtension {
        package: PackageKey(path.display().to_string()),
        root: "/ext".into(),
        entry: path.clone(),
        path,
        profile,
        scope: Scope::Temporary,
        source: "cli".into(),
        from_package: false,
        surface: crate::discovery::Surface::Extension,
    }
}

fn on(events: &[&str]) -> Value {
    let handlers: Vec<Value> = events
        .iter()
        .enumerate()
        .map(|(id, event)| json!({"id": id + 1, "event": event}))
        .collect();
    json!({"handlers": handlers})
}

fn tool_call(input: Value) -> ToolCallEvent {
    ToolCallEvent {
        tool_call_id: "c1".into(),
        tool_name: "bash".into(),
        input,
        parent_tool_call_id: None,
    }
}

async fn hang<T>() -> T {
    std::future::pending().await
}

fn call(cancel: CancellationToken) -> ToolCall {
    ToolCall {
        id: "c".into(),
        args: json!({}),
        cancel,
        updates: ToolUpdates::new(),
        context: ToolContext::detached(std::env::temp_dir()),
    }
}
