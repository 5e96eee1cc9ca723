//! One writer per file (spec/sessions.md §3.1, H).

mod session_support;

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use pier_agent::session::{SessionError, SessionManager};
use session_support::*;

const PATH: &str = "PIER_TEST_SESSION_TO_HOLD";

#[test]
fn a_second_writer_is_told_what_to_do() {
    let project = Project::new();
    let session = project.saved();
    let path = session.session_file().unwrap();
    let before = std::fs::read(&path).unwrap();
    let error = SessionManager::open(&path, &project.options).unwrap_err();
    assert!(matches!(error, SessionError::Locked { .. }));
    let text = error.to_string();
    assert!(text.contains("already open"), "{text}");
    assert!(
        text.contains(&format!("--fork {}", path.display())),
        "{text}"
    );
    assert_eq!(std::fs::read(&path).unwrap(), before);
    // The first one is not disturbed, and nothing is left in the directory.
    session.append_message(user("goes on")).unwrap();
    assert_eq!(
        std::fs::read_dir(path.parent().unwrap()).unwrap().count(),
        1
    );
    drop(session);
    assert_eq!(project.open(&path).entry_count(), 3);
}

#[test]
fn a_migrated_file_is_locked_too() {
    let project = Project::new();
    let path = project.file("old.jsonl", "{\"type\":\"session\",\"id\":\"s\"}\n");
    let session = project.open(&path);
    assert!(matches!(
        SessionManager::open(&path, &project.options).unwrap_err(),
        SessionError::Locked { .. }
    ));
    session.close();
    project.open(&path);
}

/// Not a test of its own: the other process of the next one.
#[test]
fn hold_a_session() {
    let Some(path) = std::env::var_os(PATH) else {
        return;
    };
    let project = Project::new();
    let session = project.open(path.as_ref());
    session
        .append_message(user("from the other process"))
        .unwrap();
    println!("holding");
    std::io::stdout().flush().unwrap();
    let mut line = String::new();
    // Ends when the parent kills us or closes the pipe.
    std::io::stdin().read_line(&mut line).unwrap();
    session
        .append_message(user("never reached when killed"))
        .unwrap();
}

#[test]
fn another_process_is_named_and_its_death_frees_the_file() {
    let project = Project::new();
    let session = project.saved();
    let path = session.session_file().unwrap();
    session.close();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "hold_a_session",
            "--exact",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(PATH, &path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let ready = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .any(|line| line.is_ok_and(|line| line.contains("holding")));
    assert!(ready);
    let error = SessionManager::open(&path, &project.options).unwrap_err();
    let SessionError::Locked { holder, .. } = &error else {
        panic!("{error}")
    };
    if cfg!(target_os = "linux") && std::path::Path::new("/proc/locks").exists() {
        assert_eq!(*holder, Some(child.id()), "{error}");
        assert!(
            error
                .to_string()
                .contains(&format!("(process {})", child.id())),
            "{error}"
        );
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let session = project.open(&path);
    assert_eq!(session.entry_count(), 3);
    assert!(session.warnings().is_empty());
}
