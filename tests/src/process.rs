//! A child process in a group of its own, with everything it prints collected and every wait bounded. Dropping it kills the
//! whole group, so that no test leaves a process behind.

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// After the process ended its pipes must end too, unless something it left behind holds them.
const PIPE_GRACE: Duration = Duration::from_secs(2);

enum Event {
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
    StdoutEnd,
    StderrEnd,
    Exit(std::io::Result<ExitStatus>),
}

/// How a process ended, in the way a shell says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It ended by itself.
    Code(i32),
    /// A signal ended it.
    Signal(i32),
}

/// A running or finished child process.
pub struct Process {
    pid: Pid,
    stdin: Option<ChildStdin>,
    events: Receiver<Event>,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    /// While true nothing is read from stdout.
    held: Arc<(Mutex<bool>, Condvar)>,
    stdout_open: bool,
    stderr_open: bool,
    exit: Option<(Exit, Instant)>,
    first_stdout: Option<Instant>,
}

impl Process {
    /// Starts the command with all three streams piped.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn spawn(command: &mut Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {}", command.get_program().display()))?;
        let pid = Pid::from_child(&child);
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().context("no stdout pipe")?;
        let stderr = child.stderr.take().context("no stderr pipe")?;
        let (sender, events) = mpsc::channel();
        let held = Arc::new((Mutex::new(false), Condvar::new()));
        let stdout = Holdable {
            inner: stdout,
            held: Arc::clone(&held),
        };
        forward(stdout, sender.clone(), Event::Stdout, || Event::StdoutEnd);
        forward(stderr, sender.clone(), Event::Stderr, || Event::StderrEnd);
        std::thread::spawn(move || {
            let _ = sender.send(Event::Exit(child.wait()));
        });
        Ok(Self {
            pid,
            stdin,
            events,
            stdout: Vec::new(),
            stderr: Vec::new(),
            held,
            stdout_open: true,
            stderr_open: true,
            exit: None,
            first_stdout: None,
        })
    }

    /// Writes to its stdin.
    ///
    /// # Errors
    /// When the pipe is closed on either side.
    pub fn write(&mut self, text: &str) -> Result<()> {
        let stdin = self.stdin.as_mut().context("stdin is closed already")?;
        stdin
            .write_all(text.as_bytes())
            .context("the process does not read its stdin any more")?;
        stdin
            .flush()
            .context("the process does not read its stdin any more")
    }

    /// Closes its stdin.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Sends a signal to the process alone.
    ///
    /// # Errors
    /// When it is gone.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        rustix::process::kill_process(self.pid, signal).context("cannot signal the process")
    }

    /// Stops or goes on reading its stdout. What is being read at this moment is still taken.
    pub fn hold_output(&self, hold: bool) {
        let (flag, changed) = &*self.held;
        *flag.lock().unwrap_or_else(PoisonError::into_inner) = hold;
        changed.notify_all();
    }

    /// Waits until the process handles a signal itself.
    ///
    /// # Errors
    /// When the process is gone or takes too long.
    pub fn wait_until_caught(&self, signal: Signal) -> Result<()> {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let mask = u64::from_str_radix(&self.status("SigCgt:")?, 16)?;
            if mask >> (signal.as_raw() - 1) & 1 == 1 {
                return Ok(());
            }
            if Instant::now() > deadline {
                bail!("the process never handled the signal");
            }
            std::thread::yield_now();
        }
    }

    /// Memory in use (resident), in MiB.
    ///
    /// # Errors
    /// When the process is gone.
    pub fn memory_mb(&self) -> Result<u64> {
        let kib: u64 = self.status("VmRSS:")?.parse()?;
        Ok(kib / 1024)
    }

    /// First word of a line in the system's report about the process.
    fn status(&self, name: &str) -> Result<String> {
        let path = format!("/proc/{}/status", self.pid.as_raw_nonzero());
        let status =
            std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.split_whitespace().next())
            .map(str::to_owned)
            .with_context(|| format!("{path} has no {name}"))
    }

    /// Takes in the next piece of output or the end; `false` when the deadline passed first or nothing
    /// more can come.
    ///
    /// # Errors
    /// When the operating system cannot say how the process ended.
    pub fn pump(&mut self, deadline: Instant) -> Result<bool> {
        let left = deadline.saturating_duration_since(Instant::now());
        match self.events.recv_timeout(left) {
            Ok(Event::Stdout(bytes)) => {
                self.first_stdout.get_or_insert_with(Instant::now);
                self.stdout.extend(bytes);
            }
            Ok(Event::Stderr(bytes)) => self.stderr.extend(bytes),
            Ok(Event::StdoutEnd) => self.stdout_open = false,
            Ok(Event::StderrEnd) => self.stderr_open = false,
            Ok(Event::Exit(status)) => {
                let status = status.context("cannot wait for the process")?;
                let exit = match (status.code(), status.signal()) {
                    (Some(code), _) => Exit::Code(code),
                    (None, Some(signal)) => Exit::Signal(signal),
                    (None, None) => bail!("the process ended neither by itself nor by a signal"),
                };
                self.exit = Some((exit, Instant::now()));
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Ok(false),
        }
        Ok(true)
    }

    /// Waits for the end of the process and of its output.
    ///
    /// # Errors
    /// When the limit passes first; the error holds what was printed until then.
    pub fn wait(&mut self, limit: Duration) -> Result<Exit> {
        let deadline = Instant::now() + limit;
        while self.exit.is_none() {
            if !self.pump(deadline)? {
                bail!(
                    "still running after {} ms\n{}",
                    limit.as_millis(),
                    self.printed()
                );
            }
        }
        let grace = Instant::now() + PIPE_GRACE;
        while (self.stdout_open || self.stderr_open) && self.pump(grace)? {}
        if self.stdout_open || self.stderr_open {
            bail!(
                "the process ended but something it started still holds its output\n{}",
                self.printed()
            );
        }
        match self.exit {
            Some((exit, _)) => Ok(exit),
            None => bail!("the process ended without a status"),
        }
    }

    /// Everything written to stdout so far.
    pub fn stdout(&self) -> &[u8] {
        &self.stdout
    }

    /// Everything written to stderr so far.
    pub fn stderr(&self) -> &[u8] {
        &self.stderr
    }

    /// Whether more output or the end can still come.
    pub fn is_running(&self) -> bool {
        self.exit.is_none()
    }

    /// Time between the first byte on stdout and the end of the process.
    pub fn exit_after_first_stdout(&self) -> Option<Duration> {
        let (_, ended) = self.exit?;
        Some(ended.saturating_duration_since(self.first_stdout?))
    }

    /// Both streams, for a failure report.
    pub fn printed(&self) -> String {
        format!(
            "--- stdout so far\n{}\n--- stderr so far\n{}\n---",
            String::from_utf8_lossy(&self.stdout).trim_end(),
            String::from_utf8_lossy(&self.stderr).trim_end(),
        )
    }
}

