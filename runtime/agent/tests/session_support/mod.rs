//! What the session tests share: a project in a temporary directory, and short ways to make messages.

#![allow(dead_code, unreachable_pub)] // Every test binary uses another part.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pier_agent::session::{
    EntryRef, NewSession, SessionDirs, SessionManager, SessionOptions, SyncPolicy,
};
use pier_protocol::message::{AssistantMessage, Block, Message};

pub struct Project {
    pub temp: tempfile::TempDir,
    pub options: SessionOptions,
}

impl Project {
    pub fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let cwd = temp.path().join("project");
        std::fs::create_dir(&cwd).unwrap();
        let dirs = SessionDirs::new(cwd, temp.path().join("agent"));
        let options = SessionOptions {
            dirs,
            sync: SyncPolicy::OFF,
        };
        Project { temp, options }
    }

    pub fn cwd(&self) -> &Path {
        self.options.dirs.cwd()
    }

    pub fn create(&self) -> SessionManager {
        SessionManager::create(&self.options, NewSession::default()).unwrap()
    }

    /// A saved session with one exchange.
    pub fn saved(&self) -> SessionManager {
        let session = self.create();
        session.append_message(user("hello")).unwrap();
        session.append_message(assistant("hi")).unwrap();
        session
    }

    pub fn open(&self, path: &Path) -> SessionManager {
        SessionManager::open(path, &self.options).unwrap()
    }

    /// A file with this text.
    pub fn file(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.temp.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

pub const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-31T12:34:56.789Z","cwd":"/"}"#;

/// A `message` line with a user message.
pub fn user_line(id: &str, parent: Option<&str>, text: &str) -> String {
    let parent = serde_json::to_string(&parent).unwrap();
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-31T12:34:56.789Z","message":{{"role":"user","content":"{text}","timestamp":1}}}}"#
    )
}

/// A whole file: header and lines.
pub fn file_of<S: AsRef<str>>(lines: &[S]) -> String {
    let mut text = format!("{HEADER}\n");
    for line in lines {
        text.push_str(line.as_ref());
        text.push('\n');
    }
    text
}

pub fn user(text: &str) -> Arc<Message> {
    Arc::new(Message::user(text, Vec::new(), 1_000))
}

pub fn assistant(text: &str) -> Arc<Message> {
    Arc::new(Message::Assistant(AssistantMessage {
        content: vec![Block::text(text)],
        provider: "p".to_owned(),
        model: "m".to_owned(),
        timestamp: 2_000,
        ..AssistantMessage::default()
    }))
}

pub fn message(json: serde_json::Value) -> Arc<Message> {
    Arc::new(serde_json::from_value(json).unwrap())
}

pub fn ids(entries: &[EntryRef]) -> Vec<String> {
    entries.iter().map(|entry| entry.id().to_owned()).collect()
}

pub fn types(entries: &[EntryRef]) -> Vec<&str> {
    entries.iter().map(|entry| entry.entry_type()).collect()
}

pub fn lines(path: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(path).unwrap();
    assert!(
        text.ends_with('\n'),
        "{} does not end in a line end",
        path.display()
    );
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Texts of the context's messages with their roles.
pub fn context(session: &SessionManager) -> Vec<String> {
    let context = session.context();
    context
        .messages
        .iter()
        .map(|part| format!("{}:{}", part.message.role(), part.message.text()))
        .collect()
}
