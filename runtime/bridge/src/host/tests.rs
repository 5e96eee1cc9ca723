//! The host with fake isolates: loading, transactions, clashes, flags, dispatch order, deadlines, faults.

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

#[tokio::test]
async fn a_failing_extension_leaves_nothing_and_stops_nobody() {
    let bench = Bench::new();
    bench
        .factory
        .extension("good.ts", json!({"commands": [{"name": "hi"}]}), |_| {
            Ok(Value::Null)
        });
    bench.factory.script("bad.ts", |call| async move {
        if call.kind == "load" {
            Err(throws("boom"))
        } else {
            Ok(Value::Null)
        }
    });
    bench.factory.script("slow.ts", |_| async { hang().await });
    bench.factory.script("odd.ts", |_| async {
        Err(CallError::Js(crate::isolate::JsFailure {
            name: "InvalidFactoryError".into(),
            message: "Extension does not export a valid factory function: /ext/odd.ts".into(),
            ..Default::default()
        }))
    });
    bench.factory.extension(
        "tool.ts",
        json!({"tools": [{"name": "t", "parameters": 1}]}),
        |_| Ok(Value::Null),
    );
    let outcome = bench
        .load(&["bad.ts", "slow.ts", "odd.ts", "tool.ts", "good.ts"])
        .await;
    assert_eq!(outcome.loaded, ["/ext/good.ts"]);
    let texts: Vec<&str> = outcome
        .errors
        .iter()
        .map(|report| report.error.as_str())
        .collect();
    assert_eq!(texts[0], "Failed to load extension: boom");
    assert!(
        texts[1].starts_with("Failed to load extension: ") && texts[1].contains("200 ms"),
        "{}",
        texts[1]
    );
    assert_eq!(
        texts[2],
        "Extension does not export a valid factory function: /ext/odd.ts"
    );
    assert!(
        texts[3].contains("\"parameters\" must be an object"),
        "{}",
        texts[3]
    );
    assert!(bench.tools.get("t").is_none());
    assert!(bench.hooks().is_command("hi"));
    let stale = bench
        .factory
        .log
        .lock()
        .iter()
        .filter(|(_, kind, _)| kind == "stale")
        .count();
    assert_eq!(stale, 4, "the API of every failed extension is poisoned");
}

#[tokio::test]
async fn handlers_run_in_load_order_and_a_cancel_stops_them() {
    let bench = Bench::new();
    let order = Arc::new(Mutex::new(Vec::new()));
    for (file, answer) in [
        ("a.ts", json!({"cancel": false})),
        ("b.ts", json!({"cancel": true})),
        ("c.ts", Value::Null),
    ] {
        let order = order.clone();
        bench
            .factory
            .extension(file, on(&["session_before_switch"]), move |call| {
                if call.kind == "dispatch" {
                    order.lock().push(file);
                    return Ok(json!({"result": answer}));
                }
                Ok(Value::Null)
            });
    }
    bench.load(&["a.ts", "b.ts", "c.ts"]).await;
    let event = pier_agent::hooks::BeforeSwitchEvent {
        reason: SessionStartReason::New,
        target_session_file: None,
    };
    assert!(bench.hooks().session_before_switch(event).await);
    assert_eq!(*order.lock(), ["a.ts", "b.ts"]);
}

#[tokio::test]
async fn alternatives_of_one_event_are_one_sequence_with_their_own_names() {
    let bench = Bench::new();
    let seen = Arc::new(Mutex::new(Vec::new()));
    for (file, event) in [
        ("a.ts", "session_before_branch"),
        ("b.ts", "session_before_fork"),
    ] {
        let seen = seen.clone();
        bench.factory.extension(file, on(&[event]), move |call| {
            if call.kind == "dispatch" {
                seen.lock().push(
                    call.payload["type"]
                        .as_str()
                        .unwrap_or_default()
                        .to_string(),
                );
            }
            Ok(Value::Null)
        });
    }
    bench.load(&["a.ts", "b.ts"]).await;
    assert!(bench.hooks().subscribed(HookEvent::SessionBeforeFork));
    let event = pier_agent::hooks::BeforeForkEvent {
        entry_id: "e".into(),
        position: pier_agent::hooks::ForkPosition::Before,
    };
    bench.hooks().session_before_fork(event).await;
    assert_eq!(
        *seen.lock(),
        ["session_before_branch", "session_before_fork"]
    );
}

