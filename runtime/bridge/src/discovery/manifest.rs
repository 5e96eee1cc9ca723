//! The extension part of a `package.json` (`spec/extension-loading.md` §2.3, §3, §4).

use std::path::{Path, PathBuf};

use pier_agent::regular_file;
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
    /// The manifest key that is present, and its value.
    pub section: Option<(&'static str, Value)>,
    /// What the key that was used says about the profile.
    pub profile: Option<Profile>,
    /// Whether the section lists extensions.
    pub declares_extensions: bool,
}

/// Reads `<directory>/package.json`; `None` when it is missing or broken. For places where it only says which package a
/// file belongs to; where extensions are looked for, `read_declaring` says what is broken.
pub fn read_manifest(directory: &Path) -> Option<Manifest> {
    read(directory).unwrap_or_default()
}

/// As [`read_manifest`], for a directory that is looked at for extensions: what is wrong with the file goes to `warnings`,
/// once.
pub(super) fn read_declaring(directory: &Path, warnings: &mut Vec<String>) -> Option<Manifest> {
    let manifest = match read(directory) {
        Ok(manifest) => manifest?,
        Err(complaint) => {
            add(warnings, complaint);
            return None;
        }
    };
    let file = directory.join("package.json");
    if let Some((key, section)) = &manifest.section {
        for complaint in complaints(key, section) {
            add(warnings, format!("{}: {complaint}", file.display()));
        }
    }
    Some(manifest)
}

fn add(warnings: &mut Vec<String>, complaint: String) {
    if !warnings.contains(&complaint) {
        warnings.push(complaint);
    }
}

/// What is wrong with the part about extensions.
fn complaints(key: &str, section: &Value) -> Vec<String> {
    if !section.is_object() {
        return vec![format!(
            "\"{key}\" must be an object; the extensions of this package are not loaded"
        )];
    }
    match section.get("extensions") {
        None | Some(Value::String(_)) => Vec::new(),
        Some(Value::Array(items)) => items
            .iter()
            .enumerate()
            .filter(|(_, item)| !item.is_string())
            .map(|(index, _)| {
                format!("\"{key}.extensions[{index}]\" must be a string; it is left out")
            })
            .collect(),
        Some(_) => vec![format!(
            "\"{key}.extensions\" must be an array of strings; it is ignored"
        )],
    }
}

/// An error is a sentence with the file's name.
fn read(directory: &Path) -> Result<Option<Manifest>, String> {
    let file = directory.join("package.json");
    let shown = file.display();
    match std::fs::metadata(&file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        // A file where a directory was looked for.
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => return Ok(None),
        Err(error) => return Err(format!("{shown} cannot be read: {error}")),
        Ok(meta) if meta.len() > MAX_BYTES => {
            return Err(format!(
                "{shown} has {} bytes, more than the {MAX_BYTES} that a package.json may have; it is ignored",
                meta.len()
            ));
        }
        Ok(_) => {}
    }
    let text = regular_file::read_to_string(&file)
        .map_err(|error| format!("{shown} cannot be read: {error}"))?;
    let value: Value = serde_json::from_str(text.trim_start_matches('\u{feff}'))
        .map_err(|error| format!("{shown} is not valid JSON and is ignored: {error}"))?;
    let Some(object) = value.as_object() else {
        return Err(format!("{shown} must hold an object; it is ignored"));
    };
    let mut manifest = Manifest {
        name: object
            .get("name")
            .and_then(Value::as_str)
            .map(str::to_string),
        ..Manifest::default()
    };
    for (key, profile) in KEYS {
        if let Some(section) = object.get(key) {
            manifest.declares_extensions = !listed(section).is_empty();
            manifest.section = Some((key, section.clone()));
            manifest.profile = profile;
            break;
        }
    }
    Ok(Some(manifest))
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
        let words = listed(&self.section.as_ref()?.1);
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
