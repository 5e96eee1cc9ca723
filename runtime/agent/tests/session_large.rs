//! Large files and long chains stay usable: work grows with the size, never with its square, and nothing
//! recurses along the conversation. The bounds are for a busy machine.

mod session_support;

use std::io::Write;
use std::time::{Duration, Instant};

use pier_agent::session::SessionManager;
use session_support::*;

/// Each of these takes a second at most on an idle machine; what is looked for is work that never ends.
const BOUND: Duration = Duration::from_secs(120);

fn within<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let result = work();
    assert!(
        started.elapsed() < BOUND,
        "{what} took {:?}",
        started.elapsed()
    );
    result
}

#[test]
fn a_hundred_megabytes_open() {
    let project = Project::new();
    let path = project.temp.path().join("large.jsonl");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    writeln!(file, "{HEADER}").unwrap();
    let text = "x".repeat(10_000);
    let mut parent = None;
    for n in 0..10_000 {
        let id = format!("{n:08x}");
        writeln!(file, "{}", user_line(&id, parent.as_deref(), &text)).unwrap();
        parent = Some(id);
    }
    file.into_inner().unwrap();
    assert!(std::fs::metadata(&path).unwrap().len() > 100_000_000);
    within("a hundred megabytes", || {
        let session = project.open(&path);
        assert_eq!(session.entry_count(), 10_000);
        assert_eq!(session.context().messages.len(), 10_000);
        session.append_message(user("next")).unwrap();
    });
}

#[test]
fn a_line_of_twenty_megabytes_opens_torn_or_whole() {
    let project = Project::new();
    let text = file_of(&[user_line("a", None, &"\\n".repeat(10_000_000))]);
    let path = project.file("line.jsonl", &text);
    within("a whole line", || {
        let session = project.open(&path);
        assert_eq!(
            session.get_entries()[0].message().unwrap().text().len(),
            10_000_000
        );
        session.close();
    });
    std::fs::write(&path, &text[..text.len() - 10]).unwrap();
    within("a torn line", || {
        assert_eq!(project.open(&path).entry_count(), 0);
    });
    // Brackets that never close, and one long line that is no JSON at all.
    for junk in [
        "[".repeat(20_000_000),
        "\\".repeat(20_000_000),
        "{\"a\":".repeat(4_000_000),
    ] {
        let path = project.file("junk.jsonl", format!("{}{junk}\n", file_of::<&str>(&[])));
        within("junk", || {
            assert_eq!(project.open(&path).warnings().len(), 1);
        });
    }
}

#[test]
fn a_chain_of_fifty_thousand_is_walked_without_recursion() {
    let project = Project::new();
    let path = project.temp.path().join("chain.jsonl");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    writeln!(file, "{HEADER}").unwrap();
    let mut parent = None;
    for n in 0..50_000 {
        let id = format!("{n:08x}");
        writeln!(file, "{}", user_line(&id, parent.as_deref(), "text")).unwrap();
        parent = Some(id);
    }
    file.into_inner().unwrap();
    within("fifty thousand entries", || {
        let session = project.open(&path);
        assert_eq!(session.get_branch(None).len(), 50_000);
        let tree = session.get_tree();
        assert_eq!(tree.roots, [0]);
        let json = serde_json::to_string(&tree).unwrap();
        assert_eq!(json.matches("\"children\":[").count(), 50_000);
        drop(tree);
        let copy = session.clone_session().unwrap();
        assert_eq!(copy.entry_count(), 50_000);
        assert_eq!(session.context().messages.len(), 50_000);
    });
}

#[test]
fn appending_does_not_slow_down_with_size() {
    let project = Project::new();
    let session = project.create();
    // The quickest of several batches: what else the machine does must not matter.
    let quickest_batch = || {
        (0..10)
            .map(|_| {
                let started = Instant::now();
                for _ in 0..100 {
                    session.append_message(user("text")).unwrap();
                }
                started.elapsed()
            })
            .min()
            .unwrap()
    };
    let early = quickest_batch();
    for _ in 0..11_000 {
        session.append_message(user("text")).unwrap();
    }
    let late = quickest_batch();
    assert!(late < early * 10, "{early:?} then {late:?}");
    let again: SessionManager = {
        let path = session.session_file().unwrap();
        session.close();
        project.open(&path)
    };
    assert_eq!(again.entry_count(), 13_000);
}
