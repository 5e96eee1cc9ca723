//! Finding and listing sessions (spec/sessions.md §1.1, §6).

mod session_support;

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use pier_agent::session::{
    FoundSession, SessionManager, SessionOptions, SessionScope, encode_cwd, find_by_exact_id,
    find_session, list_sessions, list_stubs, newest_session,
};
use session_support::*;

/// Writes a session of `cwd` into `dir`, modified `age` seconds ago.
fn put(dir: &Path, id: &str, cwd: &str, age: u64) -> PathBuf {
    std::fs::create_dir_all(dir).unwrap();
    let path = dir.join(format!("2026-01-31T12-34-56-789Z_{id}.jsonl"));
    let header = format!(
        r#"{{"type":"session","version":3,"id":"{id}","timestamp":"2026-01-31T12:34:56.789Z","cwd":"{cwd}"}}"#
    );
    std::fs::write(
        &path,
        format!("{header}\n{}\n", user_line("a", None, "hello")),
    )
    .unwrap();
    let time = SystemTime::now() - Duration::from_secs(age);
    std::fs::File::options()
        .append(true)
        .open(&path)
        .unwrap()
        .set_modified(time)
        .unwrap();
    path
}

fn find(options: &SessionOptions, query: &str) -> Result<FoundSession, String> {
    find_session(&options.dirs, query, Some(Path::new("/home/u")))
        .map_err(|error| error.to_string())
}

#[test]
fn a_path_is_taken_as_it_is() {
    let project = Project::new();
    for (query, path) in [
        ("/x/y", PathBuf::from("/x/y")),
        ("s.jsonl", project.cwd().join("s.jsonl")),
        (
            "../s.jsonl",
            project.cwd().parent().unwrap().join("s.jsonl"),
        ),
        ("~/s.jsonl", PathBuf::from("/home/u/s.jsonl")),
    ] {
        assert_eq!(
            find(&project.options, query).unwrap(),
            FoundSession {
                path,
                scope: SessionScope::Path
            }
        );
    }
}

#[test]
fn ids_are_looked_up_in_the_project_before_all_projects() {
    let project = Project::new();
    let cwd = project.cwd().to_str().unwrap().to_owned();
    let here = project.options.dirs.dir();
    let there = project
        .options
        .dirs
        .root()
        .join(encode_cwd(Path::new("/other")));
    let exact = put(&here, "abc", &cwd, 500);
    let longer = put(&here, "abcd", &cwd, 100);
    let newer = put(&here, "abce", &cwd, 50);
    put(&there, "abcf", "/other", 1);
    let other = put(&there, "xyz1", "/other", 100);
    put(&there, "xyz12", "/other", 1);
    let ours = |path: &PathBuf| {
        Ok(FoundSession {
            path: path.clone(),
            scope: SessionScope::Project,
        })
    };
    let theirs = |path: &PathBuf| {
        Ok(FoundSession {
            path: path.clone(),
            scope: SessionScope::OtherProject {
                cwd: "/other".into(),
            },
        })
    };
    assert_eq!(find(&project.options, "abc"), ours(&exact));
    assert_eq!(find(&project.options, "ab"), ours(&newer));
    assert_eq!(find(&project.options, "abcd"), ours(&longer));
    assert_eq!(find(&project.options, "xyz1"), theirs(&other));
    for nothing in ["zzz", ""] {
        assert_eq!(
            find(&project.options, nothing),
            Err(format!("No session found matching '{nothing}'"))
        );
    }
    assert_eq!(
        find_by_exact_id(&project.options.dirs, "abc").unwrap(),
        Some(exact)
    );
    assert_eq!(find_by_exact_id(&project.options.dirs, "ab").unwrap(), None);
    assert_eq!(
        find_by_exact_id(&project.options.dirs, "xyz1").unwrap(),
        None
    );
}

#[test]
fn continue_takes_the_file_modified_last() {
    let project = Project::new();
    let session = SessionManager::continue_recent(&project.options).unwrap();
    assert_eq!(session.entry_count(), 0);
    assert!(!session.is_saved());
    let cwd = project.cwd().to_str().unwrap().to_owned();
    let dir = project.options.dirs.dir();
    put(&dir, "old", &cwd, 100);
    let newest = put(&dir, "new", &cwd, 10);
    // Newer, but no sessions.
    std::fs::write(dir.join("x.jsonl"), "not a session\n").unwrap();
    std::fs::write(dir.join("notes.txt"), HEADER).unwrap();
    std::fs::create_dir(dir.join("dir.jsonl")).unwrap();
    // `/a-b` and `/a/b` share a directory; what another project wrote there is not ours.
    let twin = cwd.replacen('/', "-", 2).replacen('-', "/", 1);
    assert_eq!(encode_cwd(Path::new(&twin)), encode_cwd(project.cwd()));
    put(&dir, "twin", &twin, 0);
    assert_eq!(
        newest_session(&project.options.dirs).unwrap(),
        Some(newest.clone())
    );
    let session = SessionManager::continue_recent(&project.options).unwrap();
    assert_eq!(session.session_file(), Some(newest));
    assert_eq!(session.session_id(), "new");
}

