//! The thread that reads, and the pipe that everybody writes to. Nothing read is kept longer than it takes to hand it on.

use super::Options;
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Gives the answer to a dialog, or nothing when somebody else will answer it.
pub type Answerer = Box<dyn FnMut(&UiRequest) -> Option<Answer> + Send>;
/// Takes a record that is no response.
pub type EventHandler = Box<dyn FnMut(Value) + Send>;

/// A dialog, or something to show.
#[derive(Debug)]
pub struct UiRequest {
    /// Name for the answer.
    pub id: String,
    /// `select`, `confirm`, `notify`, …
    pub method: String,
    /// The whole record.
    pub record: Value,
}

/// What a person says to a dialog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// To `select`, `input` and `editor`.
    Value(String),
    /// To `confirm`.
    Confirmed(bool),
    /// To any of them.
    Cancelled,
}

impl Answer {
    pub(super) fn record(&self, id: &str) -> Value {
        let mut record = json!({"type": "extension_ui_response", "id": id});
        match self {
            Self::Value(value) => record["value"] = Value::from(value.as_str()),
            Self::Confirmed(confirmed) => record["confirmed"] = Value::from(*confirmed),
            Self::Cancelled => record["cancelled"] = Value::from(true),
        }
        record
    }
}

#[derive(Default)]
pub(super) struct Counters {
    pub(super) bytes: AtomicU64,
}

/// The process's input and the commands that wait for an answer.
pub(super) struct Writer {
    stdin: Mutex<Option<ChildStdin>>,
    waiting: Mutex<HashMap<String, Sender<Value>>>,
}

impl Writer {
    pub(super) fn new(stdin: ChildStdin) -> Self {
        Self {
            stdin: Mutex::new(Some(stdin)),
            waiting: Mutex::default(),
        }
    }

    pub(super) fn expect(&self, id: String) -> Receiver<Value> {
        let (sender, answer) = mpsc::channel();
        lock(&self.waiting).insert(id, sender);
        answer
    }

    pub(super) fn write(&self, record: &Value) -> Result<()> {
        let mut line = record.to_string();
        line.push('\n');
        let mut stdin = lock(&self.stdin);
        let stdin = stdin.as_mut().context("the input is closed already")?;
        stdin
            .write_all(line.as_bytes())
            .context("the process does not read its input any more")
    }

    pub(super) fn in_flight(&self) -> usize {
        lock(&self.waiting).len()
    }

    pub(super) fn close(&self) {
        *lock(&self.stdin) = None;
    }
}

/// A panic elsewhere must not hide what went wrong first.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) struct Reader {
    writer: Arc<Writer>,
    counters: Arc<Counters>,
    options: Options,
    events: Sender<Value>,
}

impl Reader {
    pub(super) fn new(
        writer: Arc<Writer>,
        counters: Arc<Counters>,
        options: Options,
    ) -> (Self, Receiver<Value>) {
        let (events, receiver) = mpsc::channel();
        let reader = Self {
            writer,
            counters,
            options,
            events,
        };
        (reader, receiver)
    }

    /// Reads to the end of the output.
    pub(super) fn run(mut self, stdout: ChildStdout) -> Result<()> {
        let result = self.read(stdout);
        // Whoever still waits learns that nothing can come any more.
        lock(&self.writer.waiting).clear();
        result
    }

    fn read(&mut self, stdout: ChildStdout) -> Result<()> {
        let mut input = BufReader::with_capacity(
            1 << 16,
            Paced {
                source: stdout,
                bytes_per_second: self.options.bytes_per_second,
                counters: Arc::clone(&self.counters),
                start: Instant::now(),
            },
        );
        let mut line = Vec::new();
        loop {
            line.clear();
            if input.read_until(b'\n', &mut line)? == 0 {
                return Ok(());
            }
            if line.pop() != Some(b'\n') {
                bail!("the output ends in the middle of a record");
            }
            let record: Value = serde_json::from_slice(&line).with_context(|| {
                format!(
                    "a line of the output is no JSON: {}",
                    String::from_utf8_lossy(&line[..line.len().min(200)])
                )
            })?;
            self.take(record)?;
        }
    }

    fn take(&mut self, record: Value) -> Result<()> {
        if record["type"] == "response" {
            let id = record["id"].as_str().unwrap_or_default();
            let Some(sender) = lock(&self.writer.waiting).remove(id) else {
                bail!("a response that nobody waits for: {record}");
            };
            // Who sent the command may have given up.
            let _ = sender.send(record);
            return Ok(());
        }
        if record["type"] == "extension_ui_request"
            && let Some(answer) = &mut self.options.answer
        {
            let text = |name: &str| record[name].as_str().unwrap_or_default().to_owned();
            let request = UiRequest {
                id: text("id"),
                method: text("method"),
                record: record.clone(),
            };
            if let Some(answer) = answer(&request) {
                self.writer.write(&answer.record(&request.id))?;
            }
        }
        match &mut self.options.on_event {
            Some(handler) => handler(record),
            // Nobody is interested any more.
            None => drop(self.events.send(record)),
        }
        Ok(())
    }
}

/// A reader that counts and is not faster than it is told to be.
struct Paced<R> {
    source: R,
    bytes_per_second: Option<u64>,
    counters: Arc<Counters>,
    start: Instant,
}

impl<R: Read> Read for Paced<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.source.read(buffer)?;
        let total = self
            .counters
            .bytes
            .fetch_add(count as u64, Ordering::Relaxed)
            + count as u64;
        if let Some(rate) = self.bytes_per_second {
            let due = Duration::from_secs_f64(total as f64 / rate as f64);
            std::thread::sleep(due.saturating_sub(self.start.elapsed()));
        }
        Ok(count)
    }
}
