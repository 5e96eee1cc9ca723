//! Resource lists: plain path or glob = include, `!pattern` = exclude, `+path` = force one path in,
//! `-path` = take one path out (`spec/extension-loading.md` §4).

use std::path::{Path, PathBuf};

use globset::{Glob, GlobSet, GlobSetBuilder};

/// Exclusions, to be applied to paths that other sources gave.
#[derive(Debug, Clone, Default)]
pub(super) struct Excludes {
    globs: Option<GlobSet>,
    exact: Vec<PathBuf>,
    forced: Vec<PathBuf>,
}

impl Excludes {
    pub(super) fn matches(&self, path: &Path) -> bool {
        if self.forced.iter().any(|forced| forced == path) {
            return false;
        }
        self.exact
            .iter()
            .any(|exact| path == exact || path.starts_with(exact))
            || self
                .globs
                .as_ref()
                .is_some_and(|globs| globs.is_match(path))
    }
}

/// What a list selects.
#[derive(Debug, Default)]
pub(super) struct Resolved {
    /// Absolute paths in list order; globs already expanded, paths that do not exist kept.
    pub(super) paths: Vec<PathBuf>,
    pub(super) excludes: Excludes,
    /// Patterns that do not parse.
    pub(super) bad: Vec<String>,
}

pub(super) fn is_glob(text: &str) -> bool {
    text.contains(['*', '?', '[', '{'])
}

/// Resolves a list; `absolute` turns one word into an absolute path.
pub(super) fn resolve(words: &[String], absolute: impl Fn(&str) -> PathBuf) -> Resolved {
    let mut out = Resolved::default();
    let mut excludes = GlobSetBuilder::new();
    let mut any_exclude = false;
    for word in words {
        let word = word.trim();
        if word.is_empty() {
            continue;
        }
        // Built-in extensions are chosen elsewhere; here they are neither a path nor a mistake.
        if word
            .trim_start_matches(['+', '-', '!'])
            .starts_with("builtin:")
        {
            continue;
        }
        if let Some(pattern) = word.strip_prefix('!') {
            match Glob::new(&absolute(pattern).to_string_lossy()) {
                Ok(glob) => {
                    excludes.add(glob);
                    any_exclude = true;
                }
                Err(_) => out.bad.push(word.to_string()),
            }
        } else if let Some(path) = word.strip_prefix('-') {
            out.excludes.exact.push(absolute(path));
        } else if let Some(path) = word.strip_prefix('+') {
            let path = absolute(path);
            out.excludes.forced.push(path.clone());
            out.paths.push(path);
        } else if is_glob(word) {
            match expand(&absolute(word)) {
                Some(paths) => out.paths.extend(paths),
                None => out.bad.push(word.to_string()),
            }
        } else {
            out.paths.push(absolute(word));
        }
    }
    if any_exclude {
        out.excludes.globs = excludes.build().ok();
    }
    out
}

/// Expands a glob over the files below its fixed part. Bounded: `node_modules` is not entered and at most
/// eight levels are looked at.
fn expand(pattern: &Path) -> Option<Vec<PathBuf>> {
    let matcher = globset::GlobBuilder::new(&pattern.to_string_lossy())
        .literal_separator(true)
        .build()
        .ok()?
        .compile_matcher();
    let fixed: PathBuf = pattern
        .components()
        .take_while(|part| !is_glob(&part.as_os_str().to_string_lossy()))
        .collect();
    let walk = ignore::WalkBuilder::new(&fixed)
        .max_depth(Some(8))
        .standard_filters(false)
        .hidden(true)
        .filter_entry(|item| item.file_name() != "node_modules")
        .sort_by_file_name(std::cmp::Ord::cmp)
        .build();
    Some(
        walk.flatten()
            .filter(|item| matcher.is_match(item.path()))
            .map(ignore::DirEntry::into_path)
            .collect(),
    )
}
