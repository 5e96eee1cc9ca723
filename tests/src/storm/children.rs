//! The processes that a run has started, found by a variable of their environment that only this storm has.

use anyhow::{Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::process::is_alive;

/// Ids of the processes whose environment names `agent` as the agent directory, without `except`.
pub(super) fn of(agent: &Path, except: Option<u32>) -> Vec<u32> {
    let wanted = format!("PI_CODING_AGENT_DIR={}", agent.display());
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    processes
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|id| Some(*id) != except && is_alive(*id))
        .filter(|id| {
            std::fs::read(format!("/proc/{id}/environ")).is_ok_and(|environment| {
                environment
                    .split(|byte| *byte == 0)
                    .any(|variable| variable == wanted.as_bytes())
            })
        })
        .collect()
}

/// Waits until none is left: a kill takes a moment to be carried out.
///
/// # Errors
/// Names those that are left.
pub(super) fn gone(agent: &Path, except: u32, limit: Duration) -> Result<()> {
    let deadline = Instant::now() + limit;
    loop {
        let left = of(agent, Some(except));
        if left.is_empty() {
            return Ok(());
        }
        if Instant::now() > deadline {
            let commands: Vec<String> = left
                .iter()
                .map(|id| {
                    let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
                    let line = String::from_utf8_lossy(&line).replace('\0', " ");
                    format!("{id}: {line}")
                })
                .collect();
            bail!("children are left: {commands:?}");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Ends what a killed process could not.
pub(super) fn end(agent: &Path) {
    for id in of(agent, None) {
        if let Some(id) = i32::try_from(id).ok().and_then(Pid::from_raw) {
            // It may have ended by itself in the meantime.
            let _ = kill_process(id, Signal::KILL);
        }
    }
}
