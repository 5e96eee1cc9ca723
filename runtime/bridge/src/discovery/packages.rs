//! Installed packages: the settings key `packages` (`spec/extension-loading.md` §4) and the plugin
//! directories (§3). Only what is already on disk is used; nothing is downloaded.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use pier_agent::regular_file;
use serde_json::Value;

use super::manifest::read_declaring;
use super::profile::Profile;
use super::scan::configured_directory;
use super::selectors;
use super::{DiscoveryOptions, Scope};

/// A package whose files are on disk.
pub(super) struct Located {
    pub(super) root: PathBuf,
    pub(super) files: Vec<PathBuf>,
    pub(super) scope: Scope,
    pub(super) profile: Profile,
    pub(super) source: String,
}

#[derive(Default)]
pub(super) struct LocatedAll {
    pub(super) packages: Vec<Located>,
    pub(super) warnings: Vec<String>,
}

/// Whether a `-e` word names a package rather than a path.
pub(super) fn is_package_source(word: &str) -> bool {
    ["npm:", "git:", "https://", "http://", "ssh://", "git@"]
        .iter()
        .any(|prefix| word.starts_with(prefix))
}

/// Finds one package given on the command line.
pub(super) fn locate_one(
    options: &DiscoveryOptions,
    word: &str,
    warnings: &mut Vec<String>,
) -> Result<(PathBuf, Vec<PathBuf>), String> {
    let bases = bases(options, Scope::Temporary);
    let root = find(word, &bases, &options.cwd).ok_or_else(|| {
        format!("Extension package \"{word}\" is not installed; install it into node_modules first")
    })?;
    let files = extension_files(&root, None, warnings);
    Ok((root, files))
}

/// Finds every configured package, project settings before user settings; a project entry hides the user's entry
/// for the same package.
pub(super) fn locate(options: &DiscoveryOptions) -> LocatedAll {
    let mut out = LocatedAll::default();
    let mut identities = HashSet::new();
    for layer in &options.settings {
        let Some(list) = layer.values.get("packages") else {
            continue;
        };
        let Some(list) = list.as_array() else {
            out.warnings.push(format!(
                "{}: \"packages\" must be an array",
                layer.file.display()
            ));
            continue;
        };
        for item in list {
            let source = item
                .as_str()
                .or_else(|| item.get("source").and_then(Value::as_str));
            let Some(source) = source else {
                out.warnings.push(format!(
                    "Invalid package in {}: {item}",
                    layer.file.display()
                ));
                continue;
            };
            let only_filters = item.get("autoload") == Some(&Value::Bool(false));
            if !identities.insert(identity(source, &layer.base)) || only_filters {
                continue;
            }
            let bases = bases(options, layer.scope);
            let root = if is_package_source(source) {
                find(source, &bases, &options.cwd)
            } else {
                Some(options.expand(source, &layer.base)).filter(|path| path.exists())
            };
            let Some(root) = root else {
                out.warnings
                    .push(format!("Package \"{source}\" is not installed; skipped"));
                continue;
            };
            let filter = item
                .get("extensions")
                .and_then(Value::as_array)
                .map(|words| {
                    words
                        .iter()
                        .filter_map(Value::as_str)
                        .map(str::to_string)
                        .collect::<Vec<_>>()
                });
            let files = extension_files(&root, filter.as_deref(), &mut out.warnings);
            out.packages.push(Located {
                root,
                files,
                scope: layer.scope,
                profile: layer.profile,
                source: source.to_string(),
            });
        }
    }
    plugins(options, &mut out);
    out
}

/// Files of a package: its manifest, else its `extensions/` directory, else its index file; then the filter.
fn extension_files(
    root: &Path,
    filter: Option<&[String]>,
    warnings: &mut Vec<String>,
) -> Vec<PathBuf> {
    if root.is_file() {
        return vec![root.to_path_buf()];
    }
    let declared = read_declaring(root, warnings).and_then(|manifest| manifest.entries(root));
    let mut files = match declared {
        Some(files) => files,
        None if root.join("extensions").is_dir() => {
            configured_directory(&root.join("extensions"), warnings)
        }
        None => super::scan::index_of(root).into_iter().collect(),
    };
    if let Some(words) = filter {
        let resolved =
            selectors::resolve(words, |text| super::entry::expand_path(text, root, None));
        let has_includes = words.iter().any(|word| !word.starts_with(['!', '-', '+']));
        if words.is_empty() {
            files.clear();
        } else if has_includes {
            files.retain(|file| resolved.paths.iter().any(|path| file.starts_with(path)));
        }
        files.retain(|file| !resolved.excludes.matches(file));
        for path in resolved.paths {
            if path.is_file() && !files.contains(&path) {
                files.push(path);
            }
        }
    }
    files
}

