//! Checks for what the build needs, before anything heavy starts. Each failure names what is missing
//! and the command that brings it. Installs system packages only as root with apt, and says so.

use crate::paths::Workspace;
use crate::{proc, ui};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What to do about a missing system package.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Missing {
    /// Install it where that needs no question (root and apt); otherwise report.
    #[default]
    Install,
    /// Only report.
    Report,
}

const NODE_MAJOR: u32 = 20;
/// Space for the target directory of one profile, in bytes.
const TARGET_SPACE: u64 = 8 << 30;

/// Runs all checks in the order cheap to dear.
pub(crate) fn all(workspace: &Workspace, missing: Missing) -> Result<()> {
    node()?;
    c_compiler(missing)?;
    libclang(missing)?;
    disk(workspace)
}

fn node() -> Result<()> {
    let text = proc::stdout(Command::new("node").arg("--version"))
        .context("Node.js 20 or newer is needed to bundle js-api and was not found")?;
    let version = text.trim();
    let major = node_major(version)
        .with_context(|| format!("`node --version` printed `{version}`, not a version"))?;
    if major < NODE_MAJOR {
        bail!("Node.js {NODE_MAJOR} or newer is needed, found {version}");
    }
    if !proc::works("npm", &["--version"]) {
        bail!("npm is needed to install js-api's packages and was not found beside node {version}");
    }
    ui::note(&format!("Node.js {version}"));
    Ok(())
}

fn node_major(version: &str) -> Option<u32> {
    version.strip_prefix('v')?.split('.').next()?.parse().ok()
}

fn c_compiler(missing: Missing) -> Result<()> {
    let named = std::env::var("CC").ok();
    let candidates = named.as_deref().into_iter().chain(["cc", "gcc", "clang"]);
    for candidate in candidates {
        if proc::works(candidate, &["--version"]) {
            ui::note(&format!("C compiler `{candidate}`"));
            return Ok(());
        }
    }
    packages(
        missing,
        "a C compiler (SQLite and TLS are compiled from C)",
        &["gcc", "g++", "make"],
    )
}

/// The SQLite binding is generated during the build, which loads libclang.
fn libclang(missing: Missing) -> Result<()> {
    if let Some(directory) = find_libclang() {
        ui::note(&format!("libclang in {}", directory.display()));
        return Ok(());
    }
    packages(
        missing,
        "libclang (the SQLite binding is generated with it)",
        &["libclang-dev"],
    )
}

/// A client in Python is among the tests; building needs no Python.
pub(crate) fn python(missing: Missing) -> Result<()> {
    if proc::works("python3", &["-m", "pip", "--version"]) {
        let recent = "import sys; sys.exit(sys.version_info < (3, 11))";
        if proc::works("python3", &["-c", recent]) {
            return Ok(());
        }
        bail!("a test runs a client that needs Python 3.11 or newer; `python3` is older");
    }
    packages(
        missing,
        "Python with pip (a test runs a client in Python)",
        &["python3", "python3-pip"],
    )
}

fn find_libclang() -> Option<PathBuf> {
    let mut places: Vec<PathBuf> = Vec::new();
    if let Some(named) = std::env::var_os("LIBCLANG_PATH") {
        places.push(PathBuf::from(named));
    }
    if let Ok(text) = proc::stdout(Command::new("llvm-config").arg("--libdir")) {
        places.push(PathBuf::from(text.trim()));
    }
    if let Ok(entries) = std::fs::read_dir("/usr/lib") {
        let llvm = entries.flatten().map(|entry| entry.path());
        places.extend(
            llvm.filter(|path| is_llvm(path))
                .map(|path| path.join("lib")),
        );
    }
    for fixed in [
        "/usr/lib64",
        "/usr/lib",
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/usr/local/lib",
        "/opt/homebrew/opt/llvm/lib",
        "/Library/Developer/CommandLineTools/usr/lib",
        "/Applications/Xcode.app/Contents/Developer/Toolchains/XcodeDefault.xctoolchain/usr/lib",
    ] {
        places.push(PathBuf::from(fixed));
    }
    places
        .into_iter()
        .find(|place| place.is_file() || holds_libclang(place))
}

fn is_llvm(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with("llvm-"))
}

fn holds_libclang(directory: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return false;
    };
    entries.flatten().any(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let library = name.contains(".so") || name.ends_with(".dylib") || name.ends_with(".dll");
        let right = name == "libclang.dll"
            || name.starts_with("libclang.")
            || name.starts_with("libclang-");
        library && right && !name.starts_with("libclang-cpp")
    })
}

fn packages(missing: Missing, what: &str, names: &[&str]) -> Result<()> {
    let command = format!("apt-get install {}", names.join(" "));
    let can_install =
        missing == Missing::Install && is_root() && proc::works("apt-get", &["--version"]);
    if !can_install {
        bail!(
            "missing: {what}. On Debian or Ubuntu: `sudo {command}`; elsewhere your system's equivalent"
        );
    }
    ui::note(&format!("missing: {what}; running `{command}`"));
    let apt = |args: &[&str]| {
        proc::run(
            Command::new("apt-get")
                .args(args)
                .env("DEBIAN_FRONTEND", "noninteractive"),
        )
    };
    apt(&["-qq", "update"])?;
    let mut install = vec!["-qq", "install", "--yes", "--no-install-recommends"];
    install.extend(names);
    apt(&install)
}

fn is_root() -> bool {
    proc::stdout(Command::new("id").arg("-u")).is_ok_and(|text| text.trim() == "0")
}

fn disk(workspace: &Workspace) -> Result<()> {
    if workspace.pier("debug").exists() {
        return Ok(());
    }
    let Some(place) = workspace.target.ancestors().find(|path| path.exists()) else {
        return Ok(());
    };
    // `df -P` is the one portable spelling; where it does not exist the check is left out.
    let Ok(text) = proc::stdout(Command::new("df").arg("-Pk").arg(place)) else {
        return Ok(());
    };
    let Some(free) = free_bytes(&text) else {
        return Ok(());
    };
    if free < TARGET_SPACE {
        bail!(
            "the build needs about {} GiB below {}, but only {:.1} GiB are free; \
             CARGO_TARGET_DIR names another place",
            TARGET_SPACE >> 30,
            workspace.target.display(),
            free as f64 / f64::from(1 << 30),
        );
    }
    ui::note(&format!("{} GiB free for the build", free >> 30));
    Ok(())
}

/// The "available" column of `df -Pk`, in bytes.
fn free_bytes(df: &str) -> Option<u64> {
    let kib: u64 = df.lines().nth(1)?.split_whitespace().nth(3)?.parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_sizes_are_read() {
        assert_eq!(node_major("v20.20.2"), Some(20));
        assert_eq!(node_major("20.1"), None);
        let df =
            "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/a 100 40 60 40% /\n";
        assert_eq!(free_bytes(df), Some(60 * 1024));
        assert_eq!(free_bytes("nothing"), None);
    }
}
