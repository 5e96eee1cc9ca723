//! Where things are: the clone, cargo's home, the target directory. Never creates anything.

use crate::proc;
use anyhow::{Context, Result};
use std::path::PathBuf;
use std::process::Command;

/// The places that every command needs.
pub(crate) struct Workspace {
    /// Root of the clone.
    pub(crate) root: PathBuf,
    /// Cargo's target directory, which may be far away from the clone.
    pub(crate) target: PathBuf,
}

impl Workspace {
    /// Finds the clone this program is run in and asks cargo where its output goes.
    pub(crate) fn locate() -> Result<Self> {
        // Of the run, not of the build: clones that share a target directory run each other's binaries.
        let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest
            .ancestors()
            .nth(2)
            .context("runtime/xtask has no grandparent directory")?
            .to_path_buf();
        let text = proc::stdout(
            Command::new(cargo())
                .args(["metadata", "--no-deps", "--format-version", "1"])
                .current_dir(&root),
        )?;
        let metadata: serde_json::Value =
            serde_json::from_str(&text).context("`cargo metadata` did not print JSON")?;
        let target = metadata["target_directory"]
            .as_str()
            .context("`cargo metadata` names no target_directory")?;
        Ok(Self {
            root,
            target: PathBuf::from(target),
        })
    }

    /// The JavaScript half of the bridge.
    pub(crate) fn js_api(&self) -> PathBuf {
        self.root.join("js-api")
    }

    /// The binary that `profile_dir` (`debug`, `dist`) holds.
    pub(crate) fn pier(&self, profile_dir: &str) -> PathBuf {
        self.target
            .join(profile_dir)
            .join(format!("pier{}", std::env::consts::EXE_SUFFIX))
    }

    /// Where the clients of other projects are installed that the tests run. The tests look there too.
    pub(crate) fn clients(&self) -> PathBuf {
        self.target.join("pier-test-clients")
    }

    /// Notes that xtask keeps between runs. They only ever save work; deleting them is safe.
    pub(crate) fn stamps(&self) -> PathBuf {
        self.target.join("xtask")
    }
}

/// The cargo that runs us.
pub(crate) fn cargo() -> PathBuf {
    std::env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from)
}

/// Cargo's home directory.
pub(crate) fn cargo_home() -> Result<PathBuf> {
    if let Some(home) = std::env::var_os("CARGO_HOME") {
        return Ok(PathBuf::from(home));
    }
    let home = std::env::home_dir().context("neither CARGO_HOME nor a home directory is set")?;
    Ok(home.join(".cargo"))
}
