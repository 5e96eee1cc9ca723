//! Runs a command on this machine (`spec/agent-loop.md` §10, "bash"): own process group, no stdin, one pipe
//! for stdout and stderr so that their order is kept. Never outlives its time limit or an abort, and never waits for
//! background processes that keep the pipe open.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use tokio::time::Instant;

use super::kill::ProcessTree;
use crate::tools::operations::{BashExec, BashExecError, BashExit, BashOperations, OutputSink};

/// Bytes read at a time.
const CHUNK_BYTES: usize = 64 * 1024;
/// Silence after the shell's end that means nobody writes any more.
const IDLE_AFTER_EXIT: Duration = Duration::from_millis(250);
/// Time after the shell's end during which background processes are listened to at most.
const LINGER_AFTER_EXIT: Duration = Duration::from_secs(2);
/// The same after an abort or a timeout, when everything was killed.
const LINGER_AFTER_KILL: Duration = Duration::from_millis(500);
/// How long a killed shell may take to be reaped.
const REAP_LIMIT: Duration = Duration::from_secs(5);

/// Commands on this machine, by a shell that takes `-c`.
#[derive(Debug, Clone, Default)]
pub struct LocalBashOperations {
    shell: Option<PathBuf>,
}

impl LocalBashOperations {
    /// `shell` is the setting `shellPath`; without it bash is looked for, then `sh`.
    pub fn new(shell: Option<PathBuf>) -> Self {
        Self { shell }
    }

    fn shell(&self, path: Option<&OsString>) -> Result<PathBuf, BashExecError> {
        if let Some(shell) = &self.shell {
            return if shell.is_file() {
                Ok(shell.clone())
            } else {
                Err(BashExecError::Failed(format!(
                    "Shell not found: {} (setting shellPath)",
                    shell.display()
                )))
            };
        }
        let standard = Path::new("/bin/bash");
        if standard.is_file() {
            return Ok(standard.to_path_buf());
        }
        let on_path = path
            .into_iter()
            .flat_map(std::env::split_paths)
            .map(|dir| dir.join("bash"))
            .find(|candidate| candidate.is_file());
        Ok(on_path.unwrap_or_else(|| PathBuf::from("sh")))
    }
}

#[async_trait]
impl BashOperations for LocalBashOperations {
    async fn exec(&self, request: BashExec, output: OutputSink) -> Result<BashExit, BashExecError> {
        let is_dir = tokio::fs::metadata(&request.cwd)
            .await
            .is_ok_and(|meta| meta.is_dir());
        if !is_dir {
            return Err(BashExecError::MissingCwd(request.cwd));
        }
        if request.cancel.is_cancelled() {
            return Err(BashExecError::Aborted);
        }
        let shell = self.shell(request.env.get(&OsString::from("PATH")))?;
        let (child, receiver, tree) = spawn(&shell, &request)
            .map_err(|e| BashExecError::Failed(format!("Cannot run {}: {e}", shell.display())))?;
        Run::new(child, receiver, tree, output, &request)
            .finished()
            .await
    }
}

type Spawned = (Child, pipe::Receiver, ProcessTree);

fn spawn(shell: &Path, request: &BashExec) -> io::Result<Spawned> {
    let (reader, writer) = io::pipe()?;
    let receiver = pipe::Receiver::from_owned_fd(OwnedFd::from(reader))?;
    let mut command = match SESSION_LAUNCHER.as_deref() {
        Some(launcher) => {
            let mut command = Command::new(launcher);
            command.arg(shell);
            command
        }
        None => {
            let mut command = Command::new(shell);
            command.process_group(0);
            command
        }
    };
    command
        .arg("-c")
        .arg(&request.command)
        .current_dir(&request.cwd)
        .env_clear()
        .envs(&request.env)
        .stdin(Stdio::null())
        .stdout(Stdio::from(writer.try_clone()?))
        .stderr(Stdio::from(writer));
    let child = command.spawn()?;
    // Our copies of the writing end must go, or the pipe never ends.
    drop(command);
    let tree = ProcessTree::new(child.id());
    Ok((child, receiver, tree))
}

/// `setsid`, where this process has a terminal: in a session of its own a command cannot open that terminal, so that
/// asking for a password fails instead of stopping the command for ever. Without a terminal a process group is enough.
static SESSION_LAUNCHER: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
    std::fs::File::open("/dev/tty").ok()?;
    ["/usr/bin/setsid", "/bin/setsid"]
        .map(PathBuf::from)
        .into_iter()
        .find(|path| path.is_file())
});

/// One command from start to end.
struct Run {
    child: Child,
    receiver: pipe::Receiver,
    tree: ProcessTree,
    output: OutputSink,
    request_cancel: tokio_util::sync::CancellationToken,
    deadline: Option<Instant>,
    exited: Option<ExitStatus>,
    outcome: Option<BashExecError>,
    /// Read, not yet handed over.
    pending: Option<Bytes>,
    /// When to stop listening, once the shell has ended.
    idle_until: Option<Instant>,
    linger_until: Option<Instant>,
}

/// What happened next.
enum Step {
    Cancelled,
    DeadlinePassed,
    Exited(io::Result<ExitStatus>),
    Delivered(bool),
    Read(io::Result<usize>),
    StopListening,
}

