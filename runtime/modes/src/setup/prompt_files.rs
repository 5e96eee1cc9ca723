//! Everything on disk that ends in the system prompt or in the list of commands: instructions, skills, templates. Read at
//! the start, at a reload, and when extensions name files of theirs (`resources_discover`).

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::RwLock;
use pier_agent::hooks::{DiscoveredPath, DiscoveredResources};
use pier_agent::prompt::PromptConfig;
use pier_agent::settings::SettingsStore;
use pier_protocol::extension::ExtensionErrorReport;
use serde_json::Value;

use super::options::{ResourceChoice, StartOptions};
use super::resources::{self, Resources};
use super::{context, themes};
use crate::extensions::SlashCommand;

/// Event name of reports about files that extensions named.
const EVENT: &str = "resources_discover";

/// Where to read from, and what the last reading found.
pub(super) struct PromptFiles {
    cwd: PathBuf,
    agent_dir: PathBuf,
    trusted: AtomicBool,
    custom: Option<String>,
    append: Vec<String>,
    choice: ResourceChoice,
    settings: Arc<SettingsStore>,
    /// In place of files.
    given: Option<PromptConfig>,
    commands: RwLock<Vec<SlashCommand>>,
}

/// One reading.
pub(super) struct Reading {
    pub(super) prompt: PromptConfig,
    /// About files that nobody but the user brought along.
    pub(super) warnings: Vec<String>,
    /// About files that extensions named.
    pub(super) reports: Vec<ExtensionErrorReport>,
}

impl PromptFiles {
    /// Nothing of the project is read until [`PromptFiles::set_trusted`] says that it may be.
    pub(super) fn new(options: &StartOptions, settings: Arc<SettingsStore>) -> Self {
        Self {
            cwd: options.cwd.clone(),
            agent_dir: options.agent_dir.clone(),
            trusted: AtomicBool::new(false),
            custom: options.system_prompt.clone(),
            append: options.append_system_prompt.clone(),
            choice: options.resources.clone(),
            settings,
            given: None,
            commands: RwLock::default(),
        }
    }

    pub(super) fn set_trusted(&self, trusted: bool) {
        self.trusted.store(trusted, Ordering::Release);
    }

    /// Inputs that somebody has put together already: only what extensions name is added.
    pub(super) fn given(
        config: PromptConfig,
        options: &StartOptions,
        settings: Arc<SettingsStore>,
    ) -> Self {
        Self {
            given: Some(config),
            ..Self::new(options, settings)
        }
    }

    /// Templates and skills of the last reading.
    pub(super) fn commands(&self) -> Vec<SlashCommand> {
        self.commands.read().clone()
    }

    /// Reads everything again.
    ///
    /// # Errors
    /// A flag names a file that cannot be read.
    pub(super) fn read(&self, discovered: &DiscoveredResources) -> Result<Reading, String> {
        let (mut prompt, mut found) = match &self.given {
            Some(given) => (given.clone(), Resources::given(given)),
            None => self.files()?,
        };
        let warnings = std::mem::take(&mut found.warnings);
        let mut reports = Vec::new();
        for named in &discovered.skills {
            add(&mut found, named, Resources::add_skills, &mut reports);
        }
        for named in &discovered.prompts {
            add(&mut found, named, Resources::add_templates, &mut reports);
        }
        for named in &discovered.themes {
            if let Err(problem) = themes::check(&expanded(named)) {
                reports.push(ExtensionErrorReport::new(&named.extension, EVENT, problem));
            }
        }
        found.sort_commands();
        *self.commands.write() = found.commands;
        prompt.skills = found.skills;
        prompt.templates = found.templates;
        Ok(Reading {
            prompt,
            warnings,
            reports,
        })
    }

    fn files(&self) -> Result<(PromptConfig, Resources), String> {
        let trusted = self.trusted.load(Ordering::Acquire);
        let mut warnings = Vec::new();
        let sources = context::Sources {
            cwd: &self.cwd,
            agent_dir: &self.agent_dir,
            trusted,
            custom: self.custom.as_deref(),
            append: &self.append,
            no_context_files: self.choice.no_context_files,
        };
        let prompt = context::prompt(&sources, &mut warnings)?;
        let mut found = resources::find(&resources::Places {
            cwd: &self.cwd,
            agent_dir: &self.agent_dir,
            trusted,
            choice: &self.choice,
            skill_settings: &self.listed("skills"),
            prompt_settings: &self.listed("prompts"),
        });
        found.warnings.splice(0..0, warnings);
        Ok((prompt, found))
    }

