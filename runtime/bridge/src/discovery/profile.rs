//! Which family's behaviour an extension expects (`spec/extension-api.md` §11.3).

use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use pier_agent::regular_file;
use regex::Regex;

/// The family whose rule applies where the families contradict each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Profile {
    /// pi.
    Pi,
    /// xcsh and oh-my-pi; also the default.
    Xcsh,
}

impl Profile {
    /// Its name on the wire and in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pi => "pi",
            Self::Xcsh => "xcsh",
        }
    }

    /// Reads a name from settings.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "pi" => Some(Self::Pi),
            "xcsh" | "omp" => Some(Self::Xcsh),
            _ => None,
        }
    }
}

/// Files looked at per extension; the entry nearly always decides.
const MAX_FILES: usize = 48;
/// Larger files are bundles: only their head is looked at.
const MAX_BYTES: usize = 512 * 1024;

static SPECIFIER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire\s*\(\s*)["']([^"'\n]+)["']"#).ok()
});

/// Reads the entry and the files it imports relatively, breadth first, until a host package is imported.
/// Import statements in comments count too; that cannot do harm because the answer only picks defaults.
pub fn profile_from_sources(entry: &Path) -> Option<Profile> {
    let pattern = SPECIFIER.as_ref()?;
    let mut queue = VecDeque::from([entry.to_path_buf()]);
    let mut seen = HashSet::new();
    while let Some(file) = queue.pop_front() {
        if seen.len() >= MAX_FILES || !seen.insert(file.clone()) {
            continue;
        }
        let Ok(bytes) = regular_file::read(&file) else {
            continue;
        };
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_BYTES)]);
        let directory = file.parent().unwrap_or(&file);
        for capture in pattern.captures_iter(&text) {
            let specifier = &capture[1];
            if let Some(profile) = scope_profile(specifier) {
                return Some(profile);
            }
            if specifier.starts_with('.')
                && let Some(path) = resolve_relative(directory, specifier)
            {
                queue.push_back(path);
            }
        }
    }
    None
}

fn scope_profile(specifier: &str) -> Option<Profile> {
    let scope = specifier.split('/').next()?;
    match scope {
        "@f5-sales-demo" | "@oh-my-pi" => Some(Profile::Xcsh),
        "@earendil-works" | "@mariozechner" => Some(Profile::Pi),
        _ => None,
    }
}

fn resolve_relative(directory: &Path, specifier: &str) -> Option<PathBuf> {
    let base = directory.join(specifier);
    if base.is_file() {
        return Some(base);
    }
    let text = base.to_string_lossy().into_owned();
    let stem = text.strip_suffix(".js").unwrap_or(&text);
    let candidates = ["ts", "tsx", "mts", "js", "mjs", "cjs"]
        .iter()
        .map(|suffix| PathBuf::from(format!("{stem}.{suffix}")))
        .chain([base.join("index.ts"), base.join("index.js")]);
    candidates.into_iter().find(|path| path.is_file())
}
