//! Skills and prompt templates from files (`spec/cli.md` §4.2, §6).
//!
//! A skill is a folder with a `SKILL.md`, a template is a Markdown file; both may begin with front
//! matter. What cannot be read is a warning.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use pier_agent::hooks::DiscoveredPath;
use pier_agent::prompt::{PromptConfig, PromptTemplate, SkillSummary};
use pier_agent::regular_file;
use pier_protocol::extension::SourceInfo;

use super::options::ResourceChoice;
use crate::extensions::SlashCommand;

/// Deepest folder below a skills directory that is looked at.
const MAX_DEPTH: usize = 4;

/// Where to look.
pub(super) struct Places<'a> {
    pub(super) cwd: &'a Path,
    pub(super) agent_dir: &'a Path,
    pub(super) trusted: bool,
    pub(super) choice: &'a ResourceChoice,
    /// Entries of the settings `skills` and `prompts`, already paths.
    pub(super) skill_settings: &'a [PathBuf],
    pub(super) prompt_settings: &'a [PathBuf],
}

/// Everything found, first of a name wins.
#[derive(Debug, Default)]
pub(super) struct Resources {
    pub(super) skills: Vec<SkillSummary>,
    pub(super) templates: Vec<PromptTemplate>,
    pub(super) commands: Vec<SlashCommand>,
    pub(super) warnings: Vec<String>,
}

/// Who brought a file along.
#[derive(Clone)]
struct Origin {
    source: Cow<'static, str>,
    scope: &'static str,
    base_dir: Option<String>,
}

impl Origin {
    const fn new(source: &'static str, scope: &'static str) -> Self {
        Self {
            source: Cow::Borrowed(source),
            scope,
            base_dir: None,
        }
    }

    /// An extension that answered `resources_discover`.
    fn extension(named: &DiscoveredPath) -> Self {
        let path = Path::new(&named.extension);
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        Self {
            source: format!("extension:{name}").into(),
            scope: "temporary",
            base_dir: Some(named.base_dir.to_string_lossy().into_owned()),
        }
    }
}

const CLI: Origin = Origin::new("cli", "temporary");
const SDK: Origin = Origin::new("sdk", "temporary");
const USER: Origin = Origin::new("local", "user");
const PROJECT: Origin = Origin::new("local", "project");

/// Looks everywhere: command line, project, user.
pub(super) fn find(places: &Places<'_>) -> Resources {
    let mut found = Resources::default();
    let expand = |paths: &[String]| {
        paths
            .iter()
            .map(|path| crate::paths::expand(path, places.cwd))
            .collect::<Vec<_>>()
    };
    let mut skill_roots: Vec<(PathBuf, Origin)> = expand(&places.choice.skills)
        .into_iter()
        .map(|path| (path, CLI))
        .collect();
    let mut prompt_roots: Vec<(PathBuf, Origin)> = expand(&places.choice.prompt_templates)
        .into_iter()
        .map(|path| (path, CLI))
        .collect();
    for (path, _) in skill_roots.iter().chain(&prompt_roots) {
        if !path.exists() {
            found
                .warnings
                .push(format!("Path does not exist: {}", path.display()));
        }
    }
    if !places.choice.no_skills {
        if places.trusted {
            skill_roots.push((places.cwd.join(".pi/skills"), PROJECT));
            skill_roots.push((places.cwd.join(".agents/skills"), PROJECT));
        }
        skill_roots.push((places.agent_dir.join("skills"), USER));
        skill_roots.extend(
            places
                .skill_settings
                .iter()
                .map(|path| (path.clone(), USER)),
        );
    }
    if !places.choice.no_prompt_templates {
        if places.trusted {
            prompt_roots.push((places.cwd.join(".pi/prompts"), PROJECT));
        }
        prompt_roots.push((places.agent_dir.join("prompts"), USER));
        prompt_roots.extend(
            places
                .prompt_settings
                .iter()
                .map(|path| (path.clone(), USER)),
        );
    }
    for (root, origin) in prompt_roots {
        found.templates_in(&root, &origin);
    }
    for (root, origin) in skill_roots {
        found.skills_in(&root, &origin, 0);
    }
    found.sort_commands();
    found
}

