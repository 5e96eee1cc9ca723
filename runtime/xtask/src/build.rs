//! Building the binary. One profile serves `demo`, `test` and CI; `dist` has its own.

use crate::paths::{self, Workspace};
use crate::setup::{self, Options};
use crate::{proc, ui};
use anyhow::{Result, ensure};
use std::path::PathBuf;
use std::process::Command;

/// Sets up, then builds the development binary and returns where it is.
pub(crate) fn dev(workspace: &Workspace) -> Result<PathBuf> {
    setup::run(workspace, Options::default())?;
    ui::step(
        "build (the first time compiles V8's Rust side: half an hour on two cores)",
        || cargo_build(workspace, &[]),
    )?;
    binary(workspace, "debug")
}

/// Sets up, then builds the optimised binary.
pub(crate) fn dist(workspace: &Workspace) -> Result<()> {
    setup::run(workspace, Options::default())?;
    ui::step(
        "build the optimised binary (the first time takes long)",
        || cargo_build(workspace, &["--profile", "dist"]),
    )?;
    println!("{}", binary(workspace, "dist")?.display());
    Ok(())
}

fn cargo_build(workspace: &Workspace, extra: &[&str]) -> Result<()> {
    proc::run(
        Command::new(paths::cargo())
            .args(["build", "--locked", "--package", "pier-cli"])
            .args(extra)
            .current_dir(&workspace.root),
    )
}

fn binary(workspace: &Workspace, profile_dir: &str) -> Result<PathBuf> {
    let path = workspace.pier(profile_dir);
    ensure!(path.is_file(), "cargo built no {}", path.display());
    Ok(path)
}
