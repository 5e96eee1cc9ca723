//! Aborts: spec/agent-loop.md §3.3.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use pier_agent::agent_session::{Disposition, PromptRequest};
use pier_agent::events::EventListener;
use pier_agent::hooks::{BeforeAgentStartOutcome, InputSource};
use pier_agent::tool::{ExecutionMode, ToolCall, ToolError, ToolOutput};
use pier_protocol::event::AgentEvent;
use serde_json::json;

use crate::lab::{Lab, PATIENCE, set, tool};

async fn abort(lab: &Lab) {
    assert!(
        tokio::time::timeout(PATIENCE, lab.session.abort())
            .await
            .is_ok(),
        "{:#?}",
        lab.log.lines()
    );
    assert!(
        lab.log
            .lines()
            .last()
            .is_some_and(|line| line.starts_with("agent_settled")),
        "abort returns when idle"
    );
}

#[tokio::test]
async fn while_text_is_streamed() {
    let lab = Lab::new().await.warmed().await;
    let before = lab.log.updates();
    lab.log.take();
    lab.start("@delay 30\n@text a very long text that will be aborted in the middle")
        .await;
    lab.log.wait_for_updates(before + 3).await;
    abort(&lab).await;
    let lines = lab.log.take();
    assert!(
        lines[5].starts_with("message_end assistant aborted [a very"),
        "{lines:#?}"
    );
    assert!(lines[5].ends_with("!Request was aborted"));
    assert_eq!(
        lines[6..],
        [
            "turn_end aborted 0",
            "agent_end 2 false",
            "agent_settled true"
        ]
    );
    assert!(
        lab.session
            .last_assistant_text()
            .unwrap()
            .starts_with("a very")
    );
}

#[tokio::test]
async fn while_tools_run_one_more_empty_turn_follows() {
    let lab = Lab::new().await.warmed().await;
    lab.log.take();
    lab.start(
        "@text t\n@tool slow {\"ms\":10000,\"tag\":\"A\"}\n@tool slow {\"ms\":10000,\"tag\":\"B\"}",
    )
    .await;
    lab.log.wait_for("tool_execution_start call_2").await;
    abort(&lab).await;
    let lines = lab.log.take();
    let ends = lines
        .iter()
        .position(|line| line.starts_with("message_start toolResult"))
        .unwrap();
    assert_eq!(
        lines[ends..],
        [
            "message_start toolResult call_1 [slow aborted] ERR",
            "message_end toolResult call_1 [slow aborted] ERR",
            "message_start toolResult call_2 [slow aborted] ERR",
            "message_end toolResult call_2 [slow aborted] ERR",
            "turn_end toolUse 2",
            "turn_start",
            "message_start assistant aborted [] !This operation was aborted",
            "message_end assistant aborted [] !This operation was aborted",
            "turn_end aborted 0",
            "agent_end 5 false",
            "agent_settled true",
        ]
    );
}

#[tokio::test]
async fn calls_that_have_not_started_report_the_abort() {
    let lab = Lab::new().await.warmed().await;
    lab.log.take();
    lab.start("@tool slow {\"ms\":10000,\"tag\":\"A\"}\n@tool seq {\"tag\":\"B\"}")
        .await;
    lab.log.wait_for("tool_execution_start call_1").await;
    abort(&lab).await;
    let lines = lab.log.take();
    assert!(
        lines.contains(&"tool_execution_end call_2 [Operation aborted] ERR never ran".to_owned()),
        "{lines:#?}"
    );
    assert!(lines.contains(&"turn_end toolUse 2".to_owned()));
}

#[tokio::test]
async fn the_dying_run_takes_one_steering_message_and_leaves_the_rest() {
    let lab = Lab::new().await.warmed().await;
    lab.log.take();
    lab.start("@tool slow {\"ms\":10000,\"tag\":\"A\"}").await;
    lab.log.wait_for("tool_execution_start").await;
    lab.session.steer("queued steer", Vec::new()).await.unwrap();
    lab.session
        .follow_up("queued follow", Vec::new())
        .await
        .unwrap();
    abort(&lab).await;
    let lines = lab.log.take();
    let turn = lines.iter().rposition(|line| line == "turn_start").unwrap();
    assert_eq!(
        lines[turn..turn + 5],
        [
            "turn_start",
            "queue_update [] [\"queued follow\"]",
            "message_start user [queued steer]",
            "message_end user [queued steer]",
            "message_start assistant aborted [] !This operation was aborted",
        ]
    );
    assert!(lab.session.has_pending_messages());
    let next = lab.run("after abort").await;
    let expected = [
        "message_end assistant stop [echo: queued steer after abort]",
        "turn_end stop 0",
        "turn_start",
        "queue_update [] []",
        "message_start user [queued follow]",
    ];
    let at = next
        .iter()
        .position(|line| line.starts_with("message_end assistant"))
        .unwrap();
    // The aborted answer stands between the two messages, so only the new one is echoed.
    assert_eq!(next[at], "message_end assistant stop [echo: after abort]");
    assert_eq!(next[at + 1..at + 5], expected[1..]);
}

