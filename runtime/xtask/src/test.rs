//! `cargo xtask test`: everything that must pass before a change lands, except formatting and lints.
//! Rust unit tests and the black-box tests run under nextest (one process a test: V8 wants it).

use crate::paths::{self, Workspace};
use crate::{build, clients, js, proc, tools, ui};
use anyhow::Result;
use std::ffi::OsString;
use std::process::Command;

/// Sets up, builds, tests. `filter` goes to nextest unchanged.
pub(crate) fn run(workspace: &Workspace, filter: &[OsString]) -> Result<()> {
    let pier = build::dev(workspace)?;
    ui::step("cargo-nextest", || tools::ensure("cargo-nextest"))?;
    ui::step("clients of other projects", || clients::ensure(workspace))?;
    if filter.is_empty() {
        ui::step("JavaScript tests", || js::test(workspace))?;
        ui::step("documentation tests", || {
            proc::run(
                Command::new(paths::cargo())
                    .args(["test", "--locked", "--workspace", "--doc", "--quiet"])
                    .current_dir(&workspace.root),
            )
        })?;
    }
    ui::step("Rust and black-box tests", || {
        proc::run(
            Command::new(paths::cargo())
                .args(["nextest", "run", "--locked", "--workspace"])
                .args(filter)
                .env("PIER_BIN", &pier)
                .current_dir(&workspace.root),
        )
    })
}
