//! Finds the entry files of extensions, in load order (`spec/extension-loading.md` §2–§5).
//!
//! Reads directories, manifests and settings; never runs or compiles extension code and never installs
//! anything. Every problem becomes a [`LoadProblem`] that names its path; nothing here is fatal.

mod entry;
mod manifest;
mod packages;
mod profile;
mod scan;
mod selectors;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

pub use entry::{PackageKey, canonical, derived_name, file_url};
pub use manifest::{Manifest, read_manifest};
pub use profile::{Profile, profile_from_sources};

/// Where an extension came from; the `scope` of `sourceInfo`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The user's own directories and settings.
    User,
    /// The working directory's.
    Project,
    /// This run's command line.
    Temporary,
}

impl Scope {
    /// Its wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Temporary => "temporary",
        }
    }
}

/// Which convention the module of a file follows (`spec/extension-loading.md` §8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Surface {
    /// An extension factory.
    #[default]
    Extension,
    /// A custom tool factory of the xcsh family, found in a `tools` directory.
    Tool,
}

impl Surface {
    /// Its wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Extension => "extension",
            Self::Tool => "tool",
        }
    }
}

/// One entry file to load.
#[derive(Debug, Clone)]
pub struct DiscoveredExtension {
    /// Absolute path as it is reported to people (symlinks kept).
    pub path: PathBuf,
    /// Canonical path that is imported.
    pub entry: PathBuf,
    /// Extensions with the same key share an isolate.
    pub package: PackageKey,
    /// Directory of the package, or of the lone file.
    pub root: PathBuf,
    /// Which family's behaviour it expects.
    pub profile: Profile,
    /// Whose it is.
    pub scope: Scope,
    /// What listed it: `cli`, `auto`, `settings`, or the package source.
    pub source: String,
    /// Whether it belongs to an installed package.
    pub from_package: bool,
    /// Which convention its module follows.
    pub surface: Surface,
}

/// A path that could not become an extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadProblem {
    /// The path or source as the user wrote it, resolved where that was possible.
    pub path: String,
    /// The reason, ready for `Failed to load extension "<path>": <reason>`.
    pub reason: String,
}

/// Which discovery directories exist for a configuration directory name, and whose they are.
#[derive(Debug, Clone)]
pub struct ConfigDir {
    /// Directory name inside the project, for example `.pi`.
    pub name: String,
    /// What extensions found there are by default.
    pub profile: Profile,
}

/// A user-level directory that holds `extensions/` and `settings.json`.
#[derive(Debug, Clone)]
pub struct UserDir {
    /// For example `~/.pi/agent`.
    pub path: PathBuf,
    /// What extensions found there are by default.
    pub profile: Profile,
}

/// Settings of one level, already parsed (a broken file is an empty object).
#[derive(Debug, Clone)]
pub struct SettingsLayer {
    /// The file, for messages.
    pub file: PathBuf,
    /// Directory that relative paths start from.
    pub base: PathBuf,
    /// User or project.
    pub scope: Scope,
    /// Default profile of what it lists.
    pub profile: Profile,
    /// The object.
    pub values: Value,
}

/// What to look at.
#[derive(Debug, Clone)]
pub struct DiscoveryOptions {
    /// Session working directory.
    pub cwd: PathBuf,
    /// For `~`.
    pub home: Option<PathBuf>,
    /// Configuration directories looked for in the project.
    pub project_dirs: Vec<ConfigDir>,
    /// User directories; the first one is the agent directory.
    pub user_dirs: Vec<UserDir>,
    /// `-e` arguments in order.
    pub explicit: Vec<String>,
    /// `-ne`: only `explicit` is looked at.
    pub no_discovery: bool,
    /// Settings, project level first.
    pub settings: Vec<SettingsLayer>,
}

