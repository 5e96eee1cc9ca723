//! Fork, clone, export and forking from a file (spec/sessions.md §5; spec/rpc.md §3.6).

mod session_support;

use pier_agent::session::{ForkPosition, NewSession, SessionError, SessionManager};
use serde_json::json;
use session_support::*;

#[test]
fn a_fork_ends_before_the_user_message_and_hands_out_its_text() {
    let project = Project::new();
    let session = project.create();
    session.append_model_change("p", "m").unwrap();
    session.append_thinking_level_change("low").unwrap();
    session.append_message(user("one")).unwrap();
    let answer = session.append_message(assistant("1")).unwrap();
    let second = session.append_message(user("two")).unwrap();
    session.append_message(assistant("2")).unwrap();
    let source = session.session_file().unwrap();
    let before = std::fs::read(&source).unwrap();

    let fork = session.fork(second.id(), ForkPosition::Before).unwrap();
    assert_eq!(fork.text.as_deref(), Some("two"));
    assert_eq!(fork.session.leaf_id().as_deref(), Some(answer.id()));
    let path = fork.session.session_file().unwrap();
    assert_ne!(path, source);
    assert_eq!(path.parent(), source.parent());
    let written = lines(&path);
    assert_eq!(written.len(), 5);
    assert_eq!(written[0]["parentSession"], source.to_str().unwrap());
    assert_ne!(written[0]["id"], session.session_id());
    assert_eq!(written[0]["cwd"], project.cwd().to_str().unwrap());
    for (copy, original) in fork.session.get_entries().iter().zip(session.get_entries()) {
        assert_eq!(copy.json(), original.json());
    }
    assert_eq!(std::fs::read(&source).unwrap(), before);

    // At the first message of a normal session three entries come along and nothing is written yet.
    let first = session.fork_candidates()[0].0.clone();
    let fork = session.fork(&first, ForkPosition::Before).unwrap();
    assert_eq!(
        types(&fork.session.get_entries()),
        ["model_change", "thinking_level_change"]
    );
    assert!(!fork.session.is_saved());
    fork.session.append_message(user("another")).unwrap();
    assert_eq!(lines(&fork.session.session_file().unwrap()).len(), 4);
}

#[test]
fn what_cannot_be_forked_is_refused() {
    let project = Project::new();
    let session = project.create();
    assert_eq!(
        session.clone_session().unwrap_err().to_string(),
        "Cannot clone session: no current entry selected"
    );
    let model = session.append_model_change("p", "m").unwrap();
    let unsaved =
        "This session has not been saved yet. Send a message before cloning or forking it.";
    assert_eq!(
        session
            .fork(model.id(), ForkPosition::At)
            .unwrap_err()
            .to_string(),
        unsaved
    );
    assert_eq!(session.clone_session().unwrap_err().to_string(), unsaved);
    session.append_message(user("q")).unwrap();
    let answer = session.append_message(assistant("a")).unwrap();
    for id in [model.id(), answer.id(), "nope"] {
        let error = session.fork(id, ForkPosition::Before).unwrap_err();
        assert_eq!(error.to_string(), "Invalid entry ID for forking");
    }
    let at = session.fork(answer.id(), ForkPosition::At).unwrap();
    assert_eq!(at.text, None);
    assert_eq!(at.session.leaf_id().as_deref(), Some(answer.id()));
}

#[test]
fn a_message_without_parent_forks_into_a_new_session() {
    let project = Project::new();
    let session = project.saved();
    let first = session.get_entries()[0].id().to_owned();
    let fork = session.fork(&first, ForkPosition::Before).unwrap();
    assert_eq!(fork.session.entry_count(), 0);
    assert_eq!(
        fork.session.header().parent_session.as_deref(),
        session.session_file().unwrap().to_str()
    );
}

#[test]
fn labels_leave_the_chain_and_come_back_at_the_end() {
    let project = Project::new();
    let session = project.create();
    let root = session.append_message(user("q")).unwrap();
    let label = session.append_label(root.id(), Some("start")).unwrap();
    let answer = session.append_message(assistant("a")).unwrap();
    session.append_label(answer.id(), Some("gone")).unwrap();
    session.append_label(answer.id(), None).unwrap();
    let compaction = session
        .append_compaction(
            serde_json::from_value(
                json!({"summary":"s","firstKeptEntryId":label.id(),"tokensBefore":1}),
            )
            .unwrap(),
        )
        .unwrap();
    let copy = session.clone_session().unwrap();
    let entries = copy.get_entries();
    assert_eq!(
        types(&entries),
        ["message", "message", "compaction", "label"]
    );
    assert_eq!(
        ids(&entries)[..3],
        [root.id(), answer.id(), compaction.id()]
    );
    for pair in entries.windows(2) {
        assert_eq!(pair[1].parent_id(), Some(pair[0].id()));
    }
    let moved: serde_json::Value = serde_json::from_str(entries[2].json()).unwrap();
    assert_eq!(moved["firstKeptEntryId"], answer.id());
    assert_eq!(copy.get_label(root.id()).as_deref(), Some("start"));
    assert_eq!(copy.get_label(answer.id()), None);
    assert_eq!(entries[3].timestamp(), label.timestamp());
    assert_eq!(context(&copy), ["compactionSummary:s", "assistant:a"]);
    let path = copy.session_file().unwrap();
    copy.close();
    assert_eq!(ids(&project.open(&path).get_entries()), ids(&entries));
}

