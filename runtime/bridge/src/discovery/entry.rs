//! Paths of entry files: expansion, canonical form, names, and which package (isolate) a file belongs to.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use super::manifest::read_manifest;
use super::profile::Profile;

/// Names an isolate: entries with the same key share one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PackageKey(pub String);

/// `~`, relative paths and exotic Unicode spaces (`spec/extension-loading.md` §2.2). Lexical only.
pub(super) fn expand_path(text: &str, base: &Path, home: Option<&Path>) -> PathBuf {
    let text: String = text
        .chars()
        .map(|c| {
            if matches!(
                c,
                '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
            ) {
                ' '
            } else {
                c
            }
        })
        .collect();
    let text = text.strip_prefix("file://").unwrap_or(&text);
    let path = match (text.strip_prefix('~'), home) {
        (Some(""), Some(home)) => home.to_path_buf(),
        (Some(rest), Some(home)) if rest.starts_with(['/', '\\']) => home.join(&rest[1..]),
        _ => base.join(text),
    };
    normalise(&path)
}

/// Removes `.` and resolves `..` without touching the disk.
fn normalise(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

/// The path that is imported: symlinks resolved, so that siblings and `node_modules` are found from where the
/// file really is.
pub fn canonical(file: &Path) -> std::io::Result<PathBuf> {
    std::fs::canonicalize(file)
}

/// File name without its last extension; the directory's name for `index.*` (§2.4).
pub fn derived_name(file: &Path) -> String {
    let stem = file
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned())
        .unwrap_or_default();
    if stem == "index"
        && let Some(parent) = file.parent().and_then(Path::file_name)
    {
        return parent.to_string_lossy().into_owned();
    }
    stem
}

/// `file:` URL of an absolute path, with everything but unreserved characters and `/` percent-encoded.
pub fn file_url(path: &Path) -> String {
    use std::fmt::Write as _;
    let mut url = String::from("file://");
    for byte in path.to_string_lossy().bytes() {
        match byte {
            b'/'
            | b'-'
            | b'_'
            | b'.'
            | b'~'
            | b'@'
            | b'+'
            | b'a'..=b'z'
            | b'A'..=b'Z'
            | b'0'..=b'9' => url.push(byte as char),
            other => {
                // Writing to a String cannot fail.
                let _ = write!(url, "%{other:02X}");
            }
        }
    }
    url
}

/// Decides which isolate an entry runs in, and remembers what settings say about it.
#[derive(Debug, Default)]
pub(super) struct Grouping {
    /// Package name or path -> realm name (settings `realms: {name: [package or path]}`).
    realms: HashMap<String, String>,
    /// Package name or path -> profile (settings `profiles: {package or path: "pi" | "xcsh"}`).
    profiles: HashMap<String, Profile>,
}

impl Grouping {
    pub(super) fn from_settings<'v>(layers: impl Iterator<Item = &'v Value>) -> Self {
        let mut grouping = Self::default();
        for values in layers {
            for (realm, members) in values
                .get("realms")
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
            {
                for member in members
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str)
                {
                    grouping
                        .realms
                        .entry(member.to_string())
                        .or_insert_with(|| realm.clone());
                }
            }
            for (name, profile) in values
                .get("profiles")
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
            {
                if let Some(profile) = profile.as_str().and_then(Profile::parse) {
                    grouping.profiles.entry(name.clone()).or_insert(profile);
                }
            }
        }
        grouping
    }

    /// The package of a file, and its root directory.
    ///
    /// A package is the nearest directory whose `package.json` declares extensions, at or above the file but
    /// not above the directory that listed it; else the sub-directory of the scanned directory; else the file
    /// alone. A project's own `package.json` therefore never merges its extensions into one isolate.
    pub(super) fn package_of(
        &self,
        file: &Path,
        entry: &Path,
        listed_in: Option<&Path>,
    ) -> (PackageKey, PathBuf) {
        let start = entry.parent().unwrap_or(entry);
        let lone = |root: &Path| (self.key(None, entry, file), root.to_path_buf());
        for directory in start.ancestors() {
            if let Some(manifest) = read_manifest(directory) {
                if manifest.declares_extensions
                    || directory.parent().is_some_and(is_in_node_modules)
                {
                    return (
                        self.key(manifest.name.as_deref(), directory, file),
                        directory.to_path_buf(),
                    );
                }
                // A plain package.json between the file and its listing directory still marks a package; one
                // above that is the project's own.
                if listed_in.is_some_and(|listed| {
                    canonical(listed)
                        .is_ok_and(|listed| directory.starts_with(&listed) && directory != listed)
                }) {
                    return (
                        self.key(manifest.name.as_deref(), directory, file),
                        directory.to_path_buf(),
                    );
                }
                break;
            }
            if directory
                .file_name()
                .is_some_and(|name| name == "node_modules")
            {
                break;
            }
        }
        if let Some(listed) = listed_in.and_then(|listed| canonical(listed).ok())
            && let Ok(inside) = entry.strip_prefix(&listed)
        {
            let mut parts = inside.components();
            if let (Some(first), Some(_)) = (parts.next(), parts.next()) {
                let root = listed.join(first);
                return (self.key(None, &root, file), root);
            }
        }
        lone(start)
    }

    fn key(&self, name: Option<&str>, place: &Path, file: &Path) -> PackageKey {
        let place = place.to_string_lossy();
        let file = file.to_string_lossy();
        let realm = name
            .and_then(|name| self.realms.get(name))
            .or_else(|| self.realms.get(place.as_ref()))
            .or_else(|| self.realms.get(file.as_ref()));
        match realm {
            Some(realm) => PackageKey(format!("realm:{realm}")),
            None => PackageKey(place.into_owned()),
        }
    }

    pub(super) fn explicit_profile(&self, package: &PackageKey, file: &Path) -> Option<Profile> {
        self.profiles
            .get(package.0.as_str())
            .or_else(|| self.profiles.get(file.to_string_lossy().as_ref()))
            .copied()
    }
}

fn is_in_node_modules(parent: &Path) -> bool {
    let name = |path: &Path| {
        path.file_name()
            .map(|name| name.to_string_lossy().into_owned())
    };
    match name(parent) {
        Some(dir) if dir == "node_modules" => true,
        Some(dir) if dir.starts_with('@') => parent
            .parent()
            .and_then(name)
            .is_some_and(|dir| dir == "node_modules"),
        _ => false,
    }
}