/// A stream that is not read while the flag is set.
struct Holdable<R> {
    inner: R,
    held: Arc<(Mutex<bool>, Condvar)>,
}

impl<R: Read> Read for Holdable<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let (flag, changed) = &*self.held;
        let held = flag.lock().unwrap_or_else(PoisonError::into_inner);
        drop(
            changed
                .wait_while(held, |held| *held)
                .unwrap_or_else(PoisonError::into_inner),
        );
        self.inner.read(buffer)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.hold_output(false);
        // The group outlives its leader as long as any member does; if it is gone, that is fine.
        let _ = kill_process_group(self.pid, Signal::KILL);
    }
}

fn forward<R: Read + Send + 'static>(
    mut source: R,
    sender: Sender<Event>,
    wrap: impl Fn(Vec<u8>) -> Event + Send + 'static,
    end: impl Fn() -> Event + Send + 'static,
) {
    std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        loop {
            match source.read(&mut buffer) {
                Ok(0) | Err(_) => break,
                Ok(count) if sender.send(wrap(buffer[..count].to_vec())).is_err() => return,
                Ok(_) => {}
            }
        }
        let _ = sender.send(end());
    });
}

/// Whether a process with this id runs (a zombie does not).
pub fn is_alive(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return false;
    };
    // The state follows the command name, which is in parentheses and may hold anything.
    let state = stat
        .rsplit(')')
        .next()
        .and_then(|rest| rest.split_whitespace().next());
    !matches!(state, None | Some("Z" | "X"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Process {
        Process::spawn(Command::new("sh").args(["-c", script])).unwrap()
    }

    #[test]
    fn output_and_exit_code_are_collected() {
        let mut process = shell("cat; echo err >&2; exit 3");
        process.write("in\n").unwrap();
        process.close_stdin();
        assert_eq!(
            process.wait(Duration::from_secs(20)).unwrap(),
            Exit::Code(3)
        );
        assert_eq!(process.stdout(), b"in\n");
        assert_eq!(process.stderr(), b"err\n");
    }

    #[test]
    fn a_hang_fails_with_what_was_printed() {
        let mut process = shell("echo before; sleep 600");
        let error = process
            .wait(Duration::from_millis(500))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("still running") && error.contains("before"),
            "{error}"
        );
    }

    #[test]
    fn dropping_kills_grandchildren() {
        let mut process = shell("sleep 600 & echo $!; wait");
        let deadline = Instant::now() + Duration::from_secs(20);
        while !process.stdout().ends_with(b"\n") && process.pump(deadline).unwrap() {}
        let pid: u32 = String::from_utf8_lossy(process.stdout())
            .trim()
            .parse()
            .unwrap();
        assert!(is_alive(pid));
        drop(process);
        while is_alive(pid) && Instant::now() < deadline {
            std::thread::yield_now();
        }
        assert!(!is_alive(pid));
    }
}
