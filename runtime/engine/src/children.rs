//! Processes that extension code started and left behind.
//!
//! Orphans come back to this process (it is a "subreaper"), so that a grandchild whose parent has ended is still found. Who asked for a session
//! of its own (`detached: true`) meant the process to outlive its parent and is left alone.

use std::collections::HashMap;

/// How often the table is read again: a process may start another one while it is being killed.
const PASSES: usize = 3;

/// Makes orphaned descendants children of this process. Linux only; elsewhere direct children are all there is.
pub(crate) fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    // SAFETY: sets one attribute of this process and touches no memory.
    unsafe {
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    }
}

/// Kills every descendant of this process that is in its session. For the end of the process, when nobody needs them any more.
pub fn kill_children() {
    // SAFETY: both only read ids of this process.
    let (own, session) = unsafe { (libc::getpid(), libc::getsid(0)) };
    for _ in 0..PASSES {
        let found = descendants(own, session);
        if found.is_empty() {
            return;
        }
        for process in found {
            // SAFETY: a signal to a process id; one that has just ended gives an error.
            unsafe { libc::kill(process, libc::SIGKILL) };
        }
    }
}

fn descendants(own: i32, session: i32) -> Vec<i32> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    for entry in entries {
        let Ok(process) = entry.file_name().to_string_lossy().parse::<i32>() else {
            continue;
        };
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        // The name in parentheses may hold anything; what follows it is: state, parent, group, session.
        let Some((_, rest)) = stat.rsplit_once(')') else {
            continue;
        };
        let fields: Vec<&str> = rest.split_whitespace().take(4).collect();
        let [state, parent, _, of_session] = fields[..] else {
            continue;
        };
        if state != "Z" && of_session.parse() == Ok(session) {
            children
                .entry(parent.parse().unwrap_or(0))
                .or_default()
                .push(process);
        }
    }
    let mut found = Vec::new();
    let mut pending = vec![own];
    while let Some(parent) = pending.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            found.push(child);
            pending.push(child);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grandchildren_go_and_detached_ones_stay() {
        adopt_orphans();
        let mut shell = std::process::Command::new("sh")
            .args(["-c", "sleep 61 & sleep 62 & setsid sleep 63 & wait"])
            .spawn()
            .expect("sh starts");
        let named = |seconds: &str| {
            let output = std::process::Command::new("pgrep")
                .args(["-x", "-f", &format!("sleep {seconds}")])
                .output()
                .expect("pgrep runs");
            !output.stdout.is_empty()
        };
        let until = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while !(named("61") && named("62") && named("63")) && std::time::Instant::now() < until {
            std::thread::yield_now();
        }
        kill_children();
        let _ = shell.wait();
        while (named("61") || named("62")) && std::time::Instant::now() < until {
            std::thread::yield_now();
        }
        assert!(!named("61") && !named("62") && named("63"));
        let _ = std::process::Command::new("pkill")
            .args(["-x", "-f", "sleep 63"])
            .status();
    }
}
