//! Helpers of the tool tests: a scratch directory and calls in it. Waits only with a deadline.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pier_agent::tool::{Tool, ToolCall, ToolContext, ToolError, ToolOutput, ToolUpdates};
use pier_protocol::block::Block;
use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// Longer than anything here takes on a loaded machine.
pub const DEADLINE: Duration = Duration::from_secs(60);

pub struct Lab {
    dir: TempDir,
    pub context: ToolContext,
}

impl Lab {
    pub fn new() -> Self {
        let dir = TempDir::new().unwrap();
        // macOS hands out a temporary directory behind a link.
        let cwd = dir.path().canonicalize().unwrap();
        Lab {
            dir,
            context: ToolContext::detached(cwd),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.context.cwd.join(name)
    }

    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub fn content(&self, name: &str) -> String {
        String::from_utf8(std::fs::read(self.path(name)).unwrap()).unwrap()
    }

    pub fn call(&self, args: Value) -> ToolCall {
        ToolCall {
            id: "call_1".into(),
            args,
            cancel: CancellationToken::new(),
            updates: ToolUpdates::new(),
            context: self.context.clone(),
        }
    }

    pub async fn run(&self, tool: &dyn Tool, args: Value) -> Result<ToolOutput, ToolError> {
        within(tool.execute(self.call(args))).await
    }

    /// Text of a call that must succeed.
    pub async fn ok(&self, tool: &dyn Tool, args: Value) -> String {
        text(&self.run(tool, args).await.unwrap())
    }

    /// Text of a call that must throw.
    pub async fn err(&self, tool: &dyn Tool, args: Value) -> String {
        match self.run(tool, args).await {
            Err(error) => error.to_string(),
            Ok(output) => panic!("did not throw: {output:?}"),
        }
    }
}

/// All text of a result.
pub fn text(output: &ToolOutput) -> String {
    output
        .content
        .iter()
        .filter_map(Block::as_text)
        .collect::<Vec<_>>()
        .join("\n")
}

pub async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, future)
        .await
        .expect("took too long")
}

/// Waits until `condition` holds.
pub async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < DEADLINE, "never happened: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Whether a process exists and is not a zombie.
pub fn is_alive(pid: &str) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())) else {
        return false;
    };
    let state = stat.rsplit_once(") ").map(|(_, rest)| &rest[..1]);
    state.is_some_and(|state| state != "Z" && state != "X")
}

pub fn read_pid(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    text.ends_with('\n').then(|| text.trim().to_owned())
}
