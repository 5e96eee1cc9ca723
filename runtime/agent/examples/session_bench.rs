//! Measures sessions: append, open, context and listing at several sizes. Prints a table, or with
//! `--json` one JSON object per line for `cargo xtask bench`. Numbers depend on the build profile.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pier_agent::session::{
    NewSession, SessionDirs, SessionManager, SessionOptions, SyncPolicy, find_session,
    list_sessions, list_stubs,
};
use pier_protocol::message::{AssistantMessage, Block, Message};

const SIZES: [usize; 3] = [1_000, 10_000, 50_000];
const REPEATS: usize = 5;
const SESSIONS: usize = 1_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut json = false;
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--json" => json = true,
            other => return Err(format!("unknown argument {other}; the only one is --json").into()),
        }
    }
    let report = |name: &str, size: usize, total: Duration, per: usize| {
        let micros = total.as_secs_f64() * 1e6 / per.max(1) as f64;
        if json {
            println!(
                "{}",
                serde_json::json!({"bench": name, "size": size, "totalMs": total.as_secs_f64() * 1e3, "perItemUs": micros})
            );
        } else {
            println!(
                "{name:<28} {size:>7}  {:>10.2} ms  {micros:>9.2} us each",
                total.as_secs_f64() * 1e3
            );
        }
    };
    for size in SIZES {
        bench_size(size, &report)?;
    }
    bench_listing(&report)
}

type Report<'a> = &'a dyn Fn(&str, usize, Duration, usize);

fn bench_size(size: usize, report: Report<'_>) -> Result<(), Box<dyn Error>> {
    let temp = tempfile::tempdir()?;
    let options = options(temp.path());
    let session = SessionManager::create(&options, NewSession::default())?;
    let messages = [question(), answer()];
    let started = Instant::now();
    for n in 0..size {
        session.append_message(messages[n % 2].clone())?;
    }
    report("append", size, started.elapsed(), size);
    let started = Instant::now();
    session.sync();
    report("sync", size, started.elapsed(), 1);
    let path = session.session_file().ok_or("no file")?;
    session.close();

    let mut open = Vec::new();
    let mut context = Vec::new();
    for _ in 0..REPEATS {
        let started = Instant::now();
        let session = SessionManager::open(&path, &options)?;
        open.push(started.elapsed());
        let started = Instant::now();
        assert_eq!(session.build_context().messages.len(), size);
        context.push(started.elapsed());
    }
    report("open (median)", size, median(&mut open), size);
    report("first context (median)", size, median(&mut context), size);
    let session = SessionManager::open(&path, &options)?;
    session.build_context();
    let started = Instant::now();
    session.build_context();
    report("next context", size, started.elapsed(), size);
    let started = Instant::now();
    let tree = session.get_tree().to_json()?;
    assert!(!tree.is_empty());
    report("tree as JSON", size, started.elapsed(), size);
    Ok(())
}

fn bench_listing(report: Report<'_>) -> Result<(), Box<dyn Error>> {
    let temp = tempfile::tempdir()?;
    let options = options(temp.path());
    let mut last = String::new();
    for _ in 0..SESSIONS {
        let session = SessionManager::create(&options, NewSession::default())?;
        for n in 0..20 {
            session.append_message([question(), answer()][n % 2].clone())?;
        }
        last = session.session_id();
    }
    let dir = options.dirs.dir();
    let started = Instant::now();
    assert_eq!(list_stubs(&dir)?.len(), SESSIONS);
    report("list headers", SESSIONS, started.elapsed(), SESSIONS);
    let started = Instant::now();
    find_session(&options.dirs, &last, None)?;
    report("find by id", SESSIONS, started.elapsed(), 1);
    let started = Instant::now();
    assert_eq!(list_sessions(&dir, None)?.len(), SESSIONS);
    report("list with contents", SESSIONS, started.elapsed(), SESSIONS);
    Ok(())
}

fn options(root: &Path) -> SessionOptions {
    SessionOptions {
        dirs: SessionDirs::new(root, root.join("agent")),
        sync: SyncPolicy::OFF,
    }
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn question() -> Arc<Message> {
    Arc::new(Message::user(
        "What does this function do, and is there a test for it? ".repeat(4),
        Vec::new(),
        1,
    ))
}

/// About a kilobyte, as a short answer of a model is.
fn answer() -> Arc<Message> {
    Arc::new(Message::Assistant(AssistantMessage {
        content: vec![Block::text(
            "It reads the file line by line and keeps what it does not know. ".repeat(12),
        )],
        api: "scripted".to_owned(),
        provider: "scripted".to_owned(),
        model: "scripted-1".to_owned(),
        timestamp: 2,
        ..AssistantMessage::default()
    }))
}