#[tokio::test]
async fn tool_call_is_fail_closed_and_names_who_failed() {
    let bench = Bench::new();
    bench.factory.extension("a.ts", on(&["tool_call"]), |call| {
        match call.kind.as_str() {
            "dispatch" => Err(throws("no")),
            _ => Ok(Value::Null),
        }
    });
    bench.load(&["a.ts"]).await;
    let outcome = bench.hooks().tool_call(tool_call(json!({}))).await;
    assert_eq!(
        outcome.block.and_then(|block| block.reason).as_deref(),
        Some("Extension /ext/a.ts failed: no")
    );
    assert_eq!(bench.reported("tool_call").len(), 1);

    let bench = Bench::new();
    bench.factory.extension("a.ts", on(&["tool_call"]), |call| {
        match call.kind.as_str() {
            "dispatch" => Err(throws("no")),
            _ => Ok(Value::Null),
        }
    });
    bench.load_as(&["a.ts"], Profile::Pi).await;
    let outcome = bench.hooks().tool_call(tool_call(json!({}))).await;
    assert_eq!(
        outcome.block.and_then(|block| block.reason).as_deref(),
        Some("no")
    );
}

#[tokio::test]
async fn a_hung_tool_call_handler_is_refused_in_time_and_can_do_nothing_later() {
    let bench = Bench::new();
    let call_id = Arc::new(Mutex::new(None));
    let seen = call_id.clone();
    bench.factory.script("a.ts", move |call| {
        let seen = seen.clone();
        async move {
            match call.kind.as_str() {
                "load" => Ok(on(&["tool_call"])),
                "dispatch" => {
                    *seen.lock() = call.header["callId"].as_u64();
                    hang().await
                }
                _ => Ok(Value::Null),
            }
        }
    });
    bench.load(&["a.ts"]).await;
    let started = Instant::now();
    let outcome = bench.hooks().tool_call(tool_call(json!({}))).await;
    assert!(started.elapsed() < Duration::from_secs(2));
    let reason = outcome.block.and_then(|block| block.reason).unwrap();
    assert!(
        reason.starts_with("Extension /ext/a.ts failed: ") && reason.contains("100 ms"),
        "{reason}"
    );
    assert_eq!(bench.reported("tool_call")[0].extension_path, "/ext/a.ts");
    let isolate = bench.factory.isolate("a").unwrap();
    let late = isolate
        .host()
        .call("abort", json!({"callId": *call_id.lock()}));
    assert_eq!(late.unwrap_err().class, "CallRevokedError");
    // The next turn works: the isolate was not harmed.
    assert!(
        bench
            .hooks()
            .tool_call(tool_call(json!({})))
            .await
            .block
            .is_some()
    );
}

#[tokio::test]
async fn in_place_edits_go_through_isolates_in_order() {
    let bench = Bench::new();
    bench.factory.extension("a.ts", on(&["tool_call"]), |call| {
        match call.kind.as_str() {
            "dispatch" => {
                assert_eq!(call.header["returns"], json!(["input"]));
                Ok(json!({"event": {"input": {"command": "edited"}}}))
            }
            _ => Ok(Value::Null),
        }
    });
    bench.factory.extension("b.ts", on(&["tool_call"]), |call| match call.kind.as_str() {
        "dispatch" => Ok(json!({"result": {"block": call.payload["input"]["command"] == "edited", "reason": "seen"}})),
        _ => Ok(Value::Null),
    });
    bench.load(&["a.ts", "b.ts"]).await;
    let outcome = bench
        .hooks()
        .tool_call(tool_call(json!({"command": "raw"})))
        .await;
    assert_eq!(outcome.input, Some(json!({"command": "edited"})));
    assert_eq!(
        outcome.block.and_then(|block| block.reason).as_deref(),
        Some("seen")
    );
}

