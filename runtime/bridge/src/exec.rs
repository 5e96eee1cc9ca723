//! `pi.exec`: child processes of extensions, each in a process group of its own (`spec/extension-api.md` §2.3).
//!
//! Output is bounded, the end is SIGTERM and after five seconds SIGKILL to the whole group, and whatever is left is
//! killed at shutdown.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde::Serialize;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio_util::sync::CancellationToken;

use crate::wire::ExtId;

/// Time between SIGTERM and SIGKILL.
const KILL_AFTER: Duration = Duration::from_secs(5);
/// Output kept over both streams when the extension does not say.
pub(crate) const DEFAULT_MAX_BUFFER: u64 = 256 << 20;
/// How long pipes may stay open after the child ended: a daemon that it left behind holds them.
const PIPE_GRACE: Duration = Duration::from_millis(500);
/// Process groups remembered because something of them lived on after the command ended.
const MAX_LEFT_BEHIND: usize = 256;

/// One command.
#[derive(Debug, Clone)]
pub(crate) struct ExecRequest {
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
    pub(crate) cwd: PathBuf,
    pub(crate) timeout: Option<Duration>,
    pub(crate) max_buffer: u64,
}

/// Result on the wire.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct ExecResult {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: i32,
    pub(crate) killed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) truncated: bool,
}

/// Running children.
#[derive(Default)]
pub(crate) struct ExecTable {
    running: Mutex<HashMap<u64, Running>>,
    next: std::sync::atomic::AtomicU64,
    /// Groups whose leader ended while a background process went on.
    left_behind: Mutex<Vec<(ExtId, u32)>>,
}

#[derive(Clone)]
struct Running {
    ext: ExtId,
    /// The extension's own number for it.
    exec_id: u64,
    pid: u32,
    cancel: CancellationToken,
}

impl ExecTable {
    /// Cancels one command of an extension's isolate.
    pub(crate) fn cancel(&self, extensions: &[ExtId], exec_id: u64) {
        for running in self.running.lock().values() {
            if running.exec_id == exec_id && extensions.contains(&running.ext) {
                running.cancel.cancel();
            }
        }
    }

    /// Kills every child of these extensions at once, background processes included.
    pub(crate) fn kill_of(&self, extensions: &[ExtId]) {
        self.kill(|ext| extensions.contains(&ext));
    }

    /// Kills every child at once.
    pub(crate) fn kill_all(&self) {
        self.kill(|_| true);
    }

    fn kill(&self, which: impl Fn(ExtId) -> bool) {
        for running in self
            .running
            .lock()
            .values()
            .filter(|running| which(running.ext))
        {
            signal_group(running.pid, true);
            running.cancel.cancel();
        }
        self.left_behind.lock().retain(|(ext, pid)| {
            let found = which(*ext);
            if found {
                signal_group(*pid, true);
            }
            !found
        });
    }

    /// Number of running children.
    pub(crate) fn count(&self) -> usize {
        self.running.lock().len()
    }

    /// Runs a command to its end. Never fails: a command that cannot start has code 1 and the reason in `stderr`.
    pub(crate) async fn run(
        &self,
        ext: ExtId,
        exec_id: u64,
        request: ExecRequest,
        parent: &CancellationToken,
    ) -> ExecResult {
        let mut command = tokio::process::Command::new(&request.command);
        command
            .args(&request.args)
            .current_dir(&request.cwd)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => {
                let stderr = format!("{}: {error}", request.command);
                return ExecResult {
                    stderr,
                    code: 1,
                    ..ExecResult::default()
                };
            }
        };
        let Some(pid) = child.id() else {
            return ExecResult {
                stderr: "the command ended before it could be watched".into(),
                code: 1,
                ..ExecResult::default()
            };
        };
        let cancel = parent.child_token();
        let key = self.next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        self.running.lock().insert(
            key,
            Running {
                ext,
                exec_id,
                pid,
                cancel: cancel.clone(),
            },
        );
        let _listed = Listed {
            table: self,
            key,
            pid,
        };

        let budget = Arc::new(Budget {
            left: std::sync::atomic::AtomicU64::new(request.max_buffer),
        });
        let overflow = CancellationToken::new();
        let (out, err) = (Kept::default(), Kept::default());
        let stdout = collect(
            child.stdout.take(),
            out.clone(),
            budget.clone(),
            overflow.clone(),
        );
        let stderr = collect(child.stderr.take(), err.clone(), budget, overflow.clone());
        let reader = tokio::spawn(async move { tokio::join!(stdout, stderr) });

        let expired = async {
            match request.timeout {
                Some(timeout) => tokio::time::sleep(timeout).await,
                None => std::future::pending().await,
            }
        };
        let mut killed = false;
        let mut truncated = false;
        let status = tokio::select! {
            status = child.wait() => status,
            () = cancel.cancelled() => { killed = true; end(&mut child, pid).await }
            () = expired => { killed = true; end(&mut child, pid).await }
            () = overflow.cancelled() => { truncated = true; end(&mut child, pid).await }
        };
        let abort = reader.abort_handle();
        if tokio::time::timeout(PIPE_GRACE, reader).await.is_err() {
            // A background process keeps the pipes open. What was read so far counts; the group is remembered.
            abort.abort();
            let mut left = self.left_behind.lock();
            if left.len() >= MAX_LEFT_BEHIND {
                left.remove(0);
            }
            left.push((ext, pid));
        }
        let truncated = truncated || overflow.is_cancelled();
        let code = match status {
            Ok(status) => exit_code(status),
            Err(_) => 1,
        };
        ExecResult {
            stdout: String::from_utf8_lossy(&out.lock()).into_owned(),
            stderr: String::from_utf8_lossy(&err.lock()).into_owned(),
            code: if (truncated || killed) && code == 0 {
                1
            } else {
                code
            },
            killed,
            truncated,
        }
    }
}

