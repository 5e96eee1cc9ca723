//! Session control, shell commands, lifecycle: spec/sessions.md §5, spec/rpc.md §3.5, §3.6.

use std::sync::Arc;

use parking_lot::Mutex;
use pier_agent::agent_session::{BashRequest, ForkRequest, NavigateOptions};
use pier_agent::hooks::{
    BeforeTreeOutcome, ForkPosition, HookFailure, Notification, ShutdownReason, SuppliedSummary,
    UserBashOutcome,
};
use pier_protocol::message::Message;
use serde_json::json;

use crate::lab::{Lab, PATIENCE, Setup, set};

async fn stored() -> Lab {
    Lab::with(Setup {
        stored: true,
        ..Setup::default()
    })
    .await
}

fn lifecycle(lab: &Lab) -> Arc<Mutex<Vec<String>>> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let list = seen.clone();
    set(&lab.hooks.notify, move |notification| match notification {
        Notification::SessionStart { reason, .. } => {
            list.lock().push(format!("start {}", reason.as_str()))
        }
        Notification::SessionShutdown { reason, .. } => {
            list.lock().push(format!("shutdown {}", reason.as_str()))
        }
        Notification::SessionTree { .. } => list.lock().push("tree".into()),
        _ => {}
    });
    seen
}

fn user_entry(lab: &Lab, text: &str) -> String {
    let entries = lab.session.session().get_entries();
    let found = entries.iter().find(|entry| {
        entry
            .message()
            .is_some_and(|message| message.as_user().is_some() && message.text() == text)
    });
    found.unwrap().id().to_owned()
}

#[tokio::test]
async fn a_new_session_replaces_the_old_one() {
    let lab = stored().await.warmed().await;
    let seen = lifecycle(&lab);
    let old = lab.file();
    lab.session.steer("dropped", Vec::new()).await.unwrap();
    assert!(!lab.session.new_session(None).await.unwrap());
    assert_ne!(lab.file(), old);
    assert_eq!(*seen.lock(), ["shutdown new", "start new"]);
    assert_eq!(*lab.host.reloads.lock(), ["new new"]);
    assert!(!lab.session.has_pending_messages());
    assert_eq!(lab.entry_types(), ["model_change", "thinking_level_change"]);
    let lines = lab.run("fresh").await;
    assert_eq!(lines[2], "message_start system");
}

#[tokio::test]
async fn a_veto_changes_nothing() {
    let lab = stored().await.warmed().await;
    let old = lab.file();
    set(&lab.hooks.before_switch, |_| true);
    assert!(lab.session.new_session(None).await.unwrap());
    assert_eq!(lab.file(), old);
    set(&lab.hooks.before_fork, |_| true);
    let request = ForkRequest {
        entry_id: "whatever".into(),
        position: ForkPosition::Before,
    };
    assert!(
        lab.session.fork(request).await.unwrap().cancelled,
        "the veto comes before the entry is looked up"
    );
}

#[tokio::test]
async fn a_new_session_aborts_the_run_first() {
    let lab = stored().await.warmed().await;
    lab.log.take();
    lab.start("@tool slow {\"ms\":20000,\"tag\":\"A\"}").await;
    lab.log.wait_for("tool_execution_start").await;
    let replaced = tokio::time::timeout(PATIENCE, lab.session.new_session(None))
        .await
        .unwrap();
    assert!(!replaced.unwrap());
    assert_eq!(lab.log.take().last().unwrap(), "agent_settled true");
}

#[tokio::test]
async fn forking_before_a_message_returns_its_text() {
    let lab = stored().await;
    lab.run("one").await;
    lab.run("two").await;
    let old = lab.file();
    let entry_id = user_entry(&lab, "two");
    let forked = lab
        .session
        .fork(ForkRequest {
            entry_id,
            position: ForkPosition::Before,
        })
        .await
        .unwrap();
    assert_eq!(
        (forked.cancelled, forked.text.as_deref()),
        (false, Some("two"))
    );
    assert_ne!(lab.file(), old);
    let texts: Vec<_> = lab
        .session
        .messages()
        .iter()
        .filter(|m| !m.is_system())
        .map(|m| m.text())
        .collect();
    assert_eq!(texts, ["one", "echo: one"]);
    let error = lab
        .session
        .fork(ForkRequest {
            entry_id: "nope".into(),
            position: ForkPosition::Before,
        })
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "Invalid entry ID for forking");
}

