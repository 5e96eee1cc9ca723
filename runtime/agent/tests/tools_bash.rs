//! `bash` and the commands of a person: output, ends, limits, and that nothing is left behind.

mod tools_support;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use pier_agent::tool::{Tool, ToolCall, ToolError, ToolOutput};
use pier_agent::tools::bash::{SpawnContext, SpawnHook};
use pier_agent::tools::operations::{
    BashExec, BashExecError, BashExit, BashOperations, OutputSink,
};
use pier_agent::tools::{BashTool, BashToolOptions, UserBash, run_user_bash};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tools_support::{Lab, is_alive, read_pid, text, until, within};

fn bash() -> BashTool {
    BashTool::new(BashToolOptions::default())
}

fn command(command: &str) -> Value {
    json!({"command": command})
}

#[tokio::test]
async fn output_of_both_streams_in_order() {
    let lab = Lab::new();
    let output = lab
        .run(
            &bash(),
            command("for i in 1 2 3; do echo out$i; echo err$i >&2; done"),
        )
        .await
        .unwrap();
    assert_eq!(text(&output), "out1\nerr1\nout2\nerr2\nout3\nerr3\n");
    assert_eq!((output.is_error, output.details), (None, None));
    let structured = output.structured_content.unwrap();
    assert_eq!(structured["output"], "out1\nerr1\nout2\nerr2\nout3\nerr3\n");
    assert_eq!(
        (&structured["truncated"], &structured["exit_code"]),
        (&json!(false), &json!(0))
    );
    assert!(structured["wall_time_seconds"].as_f64().unwrap() > 0.0);
    assert!(structured.get("full_output_path").is_none());
}

#[tokio::test]
async fn ends_of_commands() {
    let lab = Lab::new();
    for (line, expected, is_error) in [
        ("true", "(no output)", None),
        (
            "exit 3",
            "(no output)\n\nCommand exited with code 3",
            Some(true),
        ),
        (
            "echo x; exit 4",
            "x\n\n\nCommand exited with code 4",
            Some(true),
        ),
        (
            "kill -TERM $$",
            "(no output)\n\nCommand exited with code 143",
            Some(true),
        ),
        (
            "no-such-program-here 2>/dev/null",
            "(no output)\n\nCommand exited with code 127",
            Some(true),
        ),
    ] {
        let output = lab.run(&bash(), command(line)).await.unwrap();
        assert_eq!(
            (text(&output).as_str(), output.is_error),
            (expected, is_error),
            "{line}"
        );
    }
}

#[tokio::test]
async fn stdin_is_closed_and_the_command_leads_its_own_group() {
    let lab = Lab::new();
    assert_eq!(lab.ok(&bash(), command("cat; echo done")).await, "done\n");
    let ids = lab
        .ok(
            &bash(),
            command("echo $$; ps -o pgid= -p $$ || cut -d' ' -f5 /proc/$$/stat"),
        )
        .await;
    let ids: Vec<&str> = ids.split_whitespace().collect();
    assert_eq!(ids[0], *ids.last().unwrap(), "{ids:?}");
}

#[tokio::test]
async fn runs_in_the_session_directory_with_its_variables() {
    let mut lab = Lab::new();
    lab.context.env = vec![
        ("PI_SESSION_ID".into(), "s1".into()),
        ("PI_MODEL".into(), "m".into()),
    ];
    let shown = lab
        .ok(
            &bash(),
            command("pwd; echo $PI_SESSION_ID $PI_MODEL; test -n \"$PATH\" && echo path"),
        )
        .await;
    assert_eq!(
        shown,
        format!("{}\ns1 m\npath\n", lab.context.cwd.display())
    );
    let hidden = BashTool::new(BashToolOptions {
        hide_session_environment: true,
        ..BashToolOptions::default()
    });
    assert_eq!(
        lab.ok(&hidden, command("echo [$PI_SESSION_ID]")).await,
        "[]\n"
    );
    lab.context.cwd = lab.path("gone");
    assert_eq!(
        lab.err(&bash(), command("pwd")).await,
        format!(
            "Working directory does not exist: {}\nCannot execute bash commands.",
            lab.context.cwd.display()
        )
    );
}