impl Run {
    fn new(
        child: Child,
        receiver: pipe::Receiver,
        tree: ProcessTree,
        output: OutputSink,
        request: &BashExec,
    ) -> Self {
        // A limit beyond what the clock can hold is no limit.
        let deadline = request
            .timeout
            .and_then(|limit| Instant::now().checked_add(limit));
        Self {
            child,
            receiver,
            tree,
            output,
            request_cancel: request.cancel.clone(),
            deadline,
            exited: None,
            outcome: None,
            pending: None,
            idle_until: None,
            linger_until: None,
        }
    }

    async fn finished(mut self) -> Result<BashExit, BashExecError> {
        let mut buffer = BytesMut::with_capacity(CHUNK_BYTES);
        loop {
            match self.next(&mut buffer).await {
                Step::Cancelled => self.kill(BashExecError::Aborted),
                Step::DeadlinePassed => {
                    let shell_exited = self.exited.is_some();
                    self.kill(BashExecError::TimedOut { shell_exited });
                }
                Step::Exited(Ok(status)) => {
                    self.has_exited(status);
                    self.listen_on(LINGER_AFTER_EXIT);
                }
                Step::Exited(Err(error)) => {
                    self.kill(BashExecError::Failed(format!(
                        "Cannot wait for the shell: {error}"
                    )));
                }
                Step::Delivered(true) => self.pending = None,
                // Nobody reads any more; go on reading so that the command is not blocked by a full pipe.
                Step::Delivered(false) => self.pending = None,
                Step::Read(Ok(0)) => break,
                Step::Read(Ok(_)) => {
                    self.pending = Some(buffer.split().freeze());
                    if self.idle_until.is_some() {
                        self.idle_until = Some(Instant::now() + IDLE_AFTER_EXIT);
                    }
                }
                Step::Read(Err(_)) | Step::StopListening => break,
            }
        }
        self.finish().await
    }

    async fn next(&mut self, buffer: &mut BytesMut) -> Step {
        let alive = self.outcome.is_none();
        let waiting = self.pending.is_some();
        let deliver_since = Instant::now();
        let step = tokio::select! {
            biased;
            () = self.request_cancel.cancelled(), if alive => Step::Cancelled,
            () = sleep_until(self.deadline), if alive && self.deadline.is_some() => Step::DeadlinePassed,
            status = self.child.wait(), if self.exited.is_none() => Step::Exited(status),
            permit = self.output.sender().reserve(), if waiting => match permit {
                Ok(permit) => {
                    permit.send(self.pending.take().unwrap_or_default());
                    Step::Delivered(true)
                }
                Err(_) => Step::Delivered(false),
            },
            // Before reading: someone who never stops writing must not be listened to for ever.
            () = sleep_until(self.linger_until), if self.linger_until.is_some() && (!waiting || !alive) => Step::StopListening,
            // While a slow reader holds up a delivery, these clocks stand still: nothing may be lost. After a
            // kill the reader may be the very thing that hangs, so they run on.
            read = async {
                buffer.reserve(CHUNK_BYTES);
                self.receiver.read_buf(buffer).await
            }, if !waiting => Step::Read(read),
            () = sleep_until(self.idle_until), if self.idle_until.is_some() && (!waiting || !alive) => Step::StopListening,
        };
        if alive
            && matches!(step, Step::Delivered(_))
            && let Some(until) = &mut self.linger_until
        {
            *until += deliver_since.elapsed();
        }
        step
    }

    fn listen_on(&mut self, linger: Duration) {
        let now = Instant::now();
        self.idle_until = Some(now + IDLE_AFTER_EXIT);
        self.linger_until = Some(now + linger);
    }

    fn has_exited(&mut self, status: ExitStatus) {
        self.exited = Some(status);
        self.tree.leader_is_reaped();
    }

    fn kill(&mut self, outcome: BashExecError) {
        self.tree.kill();
        self.outcome = Some(outcome);
        self.listen_on(LINGER_AFTER_KILL);
    }

    async fn finish(mut self) -> Result<BashExit, BashExecError> {
        // The pipe can end before the shell does (`exec >&- 2>&-`), so limits and aborts still count here.
        while self.exited.is_none() {
            if self.outcome.is_some() {
                if let Ok(Ok(status)) = tokio::time::timeout(REAP_LIMIT, self.child.wait()).await {
                    self.has_exited(status);
                }
                break;
            }
            tokio::select! {
                biased;
                () = self.request_cancel.cancelled() => self.kill(BashExecError::Aborted),
                () = sleep_until(self.deadline), if self.deadline.is_some() =>
                    self.kill(BashExecError::TimedOut { shell_exited: false }),
                status = self.child.wait() => match status {
                    Ok(status) => self.has_exited(status),
                    Err(error) => self.kill(BashExecError::Failed(format!("Cannot wait for the shell: {error}"))),
                },
            }
        }
        self.tree.release();
        match (self.outcome, self.exited) {
            (Some(outcome), _) => Err(outcome),
            (None, Some(status)) => Ok(BashExit {
                code: exit_code(status),
            }),
            (None, None) => Ok(BashExit { code: None }),
        }
    }
}

/// Shell convention: 128 + number of the signal that ended the process.
fn exit_code(status: ExitStatus) -> Option<i32> {
    status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal))
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
