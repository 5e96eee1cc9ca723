//! Files that are either whole or absent, and hashes of file sets. Never leaves a partial file under
//! its final name: everything is written beside it and renamed.

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};

/// Copies everything from `source` to `target` through a temporary file in the same directory.
/// `check` sees the temporary file; when it fails, nothing appears at `target`.
pub(crate) fn write_whole(
    target: &Path,
    source: &mut dyn Read,
    check: impl FnOnce(&Path) -> Result<()>,
) -> Result<()> {
    let directory = target
        .parent()
        .context("a target file needs a parent directory")?;
    fs::create_dir_all(directory)
        .with_context(|| format!("cannot create {}", directory.display()))?;
    let mut temporary = tempfile::NamedTempFile::new_in(directory)
        .with_context(|| format!("cannot create a file in {}", directory.display()))?;
    io::copy(source, &mut temporary)
        .with_context(|| format!("cannot write a file in {}", directory.display()))?;
    temporary.flush()?;
    temporary.as_file().sync_all()?;
    check(temporary.path())?;
    temporary
        .persist(target)
        .with_context(|| format!("cannot move the new file to {}", target.display()))?;
    Ok(())
}

/// Writes a short text file, whole or not at all.
pub(crate) fn write_text(target: &Path, text: &str) -> Result<()> {
    write_whole(target, &mut text.as_bytes(), |_| Ok(()))
}

/// SHA-256 of one file in lower-case hexadecimal.
pub(crate) fn sha256(path: &Path) -> Result<String> {
    let mut hasher = Sha256::new();
    feed(&mut hasher, path)?;
    Ok(hex(&hasher.finalize()))
}

/// SHA-256 over the names and contents of all files under `roots` (files or directories, in order).
/// A root that does not exist counts as absent. Directories named in `skip` are left out.
pub(crate) fn sha256_tree(roots: &[PathBuf], skip: &[&str]) -> Result<String> {
    let mut files = Vec::new();
    for root in roots {
        collect(root, skip, &mut files)?;
    }
    let mut hasher = Sha256::new();
    for file in files {
        hasher.update(file.to_string_lossy().as_bytes());
        hasher.update([0]);
        feed(&mut hasher, &file)?;
        hasher.update([0]);
    }
    Ok(hex(&hasher.finalize()))
}

fn collect(path: &Path, skip: &[&str], files: &mut Vec<PathBuf>) -> Result<()> {
    let Ok(metadata) = fs::metadata(path) else {
        return Ok(());
    };
    if metadata.is_file() {
        files.push(path.to_path_buf());
        return Ok(());
    }
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    if skip.contains(&name) {
        return Ok(());
    }
    let mut entries = fs::read_dir(path)
        .with_context(|| format!("cannot list {}", path.display()))?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>()?;
    entries.sort();
    for entry in entries {
        collect(&entry, skip, files)?;
    }
    Ok(())
}

fn feed(hasher: &mut Sha256, path: &Path) -> Result<()> {
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let mut buffer = [0u8; 1 << 16];
    loop {
        let count = reader
            .read(&mut buffer)
            .with_context(|| format!("cannot read {}", path.display()))?;
        if count == 0 {
            return Ok(());
        }
        hasher.update(&buffer[..count]);
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_check_leaves_nothing_behind() -> Result<()> {
        let directory = tempfile::tempdir()?;
        let target = directory.path().join("archive");
        let result = write_whole(&target, &mut &b"half"[..], |_| anyhow::bail!("bad"));
        assert!(result.is_err());
        assert_eq!(fs::read_dir(directory.path())?.count(), 0);
        write_whole(&target, &mut &b"whole"[..], |_| Ok(()))?;
        assert_eq!(fs::read(&target)?, b"whole");
        Ok(())
    }

    #[test]
    fn the_tree_hash_sees_names_and_contents() -> Result<()> {
        let directory = tempfile::tempdir()?;
        let roots = [directory.path().to_path_buf()];
        fs::write(directory.path().join("a"), "1")?;
        let first = sha256_tree(&roots, &[])?;
        fs::rename(directory.path().join("a"), directory.path().join("b"))?;
        let renamed = sha256_tree(&roots, &[])?;
        fs::write(directory.path().join("b"), "2")?;
        let changed = sha256_tree(&roots, &[])?;
        assert!(first != renamed && renamed != changed);
        fs::create_dir(directory.path().join("node_modules"))?;
        fs::write(directory.path().join("node_modules/x"), "3")?;
        assert_eq!(sha256_tree(&roots, &["node_modules"])?, changed);
        Ok(())
    }
}
