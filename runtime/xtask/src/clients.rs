//! Clients of other projects that `tests/clients` runs unmodified: fetched from the npm registry and from PyPI at the
//! exact versions and hashes of the lists there, into the target directory.

use crate::paths::Workspace;
use crate::{checks, fsx, proc, ui};
use anyhow::{Context, Result};
use std::fs;
use std::process::Command;

/// Copied to the place of installation last: they say that everything in them is there.
const LISTS: [&str; 2] = ["package-lock.json", "requirements.txt"];

/// Installs what is missing or of another version.
pub(crate) fn ensure(workspace: &Workspace) -> Result<()> {
    let wanted = workspace.root.join("tests/clients");
    let directory = workspace.clients();
    let current = LISTS.iter().all(|list| {
        let there = fs::read(directory.join(list)).ok();
        there.is_some() && there == fs::read(wanted.join(list)).ok()
    });
    if current {
        ui::note("they are those of tests/clients");
        return Ok(());
    }
    checks::python(checks::Missing::Install)?;
    fs::create_dir_all(&directory)
        .with_context(|| format!("cannot create {}", directory.display()))?;
    for list in LISTS {
        // A run that is interrupted from here on leaves no claim behind.
        match fs::remove_file(directory.join(list)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).context("cannot remove an old list of clients");
            }
            _ => {}
        }
    }
    // npm needs its lists in the directory; under these names nobody takes them for a finished installation.
    let staging = tempfile::tempdir_in(&directory)?;
    for list in ["package.json", "package-lock.json"] {
        fs::copy(wanted.join(list), staging.path().join(list))
            .with_context(|| format!("cannot copy tests/clients/{list}"))?;
    }
    // Their install scripts build terminal helpers that a client over pipes never uses.
    proc::run(
        Command::new("npm")
            .args([
                "ci",
                "--ignore-scripts",
                "--no-audit",
                "--no-fund",
                "--loglevel",
                "error",
            ])
            .current_dir(staging.path()),
    )?;
    proc::run(
        Command::new("python3")
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
            ])
            .args([
                "--root-user-action=ignore",
                "--no-deps",
                "--only-binary",
                ":all:",
                "--require-hashes",
                "--target",
            ])
            .arg(staging.path().join("python"))
            .arg("--requirement")
            .arg(wanted.join("requirements.txt")),
    )?;
    for part in ["node_modules", "python"] {
        let target = directory.join(part);
        if target.exists() {
            fs::remove_dir_all(&target)
                .with_context(|| format!("cannot remove {}", target.display()))?;
        }
        fs::rename(staging.path().join(part), &target)
            .with_context(|| format!("cannot move clients to {}", target.display()))?;
    }
    for list in LISTS {
        fsx::write_text(
            &directory.join(list),
            &fs::read_to_string(wanted.join(list))?,
        )?;
    }
    Ok(())
}
