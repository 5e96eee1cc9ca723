//! Files of all products and versions, and damaged ones (spec/sessions.md §2.1, §3.2, §7).

mod session_support;

use std::path::{Path, PathBuf};

use pier_agent::session::{SessionError, SessionManager, SessionWarning};
use pier_protocol::entry::EntryBody;
use session_support::*;

/// A copy of a file of `data/sessions` that may be written to.
fn sample(project: &Project, name: &str) -> PathBuf {
    let crate_dir = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it for tests");
    let source = Path::new(&crate_dir).join("tests/data/sessions").join(name);
    project.file(name, std::fs::read(source).unwrap())
}

fn bytes(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

#[test]
fn a_pi_file_is_read_whole_and_left_alone() {
    let project = Project::new();
    let path = sample(&project, "p-v3.jsonl");
    let before = bytes(&path);
    let session = project.open(&path);
    assert_eq!(session.session_id(), "0197c0de-0000-7000-8000-000000000001");
    assert_eq!(session.cwd(), Path::new("/home/u/p"));
    assert_eq!(session.session_name().as_deref(), Some("A pi session"));
    assert_eq!(session.get_label("00000004").as_deref(), Some("start"));
    assert_eq!(session.leaf_id().as_deref(), Some("0000000d"));
    assert_eq!(session.get_branch(None).len(), 13);
    let context = session.context();
    assert_eq!(context.thinking_level, "medium");
    let model = context.model.clone().unwrap();
    assert_eq!(
        (model.provider.as_str(), model.model_id.as_str()),
        ("anthropic", "claude-y")
    );
    assert_eq!(
        session_support::context(&session),
        [
            "system:",
            "user:first question",
            "assistant:first answer",
            "custom:remember"
        ]
    );
    let sources: Vec<_> = context
        .messages
        .iter()
        .map(|part| part.entry_id.to_string())
        .collect();
    assert_eq!(sources, ["00000003", "00000004", "00000007", "00000009"]);
    // What is not known is given back as it came.
    let unknown = session.get_entry("0000000d").unwrap();
    assert!(
        unknown
            .json()
            .contains(r#""payload":{"deep":[{"x":1.50}]}"#)
    );
    assert!(session.warnings().is_empty());
    session.close();
    assert_eq!(bytes(&path), before);
}

#[test]
fn an_old_pi_file_reads_as_before() {
    let project = Project::new();
    let session = project.open(&sample(&project, "p0-v3.jsonl"));
    let context = session.context();
    assert_eq!(
        session_support::context(&session),
        [
            "compactionSummary:listing",
            "assistant:",
            "toolResult:a.txt",
            "branchSummary:elsewhere"
        ]
    );
    assert!(context.has_thinking_entry);
    assert_eq!(context.messages[3].message.timestamp(), 1_769_932_805_000);
    let EntryBody::Compaction(body) = context.entries[0].body() else {
        panic!()
    };
    assert!(body.is_from_extension());
}

#[test]
fn xcsh_and_oh_my_pi_files_are_read() {
    let project = Project::new();
    let session = project.open(&sample(&project, "x-v3.jsonl"));
    assert_eq!(session.session_name().as_deref(), Some("An xcsh session"));
    let context = session.context();
    let model = context.model.clone().unwrap();
    assert_eq!(
        (model.provider.as_str(), model.model_id.as_str()),
        ("openrouter", "vendor/model-z")
    );
    assert_eq!(context.thinking_level, "off");
    assert!(context.has_thinking_entry);
    assert_eq!(
        session_support::context(&session),
        [
            "developer:rules",
            "user:xcsh question",
            "assistant:xcsh answer",
            "pythonExecution:",
            "fileMention:",
            "custom:noted"
        ]
    );
    // A name of our own wins over the title.
    session.append_session_info("renamed").unwrap();
    assert_eq!(session.session_name().as_deref(), Some("renamed"));

    let session = project.open(&sample(&project, "o-v3.jsonl"));
    let context = session.context();
    assert_eq!(context.thinking_level, "high");
    assert_eq!(context.model.clone().unwrap().model_id, "claude-x");
    assert_eq!(
        session_support::context(&session),
        ["compactionSummary:so far", "user:kept", "hookMessage:"]
    );
    let EntryBody::Compaction(body) = context.entries[0].body() else {
        panic!()
    };
    assert!(body.is_from_extension());
}

#[test]
fn every_line_of_every_sample_survives_opening_appending_and_forking() {
    for name in ["p-v3.jsonl", "p0-v3.jsonl", "x-v3.jsonl", "o-v3.jsonl"] {
        let project = Project::new();
        let path = sample(&project, name);
        let before = String::from_utf8(bytes(&path)).unwrap();
        let session = project.open(&path);
        session.append_message(user("more")).unwrap();
        let after = String::from_utf8(bytes(&path)).unwrap();
        assert!(after.starts_with(&before), "{name}");
        let fork = SessionManager::fork_from(&path, &project.options, Default::default()).unwrap();
        let copied = String::from_utf8(bytes(&fork.session_file().unwrap())).unwrap();
        let (_, entries) = after.split_once('\n').unwrap();
        assert!(copied.ends_with(entries), "{name}");
        assert_eq!(fork.cwd(), project.cwd());
        assert_eq!(fork.header().parent_session.as_deref(), path.to_str());
    }
}

#[test]
fn version_2_is_migrated_without_touching_the_original_in_place() {
    let project = Project::new();
    let path = sample(&project, "p-v2.jsonl");
    let before = bytes(&path);
    // A descriptor that was opened before keeps seeing the old file: it was replaced, not rewritten.
    let mut old = std::fs::File::open(&path).unwrap();
    let session = project.open(&path);
    let mut seen = Vec::new();
    std::io::Read::read_to_end(&mut old, &mut seen).unwrap();
    assert_eq!(seen, before);
    let written = lines(&path);
    assert_eq!(written[0]["version"], 3);
    assert_eq!(written[0]["provider"], "anthropic");
    assert_eq!(written[2]["message"]["role"], "custom");
    assert_eq!(written[2]["id"], "aaaa0002");
    assert_eq!(
        session_support::context(&session),
        [
            "user:old question",
            "custom:from a hook",
            "assistant:old answer"
        ]
    );
    let warnings = session.warnings();
    assert!(
        matches!(
            &warnings[..],
            [SessionWarning::Migrated {
                from_version: 2,
                backup: None,
                ..
            }]
        ),
        "{warnings:?}"
    );
    session.append_message(user("more")).unwrap();
    session.close();
    // Only once.
    let again = project.open(&path);
    assert!(again.warnings().is_empty());
    assert_eq!(again.entry_count(), 4);
    // Nothing else is left in the directory.
    let names: Vec<_> = std::fs::read_dir(project.temp.path())
        .unwrap()
        .map(|item| item.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "project")
        .collect();
    assert_eq!(names, ["p-v2.jsonl"]);
}

#[test]
fn version_1_gets_ids_and_its_compaction_keeps_the_right_part() {
    let project = Project::new();
    let path = sample(&project, "p-v1.jsonl");
    let session = project.open(&path);
    assert_eq!(
        session_support::context(&session),
        [
            "compactionSummary:what happened",
            "user:kept question",
            "assistant:kept answer"
        ]
    );
    assert_eq!(session.context().thinking_level, "high");
    assert_eq!(lines(&path)[0]["branchedFrom"], "/old/one.jsonl");
    let entries = session.get_entries();
    session.close();
    assert_eq!(ids(&project.open(&path).get_entries()), ids(&entries));
}

#[cfg(unix)]
#[test]
fn a_migration_keeps_links_and_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::new();
    let path = sample(&project, "p-v2.jsonl");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    let link = project.temp.path().join("link.jsonl");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    project.open(&link);
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(
        std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o640
    );
    assert_eq!(lines(&path)[0]["version"], 3);
}

#[test]
fn a_migration_that_cannot_keep_every_byte_keeps_the_original() {
    let project = Project::new();
    let mut text = b"{\"type\":\"session\",\"version\":2,\"id\":\"s\"}\n".to_vec();
    text.extend(b"{\"type\":\"custom\",\"id\":\"a\",\"parentId\":null,\"customType\":\"\xff\"}\n");
    let path = project.file("bad.jsonl", &text);
    let session = project.open(&path);
    let backup = session
        .warnings()
        .into_iter()
        .find_map(|warning| match warning {
            SessionWarning::Migrated { backup, .. } => backup,
            _ => None,
        })
        .unwrap();
    assert_eq!(bytes(&backup), text);
    assert_eq!(session.entry_count(), 1);
    assert!(
        session
            .warnings()
            .iter()
            .any(|w| matches!(w, SessionWarning::InvalidUtf8 { .. }))
    );
}

#[test]
fn a_newer_version_is_loaded_as_it_is() {
    let project = Project::new();
    let text = format!(
        "{}\n{}\n",
        r#"{"type":"session","version":9,"id":"s","timestamp":"t","cwd":"/"}"#,
        user_line("a", None, "x")
    );
    let path = project.file("new.jsonl", &text);
    let session = project.open(&path);
    assert_eq!(session.header().version, Some(9));
    assert_eq!(session.entry_count(), 1);
    assert_eq!(bytes(&path), text.as_bytes());
}

#[test]
fn a_torn_last_line_is_moved_aside_and_reported() {
    let project = Project::new();
    let whole = file_of(&[user_line("a", None, "one")]);
    for torn in [
        "{",
        r#"{"type":"message","id":"b","parentId":"a","mess"#,
        "\u{e4}",
        "\0\0\0\0",
        &user_line("b", Some("a"), "two")[..90],
    ] {
        let path = project.file("torn.jsonl", format!("{whole}{torn}"));
        let kept = PathBuf::from(format!("{}.torn", path.display()));
        let _ = std::fs::remove_file(&kept);
        let session = project.open(&path);
        assert_eq!(session.entry_count(), 1);
        let warnings = session.warnings();
        assert_eq!(
            warnings,
            [SessionWarning::TornLine {
                path: path.clone(),
                bytes: torn.len() as u64,
                kept_in: Some(kept.clone())
            }]
        );
        assert!(warnings[0].to_string().contains(kept.to_str().unwrap()));
        assert_eq!(bytes(&kept), format!("{torn}\n").into_bytes());
        assert_eq!(bytes(&path), whole.as_bytes());
        session.append_message(user("next")).unwrap();
        assert_eq!(lines(&path).len(), 3);
        session.close();
        assert!(project.open(&path).warnings().is_empty());
    }
}

#[test]
fn several_torn_lines_are_all_kept() {
    let project = Project::new();
    let path = project.file("torn.jsonl", format!("{}{{one", file_of::<&str>(&[])));
    project.open(&path).close();
    let mut text = bytes(&path);
    text.extend(b"{two");
    std::fs::write(&path, text).unwrap();
    project.open(&path).close();
    assert_eq!(
        bytes(&PathBuf::from(format!("{}.torn", path.display()))),
        b"{one\n{two\n"
    );
}

#[test]
fn a_torn_line_of_an_old_version_is_kept_too() {
    let project = Project::new();
    let path = sample(&project, "p-v1.jsonl");
    let mut text = bytes(&path);
    text.extend(b"{\"type\":\"mess");
    std::fs::write(&path, text).unwrap();
    let session = project.open(&path);
    assert_eq!(session.entry_count(), 6);
    let warnings = session.warnings();
    assert!(
        warnings
            .iter()
            .any(|w| matches!(w, SessionWarning::TornLine { .. })),
        "{warnings:?}"
    );
    assert!(
        warnings
            .iter()
            .any(|w| matches!(w, SessionWarning::Migrated { .. })),
        "{warnings:?}"
    );
    assert_eq!(lines(&path).len(), 7);
}

#[cfg(unix)]
#[test]
fn a_torn_line_that_cannot_be_moved_is_closed_off() {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::new();
    let dir = project.temp.path().join("dir");
    std::fs::create_dir(&dir).unwrap();
    let path = dir.join("torn.jsonl");
    let text = format!("{}{{torn", file_of(&[user_line("a", None, "one")]));
    std::fs::write(&path, &text).unwrap();
    // A directory of that name cannot be written to, whoever runs this.
    std::fs::create_dir(dir.join("torn.jsonl.torn")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let session = project.open(&path);
    assert!(matches!(
        session.warnings()[..],
        [SessionWarning::TornLine { kept_in: None, .. }]
    ));
    assert_eq!(bytes(&path), format!("{text}\n").into_bytes());
    session.append_message(user("next")).unwrap();
    session.close();
    assert_eq!(project.open(&path).entry_count(), 2);
}

#[test]
fn a_whole_last_line_without_line_end_is_used() {
    let project = Project::new();
    let text = file_of(&[user_line("a", None, "one")]);
    let path = project.file("open.jsonl", text.trim_end());
    let session = project.open(&path);
    assert_eq!(session.entry_count(), 1);
    assert!(session.warnings().is_empty());
    assert_eq!(bytes(&path), text.as_bytes());
}

#[test]
fn what_is_no_session_is_refused_and_left_alone() {
    let project = Project::new();
    for text in [
        "x",
        "\n\n",
        "{}",
        "42\n{\"type\":\"session\",\"id\":\"s\"}\n",
        "{\"type\":\"message\",\"id\":\"a\"}\n{\"type\":\"session\",\"id\":\"s\"}\n",
        "{\"type\":\"session\",\"id\":7}\n",
        "{\"type\":\"session\",\"id\":\"s\"",
        "\u{0}\u{1}binary\n",
        "garbage without end",
    ] {
        let path = project.file("no.jsonl", text);
        let error = SessionManager::open(&path, &project.options).unwrap_err();
        assert!(
            matches!(error, SessionError::NotASession { .. }),
            "{text:?}: {error}"
        );
        assert_eq!(
            error.to_string(),
            format!("Session file is not a valid pi session: {}", path.display())
        );
        assert_eq!(bytes(&path), text.as_bytes());
        let error =
            SessionManager::fork_from(&path, &project.options, Default::default()).unwrap_err();
        assert!(
            matches!(error, SessionError::NotASession { .. }),
            "{text:?}: {error}"
        );
    }
    assert_eq!(std::fs::read_dir(project.temp.path()).unwrap().count(), 2);
}

#[cfg(unix)]
#[test]
fn directories_pipes_and_devices_are_refused_at_once() {
    let project = Project::new();
    let pipe = project.temp.path().join("pipe.jsonl");
    let made = std::process::Command::new("mkfifo")
        .arg(&pipe)
        .status()
        .unwrap();
    assert!(made.success());
    for path in [project.temp.path(), Path::new("/dev/zero"), &pipe] {
        let error = SessionManager::open(path, &project.options).unwrap_err();
        assert!(matches!(error, SessionError::NotAFile { .. }), "{error}");
        let error =
            SessionManager::fork_from(path, &project.options, Default::default()).unwrap_err();
        assert!(matches!(error, SessionError::NotAFile { .. }), "{error}");
    }
}

#[test]
fn a_missing_path_is_a_new_session_and_an_empty_file_gets_a_header() {
    let project = Project::new();
    let path = project.temp.path().join("deep/er/new.jsonl");
    let session = project.open(&path);
    assert_eq!(session.session_file().as_deref(), Some(path.as_path()));
    assert!(!path.exists());
    session.append_message(user("hello")).unwrap();
    assert_eq!(lines(&path).len(), 2);
    assert_eq!(session.session_dir(), path.parent().unwrap());

    let empty = project.file("empty.jsonl", "");
    let session = project.open(&empty);
    assert!(session.is_saved());
    assert_eq!(lines(&empty)[0]["id"], session.session_id());
    assert_eq!(session.cwd(), project.cwd());
}

#[test]
fn lines_that_are_no_entries_are_passed_over_and_stay() {
    let project = Project::new();
    let text = format!(
        "\n   \nnot json\n{HEADER}\r\n{}\r\n\nhalf {{\n42\n[]\n{{\"type\":\"custom\"}}\n{}\n",
        user_line("a", None, "one"),
        user_line("b", Some("a"), "two")
    );
    let path = project.file("mixed.jsonl", &text);
    let session = project.open(&path);
    assert_eq!(ids(&session.get_branch(None)), ["a", "b"]);
    assert_eq!(bytes(&path), text.as_bytes());
    let warnings = session.warnings();
    let [
        SessionWarning::SkippedLines {
            count, first_line, ..
        },
    ] = &warnings[..]
    else {
        panic!("{warnings:?}")
    };
    assert_eq!((*count, *first_line), (5, 3));
    let text = serde_json::to_string(&session.get_entries()).unwrap();
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&text)
            .unwrap()
            .as_array()
            .unwrap()
            .len(),
        2
    );
}