#[tokio::test]
async fn a_throwing_handler_of_an_open_event_is_reported_and_skipped() {
    let bench = Bench::new();
    bench
        .factory
        .extension("a.ts", on(&["tool_result"]), |call| {
            match call.kind.as_str() {
                "dispatch" => Err(throws("oops")),
                _ => Ok(Value::Null),
            }
        });
    bench.factory.extension("b.ts", on(&["tool_result"]), |call| match call.kind.as_str() {
        "dispatch" => Ok(json!({"result": {"content": [{"type": "text", "text": "B"}], "isError": false}})),
        _ => Ok(Value::Null),
    });
    bench.load(&["a.ts", "b.ts"]).await;
    let patch = bench
        .hooks()
        .tool_result(ToolResultEvent {
            tool_call_id: "c".into(),
            tool_name: "bash".into(),
            input: json!({}),
            content: Vec::new(),
            details: None,
            is_error: true,
            structured_content: None,
            usage: None,
            parent_tool_call_id: None,
        })
        .await;
    assert_eq!(patch.is_error, Some(false));
    assert_eq!(patch.content.map(|blocks| blocks.len()), Some(1));
    assert_eq!(bench.reported("tool_result").len(), 1);
}

#[tokio::test]
async fn nothing_is_called_when_nobody_subscribed_and_input_chains() {
    let bench = Bench::new();
    bench
        .factory
        .extension("a.ts", on(&["input"]), |call| match call.kind.as_str() {
            "dispatch" => {
                let text = call.payload["text"].as_str().unwrap_or_default();
                Ok(json!({"result": {"text": format!("{text}+a")}}))
            }
            _ => Ok(Value::Null),
        });
    bench.load(&["a.ts"]).await;
    let hooks = bench.hooks();
    assert!(hooks.subscribed(HookEvent::Input));
    assert!(!hooks.subscribed(HookEvent::Context));
    let input = InputEvent {
        text: "x".into(),
        images: Vec::new(),
        source: InputSource::Rpc,
        streaming_behavior: None,
    };
    let outcome = hooks.input(input).await;
    assert!(matches!(outcome, InputOutcome::Transform { text, .. } if text == "x+a"));
    let calls = bench
        .factory
        .log
        .lock()
        .iter()
        .filter(|(_, kind, _)| kind == "dispatch")
        .count();
    assert_eq!(calls, 1);
    assert_eq!(
        hooks.context(&[]).await.map(|messages| messages.len()),
        None
    );
    assert_eq!(
        bench
            .factory
            .log
            .lock()
            .iter()
            .filter(|(_, kind, _)| kind == "dispatch")
            .count(),
        1
    );
}

#[tokio::test]
async fn commands_clash_last_wins_and_aliases_reach_all() {
    let bench = Bench::new();
    let ran = Arc::new(Mutex::new(Vec::new()));
    for file in ["a.ts", "b.ts"] {
        let ran = ran.clone();
        bench
            .factory
            .extension(file, json!({"commands": [{"name": "go"}]}), move |call| {
                if call.kind == "runCommand" {
                    ran.lock().push(format!(
                        "{file}:{}:{}",
                        call.header["command"], call.header["args"]
                    ));
                }
                Ok(Value::Null)
            });
    }
    let outcome = bench.load(&["a.ts", "b.ts"]).await;
    assert_eq!(outcome.warnings.len(), 1, "{:?}", outcome.warnings);
    let hooks = bench.hooks();
    for name in ["go", "go:1", "go:2"] {
        assert_eq!(hooks.run_command(name, "x y ").await, Some(()));
    }
    assert_eq!(hooks.run_command("go:3", "").await, None);
    assert_eq!(hooks.run_command("GO", "").await, None);
    assert_eq!(
        *ran.lock(),
        [
            "b.ts:\"go\":\"x y \"",
            "a.ts:\"go\":\"x y \"",
            "b.ts:\"go\":\"x y \""
        ]
    );
    let names: Vec<String> = bench
        .host
        .commands()
        .into_iter()
        .map(|command| command.name)
        .collect();
    assert_eq!(names, ["go", "go:1", "go:2"]);
    assert_eq!(bench.host.builtin_conflicts(&["go"]).len(), 1);
}