#[tokio::test]
async fn switching_restores_the_conversation_and_a_bad_file_changes_nothing() {
    let lab = stored().await;
    lab.run("one").await;
    let first = lab.file();
    lab.session.new_session(None).await.unwrap();
    lab.run("two").await;
    let second = lab.file();
    let broken = lab.dir.path().join("broken.jsonl");
    std::fs::write(&broken, "not a session\n").unwrap();
    let error = lab
        .session
        .switch_session(broken.clone())
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains(&*broken.to_string_lossy()),
        "{error}"
    );
    assert_eq!(lab.file(), second);
    assert!(!lab.session.switch_session(first.clone()).await.unwrap());
    assert_eq!(lab.file(), first);
    assert_eq!(
        lab.session.last_assistant_text().as_deref(),
        Some("echo: one")
    );
    let seen = lifecycle(&lab);
    assert!(
        !lab.session.switch_session(first).await.unwrap(),
        "switching to itself re-opens the file"
    );
    assert_eq!(*seen.lock(), ["shutdown resume", "start resume"]);
    lab.run("three").await;
    assert_eq!(lab.session.stats().user_messages, 2);
}

#[tokio::test]
async fn people_hear_of_a_torn_line_also_after_a_switch_and_of_foreign_lines_after_a_run() {
    let lab = stored().await;
    lab.run("one").await;
    let first = lab.file();
    lab.session.new_session(None).await.unwrap();
    lab.run("two").await;
    let append = |text: &str| {
        use std::io::Write as _;
        let mut file = std::fs::OpenOptions::new().append(true).open(&first);
        file.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    };
    append("{\"type\":\"mess");
    lab.session.switch_session(first.clone()).await.unwrap();
    let told = std::mem::take(&mut *lab.host.warnings.lock());
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].contains("was incomplete") && told[0].contains(".torn"),
        "{told:?}"
    );
    append("{\"type\":\"custom\",\"customType\":\"x\",\"id\":\"y\",\"parentId\":null}\n");
    lab.run("three").await;
    let told = lab.host.warnings.lock().clone();
    assert!(
        told.len() == 1 && told[0].contains("changed by another program"),
        "{told:?}"
    );
}

#[tokio::test]
async fn navigating_moves_the_leaf_and_summarises_what_is_left() {
    let lab = stored().await;
    lab.run("one").await;
    lab.run("two").await;
    let seen = lifecycle(&lab);
    let target = user_entry(&lab, "two");
    let options = NavigateOptions {
        summarize: true,
        label: Some("here".into()),
        ..NavigateOptions::default()
    };
    let moved = lab.session.navigate(&target, options).await.unwrap();
    assert_eq!(
        (moved.cancelled, moved.editor_text.as_deref()),
        (false, Some("two"))
    );
    assert_eq!(*seen.lock(), ["tree"]);
    let summary = lab
        .session
        .messages()
        .iter()
        .find_map(|message| match &**message {
            Message::BranchSummary(summary) => Some(summary.summary.clone()),
            _ => None,
        });
    assert!(summary.unwrap().contains("SUMMARY("));
    let lines = lab.run("three").await;
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with("message_end assistant stop [echo:")),
        "{lines:#?}"
    );
    let error = lab
        .session
        .navigate("nope", NavigateOptions::default())
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "Entry nope not found");
}

