//! What is written is read back equal, and a crash at any byte loses at most the entry being written (invariant 7).
//!
//! Random operations (messages, compactions, edits, labels, names, moves of the leaf, summaries, forks, clones, reloads) on new
//! sessions and on files of versions 1 to 3 with both spellings of a model entry. After each operation a copy of the file is cut
//! at a random byte and opened; after each round the file itself, and the session goes on with what is left.

mod session_support;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pier_agent::session::{EntryRef, ForkPosition, SessionError, SessionManager, SessionWarning};
use pier_protocol::message::Message;
use proptest::prelude::*;
use serde_json::json;
use session_support::*;

#[derive(Debug, Clone)]
enum Operation {
    User(String),
    Assistant(String, u64),
    Custom(u32),
    Model,
    Level,
    Name(String),
    Label(usize, Option<String>),
    Edit(usize, bool),
    Compact(usize),
    Branch(usize),
    Reset,
    Summary(usize),
    Reopen,
    Reload,
    Fork(usize),
    Clone,
}

fn operation() -> impl Strategy<Value = Operation> {
    let at = any::<usize>();
    prop_oneof![
        6 => ".{0,40}".prop_map(Operation::User),
        6 => (".{0,40}", 0u64..3).prop_map(|(text, tokens)| Operation::Assistant(text, tokens)),
        2 => any::<u32>().prop_map(Operation::Custom),
        1 => Just(Operation::Model),
        1 => Just(Operation::Level),
        1 => "[a-z\\r\\n ]{0,8}".prop_map(Operation::Name),
        2 => (at, proptest::option::of("[a-z]{0,4}")).prop_map(|(at, label)| Operation::Label(at, label)),
        2 => (at, any::<bool>()).prop_map(|(at, hide)| Operation::Edit(at, hide)),
        1 => at.prop_map(Operation::Compact),
        2 => at.prop_map(Operation::Branch),
        1 => Just(Operation::Reset),
        1 => at.prop_map(Operation::Summary),
        1 => Just(Operation::Reopen),
        1 => Just(Operation::Reload),
        1 => at.prop_map(Operation::Fork),
        1 => Just(Operation::Clone),
    ]
}

/// The id of some entry.
fn pick(session: &SessionManager, at: usize) -> Option<String> {
    let entries = session.get_entries();
    (!entries.is_empty()).then(|| entries[at % entries.len()].id().to_owned())
}

fn allowed(result: Result<EntryRef, SessionError>) {
    if let Err(error) = result {
        assert!(
            matches!(
                error,
                SessionError::EntryNotFound(_)
                    | SessionError::NotOnActiveBranch(_)
                    | SessionError::NotEditable(_)
            ),
            "{error}"
        );
    }
}

