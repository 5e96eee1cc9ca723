//! The extension part of a `package.json` (`spec/extension-loading.md` §2.3, §3, §4).

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::profile::Profile;
use super::selectors;

/// Manifest keys in the order they are tried: the host's own, then xcsh, omp, pi.
const KEYS: [(&str, Option<Profile>); 4] = [
    ("pier", None),
    ("xcsh", Some(Profile::Xcsh)),
    ("omp", Some(Profile::Xcsh)),
    ("pi", Some(Profile::Pi)),
];

/// Larger manifests are not read: nothing real comes close.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// What a package says about its extensions.
#[derive(Debug, Clone, Default)]
pub struct Manifest {
    /// `name`.
    pub name: Option<String>,
    /// The value of the manifest key, if one is present.
    pub section: Option<Value>,
    /// What the key that was used says about the profile.
    pub profile: Option<Profile>,
    /// Whether the section lists extensions.
    pub declares_extensions: bool,
}

/// Reads `<directory>/package.json`; `None` when it is missing or not an object.
pub fn read_manifest(directory: &Path) -> Option<Manifest> {
    let file = directory.join("package.json");
    if std::fs::metadata(&file).ok()?.len() > MAX_BYTES {
        return None;
    }
    let text = std::fs::read_to_string(&file).ok()?;
    let value: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()?;
    let object = value.as_object()?;
    let mut manifest = Manifest {
        name: object
            .get("name")
            .and_then(Value::as_str)
            .map(str::to_string),
        ..Manifest::default()
    };
    for (key, profile) in KEYS {
        if let Some(section @ Value::Object(_)) = object.get(key) {
            manifest.declares_extensions = !listed(section).is_empty();
            manifest.section = Some(section.clone());
            manifest.profile = profile;
            break;
        }
    }
    Some(manifest)
}

/// `extensions` as a list of words; a single string is accepted.
fn listed(section: &Value) -> Vec<String> {
    match section.get("extensions") {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(many)) => many
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_string)
            .collect(),
        _ => Vec::new(),
    }
}

impl Manifest {
    /// Entry files that the manifest lists and that exist, in manifest order; `None` when it lists nothing.
    /// Entries may be files, directories (their `index.ts`/`index.js`), globs, and `!` exclusions.
    pub fn entries(&self, directory: &Path) -> Option<Vec<PathBuf>> {
        let words = listed(self.section.as_ref()?);
        if words.is_empty() {
            return None;
        }
        let resolved = selectors::resolve(&words, |text| {
            super::entry::expand_path(text, directory, None)
        });
        let mut files = Vec::new();
        for path in resolved.paths {
            // A manifest reaches only into its own package.
            if !path.starts_with(directory) {
                continue;
            }
            let file = if path.is_dir() {
                super::scan::index_of(&path)
            } else {
                Some(path)
            };
            if let Some(file) = file
                && file.is_file()
                && !resolved.excludes.matches(&file)
                && !files.contains(&file)
            {
                files.push(file);
            }
        }
        Some(files)
    }
}