#[tokio::test]
async fn a_throwing_command_is_handled_and_reported_with_its_name() {
    let bench = Bench::new();
    bench.factory.extension(
        "a.ts",
        json!({"commands": [{"name": "bad"}]}),
        |call| match call.kind.as_str() {
            "runCommand" => Err(throws("kaput")),
            _ => Ok(Value::Null),
        },
    );
    bench.load(&["a.ts"]).await;
    assert_eq!(bench.hooks().run_command("bad", "").await, Some(()));
    let report = &bench.reported("command")[0];
    assert_eq!(
        (report.extension_path.as_str(), report.error.as_str()),
        ("command:bad", "kaput")
    );
}

#[tokio::test]
async fn tools_last_wins_whenever_it_registers_and_withdrawal_gives_back() {
    let bench = Bench::new();
    for file in ["a.ts", "b.ts"] {
        let tool = json!({"tools": [{"name": "t", "description": file, "parameters": {"type": "object"}}]});
        bench
            .factory
            .extension(file, tool, move |call| match call.kind.as_str() {
                "executeTool" => {
                    Ok(json!({"content": [{"type": "text", "text": file}], "isError": true}))
                }
                _ => Ok(Value::Null),
            });
    }
    let outcome = bench.load(&["a.ts", "b.ts"]).await;
    assert!(
        outcome.warnings[0].starts_with("Tool \"t\" is registered by /ext/a.ts, /ext/b.ts"),
        "{:?}",
        outcome.warnings
    );
    let description = || {
        bench
            .tools
            .get("t")
            .map(|tool| tool.spec().description.clone())
    };
    assert_eq!(description().as_deref(), Some("b.ts"));
    // A late registration of the earlier extension does not take the name.
    let first = bench.factory.isolate("a").unwrap();
    let change = json!({"tools": [{"name": "t", "description": "late", "parameters": {}}]});
    first
        .host()
        .call("register", json!({"ext": bench.ext("a"), "change": change}))
        .unwrap();
    assert_eq!(description().as_deref(), Some("b.ts"));
    let output = bench
        .tools
        .get("t")
        .unwrap()
        .execute(call(CancellationToken::new()))
        .await
        .unwrap();
    assert_eq!(output.is_error, Some(true));
    // Its isolate ends: the other's tool is effective again, and the end is reported once.
    bench
        .factory
        .isolate("b")
        .unwrap()
        .stop(StopCause::Exit { code: 3 });
    assert_eq!(description().as_deref(), Some("late"));
    assert_eq!(bench.reported("process_exit").len(), 1);
    assert_eq!(bench.host.extensions().len(), 1);
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

#[tokio::test]
async fn an_aborted_tool_that_ignores_its_signal_is_given_up() {
    let bench = Bench::new();
    bench.factory.script("a.ts", |call| async move {
        match call.kind.as_str() {
            "load" => Ok(json!({"tools": [{"name": "t", "parameters": {}}]})),
            "executeTool" => hang().await,
            _ => Ok(Value::Null),
        }
    });
    bench.load(&["a.ts"]).await;
    let cancel = CancellationToken::new();
    let tool = bench.tools.get("t").unwrap();
    let running = tokio::spawn({
        let cancel = cancel.clone();
        async move { tool.execute(call(cancel)).await }
    });
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(!running.is_finished(), "a tool has no deadline");
    cancel.cancel();
    let outcome = tokio::time::timeout(Duration::from_secs(2), running)
        .await
        .unwrap()
        .unwrap();
    assert!(matches!(outcome, Err(pier_agent::tool::ToolError::Aborted)));
    assert!(
        bench
            .factory
            .log
            .lock()
            .iter()
            .any(|(_, kind, _)| kind == "abort")
    );
}

#[tokio::test]
async fn updates_reach_the_tool_only_while_it_runs() {
    let bench = Bench::new();
    bench.factory.script("a.ts", |call| async move {
        match call.kind.as_str() {
            "load" => Ok(json!({"tools": [{"name": "t", "parameters": {}}]})),
            "executeTool" => {
                let partial =
                    json!({"callId": call.header["callId"], "partial": {"content": "half"}});
                call.host
                    .call("tool.update", partial)
                    .map_err(|error| throws(&error.message))?;
                Ok(json!({"content": "done"}))
            }
            _ => Ok(Value::Null),
        }
    });
    bench.load(&["a.ts"]).await;
    let call = call(CancellationToken::new());
    let updates = call.updates.clone();
    bench.tools.get("t").unwrap().execute(call).await.unwrap();
    updates.close();
    assert!(updates.next().await.is_some());
    assert!(updates.next().await.is_none());
    let isolate = bench.factory.isolate("a").unwrap();
    assert!(
        isolate
            .host()
            .call("tool.update", json!({"callId": 1, "partial": {}}))
            .is_ok(),
        "late updates are dropped"
    );
}

#[tokio::test]
async fn an_endless_loop_stops_its_extension_and_nobody_else() {
    let bench = Bench::new();
    for file in ["a.ts", "b.ts"] {
        bench.factory.extension(
            file,
            json!({"handlers": [{"id": 1, "event": "input"}], "commands": [{"name": file}]}),
            |_| Ok(Value::Null),
        );
    }
    bench.load(&["a.ts", "b.ts"]).await;
    bench
        .factory
        .isolate("a")
        .unwrap()
        .stop(StopCause::Runaway {
            busy: Duration::from_secs(5),
        });
    let hooks = bench.hooks();
    assert!(!hooks.is_command("a.ts"));
    assert!(hooks.is_command("b.ts"));
    assert!(hooks.subscribed(HookEvent::Input));
    let report = &bench.reported("runaway")[0];
    assert_eq!(report.extension_path, "/ext/a.ts");
    assert!(report.error.contains("5000 ms"), "{}", report.error);
}

#[tokio::test]
async fn flags_have_values_defaults_and_errors() {
    let bench = Bench::new();
    let flags = json!({"flags": [
        {"name": "plan", "type": "boolean"}, {"name": "level", "type": "string", "default": "low"}
    ]});
    bench.factory.extension("a.ts", flags, |_| Ok(Value::Null));
    bench.load(&["a.ts"]).await;
    assert_eq!(bench.host.declared_flags().len(), 2);
    let given = |name: &str, value: Option<&str>| GivenFlag {
        name: name.into(),
        value: value.map(str::to_string),
    };
    bench
        .host
        .apply_flags(&[given("plan", None)])
        .await
        .unwrap();
    let sent = bench
        .factory
        .log
        .lock()
        .iter()
        .rev()
        .find(|(_, kind, _)| kind == "flags")
        .cloned()
        .unwrap();
    assert_eq!(sent.2["values"], json!({"level": "low", "plan": true}));
    let errors = bench
        .host
        .apply_flags(&[given("nope", None), given("level", None)])
        .await
        .unwrap_err();
    assert_eq!(
        errors,
        [
            "Unknown option: --nope",
            "Extension flag \"--level\" requires a value"
        ]
    );
}

#[tokio::test]
async fn a_refused_provider_costs_only_itself() {
    let bench = Bench::new();
    let registrations = json!({
        "commands": [{"name": "ok"}],
        "providers": [
            {"name": "bad", "config": {"models": [{"id": "m"}]}},
            {"name": "good", "hasStreamSimple": true, "config": {
                "api": "mine", "baseUrl": "http://x", "apiKey": "k", "models": [{"id": "m", "contextWindow": 5}]}}
        ]
    });
    bench
        .factory
        .extension("a.ts", registrations, |_| Ok(Value::Null));
    let outcome = bench.load(&["a.ts"]).await;
    assert_eq!(outcome.loaded.len(), 1);
    assert_eq!(
        outcome.errors[0].error,
        "Provider bad: \"baseUrl\" is required when defining custom models."
    );
    let providers = &bench.host.shared.options.providers;
    assert_eq!(providers.names(), ["good"]);
    assert_eq!(providers.available_models().len(), 1);
    let isolate = bench.factory.isolate("a").unwrap();
    isolate
        .host()
        .call("unregisterProvider", json!({"ext": 1, "name": "good"}))
        .unwrap();
    assert!(providers.names().is_empty());
}

#[tokio::test]
async fn shutdown_handlers_share_one_budget() {
    let bench = Bench::with_limits(Limits {
        shutdown: Duration::from_millis(200),
        ..Limits::default()
    });
    let ran = Arc::new(Mutex::new(Vec::new()));
    for file in ["a.ts", "b.ts", "c.ts"] {
        let ran = ran.clone();
        bench.factory.script(file, move |call| {
            let ran = ran.clone();
            async move {
                match call.kind.as_str() {
                    "load" => Ok(on(&["session_shutdown"])),
                    "dispatch" => {
                        ran.lock().push(file);
                        if file == "c.ts" {
                            Ok(Value::Null)
                        } else {
                            hang().await
                        }
                    }
                    _ => Ok(Value::Null),
                }
            }
        });
    }
    bench.load(&["a.ts", "b.ts", "c.ts"]).await;
    let started = Instant::now();
    let notification = Notification::SessionShutdown {
        reason: ShutdownReason::Quit,
        target_session_file: None,
    };
    bench.hooks().notify(notification).await;
    assert!(
        started.elapsed() < Duration::from_secs(1),
        "{:?}",
        started.elapsed()
    );
    assert_eq!(*ran.lock(), ["a.ts", "b.ts", "c.ts"]);
    bench.host.shutdown().await;
    assert!(bench.host.extensions().is_empty());
}

#[tokio::test]
async fn session_replacement_speaks_both_dialects() {
    let bench = Bench::new();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let script = |file: &'static str, seen: Arc<Mutex<Vec<String>>>| {
        move |call: &FakeCall| {
            if call.kind == "dispatch" {
                seen.lock().push(format!(
                    "{file} {} {}",
                    call.payload["type"], call.payload["reason"]
                ));
            }
            Ok(Value::Null)
        }
    };
    let events = on(&["session_start", "session_switch", "session_shutdown"]);
    bench
        .factory
        .extension("x.ts", events.clone(), script("x", seen.clone()));
    bench
        .factory
        .extension("p.ts", events, script("p", seen.clone()));
    let extensions = vec![
        discovered("x.ts", Profile::Xcsh),
        discovered("p.ts", Profile::Pi),
    ];
    bench
        .host
        .load(
            &Discovery {
                extensions,
                ..Discovery::default()
            },
            |_| true,
        )
        .await;
    let hooks = bench.hooks();
    hooks
        .notify(Notification::SessionStart {
            reason: SessionStartReason::Startup,
            previous_session_file: None,
        })
        .await;
    hooks
        .notify(Notification::SessionShutdown {
            reason: ShutdownReason::New,
            target_session_file: None,
        })
        .await;
    let loads = |name: &str| {
        bench
            .factory
            .started
            .lock()
            .iter()
            .filter(|(known, _)| known == name)
            .count()
    };
    let outcome = bench
        .host
        .reload_runtime(ShutdownReason::New, SessionStartReason::New)
        .await;
    assert_eq!(
        outcome.loaded,
        ["/ext/p.ts"],
        "only pi extensions are re-created"
    );
    assert_eq!((loads("x"), loads("p")), (1, 2));
    hooks
        .notify(Notification::SessionStart {
            reason: SessionStartReason::New,
            previous_session_file: None,
        })
        .await;
    assert_eq!(
        *seen.lock(),
        [
            "x \"session_start\" \"startup\"",
            "p \"session_start\" \"startup\"",
            "p \"session_shutdown\" \"new\"",
            "p \"session_start\" \"new\"",
            "x \"session_switch\" \"new\"",
            "p \"session_switch\" \"new\"",
        ]
    );
    bench
        .host
        .reload_runtime(ShutdownReason::Reload, SessionStartReason::Reload)
        .await;
    assert_eq!((loads("x"), loads("p")), (2, 3));
}

