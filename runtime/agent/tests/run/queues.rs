//! Steering and follow-up queues: spec/agent-loop.md §4.2.

use pier_agent::agent_session::{Disposition, PromptRequest, SessionError};
use pier_agent::hooks::{InputOutcome, InputSource};
use pier_protocol::block::Block;
use pier_protocol::message::ImageBlock;
use serde_json::json;

use crate::lab::{Lab, set};

const SLOW: &str = "@text w\n@tool slow {\"ms\":150,\"tag\":\"A\"}";

/// Starts a run with a slow tool and queues messages while it runs.
async fn with_queued(lab: &Lab, steering: &[&str], follow_up: &[&str]) -> Vec<String> {
    lab.log.take();
    lab.start(SLOW).await;
    lab.log.wait_for("tool_execution_start").await;
    for text in steering {
        lab.session.steer(text, Vec::new()).await.unwrap();
    }
    for text in follow_up {
        lab.session.follow_up(text, Vec::new()).await.unwrap();
    }
    lab.settled().await;
    lab.log.take()
}

fn conversation(lines: &[String]) -> Vec<&str> {
    lines
        .iter()
        .filter_map(|line| line.strip_prefix("message_end "))
        .filter(|line| !line.starts_with("toolResult") && !line.contains("toolUse"))
        .collect()
}

#[tokio::test]
async fn one_message_a_turn_and_steering_before_follow_up() {
    let lab = Lab::new().await.warmed().await;
    let lines = with_queued(&lab, &["s1", "s2"], &["f1", "f2"]).await;
    assert_eq!(
        conversation(&lines)[1..],
        [
            "user [s1]",
            "assistant stop [echo: s1]",
            "user [s2]",
            "assistant stop [echo: s2]",
            "user [f1]",
            "assistant stop [echo: f1]",
            "user [f2]",
            "assistant stop [echo: f2]",
        ]
    );
    assert_eq!(
        lines.iter().filter(|line| *line == "agent_start").count(),
        1
    );
    let queue: Vec<_> = lines
        .iter()
        .filter(|line| line.starts_with("queue_update"))
        .collect();
    assert_eq!(queue[3], "queue_update [\"s1\", \"s2\"] [\"f1\", \"f2\"]");
    assert_eq!(queue[4], "queue_update [\"s2\"] [\"f1\", \"f2\"]");
    assert_eq!(queue[7], "queue_update [] []");
    // A steering message waits for the whole batch, and its update precedes it.
    let delivered = lines
        .iter()
        .position(|line| line == "message_start user [s1]")
        .unwrap();
    assert!(lines[delivered - 1].starts_with("queue_update"));
    assert_eq!(lines[delivered - 2], "turn_start");
}

#[tokio::test]
async fn all_at_once() {
    let lab = Lab::with_settings(json!({"steeringMode": "all", "followUpMode": "all"}))
        .await
        .warmed()
        .await;
    let lines = with_queued(&lab, &["s1", "s2"], &["f1", "f2"]).await;
    assert_eq!(
        conversation(&lines)[1..],
        [
            "user [s1]",
            "user [s2]",
            "assistant stop [echo: s1 s2]",
            "user [f1]",
            "user [f2]",
            "assistant stop [echo: f1 f2]",
        ]
    );
}

#[tokio::test]
async fn an_immediate_interrupt_skips_the_rest_of_the_batch() {
    let lab = Lab::with_settings(json!({"interruptMode": "immediate"}))
        .await
        .warmed()
        .await;
    lab.log.take();
    lab.start("@tool slow {\"ms\":120,\"tag\":\"A\"}\n@tool slow {\"ms\":15000,\"tag\":\"B\"}")
        .await;
    lab.log.wait_for("tool_execution_start call_2").await;
    lab.session.steer("now", Vec::new()).await.unwrap();
    lab.settled().await;
    let lines = lab.log.take();
    assert!(
        lines.contains(&"message_end toolResult call_1 [slept 120 A]".to_owned()),
        "{lines:#?}"
    );
    assert!(lines.contains(
        &"message_end toolResult call_2 [Skipped due to queued user message.] ERR".to_owned()
    ));
    assert_eq!(
        conversation(&lines)[1..],
        ["user [now]", "assistant stop [echo: now]"]
    );
    assert_eq!(lines.last().unwrap(), "agent_settled false");
}

#[tokio::test]
async fn an_immediate_interrupt_skips_calls_of_a_sequential_batch() {
    let lab = Lab::with_settings(json!({"interruptMode": "immediate"}))
        .await
        .warmed()
        .await;
    lab.log.take();
    lab.start("@tool slow {\"ms\":120,\"tag\":\"A\"}\n@tool seq {\"tag\":\"B\"}")
        .await;
    lab.log.wait_for("tool_execution_start call_1").await;
    lab.session.steer("now", Vec::new()).await.unwrap();
    lab.settled().await;
    let lines = lab.log.take();
    assert!(
        lines.contains(
            &"tool_execution_end call_2 [Skipped due to queued user message.] ERR never ran"
                .to_owned()
        ),
        "{lines:#?}"
    );
}