#[tokio::test]
async fn a_tree_handler_supplies_the_summary_or_cancels() {
    let lab = stored().await;
    lab.run("one").await;
    lab.run("two").await;
    let target = user_entry(&lab, "two");
    let leaf = lab.session.session().leaf_id();
    set(&lab.hooks.before_tree, |_| BeforeTreeOutcome {
        cancel: true,
        ..BeforeTreeOutcome::default()
    });
    assert!(
        lab.session
            .navigate(&target, NavigateOptions::default())
            .await
            .unwrap()
            .cancelled
    );
    assert_eq!(lab.session.session().leaf_id(), leaf);
    set(&lab.hooks.before_tree, |event| {
        assert!(event.user_wants_summary && !event.entries_to_summarize.is_empty());
        let summary = SuppliedSummary {
            summary: "mine".into(),
            ..SuppliedSummary::default()
        };
        BeforeTreeOutcome {
            summary: Some(summary),
            ..BeforeTreeOutcome::default()
        }
    });
    let options = NavigateOptions {
        summarize: true,
        ..NavigateOptions::default()
    };
    lab.session.navigate(&target, options).await.unwrap();
    assert!(
        lab.session
            .messages()
            .iter()
            .any(|message| message.text() == "mine")
    );
}

#[tokio::test]
async fn a_users_command_is_streamed_and_recorded() {
    let lab = stored().await.warmed().await;
    lab.log.take();
    let request = BashRequest {
        command: "echo hi; exit 4".into(),
        id: Some(json!("c9")),
        ..BashRequest::default()
    };
    let result = lab.session.bash(request).await.unwrap();
    assert_eq!(
        (result.output.as_str(), result.exit_code, result.cancelled),
        ("hi\n", Some(4), false)
    );
    assert_eq!(
        lab.log.take(),
        ["bash_execution_update \"hi\\n\""],
        "no message events"
    );
    assert!(matches!(
        lab.session.messages().last().map(|m| &**m),
        Some(Message::BashExecution(_))
    ));
    let lines = lab.run("").await;
    let answer = lines
        .iter()
        .find(|line| line.starts_with("message_end assistant"))
        .unwrap();
    assert!(
        answer.contains("echo: Ran `echo hi; exit 4` ``` hi ``` Command exited with code 4"),
        "{answer}"
    );
}

#[tokio::test]
async fn a_command_during_a_run_is_recorded_after_it() {
    let lab = stored().await.warmed().await;
    lab.log.take();
    lab.start("@tool slow {\"ms\":300,\"tag\":\"A\"}").await;
    lab.log.wait_for("tool_execution_start").await;
    let request = BashRequest {
        command: "echo during".into(),
        exclude_from_context: true,
        id: None,
    };
    lab.session.bash(request).await.unwrap();
    assert!(!lab.entry_types().is_empty());
    assert!(
        lab.session
            .messages()
            .iter()
            .all(|message| message.role() != "bashExecution")
    );
    lab.settled().await;
    assert_eq!(
        lab.session
            .messages()
            .last()
            .map(|message| message.role().to_owned())
            .as_deref(),
        Some("bashExecution")
    );
}

#[tokio::test]
async fn aborting_commands_and_handlers_that_replace_or_prevent_them() {
    let lab = stored().await.warmed().await;
    let session = lab.session.clone();
    let running = tokio::spawn(async move {
        session
            .bash(BashRequest {
                command: "echo start; sleep 30".into(),
                ..BashRequest::default()
            })
            .await
    });
    lab.log.wait_for("bash_execution_update").await;
    lab.session.abort_bash();
    let result = tokio::time::timeout(PATIENCE, running)
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    assert!(result.cancelled && result.exit_code.is_none());
    set(&lab.hooks.user_bash, |event| match event.command.as_str() {
        "fake" => Ok(UserBashOutcome::Result(pier_agent::tools::BashResult {
            output: "faked".into(),
            ..Default::default()
        })),
        _ => Err(HookFailure {
            message: "not here".into(),
        }),
    });
    let fake = lab
        .session
        .bash(BashRequest {
            command: "fake".into(),
            ..BashRequest::default()
        })
        .await
        .unwrap();
    assert_eq!(fake.output, "faked");
    let error = lab
        .session
        .bash(BashRequest {
            command: "ls".into(),
            ..BashRequest::default()
        })
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "not here");
}