/// Takes a child off the list, and its group off the machine when the wait was abandoned.
struct Listed<'a> {
    table: &'a ExecTable,
    key: u64,
    pid: u32,
}

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        if self
            .table
            .running
            .lock()
            .remove(&self.key)
            .is_some_and(|running| running.cancel.is_cancelled())
        {
            signal_group(self.pid, true);
        }
    }
}

/// SIGTERM to the group, SIGKILL after a while.
async fn end(
    child: &mut tokio::process::Child,
    pid: u32,
) -> std::io::Result<std::process::ExitStatus> {
    signal_group(pid, false);
    match tokio::time::timeout(KILL_AFTER, child.wait()).await {
        Ok(status) => status,
        Err(_) => {
            signal_group(pid, true);
            // `kill` also covers systems without process groups.
            let _ = child.start_kill();
            child.wait().await
        }
    }
}

struct Budget {
    left: std::sync::atomic::AtomicU64,
}

impl Budget {
    /// Takes up to `wanted` bytes.
    fn take(&self, wanted: usize) -> usize {
        use std::sync::atomic::Ordering::{AcqRel, Acquire};
        let wanted = wanted as u64;
        let before = self
            .left
            .fetch_update(AcqRel, Acquire, |left| Some(left.saturating_sub(wanted)))
            .unwrap_or(0);
        usize::try_from(before.min(wanted)).unwrap_or(0)
    }
}

type Kept = Arc<Mutex<Vec<u8>>>;

async fn collect<R: AsyncRead + Unpin>(
    pipe: Option<R>,
    kept: Kept,
    budget: Arc<Budget>,
    overflow: CancellationToken,
) {
    let Some(mut pipe) = pipe else { return };
    let mut chunk = vec![0u8; 64 * 1024];
    loop {
        match pipe.read(&mut chunk).await {
            Ok(0) | Err(_) => return,
            Ok(count) => {
                let take = budget.take(count);
                kept.lock().extend_from_slice(&chunk[..take]);
                if take < count {
                    overflow.cancel();
                    return;
                }
            }
        }
    }
}

/// 128 + n for a signal death.
fn exit_code(status: std::process::ExitStatus) -> i32 {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt as _;
        if let Some(signal) = status.signal() {
            return 128 + signal;
        }
    }
    status.code().unwrap_or(1)
}

/// Signals a whole process group. A group that is gone already is fine.
#[cfg(unix)]
fn signal_group(pid: u32, kill: bool) {
    use rustix::process::{Pid, Signal, kill_process_group};
    let signal = if kill { Signal::KILL } else { Signal::TERM };
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(pid, signal);
    }
}

#[cfg(not(unix))]
fn signal_group(_: u32, _: bool) {}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn request(script: &str) -> ExecRequest {
        ExecRequest {
            command: "sh".into(),
            args: vec!["-c".into(), script.into()],
            cwd: std::env::temp_dir(),
            timeout: None,
            max_buffer: DEFAULT_MAX_BUFFER,
        }
    }

    async fn run(request: ExecRequest) -> ExecResult {
        ExecTable::default()
            .run(1, 1, request, &CancellationToken::new())
            .await
    }

    #[tokio::test]
    async fn results_of_every_kind_of_end() {
        let ok = run(request("echo out; echo err >&2; exit 3")).await;
        assert_eq!(
            (ok.stdout.as_str(), ok.stderr.as_str(), ok.code, ok.killed),
            ("out\n", "err\n", 3, false)
        );
        let signalled = run(request("kill -9 $$")).await;
        assert_eq!((signalled.code, signalled.killed), (137, false));
        let missing = run(ExecRequest {
            command: "no-such-command-here".into(),
            ..request("")
        })
        .await;
        assert_eq!(missing.code, 1);
        assert!(missing.stderr.contains("no-such-command-here"));
        let late = run(ExecRequest {
            timeout: Some(Duration::from_millis(50)),
            ..request("sleep 30")
        })
        .await;
        assert!(late.killed && late.code != 0);
        let big = run(ExecRequest {
            max_buffer: 10,
            ..request("yes | head -c 100000; sleep 30")
        })
        .await;
        assert!(big.truncated && big.code != 0 && big.stdout.len() <= 10);
    }

    #[tokio::test]
    async fn a_background_process_costs_no_output_and_is_killed_later() {
        let table = ExecTable::default();
        let started = std::time::Instant::now();
        let result = table
            .run(
                3,
                1,
                request("sleep 300 & echo started"),
                &CancellationToken::new(),
            )
            .await;
        assert_eq!((result.stdout.as_str(), result.code), ("started\n", 0));
        assert!(started.elapsed() < Duration::from_secs(5));
        assert_eq!(table.left_behind.lock().len(), 1);
        table.kill_of(&[3]);
        assert!(table.left_behind.lock().is_empty());
    }

    #[tokio::test]
    async fn grandchildren_die_with_the_group() {
        let table = Arc::new(ExecTable::default());
        let cancel = CancellationToken::new();
        let running = {
            let (table, cancel) = (table.clone(), cancel.clone());
            tokio::spawn(async move {
                table
                    .run(7, 1, request("sleep 300 & sleep 300"), &cancel)
                    .await
            })
        };
        while table.count() == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let started = std::time::Instant::now();
        table.kill_of(&[7]);
        let result = running.await.unwrap();
        assert!(result.killed);
        assert!(started.elapsed() < Duration::from_secs(3));
        assert_eq!(table.count(), 0);
    }
}
