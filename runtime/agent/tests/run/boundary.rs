//! Boundary handlers (`turn_end`, `agent_before_settle`): spec/extension-api.md §5.9.

use std::sync::atomic::{AtomicBool, Ordering};

use pier_agent::hooks::{BoundaryOutcome, EntryDraft};
use pier_protocol::message::{Content, CustomMessage};
use serde_json::json;

use crate::lab::{Lab, set};

#[tokio::test]
async fn turn_end_drafts_are_stored_before_the_event() {
    let lab = Lab::new().await.warmed().await;
    set(&lab.hooks.turn_end, |event| {
        assert!(event.message_entry_id.is_some());
        BoundaryOutcome {
            entries: vec![EntryDraft::Custom {
                custom_type: "note".into(),
                data: Some(json!({"turn": event.turn_index})),
            }],
            continue_run: false,
        }
    });
    let lines = lab.run("x").await;
    let at = lines
        .iter()
        .position(|line| line == "entry_appended custom")
        .unwrap();
    assert_eq!(lines[at + 1], "turn_end stop 0");
}

#[tokio::test]
async fn turn_end_may_ask_for_one_more_turn() {
    let lab = Lab::new().await.warmed().await;
    let asked = AtomicBool::new(false);
    set(&lab.hooks.turn_end, move |_| {
        let first = !asked.swap(true, Ordering::SeqCst);
        let message = CustomMessage {
            content: Content::Text("and more".into()),
            ..CustomMessage::default()
        };
        BoundaryOutcome {
            entries: if first {
                vec![EntryDraft::CustomMessage(message)]
            } else {
                Vec::new()
            },
            continue_run: first,
        }
    });
    let lines = lab.run("x").await;
    assert_eq!(
        lines.iter().filter(|line| *line == "turn_start").count(),
        2,
        "{lines:#?}"
    );
    assert!(lines.contains(&"message_end assistant stop [echo: and more]".to_owned()));
    assert_eq!(
        lines.iter().filter(|line| *line == "agent_start").count(),
        1
    );
}

#[tokio::test]
async fn before_settle_may_continue_in_a_new_low_level_run() {
    let lab = Lab::new().await.warmed().await;
    let asked = AtomicBool::new(false);
    set(&lab.hooks.before_settle, move |event| {
        assert_eq!(event.outcome.as_str(), "completed");
        let first = !asked.swap(true, Ordering::SeqCst);
        let message = CustomMessage {
            content: Content::Text("one more".into()),
            ..CustomMessage::default()
        };
        BoundaryOutcome {
            entries: if first {
                vec![EntryDraft::CustomMessage(message)]
            } else {
                Vec::new()
            },
            continue_run: first,
        }
    });
    let lines = lab.run("x").await;
    assert_eq!(
        lines.iter().filter(|line| *line == "agent_start").count(),
        2,
        "{lines:#?}"
    );
    assert_eq!(
        lines
            .iter()
            .filter(|line| line.starts_with("agent_settled"))
            .count(),
        1
    );
    assert!(lines.contains(&"message_end assistant stop [echo: one more]".to_owned()));
}

#[tokio::test]
async fn invalid_drafts_drop_everything() {
    let lab = Lab::new().await.warmed().await;
    set(&lab.hooks.turn_end, |_| BoundaryOutcome {
        entries: vec![
            EntryDraft::Custom {
                custom_type: "note".into(),
                data: None,
            },
            EntryDraft::ContextEdit {
                target_id: "nowhere".into(),
                replacement: None,
            },
        ],
        continue_run: true,
    });
    let lines = lab.run("x").await;
    assert!(
        !lines.iter().any(|line| line.starts_with("entry_appended")),
        "{lines:#?}"
    );
    assert_eq!(lines.iter().filter(|line| *line == "turn_start").count(), 1);
    let report = lab.host.wait_for_error().await;
    assert_eq!(report.extension_path, "<boundary>");
    assert!(report.error.contains("nowhere"), "{report:?}");
}

#[tokio::test]
async fn an_edit_of_what_cannot_be_edited_drops_everything() {
    let lab = Lab::new().await.warmed().await;
    let session = lab.session.session().clone();
    let change = session.append_model_change("p", "m").unwrap();
    let target = change.id().to_owned();
    set(&lab.hooks.turn_end, move |_| BoundaryOutcome {
        entries: vec![
            EntryDraft::Custom {
                custom_type: "note".into(),
                data: None,
            },
            EntryDraft::ContextEdit {
                target_id: target.clone(),
                replacement: None,
            },
        ],
        continue_run: true,
    });
    let lines = lab.run("x").await;
    assert!(
        !lines.contains(&"entry_appended custom".to_owned()),
        "{lines:#?}"
    );
    let report = lab.host.wait_for_error().await;
    assert!(
        report
            .error
            .contains("does not contribute editable model content"),
        "{report:?}"
    );
}

#[tokio::test]
async fn a_preview_shows_what_drafts_lead_to() {
    let lab = Lab::new().await.warmed().await;
    set(&lab.hooks.turn_end, |event| {
        let texts = |drafts| -> Vec<String> {
            let context = event.preview.context(drafts).unwrap();
            context
                .iter()
                .skip(1)
                .map(|message| message.text())
                .collect()
        };
        let before: Vec<String> = event.context.iter().skip(1).map(|m| m.text()).collect();
        assert_eq!(texts(Vec::new()), before);
        let message = CustomMessage {
            content: Content::Text("and more".into()),
            ..CustomMessage::default()
        };
        let hidden = EntryDraft::ContextEdit {
            target_id: event.message_entry_id.clone().unwrap(),
            replacement: None,
        };
        let shown = texts(vec![EntryDraft::CustomMessage(message), hidden]);
        let mut expected = before;
        let last = expected.len() - 1;
        expected[last] = "and more".to_owned();
        assert_eq!(shown, expected);
        let nowhere = EntryDraft::ContextEdit {
            target_id: "nowhere".into(),
            replacement: None,
        };
        assert!(event.preview.context(vec![nowhere]).is_err());
        BoundaryOutcome {
            continue_run: false,
            entries: vec![EntryDraft::Custom {
                custom_type: "seen".into(),
                data: None,
            }],
        }
    });
    let lines = lab.run("x").await;
    assert!(
        lines.contains(&"entry_appended custom".to_owned()),
        "{lines:#?}"
    );
}