#[tokio::test]
async fn entries_and_names_are_visible_at_once_and_announced_in_order() {
    let lab = stored().await.warmed().await;
    lab.log.take();
    let id = lab
        .session
        .append_custom_entry("state", Some(json!({"a": 1})))
        .unwrap();
    assert!(
        lab.session
            .session()
            .get_branch(None)
            .iter()
            .any(|entry| entry.id() == id)
    );
    lab.session.set_label(&id, Some("mark")).unwrap();
    lab.session.set_session_name("  my name ").await.unwrap();
    assert_eq!(
        lab.log.take(),
        [
            "entry_appended custom",
            "session_info_changed Some(\"my name\")"
        ]
    );
    assert_eq!(
        lab.session
            .set_session_name("  ")
            .await
            .unwrap_err()
            .to_string(),
        "Session name cannot be empty"
    );
}

#[tokio::test]
async fn shutting_down_aborts_silently_and_stores_the_end() {
    let lab = stored().await.warmed().await;
    let seen = lifecycle(&lab);
    lab.log.take();
    lab.start("@tool slow {\"ms\":20000,\"tag\":\"A\"}").await;
    lab.log.wait_for("tool_execution_start").await;
    tokio::time::timeout(PATIENCE, lab.session.shutdown(ShutdownReason::Quit))
        .await
        .unwrap();
    assert_eq!(
        lab.log.take().last().unwrap(),
        "tool_execution_start call_1",
        "nothing is written any more"
    );
    assert_eq!(*seen.lock(), ["shutdown quit"]);
    let text = std::fs::read_to_string(lab.file()).unwrap();
    assert!(text.contains("slow aborted"));
    let request =
        pier_agent::agent_session::PromptRequest::new("x", pier_agent::hooks::InputSource::Rpc);
    assert!(lab.submit(request).await.is_err());
}

#[tokio::test]
async fn a_reload_keeps_the_session() {
    let lab = stored().await.warmed().await;
    let seen = lifecycle(&lab);
    let file = lab.file();
    lab.session.reload().await.unwrap();
    assert_eq!(*seen.lock(), ["shutdown reload", "start reload"]);
    assert_eq!(lab.file(), file);
    lab.start("@tool slow {\"ms\":300,\"tag\":\"A\"}").await;
    assert!(lab.session.reload().await.is_err());
    lab.settled().await;
}

#[tokio::test]
async fn a_resumed_session_has_its_tools_and_model_back() {
    let lab = stored().await;
    lab.session.set_active_tools(&["echo".to_owned()]);
    lab.session
        .set_model("scripted", "scripted-think")
        .await
        .unwrap();
    lab.run("hi").await;
    let (file, session) = (lab.file(), lab.session.session());
    session.close();
    let options = session.options();
    let Lab { dir, .. } = lab;
    let manager = pier_agent::session::SessionManager::open(&file, &options).unwrap();
    let again = Lab::around(
        manager,
        Setup {
            model: "none",
            ..Setup::default()
        },
        dir,
    )
    .await;
    assert_eq!(again.session.active_tools(), ["echo"]);
    assert_eq!(again.session.model().unwrap().id, "scripted-think");
    let lines = again.run("more").await;
    assert!(
        !lines.iter().any(|line| line.contains("system")),
        "nothing changed: {lines:#?}"
    );
}

#[tokio::test]
async fn a_command_of_the_old_session_ends_with_it_and_stays_out_of_the_new_one() {
    let lab = Lab::new().await.warmed().await;
    let session = lab.session.clone();
    let running = tokio::spawn(async move {
        session
            .bash(BashRequest {
                command: "echo old; sleep 30; echo late".into(),
                ..BashRequest::default()
            })
            .await
    });
    lab.log.wait_for("bash_execution_update").await;
    assert!(!lab.session.new_session(None).await.unwrap());
    let result = tokio::time::timeout(PATIENCE, running).await.unwrap();
    let result = result.unwrap().unwrap();
    assert!(
        result.cancelled && result.output.starts_with("old"),
        "{result:?}"
    );
    lab.run("x").await;
    assert!(
        lab.session
            .messages()
            .iter()
            .all(|message| message.role() != "bashExecution"),
        "{:?}",
        lab.session.messages()
    );
}
