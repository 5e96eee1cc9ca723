//! Appending, saving and naming (spec/sessions.md §1 to §3, §5).

mod session_support;

use pier_agent::session::{
    NewSession, SessionError, SessionManager, SessionWarning, SyncPolicy, is_valid_session_id,
};
use pier_protocol::block::Content;
use pier_protocol::entry::{
    BranchSummaryEntry, CompactionEntry, EntryBody, UnknownEntry, UsageEntry,
};
use pier_protocol::message::{CustomMessage, Message};
use serde_json::json;
use session_support::*;

#[test]
fn the_file_appears_with_the_first_message_of_a_run() {
    let project = Project::new();
    let session = project.create();
    let path = session.session_file().unwrap();
    session.append_model_change("p", "m").unwrap();
    session.append_thinking_level_change("high").unwrap();
    session.append_custom("ext", Some(json!({"n": 1}))).unwrap();
    session
        .append_message(message(json!({"role":"bashExecution","command":"ls","output":"","cancelled":false,"truncated":false,"timestamp":1})))
        .unwrap();
    assert!(!path.exists());
    assert!(!session.is_saved());
    // Its announcement comes before the user's message, and what is announced must survive a kill.
    session
        .append_message(message(json!({"role":"system","content":"","timestamp":1})))
        .unwrap();
    assert!(session.is_saved());
    session.append_message(user("hello")).unwrap();
    let written = lines(&path);
    let kinds: Vec<_> = written
        .iter()
        .map(|line| line["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "session",
            "model_change",
            "thinking_level_change",
            "custom",
            "message",
            "message",
            "message"
        ]
    );
    assert_eq!(written[0]["version"], 3);
    assert_eq!(written[0]["cwd"], project.cwd().to_str().unwrap());
    assert_eq!(written[0]["id"], session.session_id());
    assert!(written[1]["parentId"].is_null());
    for pair in written[1..].windows(2) {
        assert_eq!(pair[1]["parentId"], pair[0]["id"]);
        let id = pair[1]["id"].as_str().unwrap();
        assert_eq!(id.len(), 8);
        assert!(
            id.bytes()
                .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)),
            "{id}"
        );
    }
    // One line each from now on.
    session.append_message(assistant("hi")).unwrap();
    assert_eq!(lines(&path).len(), 8);
}

#[test]
fn file_name_and_directory_follow_the_rules() {
    let project = Project::new();
    let session = project.create();
    let path = session.session_file().unwrap();
    assert_eq!(path.parent().unwrap(), project.options.dirs.dir());
    let name = path.file_name().unwrap().to_str().unwrap();
    let (stamp, id) = name
        .strip_suffix(".jsonl")
        .unwrap()
        .split_once('_')
        .unwrap();
    assert_eq!(id, session.session_id());
    assert_eq!(stamp.len(), "2026-01-31T12-34-56-789Z".len());
    assert!(!stamp.contains([':', '.']));
    assert!(is_valid_session_id(id));
    let named = SessionManager::create(
        &project.options,
        NewSession {
            id: Some("my.session-1".into()),
            parent_session: Some("/old.jsonl".into()),
        },
    )
    .unwrap();
    assert_eq!(named.session_id(), "my.session-1");
    assert_eq!(named.header().parent_session.as_deref(), Some("/old.jsonl"));
    let error = SessionManager::create(
        &project.options,
        NewSession {
            id: Some("../up".into()),
            parent_session: None,
        },
    )
    .unwrap_err();
    assert!(error.to_string().contains("'../up'"), "{error}");
}

#[cfg(unix)]
#[test]
fn what_is_created_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::new();
    let session = project.saved();
    let path = session.session_file().unwrap();
    assert_eq!(
        std::fs::metadata(&path).unwrap().permissions().mode() & 0o077,
        0
    );
    assert_eq!(
        std::fs::metadata(path.parent().unwrap())
            .unwrap()
            .permissions()
            .mode()
            & 0o077,
        0
    );
}

