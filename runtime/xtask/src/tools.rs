//! Cargo tools that the tests need, at one pinned version each. A tool that is there in any version is
//! used; a missing one is compiled into cargo's home, with a word about it first.

use crate::{paths, proc, ui};
use anyhow::{Result, bail};
use std::process::Command;

struct Tool {
    name: &'static str,
    version: &'static str,
    probe: &'static [&'static str],
}

const TOOLS: &[Tool] = &[
    Tool {
        name: "cargo-nextest",
        version: "0.9.143",
        probe: &["nextest", "--version"],
    },
    Tool {
        name: "cargo-deny",
        version: "0.20.2",
        probe: &["deny", "--version"],
    },
];

/// The tools that `ensure` knows, for messages.
pub(crate) fn names() -> String {
    TOOLS
        .iter()
        .map(|tool| tool.name)
        .collect::<Vec<_>>()
        .join(", ")
}

/// Installs the tool unless cargo already finds it.
pub(crate) fn ensure(name: &str) -> Result<()> {
    let Some(tool) = TOOLS.iter().find(|tool| tool.name == name) else {
        bail!("unknown tool `{name}`; known: {}", names());
    };
    let cargo = paths::cargo();
    if proc::stdout(Command::new(&cargo).args(tool.probe)).is_ok() {
        return Ok(());
    }
    ui::step(
        &format!(
            "install {} {} (missing; takes some minutes)",
            tool.name, tool.version
        ),
        || {
            proc::run(Command::new(&cargo).args([
                "install",
                "--locked",
                tool.name,
                "--version",
                tool.version,
            ]))
        },
    )
}
