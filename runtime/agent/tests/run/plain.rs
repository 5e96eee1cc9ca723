//! Plain prompts: spec/agent-loop.md §3.1.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use pier_agent::hooks::{BeforeAgentStartOutcome, Notification};
use pier_agent::prompt::PromptOptions;
use pier_protocol::message::{Content, CustomMessage, Message, StopReason};

use crate::lab::{Lab, Setup, set};

#[tokio::test]
async fn the_first_prompt_brings_a_system_message() {
    let lab = Lab::new().await;
    let lines = lab.run("hello there").await;
    assert_eq!(
        lines,
        [
            "agent_start",
            "turn_start",
            "message_start system",
            "message_end system",
            "message_start user [hello there]",
            "message_end user [hello there]",
            "message_start assistant pending []",
            "message_end assistant stop [echo: hello there]",
            "turn_end stop 0",
            "agent_end 3 false",
            "agent_settled false",
        ]
    );
    // text_start, "echo: ", "hello ", "there", text_end
    assert_eq!(lab.log.updates(), 5);
    let second = lab.run("again").await;
    assert!(
        !second.iter().any(|line| line.contains("system")),
        "{second:#?}"
    );
}

#[tokio::test]
async fn the_stored_answer_is_complete_and_never_pending() {
    let lab = Lab::with(Setup {
        stored: true,
        ..Setup::default()
    })
    .await;
    lab.run("@usage 1000 200 50 20\n@text usage").await;
    let types = lab.entry_types();
    assert_eq!(
        types,
        [
            "model_change",
            "thinking_level_change",
            "message",
            "message",
            "message"
        ]
    );
    let messages = lab.session.messages();
    let Some(Message::Assistant(answer)) = messages.last().map(|message| &**message) else {
        panic!("{messages:?}")
    };
    assert_eq!(answer.stop_reason, StopReason::Stop);
    assert_eq!(answer.thinking_level.as_deref(), Some("off"));
    assert!(answer.duration_ms.is_some());
    assert_eq!(answer.usage.total_tokens, 1270);
    assert!(
        (answer.usage.cost.total - 0.00143).abs() < 1e-9,
        "{:?}",
        answer.usage.cost
    );
    let text = std::fs::read_to_string(lab.file()).unwrap();
    assert_eq!(text.lines().count(), 6, "the header and five entries");
    assert!(!text.contains("pending"));
    let stats = lab.session.stats();
    assert_eq!(
        (
            stats.user_messages,
            stats.assistant_messages,
            stats.tokens.total
        ),
        (1, 1, 1270)
    );
    let usage = lab.session.context_usage().unwrap();
    assert_eq!((usage.tokens, usage.context_window), (Some(1270), 128_000));
    assert_eq!(lab.session.last_assistant_text().as_deref(), Some("usage"));
}

#[tokio::test]
async fn a_request_that_fails_before_it_streams_has_no_pending_phase() {
    let lab = Lab::new().await.warmed().await;
    let lines = lab.run("@error invalid api key").await;
    assert_eq!(
        lines,
        [
            "agent_start",
            "turn_start",
            "message_start user [@error invalid api key]",
            "message_end user [@error invalid api key]",
            "message_start assistant error [] !invalid api key",
            "message_end assistant error [] !invalid api key",
            "turn_end error 0",
            "agent_end 2 false",
            "agent_settled false",
        ]
    );
}

#[tokio::test]
async fn a_failure_in_the_middle_keeps_what_was_said() {
    let lab = Lab::new().await.warmed().await;
    let lines = lab
        .run("@midError something broke\n@text partial answer")
        .await;
    assert_eq!(lines[4], "message_start assistant pending []");
    assert_eq!(
        lines[5],
        "message_end assistant error [partial answer] !something broke"
    );
    assert_eq!(
        lab.session.last_assistant_text().as_deref(),
        Some("partial answer")
    );
}

#[tokio::test]
async fn an_empty_prompt_is_a_prompt() {
    let lab = Lab::new().await.warmed().await;
    let lines = lab.run("").await;
    assert_eq!(lines[2], "message_start user []");
    assert_eq!(lines[5], "message_end assistant stop [echo: ]");
}

#[tokio::test]
async fn before_agent_start_adds_messages_and_forces_the_prompt_of_one_run() {
    let lab = Lab::new().await;
    let base = lab.session.system_prompt();
    set(&lab.hooks.before_agent_start, |event| {
        assert_eq!(event.prompt, "hi");
        BeforeAgentStartOutcome {
            messages: vec![CustomMessage {
                content: Content::Text("note".into()),
                ..CustomMessage::default()
            }],
            system_prompt_options: Some(PromptOptions {
                force_system_prompt: Some("be brief".into()),
                ..event.system_prompt_options
            }),
        }
    });
    lab.log.take();
    lab.start("hi").await;
    lab.settled().await;
    let lines = lab.log.take();
    assert_eq!(lines[6], "message_start custom [note]", "{lines:#?}");
    assert_eq!(
        lab.session.system_prompt(),
        base,
        "the prompt was forced for that run only"
    );
    assert!(
        lab.session
            .messages()
            .iter()
            .all(|message| !message.text().contains("be brief"))
    );
}

#[tokio::test]
async fn handlers_finish_before_clients_see_an_event() {
    let lab = Lab::new().await;
    *lab.hooks.slow.lock() = Some(Duration::from_millis(5));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (handler_saw, log) = (seen.clone(), lab.log.clone());
    set(&lab.hooks.notify, move |notification| {
        if let Notification::Event(event) = notification {
            let written = log
                .lines()
                .iter()
                .any(|line| line.starts_with(event.name()));
            handler_saw.lock().push((event.name(), written));
        }
    });
    lab.run("hi").await;
    let seen = seen.lock();
    let first = |name: &str| {
        seen.iter()
            .find(|(seen, _)| *seen == name)
            .map(|(_, written)| *written)
    };
    for name in ["agent_start", "turn_start", "agent_end", "agent_settled"] {
        assert_eq!(first(name), Some(false), "{name}: {seen:?}");
    }
}

#[tokio::test]
async fn message_end_handlers_may_replace_a_message_of_the_same_role() {
    let lab = Lab::new().await.warmed().await;
    set(&lab.hooks.message_end, |message| match &*message {
        Message::Assistant(answer) => {
            let mut changed = answer.clone();
            changed.content = vec![pier_protocol::message::Block::text("changed")];
            Some(Message::Assistant(changed))
        }
        _ => Some(Message::user("wrong role", Vec::new(), 0))
            .filter(|_| message.as_custom().is_some()),
    });
    let lines = lab.run("x").await;
    assert!(
        lines.contains(&"message_end assistant stop [changed]".to_owned()),
        "{lines:#?}"
    );
    assert_eq!(
        lab.session.last_assistant_text().as_deref(),
        Some("changed")
    );
}

#[tokio::test]
async fn the_context_hook_changes_the_request_and_not_the_session() {
    let lab = Lab::new().await.warmed().await;
    set(&lab.hooks.context, |messages| {
        assert!(messages.iter().all(|message| !message.is_system()));
        let mut messages = messages;
        messages.push(Arc::new(Message::user("and this", Vec::new(), 0)));
        Some(messages)
    });
    let lines = lab.run("say").await;
    assert!(
        lines.contains(&"message_end assistant stop [echo: say and this]".to_owned()),
        "{lines:#?}"
    );
    assert!(
        lab.session
            .messages()
            .iter()
            .all(|message| message.text() != "and this")
    );
}