#[tokio::test]
async fn prefix_shell_and_hook() {
    let mut lab = Lab::new();
    lab.context.shell.command_prefix = Some("greet() { echo \"hi $1\"; }".into());
    assert_eq!(lab.ok(&bash(), command("greet you")).await, "hi you\n");
    lab.context.shell.command_prefix = None;
    lab.context.shell.path = Some("/bin/sh".into());
    assert_eq!(lab.ok(&bash(), command("echo $0")).await, "/bin/sh\n");
    lab.context.shell.path = Some("/no/shell".into());
    assert_eq!(
        lab.err(&bash(), command("true")).await,
        "Shell not found: /no/shell (setting shellPath)"
    );
    lab.context.shell.path = None;

    struct Wrap;
    #[async_trait]
    impl SpawnHook for Wrap {
        async fn spawn(&self, mut context: SpawnContext) -> Result<SpawnContext, String> {
            if context.command == "forbidden" {
                return Err("not today".into());
            }
            context.command = format!("echo before; {}", context.command);
            context.env.insert("ADDED".into(), "yes".into());
            context.cwd = "/".into();
            Ok(context)
        }
    }
    let hooked = BashTool::new(BashToolOptions {
        spawn_hook: Some(Arc::new(Wrap)),
        ..BashToolOptions::default()
    });
    assert_eq!(
        lab.ok(&hooked, command("echo $ADDED; pwd")).await,
        "before\nyes\n/\n"
    );
    assert_eq!(lab.err(&hooked, command("forbidden")).await, "not today");
}

#[tokio::test]
async fn a_command_that_cannot_start_says_so() {
    let lab = Lab::new();
    let error = lab.err(&bash(), command("echo a\0b")).await;
    assert!(error.starts_with("Cannot run "), "{error}");
    let error = lab.err(&bash(), command(&"x".repeat(3_000_000))).await;
    assert!(error.starts_with("Cannot run "), "{error}");
}

#[tokio::test]
async fn long_output_shows_its_tail_and_keeps_everything_in_a_file() {
    let lab = Lab::new();
    let output = lab.run(&bash(), command("seq 1 3000")).await.unwrap();
    let details = output.details.clone().unwrap();
    let path = details["fullOutputPath"].as_str().unwrap().to_owned();
    let shown = text(&output);
    assert!(shown.starts_with("1001\n"), "{shown}");
    assert!(shown.ends_with(&format!(
        "\n3000\n\n[Showing lines 1001-3000 of 3000. Full output: {path}]"
    )));
    assert_eq!(details["truncation"]["truncatedBy"], "lines");
    assert_eq!(details["truncation"]["totalLines"], 3000);
    let full: String = (1..=3000).map(|n| format!("{n}\n")).collect();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), full);
    let structured = output.structured_content.unwrap();
    // Programs got all of it.
    assert_eq!(structured["output"], full);
    assert_eq!(structured["truncated"], false);
    assert!(structured.get("full_output_path").is_none());
    std::fs::remove_file(path).unwrap();
}

