//! `bench rpc`: the loads of `tests/src/load.rs` at full size against the built binary; takes some four minutes, most of them for the
//! reader that is slow on purpose.

use super::Options;
use crate::paths::{self, Workspace};
use crate::proc;
use anyhow::Result;
use std::process::Command;

/// Runs and prints.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let binary = super::choose_binary(workspace, options)?;
    proc::run(
        Command::new(paths::cargo())
            .args([
                "test",
                "--locked",
                "--workspace",
                "--quiet",
                "--test",
                "load",
            ])
            .env("PIER_BIN", binary)
            .env("PIER_LOAD", "full")
            .current_dir(&workspace.root),
    )
}