#[tokio::test]
async fn calls_of_an_isolate_are_checked() {
    let bench = Bench::new();
    bench
        .factory
        .extension("a.ts", json!({}), |_| Ok(Value::Null));
    bench
        .factory
        .extension("b.ts", json!({}), |_| Ok(Value::Null));
    bench.load(&["a.ts", "b.ts"]).await;
    let host = bench.factory.isolate("a").unwrap().host().clone();
    let (own, other) = (bench.ext("a"), bench.ext("b"));
    assert_eq!(
        host.call("setLabel", json!({"ext": other, "label": "x"}))
            .unwrap_err()
            .class,
        "TypeError"
    );
    assert_eq!(host.call("nope", json!({})).unwrap_err().class, "TypeError");
    assert_eq!(
        host.call("register", json!({"ext": 99, "change": {}}))
            .unwrap_err()
            .class,
        "TypeError"
    );
    assert_eq!(
        host.call(
            "sendMessage",
            json!({"ext": own, "message": {"customType": "t"}})
        )
        .unwrap_err()
        .class,
        "ExtensionRuntimeNotInitializedError"
    );
    let bad = host
        .call_async("exec", json!({"ext": "x"}))
        .await
        .unwrap_err();
    assert_eq!(
        bad.message,
        "host call \"exec\": \"ext\" must be a whole number"
    );
}

