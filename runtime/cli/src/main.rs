//! The program `pier`: flags, then settings, then a mode. Nothing else.
//!
//! The order in `main` matters: V8 is initialised on the main thread before any thread exists that
//! may run an isolate, and isolates are begun while flags and settings are still being read.

mod args;
mod environment;
mod flags;
mod help;
mod mode;
mod offline;
mod start;
mod version;

use std::process::ExitCode;

use mode::{ModeChoice, Streams};
use pier_modes::{EarlySignals, Isolates, diagnostics};

/// Isolates that are built while settings are read. One, because most runs need one or none at
/// once and a second would compete for the processor.
const WARM_ISOLATES: usize = 1;

fn main() -> ExitCode {
    let mut words = std::env::args();
    let program = words.next();
    let outcome = run(program.as_deref(), without_own_path(words));
    pier_modes::kill_children();
    match outcome {
        // Not a return: threads of isolates and of blocked readers must not hold the process.
        Ok(code) => std::process::exit(code),
        Err(error) => {
            diagnostics::error(&format!("{error:#}"));
            std::process::exit(1)
        }
    }
}

/// Extensions that start the agent again run `process.execPath process.argv[1] ...`, as they would run a script. Both
/// are this program here, so its own path is no message.
fn without_own_path(words: impl Iterator<Item = String>) -> impl Iterator<Item = String> {
    let own = std::env::current_exe().ok();
    let mut words = words.peekable();
    if let Some(own) = own {
        words.next_if(|word| own.to_str() == Some(word));
    }
    words
}

fn run(program: Option<&str>, words: impl Iterator<Item = String>) -> anyhow::Result<i32> {
    let args = args::parse(words).map_err(anyhow::Error::msg)?;
    if args.help {
        pier_modes::print_plain(&help::text())?;
        return Ok(0);
    }
    if args.version {
        pier_modes::print_plain(&version::line(program))?;
        return Ok(0);
    }
    if args.offline {
        offline::tell_everybody(program);
    }
    let environment = environment::Environment::read(program).map_err(anyhow::Error::msg)?;
    if let Some(export) = &args.export {
        let page = start::export(export, &environment)?;
        pier_modes::print_plain(&format!("{}\n", page.display()))?;
        return Ok(0);
    }
    // From here on a signal means an orderly end, however early it comes.
    let signals = EarlySignals::take_over()?;
    let mode = mode::choose(&args, Streams::detect());
    anyhow::ensure!(
        mode != ModeChoice::Interactive || args.model.list.is_some(),
        "There is no terminal interface yet. Use -p for one answer, or --mode rpc with a frontend"
    );
    anyhow::ensure!(
        mode != ModeChoice::Rpc || args.files.is_empty(),
        "@file arguments are not supported in RPC mode"
    );
    start::log_to_stderr(args.verbose);
    let (runtime, isolates) = Isolates::start(
        &environment.agent_dir,
        environment.cache_dir.clone(),
        WARM_ISOLATES,
    )?;
    let code = runtime.block_on(start::run(args, environment, mode, isolates, signals));
    // Blocked readers of standard input never end; nobody waits for them.
    runtime.shutdown_background();
    code
}
