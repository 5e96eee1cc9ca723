//! `cargo xtask setup`: makes a machine ready to build. Idempotent; when everything is there it only
//! looks, which takes seconds. Checks come before anything heavy, so that nothing fails half-way.

use crate::paths::Workspace;
use crate::{checks, js, ui, v8};
use anyhow::Result;

/// How much setup may change on the machine.
#[derive(Default)]
pub(crate) struct Options {
    /// What to do about missing system packages.
    pub(crate) system_packages: checks::Missing,
}

/// Runs all of setup.
pub(crate) fn run(workspace: &Workspace, options: Options) -> Result<()> {
    ui::step("check the machine", || {
        checks::all(workspace, options.system_packages)
    })?;
    ui::step("V8 archive", || v8::ensure(workspace))?;
    ui::step("JavaScript", || js::ensure(workspace))
}