#[test]
fn a_byte_order_mark_and_bad_utf8_do_no_harm() {
    let project = Project::new();
    let path = project.file(
        "bom.jsonl",
        format!("\u{feff}{}", file_of(&[user_line("a", None, "one")])),
    );
    assert_eq!(project.open(&path).entry_count(), 1);
    let mut text = file_of::<&str>(&[]).into_bytes();
    text.extend(
        b"{\"type\":\"custom\",\"id\":\"a\",\"parentId\":null,\"customType\":\"\xff\xfe\"}\n",
    );
    let path = project.file("latin.jsonl", &text);
    let session = project.open(&path);
    assert_eq!(session.entry_count(), 1);
    assert!(matches!(
        session.warnings()[..],
        [SessionWarning::InvalidUtf8 { .. }]
    ));
    assert_eq!(bytes(&path), text);
}

#[test]
fn circles_missing_parents_and_repeated_ids_never_hang() {
    let project = Project::new();
    let path = project.file(
        "odd.jsonl",
        file_of(&[
            user_line("self", Some("self"), "x"),
            user_line("a", Some("c"), "x"),
            user_line("b", Some("a"), "x"),
            user_line("c", Some("b"), "x"),
            user_line("lost", Some("nowhere"), "x"),
            user_line("twice", None, "first"),
            user_line("child", Some("twice"), "x"),
            user_line("twice", Some("child"), "second"),
        ]),
    );
    let session = project.open(&path);
    assert_eq!(ids(&session.get_branch(Some("self"))), ["self"]);
    assert_eq!(ids(&session.get_branch(Some("b"))), ["c", "a", "b"]);
    assert_eq!(ids(&session.get_branch(Some("lost"))), ["lost"]);
    assert!(session.get_branch(Some("none")).is_empty());
    // The later "twice" counts; it and its child form a circle.
    assert_eq!(
        session
            .get_entry("twice")
            .unwrap()
            .message()
            .unwrap()
            .text(),
        "second"
    );
    assert_eq!(ids(&session.get_branch(None)), ["child", "twice"]);
    session.context();
    let warnings = session.warnings();
    let [SessionWarning::DuplicateIds { count, first, .. }] = &warnings[..] else {
        panic!("{warnings:?}")
    };
    assert_eq!((*count, first.as_str()), (1, "twice"));
    let tree = session.get_tree();
    assert_eq!(tree.nodes.len(), 7);
    let reached: usize = count_nodes(&serde_json::to_value(&tree).unwrap());
    assert_eq!(reached, 7);
    session.append_message(user("goes on")).unwrap();
    let fork = session.clone_session().unwrap();
    assert_eq!(fork.entry_count(), 3);
}