#[tokio::test]
async fn while_idle_a_message_only_waits_for_the_next_prompt() {
    let lab = Lab::new().await.warmed().await;
    lab.log.take();
    lab.session.steer("later", Vec::new()).await.unwrap();
    assert!(lab.session.is_idle());
    assert_eq!(lab.log.take(), ["queue_update [\"later\"] []"]);
    let lines = lab.run("first").await;
    assert_eq!(
        lines[2..7],
        [
            "message_start user [first]",
            "message_end user [first]",
            "queue_update [] []",
            "message_start user [later]",
            "message_end user [later]",
        ]
    );
}

#[tokio::test]
async fn clearing_returns_the_texts() {
    let lab = Lab::new().await.warmed().await;
    lab.session.steer("a", Vec::new()).await.unwrap();
    lab.session.follow_up("b", Vec::new()).await.unwrap();
    lab.log.take();
    let cleared = lab.session.clear_queue().await;
    assert_eq!(
        (cleared.steering, cleared.follow_up),
        (vec!["a".to_owned()], vec!["b".to_owned()])
    );
    assert_eq!(lab.log.take(), ["queue_update [] []"]);
    assert!(!lab.session.has_pending_messages());
}

#[tokio::test]
async fn messages_queued_when_the_run_ends_are_delivered_one_by_one() {
    let lab = Lab::new().await.warmed().await;
    let session = lab.session.clone();
    let once = std::sync::atomic::AtomicBool::new(false);
    crate::lab::set(&lab.hooks.notify, move |notification| {
        if let pier_agent::hooks::Notification::Event(event) = notification
            && event.name() == "agent_end"
            && !once.swap(true, std::sync::atomic::Ordering::SeqCst)
        {
            for text in ["late one", "late two"] {
                let message = pier_agent::agent_session::CustomMessageRequest {
                    content: pier_protocol::message::Content::Text(text.into()),
                    ..Default::default()
                };
                session.send_custom_message(message, Default::default());
            }
        }
    });
    let lines = lab.run("x").await;
    assert_eq!(
        conversation(&lines)[2..],
        [
            "custom [late one]",
            "assistant stop [echo: late one]",
            "custom [late two]",
            "assistant stop [echo: late two]",
        ],
        "{lines:#?}"
    );
    assert_eq!(
        lines.iter().filter(|line| *line == "agent_start").count(),
        2
    );
    assert_eq!(
        lines
            .iter()
            .filter(|line| line.starts_with("agent_settled"))
            .count(),
        1
    );
}

#[tokio::test]
async fn inputs_are_admitted_in_the_order_in_which_they_came_however_long_handlers_take() {
    let lab = Lab::new().await.warmed().await;
    set(&lab.hooks.input, |_| InputOutcome::Continue);
    let prompt = |text: &str| {
        lab.session
            .prompt(PromptRequest::new(text, InputSource::Rpc))
    };
    let (first, second) = futures::join!(prompt("slow one"), prompt("two"));
    assert!(matches!(first, Ok(Disposition::Started)), "{first:?}");
    assert!(matches!(second, Err(SessionError::Busy)), "{second:?}");
    lab.settled().await;
    lab.start(SLOW).await;
    let steer = |text: &'static str| lab.session.steer(text, Vec::new());
    let (a, b, c) = futures::join!(steer("slow a"), steer("b"), steer("slow c"));
    assert!(a.is_ok() && b.is_ok() && c.is_ok());
    assert_eq!(
        lab.session.queued_texts().steering,
        ["slow a", "b", "slow c"]
    );
    lab.settled().await;
}

#[tokio::test]
async fn images_of_queued_messages_are_looked_at_on_delivery() {
    let lab = Lab::new().await.warmed().await;
    lab.log.take();
    lab.start(SLOW).await;
    lab.log.wait_for("tool_execution_start").await;
    let broken = ImageBlock {
        data: "!!!".into(),
        mime_type: "image/png".into(),
        ..ImageBlock::default()
    };
    lab.session.steer("look", vec![broken]).await.unwrap();
    assert_eq!(lab.session.queued_texts().steering, ["look"]);
    lab.settled().await;
    assert!(lab.session.queued_texts().steering.is_empty());
    let messages = lab.session.messages();
    let sent = messages
        .iter()
        .find(|message| message.text().starts_with("look"))
        .unwrap();
    assert!(sent.text().contains("[Image omitted: "), "{}", sent.text());
    let content = &sent.as_user().unwrap().content;
    assert!(
        !content
            .to_blocks()
            .iter()
            .any(|block| matches!(block, Block::Image(_)))
    );
}
