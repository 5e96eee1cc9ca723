//! Session replacement, shutdown, and what an isolate may ask of the host.

use super::*;

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
