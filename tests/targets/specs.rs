//! Each folder below `tests/specs` as a test of its own.

use libtest_mimic::{Arguments, Failed, Trial};
use pier_tests::case::{self, Case};
use pier_tests::{runner, sandbox};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let specs = sandbox::repository().join("tests/specs");
    let directories = match case::find(&specs) {
        Ok(directories) => directories,
        Err(error) => {
            eprintln!("{error:#}");
            return ExitCode::FAILURE;
        }
    };
    let trials = directories
        .into_iter()
        .map(|directory| {
            let name = directory
                .strip_prefix(&specs)
                .unwrap_or(&directory)
                .display()
                .to_string();
            let specs = specs.clone();
            Trial::test(name, move || {
                let result = Case::read(&specs, &directory).and_then(|case| runner::run(&case));
                result.map_err(|error| Failed::from(format!("{error:#}")))
            })
        })
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}