fn apply(project: &Project, session: SessionManager, operation: Operation) -> SessionManager {
    match operation {
        Operation::User(text) => allowed(session.append_message(user(&text))),
        Operation::Assistant(text, tokens) => {
            let mut message = assistant(&text);
            if let Message::Assistant(answer) = Arc::make_mut(&mut message) {
                answer.usage.total_tokens = tokens;
            }
            allowed(session.append_message(message));
        }
        Operation::Custom(n) => allowed(session.append_custom("x", Some(json!({"n": n})))),
        Operation::Model => allowed(session.append_model_change("p", "m")),
        Operation::Level => allowed(session.append_thinking_level_change("low")),
        Operation::Name(name) => allowed(session.append_session_info(&name)),
        Operation::Label(at, label) => {
            if let Some(id) = pick(&session, at) {
                allowed(session.append_label(&id, label.as_deref()));
            }
        }
        Operation::Edit(at, hide) => {
            if let Some(id) = pick(&session, at) {
                let replacement = if hide {
                    json!(null)
                } else {
                    json!({"content":"edited"})
                };
                allowed(session.append_context_edit_json(&id, &replacement));
            }
        }
        Operation::Compact(at) => {
            let kept = pick(&session, at);
            let body = json!({"summary":"s","firstKeptEntryId":kept,"tokensBefore":1});
            allowed(session.append_compaction(serde_json::from_value(body).unwrap()));
        }
        Operation::Branch(at) => {
            if let Some(id) = pick(&session, at) {
                session.branch(&id).unwrap();
            }
        }
        Operation::Reset => session.reset_leaf(),
        Operation::Summary(at) => {
            let target = pick(&session, at);
            let body = serde_json::from_value(json!({"summary":"left"})).unwrap();
            allowed(session.branch_with_summary(target.as_deref(), body));
        }
        Operation::Reopen => {
            if session.is_saved() {
                let (path, before) = (session.session_file().unwrap(), ids(&session.get_entries()));
                session.close();
                let again = project.open(&path);
                assert_eq!(ids(&again.get_entries()), before);
                assert!(again.warnings().is_empty(), "{:?}", again.warnings());
                return again;
            }
        }
        Operation::Reload => {
            let before = ids(&session.get_entries());
            session.reload().unwrap();
            assert_eq!(ids(&session.get_entries()), before);
        }
        Operation::Fork(at) => {
            if let Some(id) = pick(&session, at) {
                match session.fork(&id, ForkPosition::Before) {
                    Ok(fork) => check(&fork.session),
                    Err(error) => assert!(
                        matches!(
                            error,
                            SessionError::InvalidForkEntry | SessionError::NotSaved
                        ),
                        "{error}"
                    ),
                }
            }
        }
        Operation::Clone => {
            if let Ok(copy) = session.clone_session() {
                check(&copy);
                assert_eq!(context(&copy), context(&session));
            }
        }
    }
    session
}

/// What holds for every session at any time.
fn check(session: &SessionManager) {
    let entries = session.get_entries();
    let mut seen = std::collections::HashSet::new();
    for entry in &entries {
        assert!(
            entry.parent_id().is_none_or(|parent| seen.contains(parent)),
            "{entry:?}"
        );
        assert!(seen.insert(entry.id().to_owned()), "{entry:?}");
    }
    assert_eq!(session.get_tree().nodes.len(), entries.len());
    // The projection that grew with the branch is the one made from the whole branch.
    let grown = session.context();
    let built = session.build_context_at(session.leaf_id().as_deref());
    assert_eq!(format!("{grown:?}"), format!("{built:?}"));
    if session.is_saved() {
        let written = lines(&session.session_file().unwrap());
        assert_eq!(written.len(), entries.len() + 1);
        for (line, entry) in written[1..].iter().zip(&entries) {
            assert_eq!(
                line,
                &serde_json::from_str::<serde_json::Value>(entry.json()).unwrap()
            );
        }
    }
}

/// Cuts the file and opens it again.
fn crash(project: &Project, session: SessionManager, cut: usize) -> Option<SessionManager> {
    if !session.is_saved() {
        return Some(session);
    }
    let path = session.session_file().unwrap();
    let before = texts(&session);
    drop(session);
    let bytes = std::fs::read(&path).unwrap();
    open_cut(project, &path, &bytes, cut, &before)
}

/// As [`crash`], with a copy of the file; the session lives on.
fn crash_of_a_copy(project: &Project, session: &SessionManager, cut: usize) {
    if !session.is_saved() {
        return;
    }
    let bytes = std::fs::read(session.session_file().unwrap()).unwrap();
    let copy = project.temp.path().join("cut.jsonl");
    let before = texts(session);
    drop(open_cut(project, &copy, &bytes, cut, &before));
    let _ = std::fs::remove_file(project.temp.path().join("cut.jsonl.torn"));
    // The whole file reads back equal, and where the leaf is the last entry, so does the conversation.
    std::fs::write(&copy, &bytes).unwrap();
    let again = project.open(&copy);
    assert_eq!(texts(&again), before);
    assert!(again.warnings().is_empty(), "{:?}", again.warnings());
    if session.leaf_id() == again.leaf_id() {
        assert_eq!(context(&again), context(session));
    }
    assert_eq!(again.session_name(), session.session_name());
    for entry in session.get_entries() {
        assert_eq!(again.get_label(entry.id()), session.get_label(entry.id()));
    }
}

