//! Each recorded RPC session as a test of its own.

use libtest_mimic::{Arguments, Failed, Trial};
use pier_tests::deviation::Deviations;
use pier_tests::{sandbox, transcript};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let lab = sandbox::repository().join("tests/lab");
    let entries = match std::fs::read_dir(lab.join("transcripts")) {
        Ok(entries) => entries,
        Err(error) => {
            eprintln!("cannot list the transcripts: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let trials = paths
        .into_iter()
        .map(|path| {
            let name = path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let rules = lab.join("deviations.toml");
            Trial::test(name, move || {
                let result =
                    Deviations::read(&rules).and_then(|rules| transcript::run(&path, &rules));
                result.map_err(|error| Failed::from(format!("{error:#}")))
            })
        })
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}