#[test]
fn only_the_current_branch_is_cloned_or_exported() {
    let project = Project::new();
    let session = project.saved();
    let root = session.get_entries()[0].id().to_owned();
    session.branch(&root).unwrap();
    session.append_message(assistant("other")).unwrap();
    session.append_label(&root, Some("L")).unwrap();
    let copy = session.clone_session().unwrap();
    assert_eq!(context(&copy), ["user:hello", "assistant:other"]);
    let path = project.temp.path().join("out/export.jsonl");
    session.export_branch(&path).unwrap();
    let written = lines(&path);
    assert_eq!(written[0]["id"], session.session_id());
    assert!(written[0].get("parentSession").is_none());
    assert_eq!(written.len(), 4);
    let error = session.export_branch(&path).unwrap_err();
    assert!(
        matches!(error, SessionError::AlreadyExists { .. }),
        "{error}"
    );
    assert_eq!(
        context(&project.open(&path)),
        ["user:hello", "assistant:other"]
    );
}

#[test]
fn forks_of_memory_stay_in_memory() {
    let project = Project::new();
    let session = SessionManager::in_memory(&project.options, NewSession::default()).unwrap();
    session.append_message(user("one")).unwrap();
    let second = session.append_message(user("two")).unwrap();
    let fork = session.fork(second.id(), ForkPosition::Before).unwrap();
    assert_eq!(fork.session.session_file(), None);
    assert_eq!(fork.session.header().parent_session, None);
    assert_eq!(context(&fork.session), ["user:one"]);
    let epoch = session.epoch();
    session.replace_with(fork.session);
    assert_eq!(context(&session), ["user:one"]);
    assert_ne!(session.epoch(), epoch);
    assert!(!project.temp.path().join("agent").exists());
}

#[test]
fn a_file_in_use_can_be_forked_but_not_opened() {
    let project = Project::new();
    let session = project.saved();
    let path = session.session_file().unwrap();
    let mut elsewhere = project.options.clone();
    elsewhere.dirs = elsewhere.dirs.for_cwd("/somewhere");
    let fork = SessionManager::fork_from(&path, &elsewhere, NewSession::default()).unwrap();
    assert_eq!(ids(&fork.get_entries()), ids(&session.get_entries()));
    assert_eq!(fork.cwd().to_str(), Some("/somewhere"));
    assert!(
        fork.session_file()
            .unwrap()
            .starts_with(elsewhere.dirs.dir())
    );
    assert!(fork.is_saved());
    assert!(matches!(
        SessionManager::open(&path, &project.options).unwrap_err(),
        SessionError::Locked { .. }
    ));
}

#[test]
fn forking_an_old_file_migrates_the_copy_only() {
    let project = Project::new();
    let text = format!(
        "{}\n{}\n",
        r#"{"type":"session","id":"s","timestamp":"t","cwd":"/"}"#,
        r#"{"type":"message","message":{"role":"user","content":"q","timestamp":1}}"#
    );
    let path = project.file("old.jsonl", &text);
    let fork = SessionManager::fork_from(&path, &project.options, NewSession::default()).unwrap();
    assert_eq!(context(&fork), ["user:q"]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    assert_eq!(lines(&fork.session_file().unwrap())[0]["version"], 3);
}

#[test]
fn fork_candidates_are_user_messages_of_all_branches_with_text() {
    let project = Project::new();
    let session = project.saved();
    session.append_message(user("  ")).unwrap();
    session.reset_leaf();
    session.append_message(user("second root")).unwrap();
    let texts: Vec<_> = session
        .fork_candidates()
        .into_iter()
        .map(|(_, text)| text)
        .collect();
    assert_eq!(texts, ["hello", "second root"]);
}

#[test]
fn a_damaged_source_is_forked_as_far_as_it_goes_and_says_so() {
    let project = Project::new();
    let text = format!("{}half {{\n{{torn", file_of(&[user_line("a", None, "q")]));
    let path = project.file("damaged.jsonl", &text);
    let fork = SessionManager::fork_from(&path, &project.options, NewSession::default()).unwrap();
    assert_eq!(ids(&fork.get_entries()), ["a"]);
    let warnings = fork.take_warnings();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(
        warnings
            .iter()
            .all(|warning| warning.to_string().contains("damaged.jsonl"))
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    assert_eq!(lines(&fork.session_file().unwrap()).len(), 2);
}
