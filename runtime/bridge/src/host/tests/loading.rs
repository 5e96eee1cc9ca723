//! Loading: transactions, clashes, commands, flags, providers.

use super::*;

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

#[tokio::test]
async fn built_in_providers_come_first_serve_endpoints_and_are_no_extension() {
    let bench = Bench::new();
    let model = |id: &str| json!({"id": id, "contextWindow": 5});
    let builtin = json!({"providers": [{"name": "acme", "hasStreamSimple": true, "config": {
        "api": "pi-ai", "baseUrl": "http://acme", "apiKey": "k", "models": [model("big")]}}]});
    let streamed = Arc::new(Mutex::new(Vec::new()));
    let seen = streamed.clone();
    bench.factory.script("pier:providers", move |call| {
        let (builtin, seen) = (builtin.clone(), seen.clone());
        async move {
            match call.kind.as_str() {
                "load" => Ok(builtin),
                "stream" => {
                    seen.lock().push((
                        call.header["provider"].clone(),
                        call.payload["model"]["id"].clone(),
                    ));
                    let message = json!({"role": "assistant", "content": [], "stopReason": "stop"});
                    let events = json!([{"type": "start"}, {"type": "done", "message": message}]);
                    let args = json!({"callId": call.header["callId"], "events": events});
                    call.host
                        .call("stream.events", args)
                        .map_err(|error| throws(&error.message))?;
                    Ok(Value::Null)
                }
                _ => Ok(Value::Null),
            }
        }
    });
    let registrations = json!({"providers": [
        {"name": "acme", "config": {"baseUrl": "http://proxy"}},
        {"name": "own", "config": {"api": "openai-completions", "baseUrl": "http://own", "apiKey": "k", "models": [model("m")]}}
    ]});
    bench
        .factory
        .extension("a.ts", registrations, |_| Ok(Value::Null));
    let outcome = bench.load(&["a.ts"]).await;
    assert!(outcome.errors.is_empty(), "{:?}", outcome.errors);
    let providers = &bench.host.shared.options.providers;
    assert!(
        providers.get("acme").is_none(),
        "nothing is loaded before it is needed"
    );
    // A request of the provider that only describes an endpoint loads them.
    let own = providers.get("own").unwrap();
    let request = pier_agent::provider::ModelRequest {
        model: own.models[0].clone(),
        kind: pier_agent::provider::RequestKind::Turn,
        system_prompt: String::new(),
        messages: Arc::default(),
        tools: Vec::new(),
        thinking_level: pier_protocol::model::ThinkingLevel::Off,
        session_id: "s".into(),
        options: serde_json::Map::new(),
        observer: pier_agent::provider::RequestObserver::none(),
    };
    let (sender, mut receiver) = tokio::sync::mpsc::channel(8);
    own.provider
        .stream(request, sender, CancellationToken::new())
        .await
        .unwrap();
    assert!(receiver.recv().await.is_some());
    assert_eq!(*streamed.lock(), [(json!("acme"), json!("m"))]);
    // The extension's redirection of a built-in provider counts although it came first.
    assert_eq!(
        providers.get("acme").unwrap().models[0].base_url,
        "http://proxy"
    );
    assert_eq!(bench.host.extensions().len(), 1);
    bench
        .host
        .reload_runtime(ShutdownReason::Reload, SessionStartReason::Reload)
        .await;
    let started = bench
        .factory
        .started
        .lock()
        .iter()
        .filter(|(name, _)| name.contains("providers"))
        .count();
    assert_eq!(started, 1, "a reload keeps them");
}

#[tokio::test]
async fn a_module_that_can_never_finish_fails_at_once_and_quietly() {
    let bench = Bench::with_limits(Limits::default());
    bench.factory.script("a.ts", |call| async move {
        if call.kind != "load" {
            return Ok(Value::Null);
        }
        for _ in 0..100 {
            let failure = crate::isolate::JsFailure {
                message: "Top-level await promise never resolved".into(),
                ..Default::default()
            };
            call.host
                .raw()
                .fault(crate::isolate::Fault::UncaughtException(failure));
        }
        hang().await
    });
    let started = Instant::now();
    let outcome = bench.load(&["a.ts"]).await;
    assert!(started.elapsed() < Duration::from_secs(5));
    assert_eq!(
        outcome.errors[0].error,
        "Failed to load extension: Top-level await promise never resolved"
    );
    assert!(bench.reported("uncaughtException").is_empty());
}

#[tokio::test]
async fn an_extension_that_fails_without_end_is_stopped() {
    let bench = Bench::new();
    bench
        .factory
        .extension("a.ts", json!({"commands": [{"name": "x"}]}), |_| {
            Ok(Value::Null)
        });
    bench.load(&["a.ts"]).await;
    let isolate = bench.factory.isolate("a").unwrap();
    for _ in 0..600 {
        let failure = crate::isolate::JsFailure {
            message: "tick".into(),
            ..Default::default()
        };
        isolate
            .host()
            .raw()
            .fault(crate::isolate::Fault::UncaughtException(failure));
    }
    assert_eq!(bench.reported("uncaughtException").len(), 1);
    assert_eq!(bench.reported("runtime").len(), 1);
    assert!(!bench.hooks().is_command("x"));
}
