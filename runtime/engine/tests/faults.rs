//! Whatever an extension does, the host goes on and knows where it happened.

mod support;

use std::time::Duration;

use pier_engine::{CallOptions, EngineError, IsolateFault, JsFault, StopReason};
use support::{PATIENCE, Package};

fn js(error: EngineError) -> JsFault {
    match error {
        EngineError::Js(fault) => fault,
        other => panic!("not a JavaScript fault: {other:?}"),
    }
}

/// Loads an extension with a command `go` and runs it.
async fn run_command(
    package: &Package,
    body: &str,
    deadline: Duration,
) -> Result<Option<String>, EngineError> {
    let entry = package.write("entry.ts", &format!("export default (pi: any) => {{\n  pi.registerCommand('go', {{ handler: async () => {{\n{body}\n  }} }});\n}};\n"));
    package.load(&entry).await.expect("the extension loads");
    package
        .isolate
        .call(
            "bind",
            r#"{"mode":"print","hasUI":false}"#.into(),
            None,
            CallOptions::within(PATIENCE),
        )
        .await
        .expect("it binds");
    let header = r#"{"ext":1,"command":"go","args":"","callId":7}"#;
    package
        .isolate
        .call(
            "runCommand",
            header.into(),
            None,
            CallOptions::within(deadline),
        )
        .await
}

#[tokio::test]
async fn a_throwing_factory_names_its_line() {
    let package = Package::new();
    let entry = package.write("entry.ts", "interface Shape { a: string }\n\nexport default function () {\n  throw new TypeError(\"no good\", { cause: new Error(\"why\") });\n}\n");
    let fault = js(package.load(&entry).await.expect_err("the factory throws"));
    assert_eq!(
        (fault.name.as_str(), fault.message.as_str()),
        ("TypeError", "no good")
    );
    let location = fault.location.expect("a place");
    assert!(location.file.ends_with("/entry.ts"));
    assert_eq!((location.line, location.column), (4, 9));
    assert!(fault.stack.expect("a stack").contains("entry.ts:4:9"));
    assert_eq!(fault.cause.expect("a cause").message, "why");
}

#[tokio::test]
async fn a_syntax_error_names_its_place() {
    let package = Package::new();
    let entry = package.write(
        "entry.ts",
        "export default function () {\n  const x = ;\n}\n",
    );
    let fault = js(package.load(&entry).await.expect_err("it does not parse"));
    let location = fault.location.clone().expect("a place");
    assert!(location.file.ends_with("/entry.ts"), "{fault:?}");
    assert_eq!((location.line, location.column), (2, 13), "{fault:?}");
}

#[tokio::test]
async fn a_missing_import_names_both_files() {
    let package = Package::new();
    let entry = package.write(
        "entry.ts",
        "import './nowhere.js';\nexport default () => {};\n",
    );
    let fault = js(package
        .load(&entry)
        .await
        .expect_err("the import does not exist"));
    assert!(
        fault.message.contains("nowhere.js") && fault.message.contains("entry.ts"),
        "{fault}"
    );
    let location = fault.location.expect("a place");
    assert!(location.file.ends_with("/entry.ts"));
    assert_eq!((location.line, location.column), (1, 8));
}

#[tokio::test]
async fn a_loop_is_stopped_at_the_deadline() {
    let package = Package::new();
    let error = run_command(&package, "for (;;) {}", Duration::from_millis(300))
        .await
        .expect_err("it never ends");
    let EngineError::Stopped(reason @ StopReason::Unresponsive { .. }) = error else {
        panic!("{error:?}")
    };
    assert_eq!(
        reason.location().map(|place| place.line),
        Some(3),
        "{reason}"
    );
}

#[tokio::test]
async fn a_loop_outside_any_call_is_stopped_at_the_busy_limit() {
    let package = Package::with(|options| options.busy_limit = Duration::from_millis(300));
    run_command(&package, "setTimeout(() => { for (;;) {} }, 1);", PATIENCE)
        .await
        .expect("the command itself ends");
    let reason = package
        .host
        .fault(|fault| {
            if let IsolateFault::Stopped(reason) = fault {
                Some(reason.clone())
            } else {
                None
            }
        })
        .await;
    assert!(
        matches!(reason, StopReason::Unresponsive { .. }),
        "{reason:?}"
    );
}

#[tokio::test]
async fn waiting_past_the_deadline_leaves_the_isolate_alive() {
    let package = Package::new();
    let error = run_command(
        &package,
        "await new Promise(() => {});",
        Duration::from_millis(100),
    )
    .await
    .expect_err("it never settles");
    assert!(matches!(error, EngineError::Timeout { .. }), "{error:?}");
    assert_eq!(package.isolate.stop_reason(), None);
}

#[tokio::test]
async fn uncaught_errors_are_reported_with_their_place() {
    let package = Package::new();
    run_command(&package, "setTimeout(() => { throw new Error('late'); }, 1);\nPromise.reject(new RangeError('floating'));", PATIENCE).await.expect("the command ends");
    let thrown = package
        .host
        .fault(|fault| {
            if let IsolateFault::UncaughtException(fault) = fault {
                Some(fault.clone())
            } else {
                None
            }
        })
        .await;
    assert_eq!(
        (
            thrown.message.as_str(),
            thrown.location.map(|place| place.line)
        ),
        ("late", Some(3))
    );
    let rejected = package
        .host
        .fault(|fault| {
            if let IsolateFault::UnhandledRejection(fault) = fault {
                Some(fault.clone())
            } else {
                None
            }
        })
        .await;
    assert_eq!(
        (
            rejected.name.as_str(),
            rejected.location.map(|place| place.line)
        ),
        ("RangeError", Some(4))
    );
    assert_eq!(package.isolate.stop_reason(), None);
}

