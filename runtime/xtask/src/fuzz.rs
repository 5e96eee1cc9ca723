//! `cargo xtask fuzz TARGET [--seconds N]`: mutates the corpus of a target in `tests/fuzz/corpus` for as long as told. The
//! targets are in `runtime/modes/src/rpc/fuzz`; every test run replays the corpus.

use crate::paths::{self, Workspace};
use crate::{proc, tools, ui};
use anyhow::{Context, Result, bail};
use lexopt::prelude::*;
use std::process::Command;

const TARGETS: [&str; 2] = ["record", "ui-answer"];
const DEFAULT_SECONDS: u64 = 60;

/// Reads its arguments and runs.
pub(crate) fn run(workspace: &Workspace, args: &mut lexopt::Parser) -> Result<()> {
    let (mut target, mut seconds) = (None, DEFAULT_SECONDS);
    while let Some(arg) = args.next()? {
        match arg {
            Long("seconds") => {
                seconds = args
                    .value()?
                    .parse()
                    .context("--seconds takes a whole number")?;
            }
            Value(word) if target.is_none() => target = Some(word.string()?),
            other => return Err(other.unexpected().into()),
        }
    }
    let known = TARGETS.join(", ");
    let Some(target) = target else {
        bail!("`cargo xtask fuzz` needs a target: {known}");
    };
    if !TARGETS.contains(&target.as_str()) {
        bail!("there is no fuzz target `{target}`; there are: {known}");
    }
    ui::step("cargo-nextest", || tools::ensure("cargo-nextest"))?;
    ui::step(&format!("fuzz {target} for {seconds} s"), || {
        proc::run(
            Command::new(paths::cargo())
                .args(["nextest", "run", "--locked", "--workspace", "--no-capture"])
                .args(["--run-ignored", "only"])
                .args(["-E", "package(pier-modes) & test(=rpc::fuzz::explore)"])
                .env("PIER_FUZZ_TARGET", &target)
                .env("PIER_FUZZ_SECONDS", seconds.to_string())
                .current_dir(&workspace.root),
        )
    })
}