    /// Paths of a setting that adds files.
    fn listed(&self, key: &str) -> Vec<PathBuf> {
        let settings = self.settings.get();
        let list = settings.raw.get(key).and_then(Value::as_array);
        let words = list.into_iter().flatten().filter_map(Value::as_str);
        words
            .filter(|word| !word.starts_with(['!', '-']))
            .map(|word| crate::paths::expand(word.trim_start_matches('+'), &self.agent_dir))
            .collect()
    }
}

/// A leading `~` is the home directory, as everywhere.
fn expanded(named: &DiscoveredPath) -> PathBuf {
    let relative = named.path.strip_prefix(&named.base_dir).ok();
    match relative.and_then(Path::to_str) {
        Some(word) if word.starts_with('~') => crate::paths::expand(word, &named.base_dir),
        _ => named.path.clone(),
    }
}

/// Adds what is at a path that an extension named; every problem becomes a report of that extension.
fn add(
    found: &mut Resources,
    named: &DiscoveredPath,
    how: fn(&mut Resources, &Path, &DiscoveredPath),
    reports: &mut Vec<ExtensionErrorReport>,
) {
    let path = expanded(named);
    if path.exists() {
        how(found, &path, named);
    } else {
        found
            .warnings
            .push(format!("Path does not exist: {}", path.display()));
    }
    reports.extend(
        found
            .warnings
            .drain(..)
            .map(|problem| ExtensionErrorReport::new(&named.extension, EVENT, problem)),
    );
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn files(dir: &Path) -> PromptFiles {
        PromptFiles {
            cwd: dir.join("project"),
            agent_dir: dir.join("agent"),
            trusted: AtomicBool::new(false),
            custom: None,
            append: Vec::new(),
            choice: ResourceChoice::default(),
            settings: Arc::new(SettingsStore::in_memory(serde_json::Map::new())),
            given: None,
            commands: RwLock::default(),
        }
    }

    fn named(dir: &Path, path: &str) -> DiscoveredPath {
        DiscoveredPath {
            extension: "/ext/paths.ts".into(),
            base_dir: dir.to_owned(),
            path: dir.join(path),
        }
    }

    #[test]
    fn files_of_extensions_are_added_and_their_problems_name_the_extension() {
        let dir = tempfile::tempdir().expect("dir");
        let skill = dir.path().join("skills/one/SKILL.md");
        fs::create_dir_all(skill.parent().expect("parent")).expect("dirs");
        fs::write(&skill, "---\ndescription: Does one\n---\n").expect("write");
        fs::write(dir.path().join("fix.md"), "Fix $1").expect("write");
        fs::write(dir.path().join("broken.json"), "{").expect("write");
        let files = files(dir.path());
        let reading = files.read(&DiscoveredResources {
            skills: vec![named(dir.path(), "skills"), named(dir.path(), "missing")],
            prompts: vec![named(dir.path(), "fix.md")],
            themes: vec![named(dir.path(), "broken.json")],
        });
        let reading = reading.expect("reading");
        assert_eq!(reading.prompt.skills[0].name, "one");
        assert_eq!(reading.prompt.templates[0].name, "fix");
        let commands = files.commands();
        let shown: Vec<_> = commands
            .iter()
            .map(|command| (command.name.as_str(), command.source_info.source.as_str()))
            .collect();
        assert_eq!(
            shown,
            [("fix", "extension:paths"), ("skill:one", "extension:paths")]
        );
        let problems: Vec<_> = reading
            .reports
            .iter()
            .map(|report| (report.extension_path.as_str(), report.error.as_str()))
            .collect();
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[0].1.starts_with("Path does not exist: "));
        assert!(problems[1].1.contains("broken.json"), "{problems:?}");
        assert!(problems.iter().all(|(path, _)| *path == "/ext/paths.ts"));
        assert!(
            files
                .read(&DiscoveredResources::default())
                .expect("reading")
                .prompt
                .skills
                .is_empty(),
            "what an extension does not name any more is gone"
        );
    }
}