#[test]
fn a_flat_directory_is_filtered_by_cwd() {
    let project = Project::new();
    let flat = project.temp.path().join("flat");
    let mut options = project.options.clone();
    options.dirs = options.dirs.with_custom(Some(flat.clone()));
    let cwd = project.cwd().to_str().unwrap().to_owned();
    let ours = put(&flat, "ours", &cwd, 100);
    let theirs = put(&flat, "theirs", "/other", 1);
    assert_eq!(newest_session(&options.dirs).unwrap(), Some(ours));
    assert_eq!(
        find(&options, "theirs").unwrap(),
        FoundSession {
            path: theirs,
            scope: SessionScope::OtherProject {
                cwd: "/other".into()
            }
        }
    );
    let session = SessionManager::create(&options, Default::default()).unwrap();
    assert_eq!(session.session_dir(), flat);
    session.append_message(user("q")).unwrap();
    assert_eq!(list_sessions(&flat, Some(project.cwd())).unwrap().len(), 2);
    assert_eq!(list_sessions(&flat, None).unwrap().len(), 3);
}

#[test]
fn headers_behind_too_much_or_beyond_reading_are_left_out() {
    let project = Project::new();
    let dir = project.temp.path().join("s");
    std::fs::create_dir(&dir).unwrap();
    let near = format!("{}\n{HEADER}\n", "x".repeat(900_000));
    let far = format!("{}\n{HEADER}\n", "x".repeat(1_100_000));
    std::fs::write(dir.join("near.jsonl"), near).unwrap();
    std::fs::write(dir.join("far.jsonl"), &far).unwrap();
    std::fs::write(dir.join("endless.jsonl"), "x".repeat(3_000_000)).unwrap();
    std::fs::write(dir.join("unended.jsonl"), HEADER).unwrap();
    std::fs::write(dir.join("empty.jsonl"), "").unwrap();
    std::fs::write(dir.join("bom.jsonl"), format!("\u{feff}{HEADER}\r\n")).unwrap();
    let mut names: Vec<_> = list_stubs(&dir)
        .unwrap()
        .into_iter()
        .map(|stub| stub.path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["bom", "near", "unended"]);
    // An explicit open still looks further.
    assert_eq!(project.open(&dir.join("far.jsonl")).session_id(), "s");
    assert!(list_stubs(&dir.join("missing")).unwrap().is_empty());
}

#[test]
fn listing_tells_what_a_picker_shows() {
    let project = Project::new();
    let session = project.create();
    session.append_message(user("first words")).unwrap();
    session.append_message(assistant("an answer")).unwrap();
    session.append_session_info("named").unwrap();
    let quiet = project.create();
    quiet.save_now().unwrap();
    let found = list_sessions(&project.options.dirs.dir(), None).unwrap();
    assert_eq!(found.len(), 2);
    // The quiet one counts by its header, the other by its last message, which here is of 1970.
    assert_eq!(found[0].id, quiet.session_id());
    assert_eq!(found[0].first_message, "(no messages)");
    assert_eq!(found[0].modified, quiet.header().timestamp);
    let info = serde_json::to_value(&found[1]).unwrap();
    assert_eq!(info["name"], "named");
    assert_eq!(info["messageCount"], 2);
    assert_eq!(info["firstMessage"], "first words");
    assert_eq!(info["allMessagesText"], "first words an answer");
    assert_eq!(info["modified"], "1970-01-01T00:00:02.000Z");
    assert_eq!(info["cwd"], project.cwd().to_str().unwrap());
    assert!(info.get("parentSession").is_none());
}

#[test]
fn a_thousand_sessions_are_found_quickly() {
    let project = Project::new();
    let cwd = project.cwd().to_str().unwrap().to_owned();
    let dir = project.options.dirs.dir();
    for n in 0..1000 {
        let path = put(&dir, &format!("id-{n:04}"), &cwd, 2000 - n);
        // Large bodies must not matter.
        if n % 100 == 0 {
            let body = user_line("b", Some("a"), &"x".repeat(2_000_000));
            let header = std::fs::read_to_string(&path).unwrap();
            std::fs::write(&path, format!("{header}{body}\n")).unwrap();
        }
    }
    let started = std::time::Instant::now();
    assert_eq!(list_stubs(&dir).unwrap().len(), 1000);
    assert!(find(&project.options, "id-0500").is_ok());
    assert!(newest_session(&project.options.dirs).unwrap().is_some());
    // Milliseconds on an idle machine; the bound is for a very busy one.
    assert!(
        started.elapsed() < Duration::from_secs(60),
        "{:?}",
        started.elapsed()
    );
}