/// Directories that managed packages live in, for a level.
fn bases(options: &DiscoveryOptions, scope: Scope) -> Vec<PathBuf> {
    let project = options
        .project_dirs
        .iter()
        .map(|dir| options.cwd.join(&dir.name));
    let user = options.user_dirs.iter().map(|dir| dir.path.clone());
    match scope {
        Scope::User => user.collect(),
        Scope::Project => project.collect(),
        Scope::Temporary => user.chain(project).collect(),
    }
}

fn find(source: &str, bases: &[PathBuf], cwd: &Path) -> Option<PathBuf> {
    if let Some(spec) = source.strip_prefix("npm:") {
        let name = npm_name(spec);
        let managed = bases
            .iter()
            .flat_map(|base| [base.join("npm/node_modules"), base.join("node_modules")]);
        let local = cwd
            .ancestors()
            .map(|directory| directory.join("node_modules"));
        return managed
            .chain(local)
            .map(|modules| modules.join(name))
            .find(|path| path.join("package.json").is_file());
    }
    let place = git_place(source)?;
    bases
        .iter()
        .map(|base| base.join("git").join(&place))
        .find(|path| path.is_dir())
}

/// `@scope/name@1.2` -> `@scope/name`.
fn npm_name(spec: &str) -> &str {
    match spec.get(1..).and_then(|rest| rest.find('@')) {
        Some(at) => &spec[..at + 1],
        None => spec,
    }
}

/// `git:host/owner/repo@ref`, URLs and `git@host:path` -> `host/owner/repo`. Parts that would leave the
/// directory are refused.
fn git_place(source: &str) -> Option<PathBuf> {
    let rest = source.strip_prefix("git:").unwrap_or(source);
    let rest = rest.split_once("://").map_or(rest, |(_, rest)| rest);
    let rest = rest
        .strip_prefix("git@")
        .map(|rest| rest.replacen(':', "/", 1))
        .unwrap_or_else(|| rest.to_string());
    let rest = rest.split('#').next().unwrap_or_default();
    let rest = rest.split('@').next().unwrap_or_default();
    let rest = rest.trim_end_matches('/').trim_end_matches(".git");
    let safe = rest
        .split('/')
        .all(|part| !part.is_empty() && part != "." && part != "..");
    (safe && rest.contains('/')).then(|| PathBuf::from(rest))
}

/// What makes two entries the same package: npm name, git place without ref, absolute path.
fn identity(source: &str, base: &Path) -> String {
    if let Some(spec) = source.strip_prefix("npm:") {
        return format!("npm:{}", npm_name(spec));
    }
    if is_package_source(source)
        && let Some(place) = git_place(source)
    {
        return format!("git:{}", place.display());
    }
    base.join(source).display().to_string()
}

/// Plugins of the X family: dependencies of `<user dir>/../plugins/package.json` that carry a manifest.
fn plugins(options: &DiscoveryOptions, out: &mut LocatedAll) {
    for dir in options
        .user_dirs
        .iter()
        .filter(|dir| dir.profile == Profile::Xcsh)
    {
        let Some(home) = dir.path.parent().map(|parent| parent.join("plugins")) else {
            continue;
        };
        let Ok(text) = regular_file::read_to_string(&home.join("package.json")) else {
            continue;
        };
        let Ok(value) = serde_json::from_str::<Value>(&text) else {
            out.warnings.push(format!(
                "{} is not valid JSON",
                home.join("package.json").display()
            ));
            continue;
        };
        let lock = regular_file::read_to_string(&home.join("xcsh-plugins.lock.json"))
            .ok()
            .and_then(|text| serde_json::from_str::<Value>(&text).ok())
            .unwrap_or_default();
        for name in value
            .get("dependencies")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .map(|(name, _)| name)
        {
            let state = lock
                .get("plugins")
                .and_then(|plugins| plugins.get(name))
                .or_else(|| lock.get(name));
            if state.and_then(|state| state.get("enabled")) == Some(&Value::Bool(false)) {
                continue;
            }
            let root = home.join("node_modules").join(name);
            let Some(manifest) = read_declaring(&root, &mut out.warnings) else {
                continue;
            };
            if let Some(files) = manifest.entries(&root) {
                out.packages.push(Located {
                    root,
                    files,
                    scope: Scope::User,
                    profile: dir.profile,
                    source: format!("plugin:{name}"),
                });
            }
        }
    }
}