impl Resources {
    /// What somebody else has found.
    pub(super) fn given(config: &PromptConfig) -> Self {
        let templates = config.templates.iter().map(|template| {
            let description = template.description.clone();
            command(
                template.name.clone(),
                description,
                "prompt",
                &template.path,
                &SDK,
            )
        });
        let skills = config.skills.iter().map(|skill| {
            let name = format!("skill:{}", skill.name);
            let description = Some(skill.description.clone());
            command(name, description, "skill", &skill.location, &SDK)
        });
        Self {
            commands: templates.chain(skills).collect(),
            skills: config.skills.clone(),
            templates: config.templates.clone(),
            warnings: Vec::new(),
        }
    }

    /// Adds the skills at a path that an extension named.
    pub(super) fn add_skills(&mut self, path: &Path, named: &DiscoveredPath) {
        self.skills_in(path, &Origin::extension(named), 0);
    }

    /// Adds the templates at a path that an extension named.
    pub(super) fn add_templates(&mut self, path: &Path, named: &DiscoveredPath) {
        self.templates_in(path, &Origin::extension(named));
    }

    /// `get_commands` lists templates before skills, whatever order they were found in.
    pub(super) fn sort_commands(&mut self) {
        self.commands
            .sort_by_key(|command| command.source == "skill");
    }

    fn skills_in(&mut self, path: &Path, origin: &Origin, depth: usize) {
        if path.is_file() {
            self.skill(path, origin);
            return;
        }
        let file = path.join("SKILL.md");
        if file.is_file() {
            self.skill(&file, origin);
        } else if depth < MAX_DEPTH {
            for entry in entries(path) {
                if entry.is_dir() {
                    self.skills_in(&entry, origin, depth + 1);
                } else if depth == 0 && is_markdown(&entry) {
                    self.skill(&entry, origin);
                }
            }
        }
    }

    fn skill(&mut self, file: &Path, origin: &Origin) {
        let Some(content) = self.read(file) else {
            return;
        };
        let matter = FrontMatter::of(&content);
        let fallback = match file.file_name().is_some_and(|name| name == "SKILL.md") {
            true => file.parent().and_then(Path::file_name),
            false => file.file_stem(),
        };
        let name = matter
            .value("name")
            .unwrap_or_else(|| fallback.unwrap_or_default().to_string_lossy().into_owned());
        let Some(description) = matter.value("description") else {
            self.warnings.push(format!(
                "Skill {} has no description and is ignored",
                file.display()
            ));
            return;
        };
        if self.skills.iter().any(|known| known.name == name) {
            return;
        }
        self.commands.push(command(
            format!("skill:{name}"),
            Some(description.clone()),
            "skill",
            file,
            origin,
        ));
        self.skills.push(SkillSummary {
            name,
            description,
            location: file.to_owned(),
            hidden: matter
                .value("disable-model-invocation")
                .is_some_and(|word| word == "true"),
        });
    }

    fn templates_in(&mut self, path: &Path, origin: &Origin) {
        let files = if path.is_file() {
            vec![path.to_owned()]
        } else {
            entries(path)
        };
        for file in files
            .into_iter()
            .filter(|file| file.is_file() && is_markdown(file))
        {
            let Some(content) = self.read(&file) else {
                continue;
            };
            let name = file
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if self.templates.iter().any(|known| known.name == name) {
                continue;
            }
            let body = pier_agent::prompt::expand::without_front_matter(&content)
                .trim()
                .to_owned();
            let description = FrontMatter::of(&content).value("description").or_else(|| {
                body.lines()
                    .map(str::trim)
                    .find(|line| !line.is_empty())
                    .map(str::to_owned)
            });
            self.commands.push(command(
                name.clone(),
                description.clone(),
                "prompt",
                &file,
                origin,
            ));
            self.templates.push(PromptTemplate {
                name,
                description,
                path: file,
                content: body,
            });
        }
    }

    fn read(&mut self, file: &Path) -> Option<String> {
        match regular_file::read_to_string(file) {
            Ok(content) => Some(content),
            Err(error) => {
                self.warnings
                    .push(format!("Cannot read {}: {error}", file.display()));
                None
            }
        }
    }
}

fn command(
    name: String,
    description: Option<String>,
    kind: &'static str,
    file: &Path,
    origin: &Origin,
) -> SlashCommand {
    SlashCommand {
        name,
        description,
        source: kind,
        source_info: SourceInfo {
            path: file.to_string_lossy().into_owned(),
            source: origin.source.clone().into_owned(),
            scope: origin.scope.to_owned(),
            origin: "top-level".to_owned(),
            base_dir: origin.base_dir.clone(),
        },
    }
}

