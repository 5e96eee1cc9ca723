//! How a tool call ends and what is stored of it: every row of spec/extension-api.md §6.4 (the P column; where X differs, the host
//! follows the more useful one).
//!
//! | Outcome | Test |
//! |---|---|
//! | resolves | `it_returns_a_result` |
//! | resolves with `isError: true` | `it_returns_an_error_as_its_result` |
//! | rejects or throws | `it_fails` |
//! | throws something that is no `Error` | `tests/specs/api/thrown-values`: JavaScript's affair |
//! | the answer itself failed or was aborted | `calls_of_a_failed_answer_never_start`, `calls_of_an_aborted_answer_never_start` |
//! | aborted while running: its rejection | `an_abort_while_it_runs_gives_its_error` |
//! | aborted while running: its result | `an_abort_while_it_runs_gives_its_result` |
//! | aborted before it started | `abort::calls_that_have_not_started_report_the_abort` |
//! | skipped by an immediate steer | `queues::an_immediate_interrupt_…` (parallel, sequential), `a_skipped_call_keeps_no_result` |
//! | blocked by a hook with a reason, without, with `terminate` | `it_is_blocked`, `tools::a_block_without_a_reason_…` |
//! | unknown tool, invalid arguments | `tools::calls_that_cannot_run_end_before_the_next_one_starts` |
//! | it panics, it sends updates after its end | `tools::every_ending_of_a_tool` |
//! | cut off at the token limit | `tools::calls_of_an_answer_that_hit_the_limit_do_not_run` |

use std::sync::Arc;

use pier_agent::hooks::{ToolBlock, ToolCallOutcome};
use pier_agent::tool::{ExecutionMode, Tool, ToolError, ToolOutput};
use pier_protocol::message::ToolResultMessage;
use serde_json::{Value, json};

use crate::lab::{Lab, Setup, demo_tools, set, tool};

/// A tool that does this when it is called.
fn doing(
    name: &'static str,
    outcome: impl Fn() -> Result<ToolOutput, ToolError> + Send + Sync + 'static,
) -> Arc<dyn Tool> {
    let parallel = ExecutionMode::Parallel;
    tool(name, json!({"type": "object"}), parallel, move |_| {
        let outcome = outcome();
        async move { outcome }
    })
}

async fn with(tools: Vec<Arc<dyn Tool>>) -> Lab {
    let mut all = demo_tools();
    all.extend(tools);
    let setup = Setup {
        tools: all,
        ..Setup::default()
    };
    Lab::with(setup).await.warmed().await
}

/// The stored results, in order.
fn results(lab: &Lab) -> Vec<ToolResultMessage> {
    let branch = lab.session.session().get_branch(None);
    let messages = branch.iter().filter_map(|entry| entry.message());
    messages
        .filter_map(|message| message.as_tool_result().cloned())
        .collect()
}

fn stored(lab: &Lab) -> Value {
    let results = results(lab);
    assert_eq!(results.len(), 1, "{results:?}");
    let result = &results[0];
    json!({
        "text": pier_protocol::message::joined_text(&result.content), "details": result.details,
        "isError": result.is_error, "ran": result.duration_ms.is_some(),
    })
}

#[tokio::test]
async fn it_returns_a_result() {
    let lab = with(vec![doing("t", || {
        Ok(ToolOutput {
            details: Some(json!({"n": 1})),
            ..ToolOutput::text("fine")
        })
    })])
    .await;
    lab.run("@tool t {}").await;
    assert_eq!(
        stored(&lab),
        json!({"text": "fine", "details": {"n": 1}, "isError": false, "ran": true})
    );
}

#[tokio::test]
async fn it_returns_an_error_as_its_result() {
    let lab = with(vec![doing("t", || {
        Ok(ToolOutput {
            is_error: Some(true),
            details: Some(json!({"kept": 1})),
            ..ToolOutput::text("bad")
        })
    })])
    .await;
    let lines = lab.run("@tool t {}").await;
    assert!(lines.contains(&"tool_execution_end call_1 [bad] ERR".to_owned()));
    assert_eq!(
        stored(&lab),
        json!({"text": "bad", "details": {"kept": 1}, "isError": true, "ran": true})
    );
}

#[tokio::test]
async fn it_fails() {
    let lab = with(vec![doing("t", || Err(ToolError::failed("no luck")))]).await;
    let lines = lab.run("@tool t {}").await;
    assert!(lines.contains(&"tool_execution_end call_1 [no luck] ERR".to_owned()));
    assert_eq!(
        stored(&lab),
        json!({"text": "no luck", "details": {}, "isError": true, "ran": true})
    );
}