impl DiscoveryOptions {
    /// The directories of all three families. Other families' user directories count only while the agent
    /// directory is the default one: who redirects it wants exactly that directory.
    pub fn standard(cwd: PathBuf, agent_dir: PathBuf, home: Option<PathBuf>) -> Self {
        let mut user_dirs = vec![UserDir {
            path: agent_dir.clone(),
            profile: Profile::Pi,
        }];
        if let Some(home) = &home
            && agent_dir == home.join(".pi/agent")
        {
            for (dir, profile) in [
                (".xcsh/agent", Profile::Xcsh),
                (".omp/agent", Profile::Xcsh),
            ] {
                user_dirs.push(UserDir {
                    path: home.join(dir),
                    profile,
                });
            }
        }
        Self {
            cwd,
            home,
            project_dirs: vec![
                ConfigDir {
                    name: ".pi".into(),
                    profile: Profile::Pi,
                },
                ConfigDir {
                    name: ".xcsh".into(),
                    profile: Profile::Xcsh,
                },
                ConfigDir {
                    name: ".omp".into(),
                    profile: Profile::Xcsh,
                },
            ],
            user_dirs,
            explicit: Vec::new(),
            no_discovery: false,
            settings: Vec::new(),
        }
    }

    /// The agent directory.
    pub fn agent_dir(&self) -> Option<&Path> {
        self.user_dirs.first().map(|dir| dir.path.as_path())
    }

    fn expand(&self, text: &str, base: &Path) -> PathBuf {
        entry::expand_path(text, base, self.home.as_deref())
    }
}

/// Everything found, in load order.
#[derive(Debug, Clone, Default)]
pub struct Discovery {
    /// Entries in load order; the first occurrence of a file fixes its place.
    pub extensions: Vec<DiscoveredExtension>,
    /// Paths that cannot be loaded.
    pub problems: Vec<LoadProblem>,
    /// Things worth a warning only.
    pub warnings: Vec<String>,
}

impl Discovery {
    /// Whether anything found needs project trust.
    pub fn has_project_extensions(&self) -> bool {
        self.extensions
            .iter()
            .any(|extension| extension.scope == Scope::Project)
    }
}

/// Looks for extensions. Blocking file access; call it from a blocking context.
pub fn discover(options: &DiscoveryOptions) -> Discovery {
    let mut collector = Collector::new(options);
    if !options.no_discovery {
        collector.native_directories();
        collector.settings_entries();
        collector.packages();
    }
    collector.explicit();
    if !options.no_discovery {
        collector.custom_tools();
    }
    collector.found
}

struct Collector<'a> {
    options: &'a DiscoveryOptions,
    found: Discovery,
    seen: HashSet<PathBuf>,
    names: HashSet<String>,
    disabled: HashSet<String>,
    grouping: entry::Grouping,
}

impl<'a> Collector<'a> {
    fn new(options: &'a DiscoveryOptions) -> Self {
        let mut disabled = HashSet::new();
        for layer in &options.settings {
            for id in strings(&layer.values, "disabledExtensions") {
                disabled.insert(
                    id.strip_prefix("extension-module:")
                        .unwrap_or(id)
                        .to_string(),
                );
            }
        }
        let grouping =
            entry::Grouping::from_settings(options.settings.iter().map(|layer| &layer.values));
        Self {
            options,
            found: Discovery::default(),
            seen: HashSet::new(),
            names: HashSet::new(),
            disabled,
            grouping,
        }
    }