#[tokio::test]
async fn between_acceptance_and_start() {
    let lab = Lab::new().await.warmed().await;
    let session = lab.session.clone();
    set(&lab.hooks.before_agent_start, move |_| {
        assert!(!session.is_idle(), "the session is busy while it prepares");
        session.request_abort();
        BeforeAgentStartOutcome::default()
    });
    let lines = lab.run("x").await;
    assert_eq!(
        lines,
        [
            "agent_start",
            "turn_start",
            "message_start user [x]",
            "message_end user [x]",
            "message_start assistant aborted [] !This operation was aborted",
            "message_end assistant aborted [] !This operation was aborted",
            "turn_end aborted 0",
            "agent_end 2 false",
            "agent_settled true",
        ]
    );
}

/// Holds up `agent_settled` until it is let go.
struct Gate(tokio::sync::Semaphore);

#[async_trait::async_trait]
impl EventListener for Gate {
    async fn on_event(&self, event: &Arc<AgentEvent>) {
        if matches!(**event, AgentEvent::AgentSettled { .. }) {
            self.0.acquire().await.unwrap().forget();
        }
    }
}

#[tokio::test]
async fn a_prompt_that_has_no_run_yet_is_meant_as_well() {
    let lab = Lab::new().await.warmed().await;
    let gate = Arc::new(Gate(tokio::sync::Semaphore::new(0)));
    let _held = lab.session.subscribe(gate.clone());
    lab.start("one").await;
    lab.log.wait_for("agent_settled").await;
    lab.log.take();
    let request = PromptRequest::new("@tool slow {\"ms\":60000,\"tag\":\"a\"}", InputSource::Rpc);
    let mut prompt = std::pin::pin!(lab.session.prompt(request));
    assert!(
        futures::poll!(&mut prompt).is_pending(),
        "the last run is still settling"
    );
    let mut aborting = std::pin::pin!(lab.session.abort());
    let aborted = futures::poll!(&mut aborting);
    gate.0.add_permits(2);
    let admitted = tokio::time::timeout(PATIENCE, prompt).await.unwrap();
    assert!(matches!(admitted, Ok(Disposition::Started)), "{admitted:?}");
    if aborted.is_pending() {
        tokio::time::timeout(PATIENCE, aborting).await.unwrap();
    }
    lab.settled().await;
    let lines = lab.log.take();
    assert_eq!(
        lines.last().map(String::as_str),
        Some("agent_settled true"),
        "{lines:#?}"
    );
    assert!(
        !lines.iter().any(|line| line.starts_with("tool_execution")),
        "{lines:#?}"
    );
}

/// A client that is slow to take the progress of tools.
#[derive(Default)]
struct SlowClient(AtomicUsize);

#[async_trait::async_trait]
impl EventListener for SlowClient {
    async fn on_event(&self, event: &Arc<AgentEvent>) {
        if matches!(**event, AgentEvent::ToolExecutionUpdate { .. }) {
            self.0.fetch_add(1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// All of it would take ten seconds.
#[tokio::test]
async fn progress_that_waits_for_a_slow_client_does_not_hold_it_up() {
    let lab = Lab::new().await.warmed().await;
    let flood = |call: ToolCall| async move {
        for _ in 0..2_000 {
            call.updates.send(ToolOutput::text("x".repeat(100_000)));
        }
        call.cancel.cancelled().await;
        Err(ToolError::Aborted)
    };
    lab.session.tools().register(
        "test",
        tool("flood", json!({}), ExecutionMode::Parallel, flood),
    );
    let client = Arc::new(SlowClient::default());
    let _shown = lab.session.subscribe(client.clone());
    lab.start("@tool flood {}").await;
    lab.log.wait_for("tool_execution_update").await;
    abort(&lab).await;
    let shown = client.0.load(Ordering::SeqCst);
    assert!((1..200).contains(&shown), "{shown} updates");
}

#[tokio::test]
async fn while_waiting_for_a_retry() {
    let lab = Lab::with_settings(json!({"retry": {"baseDelayMs": 60000}}))
        .await
        .warmed()
        .await;
    lab.log.take();
    lab.start("@error 529 overloaded").await;
    lab.log.wait_for("entry_appended").await;
    abort(&lab).await;
    let lines = lab.log.take();
    assert_eq!(
        lines[lines.len() - 4..],
        [
            "auto_retry_start 1/3 60000 529 overloaded",
            "entry_appended context_edit",
            "auto_retry_end false 1 Retry cancelled",
            "agent_settled true",
        ]
    );
}

#[tokio::test]
async fn ending_only_the_wait_is_no_abort() {
    let lab = Lab::with_settings(json!({"retry": {"baseDelayMs": 60000}}))
        .await
        .warmed()
        .await;
    lab.log.take();
    lab.start("@error 529 overloaded").await;
    lab.log.wait_for("entry_appended").await;
    lab.session.abort_retry();
    lab.settled().await;
    let lines = lab.log.take();
    assert_eq!(
        lines[lines.len() - 2..],
        [
            "auto_retry_end false 1 Retry cancelled",
            "agent_settled false"
        ]
    );
}

#[tokio::test]
async fn an_idle_session_is_aborted_at_once_and_goes_on() {
    let lab = Lab::new().await.warmed().await;
    assert!(
        tokio::time::timeout(Duration::from_secs(2), lab.session.abort())
            .await
            .is_ok()
    );
    let admitted = lab
        .submit(PromptRequest::new("x", InputSource::Rpc))
        .await
        .unwrap();
    assert_eq!(admitted, Disposition::Started);
    lab.settled().await;
}
