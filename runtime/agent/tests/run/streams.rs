//! Providers that misbehave, and long streams.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use pier_agent::provider::{AssistantEvent, ModelProvider, ModelRequest, ProviderError};
use pier_protocol::message::{AssistantMessage, Block, StopReason, ToolCallBlock};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::lab::{Lab, Setup};

type Script = Box<dyn Fn() -> Vec<AssistantEvent> + Send + Sync>;

/// Sends fixed events, then ends, fails or hangs.
struct Fixed {
    script: Script,
    outcome: Result<(), ProviderError>,
    hangs: bool,
}

#[async_trait]
impl ModelProvider for Fixed {
    async fn stream(
        &self,
        _request: ModelRequest,
        events: mpsc::Sender<AssistantEvent>,
        _cancel: CancellationToken,
    ) -> Result<(), ProviderError> {
        for event in (self.script)() {
            if events.send(event).await.is_err() {
                break;
            }
        }
        if self.hangs {
            std::future::pending::<()>().await;
        }
        self.outcome.clone()
    }
}

async fn lab(script: impl Fn() -> Vec<AssistantEvent> + Send + Sync + 'static) -> Lab {
    with(Fixed {
        script: Box::new(script),
        outcome: Ok(()),
        hangs: false,
    })
    .await
}

async fn with(provider: Fixed) -> Lab {
    let settings = serde_json::json!({"retry": {"enabled": false}});
    Lab::with(Setup {
        provider: Some(Arc::new(provider)),
        settings,
        ..Setup::default()
    })
    .await
}

fn call(id: &str) -> ToolCallBlock {
    let arguments = serde_json::json!({"text": "x"})
        .as_object()
        .unwrap()
        .clone();
    ToolCallBlock {
        id: id.into(),
        name: "echo".into(),
        arguments,
        ..ToolCallBlock::default()
    }
}

fn done(content: Vec<Block>, stop_reason: StopReason) -> AssistantEvent {
    AssistantEvent::Done {
        message: AssistantMessage {
            content,
            stop_reason,
            ..AssistantMessage::default()
        },
    }
}

fn tool_stream(start: &str, end: &str, last: &str) -> Vec<AssistantEvent> {
    vec![
        AssistantEvent::Start {},
        AssistantEvent::ToolCallStart {
            content_index: 0,
            id: start.into(),
            tool_name: "echo".into(),
        },
        AssistantEvent::ToolCallEnd {
            content_index: 0,
            tool_call: call(end),
        },
        done(vec![Block::ToolCall(call(last))], StopReason::ToolUse),
    ]
}

fn no_tool_ran(lines: &[String]) -> bool {
    !lines
        .iter()
        .any(|line| line.starts_with("tool_execution") || line.contains("toolResult"))
}

#[tokio::test]
async fn a_stream_without_a_final_event_is_an_error_and_runs_nothing() {
    let lab = lab(|| tool_stream("a", "a", "a")[..3].to_vec()).await;
    let lines = lab.run("x").await;
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with("message_end assistant error")
                && line.contains("final event")),
        "{lines:#?}"
    );
    assert!(no_tool_ran(&lines));
}

#[tokio::test]
async fn a_changed_tool_id_is_an_error_and_runs_nothing() {
    for (start, end, last) in [("a", "b", "b"), ("a", "a", "b")] {
        let lab = lab(move || tool_stream(start, end, last)).await;
        let lines = lab.run("x").await;
        assert!(
            lines
                .iter()
                .any(|line| line.starts_with("message_end assistant error")),
            "{lines:#?}"
        );
        assert!(no_tool_ran(&lines));
    }
}

#[tokio::test]
async fn an_event_after_the_end_is_an_error_and_runs_nothing() {
    let lab = lab(|| {
        let mut events = tool_stream("a", "a", "a");
        events.push(AssistantEvent::TextStart { content_index: 1 });
        events
    })
    .await;
    let lines = lab.run("x").await;
    assert!(
        lines.iter().any(|line| line.contains("after the end")),
        "{lines:#?}"
    );
    assert!(no_tool_ran(&lines));
}

#[tokio::test]
async fn a_regular_call_of_a_provider_that_does_not_stream_runs() {
    let asked = std::sync::atomic::AtomicBool::new(false);
    let lab = lab(move || {
        if asked.swap(true, std::sync::atomic::Ordering::SeqCst) {
            return vec![
                AssistantEvent::Start {},
                done(vec![Block::text("bye")], StopReason::Stop),
            ];
        }
        vec![
            AssistantEvent::Start {},
            done(vec![Block::ToolCall(call("a"))], StopReason::ToolUse),
        ]
    })
    .await;
    let lines = lab.run("x").await;
    assert!(
        lines.contains(&"tool_execution_end a [echoed x]".to_owned()),
        "{lines:#?}"
    );
    assert!(lines.contains(&"message_end assistant stop [bye]".to_owned()));
}

#[tokio::test]
async fn an_error_of_the_provider_itself_is_the_answers_error() {
    let lab = with(Fixed {
        script: Box::new(Vec::new),
        outcome: Err(ProviderError("no route".into())),
        hangs: false,
    })
    .await;
    let lines = lab.run("x").await;
    assert!(
        lines.contains(&"message_end assistant error [] !no route".to_owned()),
        "{lines:#?}"
    );
}

#[tokio::test]
async fn an_abort_does_not_wait_for_a_provider_that_hangs() {
    let lab = with(Fixed {
        script: Box::new(|| vec![AssistantEvent::Start {}]),
        outcome: Ok(()),
        hangs: true,
    })
    .await;
    lab.start("x").await;
    lab.log.wait_for("message_start assistant pending").await;
    let began = Instant::now();
    lab.session.abort().await;
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
    assert!(
        lab.log
            .lines()
            .contains(&"message_end assistant aborted [] !Request was aborted".to_owned())
    );
}

#[tokio::test]
async fn a_silent_provider_times_out() {
    let provider = Fixed {
        script: Box::new(Vec::new),
        outcome: Ok(()),
        hangs: true,
    };
    let settings = serde_json::json!({"retry": {"enabled": false}, "httpIdleTimeoutMs": 50});
    let lab = Lab::with(Setup {
        provider: Some(Arc::new(provider)),
        settings,
        ..Setup::default()
    })
    .await;
    let lines = lab.run("x").await;
    assert!(
        lines.iter().any(|line| line.contains("timed out")),
        "{lines:#?}"
    );
}

#[tokio::test]
async fn twenty_thousand_deltas_take_linear_time() {
    async fn run(deltas: usize) -> Duration {
        let lab = lab(move || {
            let mut events = vec![
                AssistantEvent::Start {},
                AssistantEvent::TextStart { content_index: 0 },
            ];
            events.extend((0..deltas).map(|_| AssistantEvent::TextDelta {
                content_index: 0,
                delta: "0123456789".into(),
            }));
            let text = "0123456789".repeat(deltas);
            events.push(AssistantEvent::TextEnd {
                content_index: 0,
                content: text.clone(),
                text_signature: None,
            });
            events.push(done(vec![Block::text(text)], StopReason::Stop));
            events
        })
        .await;
        let began = Instant::now();
        lab.run("x").await;
        assert_eq!(lab.log.updates(), deltas + 2);
        began.elapsed()
    }
    run(100).await;
    let (small, large) = (run(2_000).await, run(20_000).await);
    // Ten times the deltas: quadratic work would take a hundred times as long.
    assert!(
        large < small * 40 + Duration::from_millis(500),
        "{small:?} and {large:?}"
    );
}