#[tokio::test]
async fn it_is_blocked() {
    let lab = with(vec![doing("t", || panic!("it must not run"))]).await;
    set(&lab.hooks.tool_call, |_| ToolCallOutcome {
        block: Some(ToolBlock {
            reason: Some("not today".into()),
            terminate: false,
        }),
        ..ToolCallOutcome::default()
    });
    let lines = lab.run("@tool t {}").await;
    assert!(lines.contains(&"tool_execution_end call_1 [not today] ERR never ran".to_owned()));
    assert_eq!(
        stored(&lab),
        json!({"text": "not today", "details": {}, "isError": true, "ran": false})
    );
    assert!(
        lines.contains(&"message_end assistant stop [results: t=ERR:not today]".to_owned()),
        "the model is asked on: {lines:#?}"
    );
}

#[tokio::test]
async fn calls_of_a_failed_answer_never_start() {
    let lab = with(vec![doing("t", || panic!("it must not run"))]).await;
    let lines = lab.run("@tool t {}\n@midError it broke").await;
    assert!(
        lines.contains(&"message_end assistant error [<t call_1>] !it broke".to_owned()),
        "{lines:#?}"
    );
    assert!(lines.contains(&"turn_end error 0".to_owned()));
    assert!(!lines.iter().any(|line| line.starts_with("tool_execution")));
    assert!(results(&lab).is_empty());
}

#[tokio::test]
async fn calls_of_an_aborted_answer_never_start() {
    let lab = with(vec![doing("t", || panic!("it must not run"))]).await;
    let before = lab.log.updates();
    lab.log.take();
    lab.start("@delay 20\n@tool t {}\n@text and a long text after the call, in many pieces")
        .await;
    // Start, delta and end of the call, start and first delta of the text.
    lab.log.wait_for_updates(before + 5).await;
    lab.session.abort().await;
    let lines = lab.log.take();
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with("message_end assistant aborted [<t call_1>")),
        "{lines:#?}"
    );
    assert!(!lines.iter().any(|line| line.starts_with("tool_execution")));
    assert!(results(&lab).is_empty());
}

/// A tool that waits for the abort and then ends like this.
fn until_aborted(
    outcome: impl Fn() -> Result<ToolOutput, ToolError> + Send + Sync + 'static,
) -> Arc<dyn Tool> {
    let outcome = Arc::new(outcome);
    let parallel = ExecutionMode::Parallel;
    tool("t", json!({"type": "object"}), parallel, move |call| {
        let outcome = outcome.clone();
        async move {
            call.cancel.cancelled().await;
            outcome()
        }
    })
}

async fn aborted(lab: &Lab) -> Vec<String> {
    lab.log.take();
    lab.start("@tool t {}").await;
    lab.log.wait_for("tool_execution_start").await;
    lab.session.abort().await;
    lab.log.take()
}

#[tokio::test]
async fn an_abort_while_it_runs_gives_its_error() {
    let lab = with(vec![until_aborted(|| {
        Err(ToolError::failed("I was stopped"))
    })])
    .await;
    let lines = aborted(&lab).await;
    assert_eq!(
        stored(&lab),
        json!({"text": "I was stopped", "details": {}, "isError": true, "ran": true})
    );
    assert_eq!(lines.last().unwrap(), "agent_settled true");
}

#[tokio::test]
async fn an_abort_while_it_runs_gives_its_result() {
    let lab = with(vec![until_aborted(|| Ok(ToolOutput::text("so far")))]).await;
    let lines = aborted(&lab).await;
    assert_eq!(
        stored(&lab),
        json!({"text": "so far", "details": null, "isError": false, "ran": true})
    );
    assert_eq!(lines.last().unwrap(), "agent_settled true");
}

#[tokio::test]
async fn a_skipped_call_keeps_no_result() {
    let mut tools = demo_tools();
    tools.push(until_aborted(|| Ok(ToolOutput::text("whatever it says"))));
    let setup = Setup {
        tools,
        settings: json!({"interruptMode": "immediate"}),
        ..Setup::default()
    };
    let lab = Lab::with(setup).await.warmed().await;
    lab.log.take();
    lab.start("@tool t {}\n@tool slow {\"ms\":120,\"tag\":\"A\"}")
        .await;
    lab.log.wait_for("tool_execution_start call_2").await;
    lab.session.steer("now", Vec::new()).await.unwrap();
    lab.settled().await;
    let texts: Vec<_> = results(&lab)
        .iter()
        .map(|result| pier_protocol::message::joined_text(&result.content))
        .collect();
    assert_eq!(
        texts,
        ["Skipped due to queued user message.", "slept 120 A"]
    );
}