#[test]
fn creation_is_exclusive_and_failure_leaves_no_trace() {
    let project = Project::new();
    let session = project.create();
    let before = session.append_model_change("p", "m").unwrap();
    let path = session.session_file().unwrap();
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "someone else's").unwrap();
    let version = session.version();
    let error = session.append_message(user("hello")).unwrap_err();
    assert!(
        matches!(error, SessionError::AlreadyExists { .. }),
        "{error}"
    );
    assert!(error.to_string().contains(path.to_str().unwrap()));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "someone else's");
    assert_eq!(session.leaf_id().as_deref(), Some(before.id()));
    assert_eq!(session.entry_count(), 1);
    assert_eq!(session.version(), version);
    // No temporary file stays behind.
    assert_eq!(
        std::fs::read_dir(path.parent().unwrap()).unwrap().count(),
        1
    );
    // Once the obstacle is gone the session goes on.
    std::fs::remove_file(&path).unwrap();
    session.append_message(user("hello")).unwrap();
    assert_eq!(lines(&path).len(), 3);
}

#[test]
fn a_file_that_is_deleted_while_open_is_written_again() {
    let project = Project::new();
    let session = project.saved();
    let path = session.session_file().unwrap();
    std::fs::remove_file(&path).unwrap();
    session.append_message(user("still there?")).unwrap();
    assert_eq!(lines(&path).len(), 4);
    let warnings = session.take_warnings();
    assert!(
        matches!(warnings[..], [SessionWarning::Recreated { .. }]),
        "{warnings:?}"
    );
    assert!(session.take_warnings().is_empty());
    session.append_message(user("again")).unwrap();
    assert_eq!(lines(&path).len(), 5);
}

#[test]
fn another_programs_lines_are_noticed_and_never_glued_to_ours() {
    use std::io::Write;
    let project = Project::new();
    let session = project.saved();
    let path = session.session_file().unwrap();
    let mut other = std::fs::OpenOptions::new()
        .append(true)
        .open(&path)
        .unwrap();
    other
        .write_all(b"{\"type\":\"custom\",\"id\":\"foreign\",\"parentId\":null")
        .unwrap();
    session.append_message(user("mine")).unwrap();
    session.append_message(user("mine too")).unwrap();
    let warnings = session.warnings();
    assert!(
        matches!(warnings[..], [SessionWarning::ForeignWrite { .. }]),
        "{warnings:?}"
    );
    session.close();
    let text = std::fs::read_to_string(&path).unwrap();
    let whole = text
        .lines()
        .filter(|line| serde_json::from_str::<serde_json::Value>(line).is_ok());
    assert_eq!(whole.count(), 5);
    let again = project.open(&path);
    assert_eq!(again.entry_count(), 4);
}

#[test]
fn every_entry_type_is_written_and_read_back() {
    let project = Project::new();
    let session = project.saved();
    let target = session.leaf_id().unwrap();
    session
        .append_custom_message(&CustomMessage {
            custom_type: "note".into(),
            content: Content::Text("text".into()),
            display: true,
            details: Some(json!({"d": null})),
            ..CustomMessage::default()
        })
        .unwrap();
    session.append_custom("state", None).unwrap();
    session.append_custom("state", Some(json!(null))).unwrap();
    session.append_model_change("p2", "m2").unwrap();
    session.append_thinking_level_change("low").unwrap();
    session
        .append_compaction(CompactionEntry {
            summary: "short".into(),
            first_kept_entry_id: Some(target.to_string()),
            tokens_before: 7,
            ..CompactionEntry::default()
        })
        .unwrap();
    session
        .append_branch_summary(BranchSummaryEntry {
            from_id: "root".into(),
            summary: "left".into(),
            ..BranchSummaryEntry::default()
        })
        .unwrap();
    session.append_context_edit(&target, None).unwrap();
    session.append_label(&target, Some("here")).unwrap();
    session.append_session_info("name").unwrap();
    session
        .append_usage(UsageEntry {
            kind: "warm".into(),
            ..UsageEntry::default()
        })
        .unwrap();
    session
        .append(EntryBody::Unknown(UnknownEntry {
            entry_type: "later".into(),
            members: json!({"any": [1]}).as_object().unwrap().clone(),
            problem: None,
        }))
        .unwrap();
    // A custom message never becomes a `message` entry.
    let custom = session
        .append_message(message(
            json!({"role":"custom","customType":"c","content":null,"display":false,"timestamp":1}),
        ))
        .unwrap();
    assert_eq!(custom.entry_type(), "custom_message");
    let written = session.get_entries();
    let path = session.session_file().unwrap();
    session.close();
    let again = project.open(&path);
    let read = again.get_entries();
    assert_eq!(types(&read), types(&written));
    for (before, after) in written.iter().zip(&read) {
        assert_eq!(before.json(), after.json());
        assert_eq!(before.entry(), after.entry());
    }
    assert_eq!(again.leaf_id(), session.leaf_id());
    let customs: Vec<_> = lines(&path)
        .into_iter()
        .filter(|line| line["type"] == "custom")
        .collect();
    assert!(customs[0].get("data").is_none());
    assert!(customs[1]["data"].is_null() && customs[1].get("data").is_some());
}

