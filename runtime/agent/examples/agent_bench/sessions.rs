//! Sessions: append, open, context and listing at several sizes. References: the same lines written to a plain file with one call
//! each; the same file read and each line parsed as JSON.

use std::error::Error;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use pier_agent::session::{
    NewSession, SessionDirs, SessionManager, SessionOptions, SyncPolicy, find_session,
    list_sessions, list_stubs,
};
use pier_protocol::message::{AssistantMessage, Block, Message};

use crate::{Report, Row, median_of, timed};

const SIZES: [usize; 3] = [1_000, 10_000, 50_000];
const SESSIONS: usize = 1_000;

pub(crate) fn measure(report: &Report) -> Result<(), Box<dyn Error>> {
    for size in SIZES {
        at_size(size, report)?;
    }
    listing(report)
}

fn at_size(size: usize, report: &Report) -> Result<(), Box<dyn Error>> {
    let temp = tempfile::tempdir()?;
    let options = options(temp.path());
    let messages = [question(), answer()];
    let mut path = None;
    let append = median_of(|| {
        let session = SessionManager::create(&options, NewSession::default())?;
        let took = timed(|| {
            for n in 0..size {
                session.append_message(messages[n % 2].clone())?;
            }
            Ok(())
        })?;
        path = session.session_file();
        session.close();
        Ok(took)
    })?;
    let path = path.ok_or("no file")?;
    let text = std::fs::read_to_string(&path)?;
    let copy = temp.path().join("copy");
    let plain_append = median_of(|| {
        let mut file = std::fs::File::create(&copy)?;
        timed(|| {
            for line in text.split_inclusive('\n').skip(1) {
                file.write_all(line.as_bytes())?;
            }
            Ok(())
        })
    })?;
    let row = |name, total, reference| {
        report.row(&Row {
            name,
            size,
            unit: "entries",
            total,
            reference,
        });
    };
    row("append", append, Some(plain_append));

    let open = median_of(|| {
        timed(|| {
            let session = SessionManager::open(&path, &options)?;
            session.close();
            Ok(())
        })
    })?;
    let plain_open = median_of(|| {
        timed(|| {
            let lines = std::fs::read_to_string(&path)?
                .lines()
                .map(serde_json::from_str)
                .collect::<Result<Vec<serde_json::Value>, _>>()?;
            assert_eq!(lines.len(), size + 1);
            Ok(())
        })
    })?;
    row("open", open, Some(plain_open));

    let first = median_of(|| {
        let session = SessionManager::open(&path, &options)?;
        let took = timed(|| {
            assert_eq!(session.context().messages.len(), size);
            Ok(())
        })?;
        session.close();
        Ok(took)
    })?;
    row("context, first time", first, None);
    let session = SessionManager::open(&path, &options)?;
    session.context();
    let next = median_of(|| {
        timed(|| {
            session.context();
            Ok(())
        })
    })?;
    row("context, again", next, None);
    let tree = median_of(|| {
        timed(|| {
            assert!(!session.get_tree().to_json()?.is_empty());
            Ok(())
        })
    })?;
    row("tree as JSON", tree, None);
    Ok(())
}

fn listing(report: &Report) -> Result<(), Box<dyn Error>> {
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
    let row = |name, total| {
        report.row(&Row {
            name,
            size: SESSIONS,
            unit: "sessions",
            total,
            reference: None,
        });
    };
    row(
        "list headers",
        median_of(|| {
            timed(|| {
                assert_eq!(list_stubs(&dir)?.len(), SESSIONS);
                Ok(())
            })
        })?,
    );
    row(
        "find by id",
        median_of(|| timed(|| Ok(find_session(&options.dirs, &last, None)?)))?,
    );
    row(
        "list with contents",
        median_of(|| {
            timed(|| {
                assert_eq!(list_sessions(&dir, None)?.len(), SESSIONS);
                Ok(())
            })
        })?,
    );
    Ok(())
}

fn options(root: &Path) -> SessionOptions {
    SessionOptions {
        dirs: SessionDirs::new(root, root.join("agent")),
        sync: SyncPolicy::OFF,
    }
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
