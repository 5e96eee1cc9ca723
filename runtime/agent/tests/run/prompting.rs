//! Admission of prompts: spec/rpc.md §2, §3.1.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pier_agent::agent_session::{Disposition, PromptRequest, SessionError, UserMessageOptions};
use pier_agent::hooks::{InputOutcome, InputSource, Notification, StreamingBehavior};
use pier_protocol::message::Content;

use crate::lab::{Lab, PATIENCE, set};

fn prompt(text: &str, behavior: Option<StreamingBehavior>) -> PromptRequest {
    PromptRequest {
        streaming_behavior: behavior,
        ..PromptRequest::new(text, InputSource::Rpc)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_prompts_at_once_one_starts_and_none_is_lost() {
    let lab = Lab::new().await.warmed().await;
    lab.log.take();
    let requests = (0..8).map(|number| {
        let behavior = (number % 2 == 0).then_some(StreamingBehavior::FollowUp);
        let session = lab.session.clone();
        tokio::spawn(async move {
            (
                number,
                session
                    .prompt(prompt(&format!("p{number}"), behavior))
                    .await,
            )
        })
    });
    let mut started = 0;
    let mut expected = Vec::new();
    for (number, outcome) in futures::future::join_all(requests)
        .await
        .into_iter()
        .map(Result::unwrap)
    {
        match outcome {
            Ok(Disposition::Started) => {
                started += 1;
                expected.push(number);
            }
            Ok(Disposition::Queued) => expected.push(number),
            Err(SessionError::Busy) => assert_eq!(
                number % 2,
                1,
                "only a prompt without a behaviour is refused"
            ),
            other => panic!("{number}: {other:?}"),
        }
    }
    lab.settled().await;
    let lines = lab.log.take();
    for number in &expected {
        assert!(
            lines
                .iter()
                .any(|line| line == &format!("message_end user [p{number}]")),
            "p{number} in {lines:#?}"
        );
    }
    let settled = lines
        .iter()
        .filter(|line| line.starts_with("agent_settled"))
        .count();
    assert_eq!(settled, started, "one settlement for each started run");
}

#[tokio::test]
async fn a_busy_session_refuses_or_queues() {
    let lab = Lab::new().await.warmed().await;
    lab.start("@tool slow {\"ms\":150,\"tag\":\"A\"}").await;
    let refused = lab.submit(prompt("x", None)).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message."
    );
    let queued = lab
        .submit(prompt("y", Some(StreamingBehavior::Steer)))
        .await
        .unwrap();
    assert_eq!(queued, Disposition::Queued);
    lab.settled().await;
    assert!(lab.log.lines().contains(&"message_end user [y]".to_owned()));
    assert!(!lab.log.lines().contains(&"message_end user [x]".to_owned()));
}

#[tokio::test]
async fn input_handlers_transform_and_swallow() {
    let lab = Lab::new().await.warmed().await;
    set(&lab.hooks.input, |event| match event.text.as_str() {
        "swallow me" => InputOutcome::Handled,
        text if text.starts_with("upper:") => InputOutcome::Transform {
            text: text["upper:".len()..].to_uppercase(),
            images: event.images,
        },
        _ => InputOutcome::Continue,
    });
    assert_eq!(
        lab.submit(prompt("swallow me", None)).await.unwrap(),
        Disposition::Handled
    );
    assert!(lab.session.is_idle());
    let lines = lab.run("upper:abc").await;
    assert_eq!(lines[3], "message_end user [ABC]");
}

#[tokio::test]
async fn commands_run_at_once_and_cannot_be_queued() {
    let lab = Lab::new().await.warmed().await;
    let seen = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let calls = seen.clone();
    set(&lab.hooks.command, move |call| {
        calls.lock().push(call);
        Some(())
    });
    assert_eq!(
        lab.submit(prompt("/cmd a  b\nc", None)).await.unwrap(),
        Disposition::Handled
    );
    assert_eq!(*seen.lock(), [("cmd".to_owned(), "a  b\nc".to_owned())]);
    let error = lab.session.steer("/cmd x", Vec::new()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "Extension command \"/cmd\" cannot be queued. Use prompt() or execute the command when not streaming."
    );
    let lines = lab.run("/unknown x").await;
    assert_eq!(lines[3], "message_end user [/unknown x]");
}

#[tokio::test]
async fn an_extension_message_is_literal_and_needs_a_behaviour_while_busy() {
    let lab = Lab::new().await.warmed().await;
    set(&lab.hooks.command, |_| Some(()));
    lab.log.take();
    lab.session.send_user_message(
        Content::Text("/cmd literal".into()),
        UserMessageOptions::default(),
    );
    lab.log.wait_for("agent_settled").await;
    assert!(
        lab.log
            .lines()
            .contains(&"message_end user [/cmd literal]".to_owned()),
        "{:#?}",
        lab.log.lines()
    );
    lab.log.take();
    lab.start("@tool slow {\"ms\":200,\"tag\":\"A\"}").await;
    lab.session
        .send_user_message(Content::Text("lost".into()), UserMessageOptions::default());
    let report = lab.host.wait_for_error().await;
    assert_eq!(
        (report.extension_path.as_str(), report.event.as_str()),
        ("<runtime>", "send_user_message")
    );
    let options = UserMessageOptions {
        deliver_as: Some(StreamingBehavior::FollowUp),
        ..Default::default()
    };
    lab.session
        .send_user_message(Content::Text("kept".into()), options);
    lab.log.wait_for("queue_update").await;
    lab.settled().await;
    let lines = lab.log.take();
    assert!(
        lines.contains(&"message_end user [kept]".to_owned()) && !lines.join("\n").contains("lost")
    );
}

#[tokio::test]
async fn prompts_of_settled_handlers_run_afterwards() {
    let lab = Lab::new().await.warmed().await;
    let once = AtomicBool::new(false);
    let session = lab.session.clone();
    set(&lab.hooks.notify, move |notification| {
        if let Notification::Event(event) = notification
            && event.name() == "agent_settled"
            && !once.swap(true, Ordering::SeqCst)
        {
            assert!(session.is_idle());
            session.send_user_message(
                Content::Text("from settled".into()),
                UserMessageOptions::default(),
            );
        }
    });
    lab.log.take();
    lab.start("first").await;
    lab.log
        .wait_for("message_end assistant stop [echo: from settled]")
        .await;
    lab.settled().await;
    let lines = lab.log.take();
    let settled = lines
        .iter()
        .position(|line| line.starts_with("agent_settled"))
        .unwrap();
    let next = lines
        .iter()
        .rposition(|line| line == "agent_start")
        .unwrap();
    assert!(settled < next, "{lines:#?}");
}

#[tokio::test]
async fn without_a_model_or_credentials_a_prompt_is_an_error() {
    let lab = Lab::new().await;
    let registry = lab.session.providers();
    registry.clear_owner("test");
    let error = lab.submit(prompt("x", None)).await.unwrap_err();
    assert!(
        matches!(error, SessionError::NoCredentials { ref provider } if provider == "scripted"),
        "{error:?}"
    );
    assert!(lab.session.is_idle());
    assert!(
        tokio::time::timeout(PATIENCE, lab.session.run_settled())
            .await
            .is_ok()
    );
}
