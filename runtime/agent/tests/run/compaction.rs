//! Compaction: spec/agent-loop.md §7, hooks and events included.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use pier_agent::compaction::SuppliedCompaction;
use pier_agent::hooks::{BeforeCompactOutcome, CompactingOutcome, Notification};
use pier_agent::provider::scripted::ScriptedProvider;
use pier_protocol::message::Message;
use serde_json::{Value, json};

use crate::lab::{Lab, Setup, set};

fn small(settings: Value) -> Setup {
    Setup {
        settings,
        ..Setup::default()
    }
}

/// A session with a few turns of history, of which only the last little is kept.
async fn lab() -> Lab {
    // Nine tokens are the third question and its answer.
    history(9).await
}

async fn history(keep: u64) -> Lab {
    let lab = Lab::with(small(json!({"compaction": {"keepRecentTokens": keep}}))).await;
    for text in ["first question", "second question", "third question"] {
        lab.run(text).await;
    }
    lab
}

fn summary(lab: &Lab) -> Option<String> {
    lab.session
        .messages()
        .iter()
        .find_map(|message| match &**message {
            Message::CompactionSummary(summary) => Some(summary.summary.clone()),
            _ => None,
        })
}

#[tokio::test]
async fn a_manual_compaction_replaces_the_history() {
    let lab = lab().await;
    let notified = Arc::new(Mutex::new(Vec::new()));
    let seen = notified.clone();
    set(&lab.hooks.notify, move |notification| match notification {
        Notification::SessionCompact {
            from_extension,
            reason,
            ..
        } => {
            seen.lock()
                .push(format!("compact {} {from_extension}", reason.as_str()));
        }
        Notification::SessionCompactFailed { .. } => seen.lock().push("failed".into()),
        _ => {}
    });
    lab.log.take();
    let result = lab.session.compact(Some("the names".into())).await.unwrap();
    assert!(result.summary.starts_with("SUMMARY("), "{}", result.summary);
    assert_eq!(
        lab.log.take(),
        [
            "compaction_start manual",
            "compaction_end manual done aborted=false retry=false"
        ]
    );
    assert_eq!(*notified.lock(), ["compact manual false"]);
    assert_eq!(summary(&lab), Some(result.summary.clone()));
    assert_eq!(
        result.details,
        Some(json!({"readFiles": [], "modifiedFiles": []}))
    );
    let messages = lab.session.messages();
    assert!(
        messages[0].is_system(),
        "the prompt state is kept with the compaction"
    );
    assert!(
        !messages
            .iter()
            .any(|message| message.text().contains("first question"))
    );
    assert!(
        messages
            .iter()
            .any(|message| message.text() == "third question")
    );
    assert_eq!(
        lab.session.context_usage().unwrap().tokens,
        None,
        "unknown until the next answer"
    );
    let lines = lab.run("go on").await;
    assert!(
        !lines.iter().any(|line| line.contains("system")),
        "{lines:#?}"
    );
    assert!(lab.session.context_usage().unwrap().tokens.is_some());
    assert_eq!(
        lab.session
            .compact(None)
            .await
            .map(|result| result.first_kept_entry_id.is_some())
            .ok(),
        Some(true)
    );
    assert_eq!(
        lab.session.compact(None).await.unwrap_err().to_string(),
        "Already compacted"
    );
}

#[tokio::test]
async fn a_turn_that_is_cut_in_two_is_summarised_apart() {
    let lab = history(20).await;
    let result = lab.session.compact(None).await.unwrap();
    assert!(
        result
            .summary
            .starts_with("No prior history.\n\n---\n\n**Turn Context (split turn):**\n\nSUMMARY("),
        "{result:?}"
    );
    assert!(
        lab.session
            .messages()
            .iter()
            .any(|message| message.text() == "echo: first question")
    );
    let lab = history(15).await;
    let result = lab.session.compact(None).await.unwrap();
    assert!(result.summary.starts_with("SUMMARY("), "{result:?}");
    assert!(result.summary.contains("**Turn Context (split turn):**"));
}