#[test]
fn labels_and_names_follow_the_latest_entry_of_the_file() {
    let project = Project::new();
    let session = project.saved();
    let first = session.get_entries()[0].id().to_owned();
    session.append_label(&first, Some("one")).unwrap();
    assert_eq!(session.get_label(&first).as_deref(), Some("one"));
    session.append_label(&first, Some("two")).unwrap();
    assert_eq!(session.get_label(&first).as_deref(), Some("two"));
    // Labelling moves the leaf.
    assert_eq!(session.leaf_entry().unwrap().entry_type(), "label");
    session.append_label(&first, Some("")).unwrap();
    assert_eq!(session.get_label(&first), None);
    let error = session.append_label("nope", Some("x")).unwrap_err();
    assert_eq!(error.to_string(), "Entry nope not found");

    assert_eq!(session.session_name(), None);
    session.append_session_info("  two\r\n\nwords ").unwrap();
    assert_eq!(session.session_name().as_deref(), Some("two words"));
    session.branch(&first).unwrap();
    session.append_session_info("other").unwrap();
    assert_eq!(session.session_name().as_deref(), Some("other"));
    let path = session.session_file().unwrap();
    session.close();
    let again = project.open(&path);
    assert_eq!(again.session_name().as_deref(), Some("other"));
    again.append_session_info("").unwrap();
    assert_eq!(again.session_name(), None);
}

#[test]
fn the_leaf_decides_where_the_next_entry_goes() {
    let project = Project::new();
    let session = project.saved();
    let root = session.get_entries()[0].id().to_owned();
    session.branch(&root).unwrap();
    let sibling = session.append_message(assistant("other answer")).unwrap();
    assert_eq!(sibling.parent_id(), Some(root.as_str()));
    session.reset_leaf();
    assert_eq!(session.leaf_id(), None);
    assert!(session.get_branch(None).is_empty());
    let second_root = session.append_message(user("from scratch")).unwrap();
    assert_eq!(second_root.parent_id(), None);
    assert_eq!(
        session.branch("nope").unwrap_err().to_string(),
        "Entry nope not found"
    );
    let tree = session.get_tree();
    assert_eq!(tree.roots.len(), 2);
    // A summary of what was left is a child of the new position.
    let summary = BranchSummaryEntry {
        summary: "s".into(),
        ..BranchSummaryEntry::default()
    };
    let entry = session
        .branch_with_summary(Some(&root), summary.clone())
        .unwrap();
    assert_eq!(entry.parent_id(), Some(root.as_str()));
    let EntryBody::BranchSummary(body) = entry.body() else {
        panic!()
    };
    assert_eq!(body.from_id, second_root.id());
    session.reset_leaf();
    let entry = session
        .branch_with_summary(Some(&root), summary.clone())
        .unwrap();
    let EntryBody::BranchSummary(body) = entry.body() else {
        panic!()
    };
    assert_eq!(body.from_id, "root");
    let leaf = session.leaf_id();
    assert!(session.branch_with_summary(Some("nope"), summary).is_err());
    assert_eq!(session.leaf_id(), leaf);
}

