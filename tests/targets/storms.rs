//! Runs that are interrupted at random moments (tests/src/storm), several storms of each kind side by side.

use libtest_mimic::{Arguments, Failed, Trial};
use pier_tests::storm::{self, Kind};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for (name, kind) in [("kill", Kind::Kill), ("abort", Kind::Abort)] {
        for index in 0..storm::STORMS {
            trials.push(Trial::test(format!("{name}/{index}"), move || {
                storm::run(kind, index).map_err(|error| Failed::from(format!("{error:#}")))
            }));
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}