/// What is in a directory, by name; nothing when it cannot be listed.
fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = std::fs::read_dir(directory)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.file_name()
                .is_some_and(|name| !name.to_string_lossy().starts_with('.'))
        })
        .collect();
    paths.sort();
    paths
}

fn is_markdown(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
}

/// The `key: value` lines between two lines `---` at the start of a file.
struct FrontMatter<'a>(&'a str);

impl<'a> FrontMatter<'a> {
    fn of(content: &'a str) -> Self {
        let content = content.trim_start_matches('\u{feff}');
        let rest = pier_agent::prompt::expand::without_front_matter(content);
        Self(&content[..content.len() - rest.len()])
    }

    /// The value of a key on its own line, without quotes; a block (`|`, `>`) is its indented lines.
    fn value(&self, key: &str) -> Option<String> {
        let mut lines = self.0.lines();
        let value = lines
            .by_ref()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?
            .trim();
        let text = if matches!(value, "|" | ">" | "|-" | ">-") {
            let block = lines.take_while(|line| line.starts_with(' ') || line.is_empty());
            block
                .map(str::trim)
                .collect::<Vec<_>>()
                .join(if value.starts_with('|') { "\n" } else { " " })
        } else {
            let unquoted = ['"', '\'']
                .iter()
                .find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
            unquoted.unwrap_or(value).to_owned()
        };
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{FrontMatter, Places, ResourceChoice, Resources, find};

    fn look(dir: &Path, trusted: bool, choice: &ResourceChoice) -> Resources {
        find(&Places {
            cwd: &dir.join("project"),
            agent_dir: &dir.join("agent"),
            trusted,
            choice,
            skill_settings: &[],
            prompt_settings: &[],
        })
    }

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().expect("parent")).expect("dirs");
        fs::write(path, text).expect("write");
    }

    #[test]
    fn skills_and_templates_are_found_project_before_user() {
        let dir = tempfile::tempdir().expect("dir");
        write(
            &dir.path().join("agent/prompts/fix.md"),
            "---\ndescription: User's\n---\nFix $1",
        );
        write(&dir.path().join("project/.pi/prompts/fix.md"), "Fix it");
        write(
            &dir.path().join("agent/skills/deep/er/SKILL.md"),
            "---\nname: s\ndescription: \"Does s\"\n---\nBody",
        );
        let choice = ResourceChoice::default();
        let found = look(dir.path(), true, &choice);
        assert_eq!(found.templates.len(), 1);
        assert_eq!(found.templates[0].content, "Fix it");
        assert_eq!(
            (
                found.skills[0].name.as_str(),
                found.skills[0].description.as_str()
            ),
            ("s", "Does s")
        );
        let names: Vec<_> = found
            .commands
            .iter()
            .map(|command| command.name.as_str())
            .collect();
        assert_eq!(names, ["fix", "skill:s"]);
        assert_eq!(
            look(dir.path(), false, &choice).templates[0].content,
            "Fix $1"
        );
    }

    #[test]
    fn named_ones_stay_when_the_search_is_off_and_problems_are_named() {
        let dir = tempfile::tempdir().expect("dir");
        write(&dir.path().join("agent/prompts/fix.md"), "Fix");
        write(&dir.path().join("project/own.md"), "Own");
        write(&dir.path().join("project/s/SKILL.md"), "no front matter");
        let choice = ResourceChoice {
            prompt_templates: vec!["own.md".into(), "missing.md".into()],
            skills: vec!["s".into()],
            no_prompt_templates: true,
            no_skills: true,
            ..ResourceChoice::default()
        };
        let found = look(dir.path(), true, &choice);
        assert_eq!(
            found
                .templates
                .iter()
                .map(|one| one.name.as_str())
                .collect::<Vec<_>>(),
            ["own"]
        );
        assert_eq!(found.warnings.len(), 2, "{:?}", found.warnings);
    }

    #[test]
    fn front_matter_values_may_be_quoted_or_blocks() {
        let matter = FrontMatter::of("---\na: 'x: y'\nb: >\n  one\n  two\nc:\n---\nbody\na: no");
        assert_eq!(matter.value("a").as_deref(), Some("x: y"));
        assert_eq!(matter.value("b").as_deref(), Some("one two"));
        assert_eq!(matter.value("c"), None);
        assert_eq!(FrontMatter::of("a: b").value("a"), None);
    }
}