#[tokio::test]
async fn output_cut_by_bytes_and_a_single_long_line() {
    let lab = Lab::new();
    let line = format!("{}\n", "x".repeat(999));
    lab.file("bytes", line.repeat(100));
    let output = lab
        .run(&bash(), command("cat bytes; exit 1"))
        .await
        .unwrap();
    let path = output.details.clone().unwrap()["fullOutputPath"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(text(&output).ends_with(&format!(
        "\n\n[Showing lines 50-100 of 100 (50.0KB limit). Full output: {path}]\n\nCommand exited with code 1"
    )));
    std::fs::remove_file(path).unwrap();
    lab.file("line", "x".repeat(100_000));
    let output = lab.run(&bash(), command("cat line; echo")).await.unwrap();
    let path = output.details.clone().unwrap()["fullOutputPath"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(text(&output).ends_with(&format!(
        "x\n\n[Showing last 50.0KB of line 1 (line is 97.7KB). Full output: {path}]"
    )));
    assert_eq!(
        output.details.unwrap()["truncation"]["lastLinePartial"],
        true
    );
    std::fs::remove_file(path).unwrap();
}

#[tokio::test]
async fn huge_output_stays_bounded() {
    let lab = Lab::new();
    let output = lab
        .run(
            &bash(),
            command("head -c 20000000 /dev/zero | tr '\\0' 'x' | fold -w 999; echo end"),
        )
        .await
        .unwrap();
    let path = output.details.clone().unwrap()["fullOutputPath"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(text(&output).contains("\nend") || text(&output).contains("xend"));
    let structured = output.structured_content.unwrap();
    let kept = structured["output"].as_str().unwrap();
    assert!(
        kept.len() <= 1024 * 1024 && kept.len() > 1024 * 1024 - 100,
        "{}",
        kept.len()
    );
    assert!(kept.contains(" bytes cut ...]\n"));
    assert_eq!(structured["truncated"], true);
    assert!(std::fs::metadata(&path).unwrap().len() > 20_000_000);
    std::fs::remove_file(path).unwrap();
}

#[tokio::test]
async fn characters_split_between_writes_stay_whole() {
    let lab = Lab::new();
    let line = "printf '\\xc3'; sleep 0.2; printf '\\xa9\\n\\xff'";
    assert_eq!(lab.ok(&bash(), command(line)).await, "é\n\u{FFFD}");
}

/// Runs a call beside the test and hands out its updates.
fn start(call: ToolCall) -> tokio::task::JoinHandle<Result<ToolOutput, ToolError>> {
    tokio::spawn(async move { bash().execute(call).await })
}

#[tokio::test]
async fn updates_start_empty_and_show_the_tail() {
    let lab = Lab::new();
    let call = lab.call(command("echo one; read -t 30 x < gate; echo two"));
    let made = std::process::Command::new("mkfifo")
        .arg(lab.path("gate"))
        .status()
        .unwrap();
    assert!(made.success());
    let updates = call.updates.clone();
    let running = start(call);
    let first = within(updates.next()).await.unwrap();
    assert_eq!(
        serde_json::to_value(&first).unwrap(),
        json!({"content": []})
    );
    let second = within(updates.next()).await.unwrap();
    assert_eq!(text(&second), "one\n");
    std::fs::write(lab.path("gate"), "go\n").unwrap();
    assert_eq!(text(&within(running).await.unwrap().unwrap()), "one\ntwo\n");
}

#[tokio::test]
async fn updates_come_at_most_every_100_ms() {
    let lab = Lab::new();
    let busy = with_executor(|_, output| {
        Box::pin(async move {
            for _ in 0..300 {
                output.write(Bytes::from_static(b"x")).await;
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            Ok(BashExit { code: Some(0) })
        })
    });
    let call = lab.call(command("x"));
    let updates = call.updates.clone();
    let started = Instant::now();
    within(busy.execute(call)).await.unwrap();
    let took = started.elapsed();
    updates.close();
    let mut count = 0;
    while within(updates.next()).await.is_some() {
        count += 1;
    }
    // The empty one, one at once, and one for every interval that passed.
    let most = 2 + took.as_millis() / 100;
    assert!(
        count >= 4 && count as u128 <= most,
        "{count} updates in {took:?}"
    );
}

#[tokio::test]
async fn a_timeout_ends_the_command_and_keeps_its_output() {
    let lab = Lab::new();
    let started = Instant::now();
    let error = lab
        .err(
            &bash(),
            json!({"command": "echo before; sleep 100", "timeout": 0.3}),
        )
        .await;
    assert_eq!(error, "before\n\n\nCommand timed out after 0.3 seconds");
    assert!(started.elapsed() < Duration::from_secs(20));
    assert_eq!(
        lab.err(&bash(), json!({"command": "sleep 100", "timeout": 1}))
            .await,
        "Command timed out after 1 seconds"
    );
    for none in [json!(0), json!(-1), json!(1e300)] {
        assert_eq!(
            lab.ok(&bash(), json!({"command": "echo x", "timeout": none}))
                .await,
            "x\n"
        );
    }
}

#[tokio::test]
async fn a_timeout_after_the_shell_has_ended_says_so() {
    let lab = Lab::new();
    let line = "(while :; do echo x; done) &";
    let error = lab
        .err(&bash(), json!({"command": line, "timeout": 1.8}))
        .await;
    assert!(
        error.contains("\n\nCommand timed out after 1.8 seconds (the shell had already exited"),
        "{error}"
    );
}

#[tokio::test]
async fn an_abort_kills_the_whole_tree() {
    let lab = Lab::new();
    // A grandchild in the group, one in a session of its own, and one that ignores polite signals.
    let line = "trap '' TERM HUP INT; bash -c 'sleep 300 & echo $! > a; wait' & \
                setsid bash -c 'echo $$ > b; exec sleep 300' & \
                bash -c \"trap '' TERM; echo \\$\\$ > c; while :; do sleep 1; done\" & \
                echo ready; wait";
    let call = lab.call(command(line));
    let cancel = call.cancel.clone();
    let running = start(call);
    let files = ["a", "b", "c"].map(|name| lab.path(name));
    until("all children run", || {
        files.iter().all(|path| read_pid(path).is_some())
    })
    .await;
    let pids: Vec<String> = files.iter().filter_map(|path| read_pid(path)).collect();
    assert!(pids.iter().all(|pid| is_alive(pid)));
    let started = Instant::now();
    cancel.cancel();
    let error = within(running).await.unwrap().unwrap_err().to_string();
    assert_eq!(error, "ready\n\n\nCommand aborted");
    assert!(started.elapsed() < Duration::from_secs(10));
    until("all children are gone", || {
        pids.iter().all(|pid| !is_alive(pid))
    })
    .await;
}

#[tokio::test]
async fn an_abort_before_the_start_runs_nothing() {
    let lab = Lab::new();
    let call = lab.call(command("touch ran"));
    call.cancel.cancel();
    assert_eq!(
        within(bash().execute(call)).await.unwrap_err().to_string(),
        "Command aborted"
    );
    assert!(!lab.path("ran").exists());
}

#[tokio::test]
async fn a_dropped_call_leaves_no_process() {
    let lab = Lab::new();
    let running = start(lab.call(command("echo $$ > pid; sleep 300 & echo $! > child; wait")));
    let files = ["pid", "child"].map(|name| lab.path(name));
    until("it runs", || {
        files.iter().all(|path| read_pid(path).is_some())
    })
    .await;
    let pids: Vec<String> = files.iter().filter_map(|path| read_pid(path)).collect();
    running.abort();
    until("it is gone", || pids.iter().all(|pid| !is_alive(pid))).await;
}

#[tokio::test]
async fn background_processes_do_not_hold_the_call_and_live_on() {
    let lab = Lab::new();
    let started = Instant::now();
    let shown = lab
        .ok(&bash(), command("sleep 300 & echo $! > pid; echo done"))
        .await;
    assert_eq!(shown, "done\n");
    assert!(started.elapsed() < Duration::from_secs(10));
    let pid = read_pid(&lab.path("pid")).unwrap();
    assert!(is_alive(&pid));
    let killed = std::process::Command::new("kill")
        .args(["-KILL", &pid])
        .status()
        .unwrap();
    assert!(killed.success());
}

#[tokio::test]
async fn a_background_process_that_never_stops_writing_does_not_hold_the_call() {
    let lab = Lab::new();
    let started = Instant::now();
    let output = lab
        .run(
            &bash(),
            command("echo done; (while :; do echo noise; done) & echo $! > pid"),
        )
        .await
        .unwrap();
    assert!(started.elapsed() < Duration::from_secs(30));
    if let Some(details) = &output.details {
        std::fs::remove_file(details["fullOutputPath"].as_str().unwrap()).unwrap();
    }
    let structured = output.structured_content.unwrap();
    assert!(structured["output"].as_str().unwrap().starts_with("done\n"));
    // Its next write finds nobody.
    let pid = read_pid(&lab.path("pid")).unwrap();
    until("the writer notices", || !is_alive(&pid)).await;
}

#[tokio::test]
async fn output_that_comes_right_after_the_shell_is_not_lost() {
    let lab = Lab::new();
    assert_eq!(
        lab.ok(&bash(), command("echo late > >(cat)")).await,
        "late\n"
    );
    assert_eq!(
        lab.ok(&bash(), command("exec >&- 2>&-; sleep 0.1; exit 0"))
            .await,
        "(no output)"
    );
}

/// An executor that is told what to do.
struct Fake(
    fn(
        BashExec,
        OutputSink,
    ) -> futures::future::BoxFuture<'static, Result<BashExit, BashExecError>>,
);

#[async_trait]
impl BashOperations for Fake {
    async fn exec(&self, request: BashExec, output: OutputSink) -> Result<BashExit, BashExecError> {
        (self.0)(request, output).await
    }
}

fn with_executor(
    run: fn(
        BashExec,
        OutputSink,
    ) -> futures::future::BoxFuture<'static, Result<BashExit, BashExecError>>,
) -> BashTool {
    BashTool::new(BashToolOptions {
        operations: Some(Arc::new(Fake(run))),
        ..BashToolOptions::default()
    })
}

#[tokio::test]
async fn runs_through_other_executors() {
    let lab = Lab::new();
    let remote = with_executor(|request, output| {
        Box::pin(async move {
            assert_eq!(request.timeout, Some(Duration::from_secs(5)));
            assert!(
                output
                    .write(Bytes::from(format!("ran {}", request.command)))
                    .await
            );
            Ok(BashExit { code: Some(0) })
        })
    });
    assert_eq!(
        lab.ok(&remote, json!({"command": "x", "timeout": 5})).await,
        "ran x"
    );
    let failed = with_executor(|_, _| Box::pin(async { Ok(BashExit { code: None }) }));
    assert_eq!(
        lab.err(&failed, command("x")).await,
        "Command terminated without an exit code"
    );
    let broken =
        with_executor(|_, _| Box::pin(async { Err(BashExecError::from_message("no container")) }));
    assert_eq!(lab.err(&broken, command("x")).await, "no container");
    let slow =
        with_executor(|_, _| Box::pin(async { Err(BashExecError::from_message("timeout:7")) }));
    assert_eq!(
        lab.err(&slow, command("x")).await,
        "Command timed out after 7 seconds"
    );
}

#[tokio::test]
async fn an_executor_that_never_answers_is_left_behind() {
    let lab = Lab::new();
    let hung = with_executor(|_, output| {
        Box::pin(async move {
            output.write(Bytes::from_static(b"started")).await;
            std::future::pending().await
        })
    });
    let timed = hung.execute(lab.call(json!({"command": "x", "timeout": 0.5})));
    let call = lab.call(command("x"));
    let cancel = call.cancel.clone();
    let aborted = async {
        cancel.cancel();
        hung.execute(call).await
    };
    let (timed, aborted) = within(futures::future::join(timed, aborted)).await;
    assert_eq!(
        timed.unwrap_err().to_string(),
        "started\n\nCommand timed out after 0.5 seconds"
    );
    assert_eq!(
        aborted.unwrap_err().to_string(),
        "started\n\nCommand aborted"
    );
}

async fn user(lab: &Lab, line: &str) -> (pier_agent::tools::BashResult, String) {
    let deltas = Arc::new(Mutex::new(String::new()));
    let seen = deltas.clone();
    let request = UserBash::new(line, lab.context.cwd.clone(), CancellationToken::new());
    let result = within(run_user_bash(request, move |delta| {
        seen.lock().unwrap().push_str(&delta);
        async {}
    }))
    .await
    .unwrap();
    let deltas = deltas.lock().unwrap().clone();
    (result, deltas)
}

#[tokio::test]
async fn a_person_gets_plain_text() {
    let lab = Lab::new();
    let (result, deltas) = user(
        &lab,
        "printf '\\033[31mred\\033[0m\\r\\n'; echo err >&2; exit 4",
    )
    .await;
    assert_eq!(
        serde_json::to_value(&result).unwrap(),
        json!({"output": "red\nerr\n", "exitCode": 4, "cancelled": false, "truncated": false})
    );
    assert_eq!(deltas, "red\nerr\n");
}

#[tokio::test]
async fn a_person_gets_the_tail_and_the_whole_stream() {
    let lab = Lab::new();
    let (result, deltas) = user(&lab, "seq 1 3000").await;
    assert!(result.output.starts_with("1001\n") && result.output.ends_with("\n3000"));
    assert!(result.truncated);
    let full: String = (1..=3000).map(|n| format!("{n}\n")).collect();
    assert_eq!(deltas, full);
    let path = result.full_output_path.unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), full);
    std::fs::remove_file(path).unwrap();
}

#[tokio::test]
async fn a_person_can_cancel() {
    let lab = Lab::new();
    let cancel = CancellationToken::new();
    let request = UserBash::new(
        "echo start; sleep 300; echo end",
        lab.context.cwd.clone(),
        cancel.clone(),
    );
    // Cancelled by the first piece of output.
    let result = within(run_user_bash(request, |_| {
        cancel.cancel();
        async {}
    }))
    .await
    .unwrap();
    assert_eq!(
        serde_json::to_value(&result).unwrap(),
        json!({"output": "start\n", "cancelled": true, "truncated": false})
    );
}

#[tokio::test]
async fn a_slow_receiver_slows_the_command_down_and_loses_nothing() {
    let lab = Lab::new();
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let received = Arc::new(Mutex::new(0_usize));
    let (waiting, seen) = (gate.clone(), received.clone());
    let line =
        "for i in $(seq 1 120); do head -c 65536 /dev/zero | tr '\\0' x; echo $i > progress; done";
    let request = UserBash::new(line, lab.context.cwd.clone(), CancellationToken::new());
    let running = tokio::spawn(run_user_bash(request, move |delta| {
        let (waiting, seen) = (waiting.clone(), seen.clone());
        async move {
            *seen.lock().unwrap() += delta.len();
            waiting.acquire().await.unwrap().forget();
        }
    }));
    until("output arrives", || *received.lock().unwrap() > 0).await;
    let progress = || {
        std::fs::read_to_string(lab.path("progress"))
            .ok()
            .and_then(|n| n.trim().parse::<u32>().ok())
    };
    // It comes to a halt once the pipe and the channel are full, long before the end.
    let mut last = progress();
    loop {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let now = progress();
        if now == last {
            break;
        }
        last = now;
    }
    assert!(last.unwrap_or(0) < 60, "{last:?}");
    assert!(!running.is_finished());
    gate.add_permits(1_000_000);
    let result = within(running).await.unwrap().unwrap();
    assert_eq!(result.exit_code, Some(0));
    assert_eq!(*received.lock().unwrap(), 120 * 65536);
    std::fs::remove_file(result.full_output_path.unwrap()).unwrap();
}

#[tokio::test]
async fn a_receiver_that_hangs_does_not_stop_an_abort() {
    let lab = Lab::new();
    let cancel = CancellationToken::new();
    let request = UserBash::new(
        "yes | head -c 30000000",
        lab.context.cwd.clone(),
        cancel.clone(),
    );
    let called = Arc::new(tokio::sync::Notify::new());
    let notify = called.clone();
    let running = tokio::spawn(run_user_bash(request, move |_| {
        notify.notify_one();
        std::future::pending()
    }));
    within(called.notified()).await;
    cancel.cancel();
    assert!(within(running).await.unwrap().unwrap().cancelled);
}
