//! Ends a command with everything it started: its process group, and on Linux also descendants that moved to a group
//! or session of their own. Signals only processes below the shell that this process started.

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// The processes of one command. Dropping it before [`ProcessTree::release`] kills them, so that a cancelled future
/// leaves nothing behind.
#[derive(Debug)]
pub(super) struct ProcessTree {
    leader: Option<Pid>,
    /// The leader's process id may belong to somebody else by now; its group may not, as long as it has members.
    reaped: bool,
}

impl ProcessTree {
    /// `leader` is the process id of the shell, which leads its own group.
    pub(super) fn new(leader: Option<u32>) -> Self {
        let leader = leader
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw);
        Self {
            leader,
            reaped: false,
        }
    }

    /// Kills the whole tree at once. Processes that are already gone are no error.
    pub(super) fn kill(&mut self) {
        let Some(leader) = self.leader else { return };
        // Before the group dies: orphans are handed to another parent and could not be found any more.
        let strays = if self.reaped {
            Vec::new()
        } else {
            descendants(leader)
        };
        let _ = kill_process_group(leader, Signal::KILL);
        if !self.reaped {
            // It may not have come as far as leading a group.
            let _ = kill_process(leader, Signal::KILL);
        }
        for stray in strays {
            let _ = kill_process(stray, Signal::KILL);
        }
    }

    /// The shell was waited for.
    pub(super) fn leader_is_reaped(&mut self) {
        self.reaped = true;
    }

    /// The command has ended; what it left in the background lives on.
    pub(super) fn release(&mut self) {
        self.leader = None;
    }
}

impl Drop for ProcessTree {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Living descendants of `root`, without itself.
#[cfg(target_os = "linux")]
fn descendants(root: Pid) -> Vec<Pid> {
    let mut children: std::collections::HashMap<i32, Vec<i32>> = std::collections::HashMap::new();
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    for process in processes.flatten() {
        let Some(id) = process
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<i32>().ok())
        else {
            continue;
        };
        if let Some(parent) = parent_of(id) {
            children.entry(parent).or_default().push(id);
        }
    }
    let mut found = Vec::new();
    let mut open = vec![root.as_raw_nonzero().get()];
    while let Some(id) = open.pop() {
        for child in children.remove(&id).unwrap_or_default() {
            found.extend(Pid::from_raw(child));
            open.push(child);
        }
    }
    found
}

#[cfg(target_os = "linux")]
fn parent_of(id: i32) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // "id (name) state parent ...", where the name may contain anything, also parentheses.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(not(target_os = "linux"))]
fn descendants(_root: Pid) -> Vec<Pid> {
    Vec::new()
}
