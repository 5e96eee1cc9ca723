//! Directory scans (`spec/extension-loading.md` §2.1, §2.2). One level deep, sorted, never recursive.

use std::path::{Path, PathBuf};

use pier_agent::ignore_files;

use super::manifest::read_declaring;

/// Suffixes that a scan picks up; anything else needs to be named.
const SCANNED: [&str; 2] = ["ts", "js"];

/// `index.ts`, else `index.js`, of a directory.
pub(super) fn index_of(directory: &Path) -> Option<PathBuf> {
    ["index.ts", "index.js"]
        .iter()
        .map(|name| directory.join(name))
        .find(|file| file.is_file())
}

/// Scan of an `extensions` directory: hidden and git-ignored files left out; files first, then packages, then
/// sub-directories with an index file.
pub(super) fn native_scan(directory: &Path, warnings: &mut Vec<String>) -> Vec<PathBuf> {
    if !directory.is_dir() {
        return Vec::new();
    }
    let mut files = Vec::new();
    let mut declared = Vec::new();
    let mut indexed = Vec::new();
    let endless = ignore_files::endless(directory, None);
    if let Some(file) = &endless {
        let shown = file.display();
        warnings.push(format!(
            "{shown} is a pipe, device or socket; it is not read as an ignore file"
        ));
    }
    let walk = ignore::WalkBuilder::new(directory)
        .standard_filters(endless.is_none())
        .max_depth(Some(1))
        .hidden(true)
        .parents(false)
        .require_git(false)
        .follow_links(true)
        .sort_by_file_name(std::cmp::Ord::cmp)
        .build();
    for item in walk.flatten() {
        if item.depth() == 0 {
            continue;
        }
        let path = item.path();
        if path.is_dir() {
            match read_declaring(path, warnings).and_then(|manifest| manifest.entries(path)) {
                Some(entries) => declared.extend(entries),
                None => indexed.extend(index_of(path)),
            }
        } else if is_scanned(path) {
            files.push(path.to_path_buf());
        }
    }
    files.extend(declared);
    files.extend(indexed);
    files
}

/// A directory that was named: its manifest, else its index file, else a plain one-level scan.
pub(super) fn configured_directory(directory: &Path, warnings: &mut Vec<String>) -> Vec<PathBuf> {
    if let Some(entries) = single_package(directory, warnings) {
        return entries;
    }
    let Ok(items) = std::fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = items.flatten().map(|item| item.path()).collect();
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name == "node_modules") {
                continue;
            }
            files.extend(single_package(&path, warnings).unwrap_or_default());
        } else if is_scanned(&path) {
            files.push(path);
        }
    }
    files
}

/// Rules (a)–(c) of §2.2.
fn single_package(directory: &Path, warnings: &mut Vec<String>) -> Option<Vec<PathBuf>> {
    let manifest = read_declaring(directory, warnings);
    if let Some(entries) = manifest.and_then(|manifest| manifest.entries(directory))
        && !entries.is_empty()
    {
        return Some(entries);
    }
    index_of(directory).map(|file| vec![file])
}

fn is_scanned(path: &Path) -> bool {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    !name.ends_with(".d.ts")
        && path
            .extension()
            .is_some_and(|suffix| SCANNED.iter().any(|known| suffix == *known))
}
