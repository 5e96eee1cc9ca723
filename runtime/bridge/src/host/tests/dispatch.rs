//! Events: order, chains, refusals, deadlines.

use super::*;

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
