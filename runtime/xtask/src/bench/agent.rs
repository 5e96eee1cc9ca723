//! `bench agent`: turns, deltas and sessions of the agent core with a model in memory, each beside the least that any program would
//! have to do. The measuring is an example of the agent's crate, because it needs the crate and nothing else of Pier; this builds it
//! optimised, as `dist` is, and runs it.

use crate::paths::{self, Workspace};
use crate::proc;
use anyhow::Result;
use std::process::Command;

/// Builds, measures, prints the table.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    proc::run(
        Command::new(paths::cargo())
            .args(["run", "--locked", "--profile", "dist"])
            .args(["--package", "pier-agent", "--example", "agent_bench"])
            .current_dir(&workspace.root),
    )
}
