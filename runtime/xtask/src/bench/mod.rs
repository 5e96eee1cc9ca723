//! `cargo xtask bench <name>`: measurements of the built binary. Benchmarks print numbers and never
//! judge them: limits that must hold belong into tests.

mod agent;
mod rpc;
mod startup;
mod stats;

use crate::paths::Workspace;
use crate::{build, ui};
use anyhow::{Context, Result, bail};
use lexopt::prelude::*;
use std::fs;
use std::path::PathBuf;

/// What the command line may change.
pub(crate) struct Options {
    /// Binary to measure; otherwise the optimised one if there is one, else the development build.
    pub(crate) binary: Option<PathBuf>,
    /// Runs of each measurement.
    pub(crate) runs: usize,
}

/// Reads the rest of the command line and runs one benchmark.
pub(crate) fn run(workspace: &Workspace, args: &mut lexopt::Parser) -> Result<()> {
    let mut name = None;
    let mut options = Options {
        binary: None,
        runs: 10,
    };
    while let Some(arg) = args.next()? {
        match arg {
            Long("bin") => options.binary = Some(PathBuf::from(args.value()?)),
            Long("runs") => options.runs = args.value()?.parse()?,
            Value(word) if name.is_none() => name = Some(word.string()?),
            other => return Err(other.unexpected().into()),
        }
    }
    if options.runs == 0 {
        bail!("--runs must be at least 1");
    }
    match name
        .context("`cargo xtask bench` needs the name of a benchmark: startup, agent, rpc")?
        .as_str()
    {
        "startup" => startup::run(workspace, &options),
        "agent" => agent::run(workspace),
        "rpc" => rpc::run(workspace, &options),
        other => bail!("unknown benchmark `{other}`; known: startup, agent, rpc"),
    }
}

fn choose_binary(workspace: &Workspace, options: &Options) -> Result<PathBuf> {
    if let Some(named) = &options.binary {
        return fs::canonicalize(named).with_context(|| format!("no binary {}", named.display()));
    }
    let dist = workspace.pier("dist");
    if dist.is_file() {
        return Ok(dist);
    }
    ui::note("no optimised binary (`cargo xtask dist` makes one); measuring the development build");
    build::dev(workspace)
}