    /// §2 source 1: project directories before user directories; shadowed by name.
    fn native_directories(&mut self) {
        let options = self.options;
        let project = options.project_dirs.iter().map(|dir| {
            (
                options.cwd.join(&dir.name).join("extensions"),
                Scope::Project,
                dir.profile,
            )
        });
        let user = options
            .user_dirs
            .iter()
            .map(|dir| (dir.path.join("extensions"), Scope::User, dir.profile));
        for (directory, scope, profile) in project.chain(user).collect::<Vec<_>>() {
            // A home directory used as working directory shows the same directory twice; the user's claim is the
            // one that needs no trust.
            let is_users = options
                .user_dirs
                .iter()
                .any(|dir| dir.path.join("extensions") == directory);
            let scope = if is_users { Scope::User } else { scope };
            for file in scan::native_scan(&directory, &mut self.found.warnings) {
                let name = derived_name(&file);
                if self.disabled.contains(&name) || self.names.contains(&name) {
                    continue;
                }
                self.names.insert(name);
                self.add(
                    &file,
                    Some(&directory),
                    Origin {
                        scope,
                        profile,
                        source: "auto".into(),
                        from_package: false,
                    },
                );
            }
        }
    }

    /// The `extensions` array of each settings file: paths, globs, `!pattern`, `+path`, `-path`.
    fn settings_entries(&mut self) {
        for layer in &self.options.settings {
            let Some(list) = layer.values.get("extensions") else {
                continue;
            };
            let Some(list) = list.as_array() else {
                self.found.warnings.push(format!(
                    "{}: \"extensions\" must be an array of strings",
                    layer.file.display()
                ));
                continue;
            };
            let mut words = Vec::new();
            for value in list {
                match value.as_str() {
                    Some(text) => words.push(text.to_string()),
                    None => self.found.warnings.push(format!(
                        "Invalid extension path in {}: {value}",
                        layer.file.display()
                    )),
                }
            }
            let resolved =
                selectors::resolve(&words, |text| self.options.expand(text, &layer.base));
            for pattern in resolved.bad {
                self.found.warnings.push(format!(
                    "{}: invalid pattern \"{pattern}\"",
                    layer.file.display()
                ));
            }
            // Exclusions also apply to what the directories of the same level gave.
            let scope = layer.scope;
            let excluded = resolved.excludes;
            self.found
                .extensions
                .retain(|extension| extension.scope != scope || !excluded.matches(&extension.path));
            for path in resolved.paths {
                let origin = Origin {
                    scope,
                    profile: layer.profile,
                    source: "settings".into(),
                    from_package: false,
                };
                if path.is_dir() {
                    for file in scan::configured_directory(&path, &mut self.found.warnings) {
                        if !self.disabled.contains(&derived_name(&file)) && !excluded.matches(&file)
                        {
                            self.add(&file, Some(&path), origin.clone());
                        }
                    }
                } else if path.is_file() {
                    if !excluded.matches(&path) {
                        self.add(&path, None, origin);
                    }
                } else {
                    self.found
                        .warnings
                        .push(format!("Extension path not found: {}", path.display()));
                }
            }
        }
    }

    /// Settings key `packages` (§4) and the plugin directories of §3.
    fn packages(&mut self) {
        let located = packages::locate(self.options);
        self.found.warnings.extend(located.warnings);
        for package in located.packages {
            for file in package.files {
                if self.disabled.contains(&derived_name(&file)) {
                    continue;
                }
                let origin = Origin {
                    scope: package.scope,
                    profile: package.profile,
                    source: package.source.clone(),
                    from_package: true,
                };
                self.add(&file, Some(&package.root), origin);
            }
        }
    }