#[tokio::test]
async fn the_bus_reaches_other_isolates_only() {
    let bench = Bench::new();
    bench
        .factory
        .extension("a.ts", json!({"bus": ["c"]}), |_| Ok(Value::Null));
    bench
        .factory
        .extension("b.ts", json!({"bus": ["c"]}), |_| Ok(Value::Null));
    bench.load(&["a.ts", "b.ts"]).await;
    let isolate = bench.factory.isolate("a").unwrap();
    let ext = bench.host.shared.registry.infos()[0].id;
    assert_eq!(
        isolate
            .host()
            .call("bus.targets", json!({"channel": "c"}))
            .unwrap(),
        json!(1)
    );
    assert_eq!(
        isolate
            .host()
            .call("bus.targets", json!({"channel": "d"}))
            .unwrap(),
        json!(0)
    );
    isolate
        .host()
        .call("bus.emit", json!({"ext": ext, "channel": "c", "data": 1}))
        .unwrap();
    let delivered: Vec<String> = bench
        .factory
        .log
        .lock()
        .iter()
        .filter(|(_, kind, _)| kind == "busDeliver")
        .map(|(name, ..)| name.clone())
        .collect();
    assert_eq!(delivered, ["b"]);
}

#[tokio::test]
async fn aligning_loads_what_is_new_ends_what_is_gone_and_keeps_the_rest() {
    let bench = Bench::new();
    let order = Arc::new(Mutex::new(Vec::new()));
    for file in ["a.ts", "b.ts", "c.ts"] {
        let order = order.clone();
        bench
            .factory
            .extension(file, on(&["turn_start"]), move |call| {
                if call.kind == "dispatch" {
                    order.lock().push(file);
                }
                Ok(Value::Null)
            });
    }
    bench.load(&["a.ts", "c.ts"]).await;
    let extensions = vec![
        discovered("c.ts", Profile::Xcsh),
        discovered("b.ts", Profile::Xcsh),
    ];
    let outcome = bench
        .host
        .align(&Discovery {
            extensions,
            ..Discovery::default()
        })
        .await;
    assert_eq!(outcome.loaded, ["/ext/b.ts"]);
    let event = Arc::new(pier_protocol::event::AgentEvent::TurnStart {
        turn_index: 0,
        timestamp: 0,
    });
    bench.hooks().notify(Notification::Event(event)).await;
    assert_eq!(*order.lock(), ["c.ts", "b.ts"]);
    let started = bench
        .factory
        .started
        .lock()
        .iter()
        .map(|(name, _)| name.clone())
        .collect::<Vec<_>>();
    assert_eq!(
        started.iter().filter(|name| *name == "c").count(),
        1,
        "what stays is not loaded again"
    );
}