fn count_nodes(value: &serde_json::Value) -> usize {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|node| 1 + count_nodes(&node["children"]))
        .sum()
}

#[test]
fn the_tree_orders_children_by_time_and_carries_labels() {
    let project = Project::new();
    let line = |id: &str, parent: &str, time: &str| {
        format!(
            r#"{{"type":"custom","id":"{id}","parentId":{parent},"timestamp":"{time}","customType":"x"}}"#
        )
    };
    let path = project.file(
        "tree.jsonl",
        file_of(&[
            line("root", "null", "2026-01-01T00:00:00.000Z"),
            line("late", "\"root\"", "2026-01-03T00:00:00.000Z"),
            line("early", "\"root\"", "2026-01-02T00:00:00.000Z"),
            line("orphan", "\"gone\"", "2026-01-02T00:00:00.000Z"),
        ]),
    );
    let session = project.open(&path);
    session.append_label("early", Some("L\"")).unwrap();
    let tree = serde_json::to_value(session.get_tree()).unwrap();
    assert_eq!(tree[0]["entry"]["id"], "root");
    assert_eq!(tree[0]["children"][0]["entry"]["id"], "early");
    assert_eq!(tree[0]["children"][0]["label"], "L\"");
    assert!(
        tree[0]["children"][0]["labelTimestamp"]
            .as_str()
            .unwrap()
            .ends_with('Z')
    );
    assert_eq!(tree[0]["children"][1]["entry"]["id"], "late");
    assert!(tree[0]["children"][1].get("label").is_none());
    assert_eq!(tree[1]["entry"]["id"], "orphan");
    assert_eq!(tree[1]["children"][0]["entry"]["type"], "label");
}

#[test]
fn a_stored_directory_that_is_gone_is_named() {
    let project = Project::new();
    let path = sample(&project, "p-v3.jsonl");
    let session = project.open(&path);
    let error = session.check_cwd(project.cwd()).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "Stored session working directory does not exist: /home/u/p\nSession file: {}\nCurrent working directory: {}",
            path.display(),
            project.cwd().display()
        )
    );
    assert!(project.create().check_cwd(project.cwd()).is_ok());
}