    /// `-e`: never filtered, never dropped silently.
    fn explicit(&mut self) {
        for word in &self.options.explicit {
            let origin = Origin {
                scope: Scope::Temporary,
                profile: Profile::Xcsh,
                source: "cli".into(),
                from_package: false,
            };
            if let Some(name) = word.strip_prefix("builtin:") {
                self.problem(
                    word,
                    format!("There is no built-in extension named \"{name}\""),
                );
                continue;
            }
            if packages::is_package_source(word) {
                match packages::locate_one(self.options, word, &mut self.found.warnings) {
                    Ok((root, files)) if !files.is_empty() => {
                        for file in files {
                            self.add(
                                &file,
                                Some(&root),
                                Origin {
                                    from_package: true,
                                    ..origin.clone()
                                },
                            );
                        }
                    }
                    Ok((root, _)) => {
                        self.problem(
                            word,
                            format!("No extension entry found in {}", root.display()),
                        );
                    }
                    Err(reason) => self.problem(word, reason),
                }
                continue;
            }
            let path = self.options.expand(word, &self.options.cwd);
            if path.is_dir() {
                let files = scan::configured_directory(&path, &mut self.found.warnings);
                if files.is_empty() {
                    self.problem(
                        &path.display().to_string(),
                        "No extension entry found in this directory".into(),
                    );
                }
                for file in files {
                    self.add(&file, Some(&path), origin.clone());
                }
            } else if path.exists() {
                self.add(&path, None, origin);
            } else {
                let shown = path.display().to_string();
                self.problem(&shown, format!("Extension path does not exist: {shown}"));
            }
        }
    }

    /// Custom tools of the xcsh family (§8.2), last in the order.
    fn custom_tools(&mut self) {
        let options = self.options;
        let project = options
            .project_dirs
            .iter()
            .filter(|dir| dir.profile == Profile::Xcsh)
            .map(|dir| (options.cwd.join(&dir.name).join("tools"), Scope::Project));
        let user = options
            .user_dirs
            .iter()
            .filter(|dir| dir.profile == Profile::Xcsh)
            .map(|dir| (dir.path.join("tools"), Scope::User));
        for (directory, scope) in user.chain(project).collect::<Vec<_>>() {
            for file in scan::native_scan(&directory, &mut self.found.warnings) {
                let origin = Origin {
                    scope,
                    profile: Profile::Xcsh,
                    source: "auto".into(),
                    from_package: false,
                };
                let before = self.found.extensions.len();
                self.add(&file, Some(&directory), origin);
                if let Some(added) = self.found.extensions.get_mut(before) {
                    added.surface = Surface::Tool;
                }
            }
        }
    }

    fn problem(&mut self, path: &str, reason: String) {
        self.found.problems.push(LoadProblem {
            path: path.to_string(),
            reason,
        });
    }

    fn add(&mut self, file: &Path, directory: Option<&Path>, origin: Origin) {
        let entry = match canonical(file) {
            Ok(entry) => entry,
            Err(error) => {
                let shown = file.display().to_string();
                self.problem(
                    &shown,
                    format!("Failed to load extension: cannot read {shown}: {error}"),
                );
                return;
            }
        };
        if !self.seen.insert(entry.clone()) {
            return;
        }
        let (package, root) = self.grouping.package_of(file, &entry, directory);
        let manifest = read_manifest(&root);
        let profile = self
            .grouping
            .explicit_profile(&package, file)
            .or_else(|| manifest.as_ref().and_then(|manifest| manifest.profile))
            .or_else(|| profile_from_sources(&entry))
            .or_else(|| self.directory_profile(file))
            .unwrap_or(origin.profile);
        self.found.extensions.push(DiscoveredExtension {
            path: file.to_path_buf(),
            entry,
            package,
            root,
            profile,
            scope: origin.scope,
            source: origin.source,
            from_package: origin.from_package,
            surface: Surface::Extension,
        });
    }

    /// `.pi`, `.xcsh` or `.omp` anywhere above the file, the nearest first.
    fn directory_profile(&self, file: &Path) -> Option<Profile> {
        file.ancestors().skip(1).find_map(|directory| {
            let name = directory.file_name()?.to_str()?;
            self.options
                .project_dirs
                .iter()
                .find(|dir| dir.name == name)
                .map(|dir| dir.profile)
        })
    }
}

#[derive(Clone)]
struct Origin {
    scope: Scope,
    profile: Profile,
    source: String,
    from_package: bool,
}

fn strings<'v>(values: &'v Value, key: &str) -> impl Iterator<Item = &'v str> {
    values
        .get(key)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

#[cfg(test)]
mod tests;