#[tokio::test]
async fn a_small_session_cannot_be_compacted() {
    let lab = Lab::new().await.warmed().await;
    lab.log.take();
    let error = lab.session.compact(None).await.unwrap_err();
    assert_eq!(error.to_string(), "Nothing to compact (session too small)");
    assert_eq!(
        lab.log.take(),
        [
            "compaction_start manual",
            "compaction_end manual none aborted=false retry=false !Compaction failed: Nothing to compact (session too small)",
        ]
    );
}

#[tokio::test]
async fn an_extension_supplies_the_summary() {
    let lab = lab().await;
    set(&lab.hooks.before_compact, |event| {
        assert!(!event.preparation.messages_to_summarize.is_empty());
        BeforeCompactOutcome::Supply(SuppliedCompaction {
            summary: "by hand".into(),
            first_kept_entry_id: None,
            tokens_before: event.preparation.tokens_before,
            ..SuppliedCompaction::default()
        })
    });
    let result = lab.session.compact(None).await.unwrap();
    let leaf = lab.session.session().leaf_entry().unwrap();
    assert_eq!(result.summary, "by hand");
    assert_eq!(
        result.first_kept_entry_id.as_deref(),
        Some(leaf.id()),
        "one that keeps nothing names itself"
    );
    let messages = lab.session.messages();
    assert_eq!(messages.len(), 2, "nothing is kept: {messages:?}");
    assert_eq!(
        serde_json::to_value(&**leaf.entry()).unwrap()["fromHook"],
        true
    );
}

#[tokio::test]
async fn an_extension_cancels() {
    let lab = lab().await;
    set(&lab.hooks.before_compact, |_| BeforeCompactOutcome::Cancel);
    lab.log.take();
    assert_eq!(
        lab.session.compact(None).await.unwrap_err().to_string(),
        "Compaction cancelled"
    );
    assert!(lab.log.take()[1].starts_with("compaction_end manual none aborted=true"));
    assert_eq!(summary(&lab), None);
}

#[tokio::test]
async fn an_extension_shapes_the_request() {
    let lab = lab().await;
    let plain = lab.session.session().get_branch(None).len();
    set(&lab.hooks.compacting, |event| {
        assert!(!event.messages.is_empty());
        CompactingOutcome {
            context: vec!["x".repeat(1000)],
            prompt: None,
            preserve_data: Some(json!({"k": 1})),
        }
    });
    let result = lab.session.compact(None).await.unwrap();
    let characters: usize = result
        .summary
        .trim_start_matches("SUMMARY(")
        .split(' ')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert!(characters > 1000, "{}", result.summary);
    let leaf = lab.session.session().leaf_entry().unwrap();
    assert_eq!(
        serde_json::to_value(&**leaf.entry()).unwrap()["preserveData"],
        json!({"k": 1})
    );
    assert_eq!(lab.session.session().get_branch(None).len(), plain + 1);
}

#[tokio::test]
async fn a_full_window_is_compacted_after_the_run() {
    let lab = lab().await;
    lab.session
        .set_model("scripted", "scripted-small")
        .await
        .unwrap();
    let lines = lab.run("@usage 19000 10\n@text big").await;
    assert_eq!(
        lines[lines.len() - 4..],
        [
            "agent_end 2 false",
            "compaction_start threshold",
            "compaction_end threshold done aborted=false retry=false",
            "agent_settled false",
        ]
    );
    assert!(summary(&lab).is_some());
}

#[tokio::test]
async fn a_full_window_is_compacted_between_two_turns() {
    let lab = lab().await;
    lab.session
        .set_model("scripted", "scripted-small")
        .await
        .unwrap();
    let lines = lab
        .run("@usage 19000 10\n@tool echo {\"text\":\"x\"}")
        .await;
    let at = lines
        .iter()
        .position(|line| line == "compaction_start threshold")
        .unwrap();
    assert_eq!(lines[at - 1], "turn_end toolUse 1", "{lines:#?}");
    assert_eq!(
        lines[at + 1],
        "compaction_end threshold done aborted=false retry=false"
    );
    assert_eq!(lines[at + 2], "turn_start");
    assert_eq!(
        lines.iter().filter(|line| *line == "agent_start").count(),
        1
    );
}

