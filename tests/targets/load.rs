//! Loads over RPC (tests/src/load.rs). `PIER_LOAD=full` runs them at full size and prints what was measured.

use libtest_mimic::{Arguments, Failed, Trial};
use pier_tests::load::{LOADS, Scale};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    let full = std::env::var("PIER_LOAD").is_ok_and(|value| value == "full");
    if full {
        // What runs beside a measurement changes it.
        arguments.test_threads = Some(1);
    }
    let scale = if full { Scale::FULL } else { Scale::TEST };
    let trials = LOADS
        .into_iter()
        .map(|(name, load)| {
            Trial::test(name, move || {
                let numbers = load(scale).map_err(|error| Failed::from(format!("{error:#}")))?;
                if full {
                    println!("    {numbers}");
                }
                Ok(())
            })
        })
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}