/// The entries as they are stored.
fn texts(session: &SessionManager) -> Vec<String> {
    let entries = session.get_entries();
    entries
        .iter()
        .map(|entry| entry.json().to_owned())
        .collect()
}

/// Opens the file with these bytes up to the cut; the entries before the cut must all be there.
fn open_cut(
    project: &Project,
    path: &Path,
    bytes: &[u8],
    cut: usize,
    before: &[String],
) -> Option<SessionManager> {
    let cut = cut % (bytes.len() + 1);
    std::fs::write(path, &bytes[..cut]).unwrap();
    let whole_lines = bytes[..cut].iter().filter(|byte| **byte == b'\n').count();
    let tail = &bytes[bytes[..cut]
        .iter()
        .rposition(|b| *b == b'\n')
        .map_or(0, |at| at + 1)..cut];
    // A line that only lacks its line end is whole.
    let lines_left =
        whole_lines + usize::from(serde_json::from_slice::<serde_json::Value>(tail).is_ok());
    if cut > 0 && lines_left == 0 {
        let error = SessionManager::open(path, &project.options).unwrap_err();
        assert!(matches!(error, SessionError::NotASession { .. }), "{error}");
        assert_eq!(std::fs::read(path).unwrap(), &bytes[..cut]);
        return None;
    }
    let session = project.open(path);
    assert_eq!(texts(&session), before[..lines_left.saturating_sub(1)]);
    let torn = PathBuf::from(format!("{}.torn", path.display()));
    if lines_left == whole_lines && !tail.is_empty() {
        assert!(matches!(
            session.warnings()[..],
            [SessionWarning::TornLine { .. }]
        ));
        let kept = std::fs::read(&torn).unwrap();
        assert!(kept.ends_with(&[tail, b"\n"].concat()));
    } else {
        assert!(session.warnings().is_empty(), "{:?}", session.warnings());
    }
    Some(session)
}

/// What a session starts as.
#[derive(Debug, Clone)]
enum Start {
    New,
    /// A file of this version; the model entry as xcsh writes it, or as pi does.
    File {
        version: u8,
        joined_model: bool,
    },
}

fn start() -> impl Strategy<Value = Start> {
    prop_oneof![
        1 => Just(Start::New),
        1 => (1u8..4, any::<bool>())
            .prop_map(|(version, joined_model)| Start::File { version, joined_model }),
    ]
}