#[tokio::test]
async fn an_automatic_compaction_can_be_switched_off() {
    let settings = json!({"compaction": {"keepRecentTokens": 20, "enabled": false}});
    let lab = Lab::with(Setup {
        settings,
        model: "scripted-small",
        ..Setup::default()
    })
    .await;
    lab.run("one").await;
    let lines = lab.run("@usage 19000 10\n@text big").await;
    assert!(
        !lines.iter().any(|line| line.starts_with("compaction")),
        "{lines:#?}"
    );
}

#[tokio::test]
async fn an_overflow_is_recovered_once() {
    // Enough to keep the prompt itself; with less it would be summarised, too.
    let lab = history(25).await;
    let lines = lab
        .run("@failTimes 1 prompt is too long\n@text fits now")
        .await;
    let at = lines
        .iter()
        .position(|line| line.starts_with("agent_end"))
        .unwrap();
    assert_eq!(
        lines[at..at + 5],
        [
            "agent_end 2 false",
            "entry_appended context_edit",
            "compaction_start overflow",
            "compaction_end overflow done aborted=false retry=true",
            "agent_start",
        ]
    );
    assert!(
        lines.contains(&"message_end assistant stop [fits now]".to_owned()),
        "{lines:#?}"
    );
    let lines = lab.run("@error prompt is too long").await;
    let ends: Vec<_> = lines
        .iter()
        .filter(|line| line.starts_with("compaction_end"))
        .collect();
    assert_eq!(ends.len(), 2, "{lines:#?}");
    assert!(
        ends[1].contains("retry=false !Context overflow recovery failed: "),
        "{ends:?}"
    );
    assert_eq!(
        lines
            .iter()
            .filter(|line| line.starts_with("compaction_start"))
            .count(),
        1
    );
}

#[tokio::test]
async fn a_truncated_answer_is_hidden_even_when_nothing_can_be_compacted() {
    let lab = Lab::new().await.warmed().await;
    let lines = lab.run("@stop length\n@text cut").await;
    assert_eq!(
        lines[lines.len() - 3..],
        [
            "agent_end 2 false",
            "entry_appended context_edit",
            "agent_settled false"
        ]
    );
    assert!(
        !lab.session
            .messages()
            .iter()
            .any(|message| message.text() == "cut")
    );
}

#[tokio::test]
async fn a_prompt_during_a_manual_compaction_is_refused_and_an_abort_ends_it() {
    let provider = ScriptedProvider::new().with_summary_delay(Duration::from_secs(30));
    let lab = Lab::with(Setup {
        provider: Some(Arc::new(provider)),
        settings: json!({"compaction": {"keepRecentTokens": 20}}),
        ..Setup::default()
    })
    .await;
    for text in ["one question", "another question", "and a third"] {
        lab.run(text).await;
    }
    lab.log.take();
    let session = lab.session.clone();
    let running = tokio::spawn(async move { session.compact(None).await });
    lab.log.wait_for("compaction_start").await;
    assert!(lab.session.is_compacting());
    let request =
        pier_agent::agent_session::PromptRequest::new("x", pier_agent::hooks::InputSource::Rpc);
    let refused = lab.submit(request).await.unwrap_err();
    assert!(
        refused
            .to_string()
            .starts_with("Cannot submit a prompt while compaction is in progress.")
    );
    lab.session.abort().await;
    assert!(!lab.session.is_compacting());
    assert_eq!(
        running.await.unwrap().unwrap_err().to_string(),
        "Compaction cancelled"
    );
    lab.run("still works").await;
}

#[tokio::test]
async fn a_failing_summary_fails_the_compaction() {
    let lab = lab().await;
    lab.session.providers().register(
        "test",
        "scripted",
        Arc::new(ScriptedProvider::with_scripts("@error no summary for you")),
        ScriptedProvider::models(),
    );
    // A script does not reach summaries, so take the provider away instead.
    lab.session.providers().clear_owner("test");
    lab.log.take();
    let error = lab.session.compact(None).await.unwrap_err();
    assert!(error.to_string().contains("not available"), "{error}");
    assert!(lab.log.take()[1].contains("!Compaction failed: "));
}
