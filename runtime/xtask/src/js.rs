//! The JavaScript half: packages, type check, bundle, client. Each part runs only when its inputs changed
//! since it last succeeded; the note of that is a hash in the target directory.

use crate::paths::Workspace;
use crate::{fsx, proc, ui};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Installs, checks and bundles js-api as far as needed.
pub(crate) fn ensure(workspace: &Workspace) -> Result<()> {
    let directory = workspace.js_api();
    let lock = directory.join("package-lock.json");
    ensure!(
        lock.is_file(),
        "{} is missing; a clone always has it",
        lock.display()
    );

    let packages = fsx::sha256(&lock)?;
    // Kept inside node_modules, so that it disappears with what it describes.
    let installed = directory.join("node_modules/.pier-lock-hash");
    if is_current(&installed, &packages) {
        ui::note("npm packages are those of package-lock.json");
    } else {
        ui::note("npm ci");
        npm(&directory, &["ci", "--no-audit", "--no-fund"])?;
        fsx::write_text(&installed, &packages)?;
    }

    let roots: Vec<PathBuf> = fs::read_dir(&directory)
        .with_context(|| format!("cannot list {}", directory.display()))?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>()?;
    let mut roots = roots;
    roots.sort();
    let sources = fsx::sha256_tree(&roots, &["node_modules", "dist", "esm"])?;
    let built = workspace.stamps().join("js-bundle");
    if is_current(&built, &sources) && bundle_exists(&directory) {
        ui::note("the bundle is that of the sources");
        return Ok(());
    }
    ui::note("npm run check (types)");
    npm(&directory, &["run", "--silent", "check"])?;
    ui::note("npm run build (bundle, client)");
    npm(&directory, &["run", "--silent", "build"])?;
    ensure!(
        bundle_exists(&directory),
        "`npm run build` left no js-api/dist/host-modules.json or no js-api/esm/client/index.js"
    );
    fsx::write_text(&built, &sources)
}

/// Runs the JavaScript tests.
pub(crate) fn test(workspace: &Workspace) -> Result<()> {
    npm(&workspace.js_api(), &["test", "--silent"])
}

fn bundle_exists(directory: &Path) -> bool {
    ["dist/host-modules.json", "esm/client/index.js"]
        .iter()
        .all(|file| directory.join(file).is_file())
}

fn is_current(stamp: &Path, hash: &str) -> bool {
    fs::read_to_string(stamp).is_ok_and(|text| text == hash)
}

fn npm(directory: &Path, args: &[&str]) -> Result<()> {
    proc::run(Command::new("npm").args(args).current_dir(directory))
}
