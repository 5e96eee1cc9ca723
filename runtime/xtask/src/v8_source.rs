//! The last resort for the V8 archive: building it from the sources in the crate `v8`, on Linux x86-64.
//!
//! The steps are a shell script (`v8/build-from-source.sh`), because nearly every one of them runs other
//! people's tools; this file finds the inputs, starts it, and takes only a complete result. The script
//! keeps its state in a directory below the target directory, so a stopped build goes on where it was.

use crate::paths::{self, Workspace};
use crate::{proc, ui, v8};
use anyhow::{Context, Result, bail, ensure};
use std::path::PathBuf;
use std::process::Command;

/// Builds the archive and puts it into cargo's home.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        bail!(
            "building V8 from its crate's sources is supported on Linux x86-64 only; \
             set RUSTY_V8_ARCHIVE to an archive for this machine"
        );
    }
    let archive = v8::Archive::wanted(workspace)?;
    let crate_sources = crate_sources(workspace, archive.version())?;
    let sysroot = proc::stdout(Command::new("rustc").args(["--print", "sysroot"]))?;
    let rustc_version = proc::stdout(Command::new("rustc").arg("-vV"))?
        .lines()
        .find_map(|line| line.strip_prefix("release: ").map(str::to_owned))
        .context("`rustc -vV` names no release")?;
    let work = workspace
        .target
        .join(format!("v8-from-source-{}", archive.version()));
    let script = workspace.root.join("runtime/xtask/v8/build-from-source.sh");
    ui::note(&format!("working directory: {}", work.display()));
    proc::run(
        Command::new("bash")
            .arg(&script)
            .env("V8_CRATE", &crate_sources)
            .env("V8_WORK", &work)
            .env("RUST_SYSROOT", sysroot.trim())
            .env("RUSTC_VERSION", &rustc_version)
            .env("CARGO", paths::cargo())
            // The script's own cargo calls must not inherit the workspace's target directory.
            .env("CARGO_TARGET_DIR", work.join("cargo")),
    )?;
    let library = work.join("out/obj/librusty_v8.a");
    ensure!(
        library.is_file(),
        "the build ended without {}",
        library.display()
    );
    v8::install(&archive, &library, &archive.home()?, "the build")
}

/// Cargo's unpacked copy of the crate; fetched if it is not there yet.
fn crate_sources(workspace: &Workspace, version: &str) -> Result<PathBuf> {
    proc::run(
        Command::new(paths::cargo())
            .args(["fetch", "--locked"])
            .current_dir(&workspace.root),
    )?;
    let text = proc::stdout(
        Command::new(paths::cargo())
            .args(["metadata", "--locked", "--format-version", "1"])
            .current_dir(&workspace.root),
    )?;
    let metadata: serde_json::Value = serde_json::from_str(&text)?;
    let manifest = metadata["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|package| package["name"] == "v8" && package["version"] == version)
        .and_then(|package| package["manifest_path"].as_str())
        .with_context(|| format!("`cargo metadata` has no crate v8 {version}"))?;
    let directory = PathBuf::from(manifest);
    Ok(directory
        .parent()
        .context("a manifest has a directory")?
        .to_path_buf())
}