#[tokio::test]
async fn process_exit_ends_the_isolate_only() {
    let package = Package::new();
    let error = run_command(&package, "process.exit(3);", PATIENCE)
        .await
        .expect_err("the isolate ends");
    let EngineError::Stopped(reason @ StopReason::ProcessExit { code: 3, .. }) = error else {
        panic!("{error:?}")
    };
    assert_eq!(
        reason.location().map(|place| place.line),
        Some(3),
        "{reason}"
    );
}

#[tokio::test]
async fn a_full_heap_ends_the_isolate_only() {
    let package = Package::with(|options| options.heap_limit_bytes = Some(64 * 1024 * 1024));
    let error = run_command(
        &package,
        "const kept: any[] = []; for (;;) kept.push(new Array(1000).fill({}));",
        PATIENCE,
    )
    .await
    .expect_err("the isolate ends");
    assert!(
        matches!(error, EngineError::Stopped(StopReason::HeapLimit { .. })),
        "{error:?}"
    );
}

#[tokio::test]
async fn what_it_prints_arrives_line_by_line_with_its_name() {
    let package = Package::new();
    run_command(&package, "console.log('one'); process.stdout.write('two\\n'); console.error('three'); console.log('x'.repeat(300000));", PATIENCE).await.expect("it ends");
    for line in ["[test] one", "[test] two", "[test] three"] {
        package.output.wait_for(line).await;
    }
}

#[tokio::test]
async fn other_isolates_go_on_while_one_loops() {
    let package = Package::new();
    let looping = run_command(&package, "for (;;) {}", Duration::from_secs(2));
    let other = async {
        let second = Package::new();
        second.value("", "1 + 1").await
    };
    let (looped, value) = tokio::join!(looping, other);
    assert!(looped.is_err());
    assert_eq!(value, serde_json::json!(2));
}

#[tokio::test]
async fn half_a_surrogate_pair_becomes_a_replacement_character() {
    let package = Package::new();
    let entry = package.write(
        "entry.ts",
        r#"export default (pi: any) => pi.setLabel("😀".slice(0, 1) + "|😀|\\ud83d");"#,
    );
    let registrations = package.load(&entry).await.expect("it loads");
    assert_eq!(registrations["label"], "\u{fffd}|😀|\\ud83d");
}

#[tokio::test]
async fn ending_its_own_process_ends_the_isolate_only() {
    for (body, code) in [
        ("process.abort();", 134),
        ("process.kill(process.pid);", 143),
        ("process.kill(0, 'SIGTERM');", 143),
    ] {
        let package = Package::new();
        let error = run_command(&package, body, PATIENCE)
            .await
            .expect_err("the isolate ends");
        let EngineError::Stopped(StopReason::ProcessExit { code: found, .. }) = error else {
            panic!("{body}: {error:?}")
        };
        assert_eq!(found, code, "{body}");
    }
}

#[tokio::test]
async fn what_v8_cannot_represent_loses_the_isolate_only() {
    let package = Package::new();
    let error = run_command(&package, "'x'.repeat(2 ** 28).split('');", PATIENCE)
        .await
        .expect_err("the isolate ends");
    assert!(
        matches!(error, EngineError::Stopped(StopReason::Lost)),
        "{error:?}"
    );
    let other = Package::new();
    assert_eq!(other.value("", "1 + 1").await, serde_json::json!(2));
}

#[tokio::test]
async fn array_buffers_have_a_limit_of_their_own() {
    let package = Package::with(|options| options.heap_limit_bytes = Some(64 * 1024 * 1024));
    let error = run_command(
        &package,
        "const kept = []; for (;;) kept.push(new Uint8Array(16 * 1024 * 1024).fill(1));",
        PATIENCE,
    )
    .await
    .expect_err("it gets no more");
    // V8 may count the buffers as a reason to look at the heap, and then the heap's limit is met first.
    let refused = match &error {
        EngineError::Js(fault) => fault.name == "RangeError",
        EngineError::Stopped(reason) => matches!(reason, StopReason::HeapLimit { .. }),
        EngineError::Timeout { .. } => false,
    };
    assert!(refused, "{error:?}");
    // What nobody holds any more can be had again.
    let package = Package::with(|options| options.heap_limit_bytes = Some(64 * 1024 * 1024));
    // With pauses: V8 frees buffers on threads of its own, which a busy machine may keep waiting.
    let total = "let sum = 0; for (let i = 0; i < 80; i++) { sum += Buffer.alloc(8 * 1024 * 1024, 1).length; await new Promise((go) => setTimeout(go, 20)); } if (sum < 1e6) throw new Error();";
    run_command(&package, total, PATIENCE)
        .await
        .expect("freed memory is given back");
}

#[tokio::test]
async fn one_allocation_larger_than_the_heap_ends_the_isolate_only() {
    let package = Package::with(|options| options.heap_limit_bytes = Some(64 * 1024 * 1024));
    let error = run_command(
        &package,
        "const m = new Map(); for (let i = 0; ; i++) m.set(i, i);",
        PATIENCE,
    )
    .await
    .expect_err("the isolate ends");
    assert!(
        matches!(error, EngineError::Stopped(StopReason::HeapLimit { .. })),
        "{error:?}"
    );
}