fn begin(project: &Project, start: &Start) -> SessionManager {
    let Start::File {
        version,
        joined_model,
    } = start
    else {
        return project.create();
    };
    let (version, joined_model) = (*version, *joined_model);
    let model = if joined_model {
        json!({"type": "model_change", "model": "prov/some/model", "role": "default"})
    } else {
        json!({"type": "model_change", "provider": "prov", "modelId": "some/model"})
    };
    let mut lines = vec![
        model,
        json!({"type": "message", "message": {"role": "user", "content": "old question", "timestamp": 1}}),
        json!({"type": "message", "message": {"role": if version < 3 { "hookMessage" } else { "custom" },
            "customType": "c", "content": "hook", "display": true, "timestamp": 2}}),
        json!({"type": "from_the_future", "payload": {"kept": [1, null]}}),
    ];
    if version == 1 {
        lines.push(json!({"type": "compaction", "summary": "s", "firstKeptEntryIndex": 2, "tokensBefore": 9}));
    } else {
        lines.push(json!({"type": "compaction", "summary": "s", "firstKeptEntryId": "e1", "tokensBefore": 9}));
        for (at, line) in lines.iter_mut().enumerate() {
            line["id"] = json!(format!("e{at}"));
            line["parentId"] = at
                .checked_sub(1)
                .map_or(json!(null), |parent| json!(format!("e{parent}")));
        }
    }
    for line in &mut lines {
        line["timestamp"] = json!("2026-01-31T12:34:56.789Z");
    }
    let mut header = json!({"type": "session", "version": version, "id": "s",
        "timestamp": "2026-01-31T12:34:56.789Z", "cwd": project.cwd()});
    if version == 1 {
        header.as_object_mut().unwrap().shift_remove("version");
    }
    let text: String = std::iter::once(&header)
        .chain(&lines)
        .map(|line| format!("{line}\n"))
        .collect();
    let session = project.open(&project.file("old.jsonl", text));
    session.take_warnings();
    let found = session.context();
    let model = found.model.clone().expect("the model of the file");
    assert_eq!((&*model.provider, &*model.model_id), ("prov", "some/model"));
    assert_eq!(context(&session).len(), 3, "{:?}", context(&session));
    if version == 3 {
        let kept: Vec<serde_json::Value> = lines;
        let read: Vec<serde_json::Value> = texts(&session)
            .iter()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(read, kept, "lines of the current version stay as they are");
    }
    session
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_operation_and_no_crash_loses_more_than_the_last_entry(
        start in start(),
        rounds in proptest::collection::vec(
            (proptest::collection::vec((operation(), any::<usize>()), 1..20), any::<usize>()),
            1..4,
        )
    ) {
        let project = Project::new();
        let mut session = begin(&project, &start);
        for (operations, cut) in rounds {
            for (operation, cut) in operations {
                session = apply(&project, session, operation);
                crash_of_a_copy(&project, &session, cut);
            }
            check(&session);
            match crash(&project, session, cut) {
                Some(left) => session = left,
                None => return Ok(()),
            }
            check(&session);
        }
    }

    #[test]
    fn no_bytes_make_a_reader_fail_otherwise_than_cleanly(
        text in proptest::collection::vec(
            prop_oneof![
                Just(HEADER.as_bytes().to_vec()),
                "[{}\\[\\]\",:a-e0-9\\\\ ]{0,30}".prop_map(String::into_bytes),
                proptest::collection::vec(any::<u8>(), 0..30),
                ("[a-d]", "[a-d]").prop_map(|(id, parent)| user_line(&id, Some(&parent), "x").into_bytes()),
                ("[a-d]", "[a-d]").prop_map(|(id, target)| format!(
                    r#"{{"type":"context_edit","id":"{id}","parentId":"{target}","targetId":"{target}"}}"#
                ).into_bytes()),
                Just(br#"{"type":"message","message":{"role":"hookMessage"}}"#.to_vec()),
                Just(br#"{"type":"compaction","firstKeptEntryIndex":2,"summary":"s"}"#.to_vec()),
            ],
            0..12,
        ),
        version in 1u8..4,
        line_end in any::<bool>(),
    ) {
        let project = Project::new();
        let mut bytes = text.join(&b'\n');
        if version < 3 {
            bytes = String::from_utf8_lossy(&bytes)
                .replace("\"version\":3", &format!("\"version\":{version}"))
                .into_bytes();
        }
        if line_end {
            bytes.push(b'\n');
        }
        let path = project.file("any.jsonl", &bytes);
        match SessionManager::open(&path, &project.options) {
            Ok(session) => {
                session.context();
                session.get_tree().to_json().unwrap();
                session.stats();
                session.append_message(user("next")).unwrap();
                let count = session.entry_count();
                session.close();
                let again = project.open(&path);
                prop_assert_eq!(again.entry_count(), count);
            }
            Err(SessionError::NotASession { .. }) => {
                prop_assert_eq!(std::fs::read(&path).unwrap(), bytes);
            }
            Err(error) => panic!("{error}"),
        }
    }
}
