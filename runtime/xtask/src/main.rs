//! Developer commands: `cargo xtask <command>`.
//!
//! This file reads the command line and nothing else; each command has a module of its own. Nothing
//! here may be needed at run time: the product never depends on `xtask`.

mod bench;
mod build;
mod checks;
mod clients;
mod demo;
mod fsx;
mod fuzz;
mod js;
mod paths;
mod proc;
mod setup;
mod test;
mod tools;
mod ui;
mod v8;
mod v8_source;

use anyhow::{Result, bail};
use lexopt::prelude::*;
use paths::Workspace;
use std::ffi::OsString;
use std::process::ExitCode;

const HELP: &str = "\
Usage: cargo xtask <command>

Commands:
  setup             make this machine ready to build Pier; seconds when there is nothing to do
  demo              set up, build, run one prompt with a shipped extension and show what happened
  test [ARGS]       set up, build, run all tests; ARGS go to `cargo nextest run`
  clients           install the clients of other projects that the tests run (`test` does it too)
  fuzz TARGET       feed mutated input to the code that reads a client (record, ui-answer)
  bench startup     time from spawn to loaded extensions, beside `node -e 0`
  bench agent       turns, deltas and sessions of the agent core, beside the least that must be done
  bench rpc         loads over RPC at full size: commands, dialogs, a slow reader, many processes (four minutes)
  dist              the optimised binary
  v8-from-source    build the V8 archive from the sources in its crate (Linux x86-64; hours)
  tool NAME         install a pinned cargo tool if it is missing (cargo-nextest, cargo-deny)

Options:
  setup --no-install      only say which system packages are missing, install none
  bench startup --bin F   measure the binary F
  bench startup --runs N  measure N times (default 10)
  fuzz T --seconds N      for how long (default 60)
  -h, --help              this text
";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let mut args = lexopt::Parser::from_env();
    let command = match args.next()? {
        Some(Value(word)) => word.string()?,
        Some(Short('h') | Long("help")) | None => {
            print!("{HELP}");
            return Ok(());
        }
        Some(other) => return Err(other.unexpected().into()),
    };
    let workspace = Workspace::locate()?;
    match command.as_str() {
        "setup" => {
            let mut options = setup::Options::default();
            while let Some(arg) = args.next()? {
                match arg {
                    Long("no-install") => options.system_packages = checks::Missing::Report,
                    other => return Err(other.unexpected().into()),
                }
            }
            setup::run(&workspace, options)
        }
        "demo" => {
            no_more(&mut args)?;
            demo::run(&workspace)
        }
        "test" => {
            let rest: Vec<OsString> = args.raw_args()?.collect();
            test::run(&workspace, &rest)
        }
        "clients" => {
            no_more(&mut args)?;
            clients::ensure(&workspace)
        }
        "fuzz" => fuzz::run(&workspace, &mut args),
        "bench" => bench::run(&workspace, &mut args),
        "dist" => {
            no_more(&mut args)?;
            build::dist(&workspace)
        }
        "v8-from-source" => {
            no_more(&mut args)?;
            v8_source::run(&workspace)
        }
        "tool" => {
            let name = match args.next()? {
                Some(Value(name)) => name.string()?,
                _ => bail!(
                    "`cargo xtask tool` needs the name of a tool: {}",
                    tools::names()
                ),
            };
            no_more(&mut args)?;
            tools::ensure(&name)
        }
        other => bail!("unknown command `{other}`; `cargo xtask --help` lists them"),
    }
}

fn no_more(args: &mut lexopt::Parser) -> Result<()> {
    match args.next()? {
        None => Ok(()),
        Some(extra) => Err(extra.unexpected().into()),
    }
}
