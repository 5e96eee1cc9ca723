//! A typed client of RPC mode: commands answered by id, dialogs answered by a function,
//! events one by one, every wait with a bound. It speaks the union dialect.
//!
//! Unlike [`crate::rpc::Client`], which writes down a conversation record by record, this one keeps nothing: it can read
//! gigabytes, at a chosen speed, and have thousands of commands in flight.

mod command;
mod reader;

pub use command::{Behaviour, Command};
pub use reader::{Answer, Answerer, EventHandler, UiRequest};

use crate::process::Exit;
use anyhow::{Context, Result, bail};
use reader::{Counters, Reader, Writer};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Time that a command may take unless the caller says otherwise.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// What a client does besides sending commands.
#[derive(Default)]
pub struct Options {
    /// Answers dialogs, on the thread that reads. Without it they stay open until [`Client::respond`].
    pub answer: Option<Answerer>,
    /// Takes every record that is no response, on the thread that reads. Without it they wait for [`Client::next_event`].
    pub on_event: Option<EventHandler>,
    /// Reads no faster than this.
    pub bytes_per_second: Option<u64>,
}

/// A running binary in RPC mode. Dropping it kills the process group.
pub struct Client {
    child: Child,
    group: Pid,
    writer: Arc<Writer>,
    counters: Arc<Counters>,
    events: Receiver<Value>,
    reader: Option<std::thread::JoinHandle<Result<()>>>,
    next_id: AtomicU64,
}

/// A command whose response has not been taken yet.
pub struct Pending {
    name: String,
    answer: Receiver<Value>,
}

impl Client {
    /// Starts the command, which must choose RPC mode, in the union dialect.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn spawn(command: &mut std::process::Command, options: Options) -> Result<Self> {
        let mut child = command
            .args(["--rpc-dialect", "union"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {}", command.get_program().display()))?;
        let group = Pid::from_child(&child);
        let stdin = child.stdin.take().context("no stdin pipe")?;
        let stdout = child.stdout.take().context("no stdout pipe")?;
        let writer = Arc::new(Writer::new(stdin));
        let counters = Arc::new(Counters::default());
        let (reader, events) = Reader::new(Arc::clone(&writer), Arc::clone(&counters), options);
        let reader = std::thread::spawn(move || reader.run(stdout));
        Ok(Self {
            child,
            group,
            writer,
            counters,
            events,
            reader: Some(reader),
            next_id: AtomicU64::new(1),
        })
    }

    /// Sends a command and does not wait.
    ///
    /// # Errors
    /// When the other side does not read any more.
    pub fn send(&self, command: &Command) -> Result<Pending> {
        let id = format!("c{}", self.next_id.fetch_add(1, Ordering::Relaxed));
        let mut record = serde_json::to_value(command)?;
        record["id"] = Value::from(id.as_str());
        let name = record["type"].as_str().unwrap_or_default().to_owned();
        let answer = self.writer.expect(id);
        self.writer.write(&record)?;
        Ok(Pending { name, answer })
    }

    /// Sends a command and gives the data of its response (null where it has none).
    ///
    /// # Errors
    /// When the command failed or was not answered within [`PATIENCE`].
    pub fn call(&self, command: &Command) -> Result<Value> {
        self.send(command)?.wait(PATIENCE)
    }

    /// Answers a dialog.
    ///
    /// # Errors
    /// When the other side does not read any more.
    pub fn respond(&self, id: &str, answer: &Answer) -> Result<()> {
        self.writer.write(&answer.record(id))
    }

    /// The next record that is no response and fits; others before it are dropped.
    ///
    /// # Errors
    /// When none came within the limit.
    pub fn next_event(&self, limit: Duration, fits: impl Fn(&Value) -> bool) -> Result<Value> {
        let deadline = Instant::now() + limit;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.events.recv_timeout(left) {
                Ok(event) if fits(&event) => return Ok(event),
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => {
                    bail!("the event did not come within {} s", limit.as_secs())
                }
                Err(RecvTimeoutError::Disconnected) => bail!("the output ended before the event"),
            }
        }
    }

    /// Sends a prompt and waits until its run has settled.
    ///
    /// # Errors
    /// When it is refused, handled without a run, or does not settle within the limit.
    pub fn run(&self, message: &str, limit: Duration) -> Result<()> {
        let data = self.call(&Command::prompt(message))?;
        if data["disposition"] != "started" {
            bail!("the prompt started no run: {data}");
        }
        self.next_event(limit, |event| event["type"] == "agent_settled")?;
        Ok(())
    }

    /// Commands that are not answered yet.
    pub fn in_flight(&self) -> usize {
        self.writer.in_flight()
    }

    /// Bytes read so far.
    pub fn bytes(&self) -> u64 {
        self.counters.bytes.load(Ordering::Relaxed)
    }

    /// The process's resident memory now and at its peak, in bytes. Linux only.
    ///
    /// # Errors
    /// When the process is gone.
    pub fn memory(&self) -> Result<Memory> {
        let path = format!("/proc/{}/status", self.child.id());
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
        let field = |name: &str| -> Result<u64> {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            let kib: u64 = line
                .and_then(|rest| rest.split_whitespace().next())
                .with_context(|| format!("no {name} in {path}"))?
                .parse()?;
            Ok(kib * 1024)
        };
        Ok(Memory {
            now: field("VmRSS:")?,
            peak: field("VmHWM:")?,
        })
    }

    /// Closes the input and waits for an orderly end: exit code 0 and nothing unread.
    ///
    /// # Errors
    /// When the process ends otherwise or not within the limit, or wrote something that is no record.
    pub fn close(mut self, limit: Duration) -> Result<()> {
        self.writer.close();
        let deadline = Instant::now() + limit;
        let exit = loop {
            if let Some(status) = self.child.try_wait()? {
                break match (status.code(), status.signal()) {
                    (Some(code), _) => Exit::Code(code),
                    (None, signal) => Exit::Signal(signal.unwrap_or_default()),
                };
            }
            if Instant::now() > deadline {
                bail!(
                    "still running {} s after the end of its input",
                    limit.as_secs()
                );
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        if let Some(reader) = self.reader.take() {
            match reader.join() {
                Ok(result) => result?,
                Err(_) => bail!("the reading thread panicked"),
            }
        }
        if exit != Exit::Code(0) {
            bail!("it ended with {exit:?}");
        }
        Ok(())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Fails when everything ended already.
        let _ = kill_process_group(self.group, Signal::KILL);
        let _ = self.child.wait();
    }
}

impl Pending {
    /// The data of the response.
    ///
    /// # Errors
    /// When the command failed or was not answered in time.
    pub fn wait(self, limit: Duration) -> Result<Value> {
        match self.answer.recv_timeout(limit) {
            Ok(mut response) if response["success"] == true => Ok(response["data"].take()),
            Ok(response) => bail!("{} failed: {}", self.name, response["error"]),
            Err(RecvTimeoutError::Timeout) => {
                bail!(
                    "{} was not answered within {} s",
                    self.name,
                    limit.as_secs()
                )
            }
            Err(RecvTimeoutError::Disconnected) => {
                bail!("the output ended before {} was answered", self.name)
            }
        }
    }
}

/// Resident memory in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    /// Now.
    pub now: u64,
    /// The most since the process started.
    pub peak: u64,
}