#[test]
fn context_edits_are_checked() {
    let project = Project::new();
    let session = project.saved();
    let first = session.get_entries()[0].id().to_owned();
    let answer = session.get_entries()[1].id().to_owned();
    let model = session.append_model_change("p", "m").unwrap();
    let check = |target: &str, replacement: serde_json::Value| {
        session
            .append_context_edit_json(target, &replacement)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(check("nope", json!(null)), "Entry nope not found");
    assert_eq!(
        check(model.id(), json!(null)),
        format!(
            "Entry {} does not contribute editable model content",
            model.id()
        )
    );
    for bad in [
        json!(1),
        json!("x"),
        json!({}),
        json!({"content": 1}),
        json!([]),
    ] {
        assert_eq!(
            check(&first, bad),
            "Context edit replacement must be null or contain string/array content"
        );
    }
    let edit = session
        .append_context_edit_json(&answer, &json!({"content": "short"}))
        .unwrap();
    let line: serde_json::Value = serde_json::from_str(edit.json()).unwrap();
    assert_eq!(
        line["replacement"]["content"],
        json!([{"type":"text","text":"short"}])
    );
    let edit = session
        .append_context_edit_json(&first, &json!({"content": "short"}))
        .unwrap();
    let line: serde_json::Value = serde_json::from_str(edit.json()).unwrap();
    assert_eq!(line["replacement"]["content"], "short");
    let hidden = session.append_context_edit(&first, None).unwrap();
    assert!(hidden.json().contains("\"replacement\":null"));
    session.branch(&first).unwrap();
    assert_eq!(
        session
            .append_context_edit(&answer, None)
            .unwrap_err()
            .to_string(),
        format!("Entry {answer} is not on the active branch")
    );
}

#[test]
fn in_memory_sessions_never_touch_the_disk() {
    let project = Project::new();
    let session = SessionManager::in_memory(&project.options, NewSession::default()).unwrap();
    session.append_message(user("hello")).unwrap();
    assert_eq!(session.session_file(), None);
    assert!(!session.is_persistent());
    session.save_now().unwrap();
    session.sync();
    assert!(!project.temp.path().join("agent").exists());
}

#[test]
fn a_closed_session_reads_but_does_not_write() {
    let project = Project::new();
    let session = project.saved();
    let path = session.session_file().unwrap();
    let clone = session.clone();
    session.close();
    let error = clone.append_message(user("late")).unwrap_err();
    assert!(matches!(error, SessionError::Closed { .. }));
    assert!(
        error.to_string().contains(path.to_str().unwrap()),
        "{error}"
    );
    assert_eq!(clone.entry_count(), 2);
    session.close();
    // The lock is gone.
    project.open(&path);
}

#[test]
fn save_now_writes_what_waits() {
    let project = Project::new();
    let session = project.create();
    session.append_custom("ext", None).unwrap();
    session.save_now().unwrap();
    session.save_now().unwrap();
    assert_eq!(lines(&session.session_file().unwrap()).len(), 2);
}

#[test]
fn mirrors_get_only_what_is_new() {
    let project = Project::new();
    let session = project.saved();
    let all = session.changes_since(0, 0);
    assert!(all.reset);
    assert_eq!(all.entries.len(), 2);
    assert_eq!(all.epoch, session.epoch());
    let same = session.changes_since(all.epoch, all.version);
    assert!(!same.reset && same.entries.is_empty());
    let first = all.entries[0].id().to_owned();
    session.branch(&first).unwrap();
    let moved = session.changes_since(all.epoch, all.version);
    assert!(moved.version > all.version && moved.entries.is_empty());
    assert_eq!(moved.leaf_id.as_deref(), Some(first.as_str()));
    let new = session.append_custom("x", None).unwrap();
    let changes = session.changes_since(all.epoch, moved.version);
    assert_eq!(ids(&changes.entries), [new.id()]);
    assert_eq!(ids(&session.entries_since(moved.version)), [new.id()]);
    let text = serde_json::to_value(&changes).unwrap();
    assert_eq!(text["entries"][0]["id"], new.id());
    assert_eq!(text["leafId"], new.id());
    assert_eq!(text["sessionId"], session.session_id());
    assert_eq!(text["header"]["type"], "session");
    // Moving to where it is already changes nothing.
    let version = session.version();
    session.branch(new.id()).unwrap();
    assert_eq!(session.version(), version);

    let other = project.saved();
    assert_ne!(other.epoch(), session.epoch());
    let (old_epoch, new_id) = (session.epoch(), other.session_id());
    let clone = session.clone();
    session.replace_with(other);
    assert_ne!(clone.epoch(), old_epoch);
    assert_eq!(clone.session_id(), new_id);
    assert!(clone.changes_since(old_epoch, 1).reset);
    clone.append_message(user("goes to the new file")).unwrap();
    assert_eq!(lines(&clone.session_file().unwrap()).len(), 4);
}

#[test]
fn entries_after_an_entry() {
    let project = Project::new();
    let session = project.saved();
    let entries = session.get_entries();
    assert_eq!(session.get_entries_after(None).unwrap().len(), 2);
    assert_eq!(
        ids(&session.get_entries_after(Some(entries[0].id())).unwrap()),
        [entries[1].id()]
    );
    assert!(
        session
            .get_entries_after(Some(entries[1].id()))
            .unwrap()
            .is_empty()
    );
    assert!(session.get_entries_after(Some("nope")).is_err());
}

#[test]
fn reload_reads_what_others_wrote() {
    use std::io::Write;
    let project = Project::new();
    let session = project.saved();
    let path = session.session_file().unwrap();
    let (epoch, leaf) = (session.epoch(), session.leaf_id().unwrap());
    let mut other = std::fs::OpenOptions::new()
        .append(true)
        .open(&path)
        .unwrap();
    writeln!(other, "{}", user_line("foreign", Some(&leaf), "x")).unwrap();
    assert!(session.refers_to(&path));
    assert!(
        session.refers_to(
            &path
                .parent()
                .unwrap()
                .join(".")
                .join(path.file_name().unwrap())
        )
    );
    assert!(!session.refers_to(project.temp.path()));
    session.reload().unwrap();
    assert_ne!(session.epoch(), epoch);
    assert_eq!(session.leaf_id().as_deref(), Some("foreign"));
    session.append_message(user("next")).unwrap();
    assert!(session.warnings().is_empty(), "{:?}", session.warnings());
}

#[test]
fn many_threads_append_without_mixing_lines() {
    let project = Project::new();
    let session = project.saved();
    std::thread::scope(|scope| {
        for n in 0..4 {
            let session = session.clone();
            scope.spawn(move || {
                for i in 0..50 {
                    session.append_message(user(&format!("{n}-{i}"))).unwrap();
                    session.get_branch(None);
                }
            });
        }
    });
    assert_eq!(session.get_branch(None).len(), 202);
    assert_eq!(lines(&session.session_file().unwrap()).len(), 203);
}

#[test]
fn flushing_runs_at_the_interval_and_on_close() {
    let mut project = Project::new();
    project.options.sync = SyncPolicy {
        interval: Some(std::time::Duration::from_millis(1)),
        on_close: true,
    };
    let session = project.saved();
    session.sync();
    session.append_message(user("x")).unwrap();
    let path = session.session_file().unwrap();
    drop(session);
    let again = project.open(&path);
    assert_eq!(again.entry_count(), 3);
    assert!(again.warnings().is_empty());
}

#[test]
fn stats_count_the_whole_file() {
    let project = Project::new();
    let session = project.create();
    let usage = json!({"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":10,
        "cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0.5}});
    session
        .append_message(message(json!({"role":"system","content":"","timestamp":1})))
        .unwrap();
    let question = session.append_message(user("q")).unwrap();
    session
        .append_message(message(json!({"role":"assistant","content":[{"type":"toolCall","id":"1","name":"t","arguments":{}},
            {"type":"toolCall","id":"2","name":"t","arguments":{}}],"api":"a","provider":"p","model":"m","usage":usage,
            "stopReason":"toolUse","timestamp":1})))
        .unwrap();
    session
        .append_message(message(
            json!({"role":"toolResult","toolCallId":"1","toolName":"t","content":[],"isError":false,
            "usage":usage,"timestamp":1}),
        ))
        .unwrap();
    session.branch(question.id()).unwrap();
    session
        .append_compaction(
            serde_json::from_value(json!({"summary":"s","tokensBefore":1,"usage":usage})).unwrap(),
        )
        .unwrap();
    session
        .append_usage(
            serde_json::from_value(json!({"kind":"k","provider":"p","model":"m","usage":usage}))
                .unwrap(),
        )
        .unwrap();
    let stats = session.stats();
    assert_eq!(
        (
            stats.user_messages,
            stats.assistant_messages,
            stats.tool_calls,
            stats.tool_results,
            stats.total_messages
        ),
        (1, 1, 2, 1, 4)
    );
    assert_eq!(
        serde_json::to_value(&stats).unwrap()["tokens"],
        json!({"input":4,"output":8,"cacheRead":12,"cacheWrite":16,"total":40})
    );
    assert_eq!(serde_json::to_value(&stats).unwrap()["cost"], json!(2));
    assert!(matches!(**question.message().unwrap(), Message::User(_)));
}
