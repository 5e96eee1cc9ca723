//! Auto-retry: spec/agent-loop.md §3.4, §5.

use serde_json::json;

use crate::lab::Lab;

async fn lab() -> Lab {
    Lab::with_settings(json!({"retry": {"baseDelayMs": 1}}))
        .await
        .warmed()
        .await
}

#[tokio::test]
async fn a_transient_error_is_tried_again() {
    let lab = lab().await;
    let lines = lab.run("@failTimes 1 529 overloaded\n@text ok").await;
    assert_eq!(
        lines[4..],
        [
            "message_start assistant error [] !529 overloaded",
            "message_end assistant error [] !529 overloaded",
            "turn_end error 0",
            "agent_end 2 true",
            "auto_retry_start 1/3 1 529 overloaded",
            "entry_appended context_edit",
            "agent_start",
            "turn_start",
            "message_start assistant pending []",
            "message_end assistant stop [ok]",
            "auto_retry_end true 1 -",
            "turn_end stop 0",
            "agent_end 1 false",
            "agent_settled false",
        ]
    );
    let failed = lab
        .session
        .messages()
        .iter()
        .any(|m| m.as_assistant().is_some_and(|a| a.error_message.is_some()));
    assert!(!failed, "the failed attempt is hidden from the context");
    assert_eq!(
        lab.session.stats().assistant_messages,
        3,
        "and kept in the file"
    );
}

#[tokio::test]
async fn the_budget_ends() {
    let lab = lab().await;
    let lines = lab.run("@error 529 overloaded").await;
    let starts: Vec<_> = lines
        .iter()
        .filter(|line| line.starts_with("auto_retry_start"))
        .collect();
    assert_eq!(
        starts,
        [
            "auto_retry_start 1/3 1 529 overloaded",
            "auto_retry_start 2/3 2 529 overloaded",
            "auto_retry_start 3/3 4 529 overloaded"
        ]
    );
    assert_eq!(
        lines[lines.len() - 3..],
        [
            "agent_end 1 false",
            "auto_retry_end false 3 529 overloaded",
            "agent_settled false"
        ]
    );
    // The counter starts anew with the next prompt.
    let again = lab.run("@failTimes 3 fetch failed\n@text ok").await;
    assert!(
        again.contains(&"auto_retry_end true 3 -".to_owned()),
        "{again:#?}"
    );
}

#[tokio::test]
async fn retries_can_be_switched_off() {
    let lab = Lab::with_settings(json!({"retry": {"enabled": false}}))
        .await
        .warmed()
        .await;
    let lines = lab.run("@error 529 overloaded").await;
    assert_eq!(
        lines[lines.len() - 2..],
        ["agent_end 2 false", "agent_settled false"]
    );
}
