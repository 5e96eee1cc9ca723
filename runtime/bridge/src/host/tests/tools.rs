//! Tools: who wins a name, progress, abort, and the end of an isolate.

use super::*;

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
        .stop(StopCause::Exit { code: 3, at: None });
    assert_eq!(description().as_deref(), Some("late"));
    assert_eq!(bench.reported("process_exit").len(), 1);
    assert_eq!(bench.host.extensions().len(), 1);
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
            at: Some(crate::isolate::Place {
                file: "/ext/a.ts".into(),
                line: 3,
                column: 1,
            }),
        });
    let hooks = bench.hooks();
    assert!(!hooks.is_command("a.ts"));
    assert!(hooks.is_command("b.ts"));
    assert!(hooks.subscribed(HookEvent::Input));
    let report = &bench.reported("runaway")[0];
    assert_eq!(report.extension_path, "/ext/a.ts");
    assert!(report.error.contains("5000 ms"), "{}", report.error);
    assert_eq!(report.location.as_ref().map(|place| place.line), Some(3));
}
