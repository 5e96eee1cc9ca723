//! Whether a project may bring code and settings along (`spec/cli.md` §6.1, `spec/extension-loading.md` §9).
//!
//! Decision order: command line, `project_trust` handlers of user-level extensions, stored decisions, the setting
//! `defaultProjectTrust`; "ask" without anybody to ask means no.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use pier_agent::regular_file;
use pier_agent::shared_file::{self, FileLock, Readers};
use serde_json::{Map, Value, json};

use crate::dispatch::combine::TrustAnswer;
use crate::host::ExtensionHost;

/// Resources inside a configuration directory that need trust.
const RESOURCES: [&str; 8] = [
    "settings.json",
    "mcp.json",
    "extensions",
    "skills",
    "prompts",
    "themes",
    "SYSTEM.md",
    "APPEND_SYSTEM.md",
];
/// Configuration directories of the three families.
const CONFIG_DIRS: [&str; 3] = [".pi", ".xcsh", ".omp"];

/// Setting `defaultProjectTrust`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DefaultTrust {
    /// Ask a person; nobody there means no.
    #[default]
    Ask,
    /// Trust every project.
    Always,
    /// Trust none.
    Never,
}

impl DefaultTrust {
    /// Reads the setting; anything unknown counts as `ask`.
    pub fn from_settings(settings: &Value) -> Self {
        match settings.get("defaultProjectTrust").and_then(Value::as_str) {
            Some("always") => Self::Always,
            Some("never") => Self::Never,
            _ => Self::Ask,
        }
    }
}

/// Everything a decision depends on.
#[derive(Debug, Clone)]
pub struct TrustQuestion {
    /// The project directory.
    pub cwd: PathBuf,
    /// Where `trust.json` is.
    pub agent_dir: PathBuf,
    /// `--approve` / `--no-approve`.
    pub from_flags: Option<bool>,
    /// The setting.
    pub default: DefaultTrust,
}

/// Who decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustSource {
    /// The project has nothing that needs trust.
    NothingToTrust,
    /// A command-line flag.
    Flag,
    /// A `project_trust` handler.
    Extension,
    /// `trust.json`.
    Stored,
    /// The setting.
    Setting,
    /// Nobody could be asked, or somebody has to be asked now.
    Undecided,
}

/// A decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrustDecision {
    /// Whether project resources are used.
    pub trusted: bool,
    /// Who decided.
    pub source: TrustSource,
}

/// Whether a directory has resources that need trust. A user's own agent directory inside it does not count.
pub fn needs_trust(cwd: &Path, agent_dir: &Path) -> bool {
    let in_config = CONFIG_DIRS
        .iter()
        .flat_map(|dir| RESOURCES.iter().map(move |name| cwd.join(dir).join(name)));
    in_config
        .chain([cwd.join(".agents/skills")])
        .any(|path| path.exists() && !path.starts_with(agent_dir))
}

/// The stored decision of the closest directory at or above `cwd`.
pub fn stored_decision(agent_dir: &Path, cwd: &Path) -> Option<bool> {
    let stored = read(agent_dir);
    cwd.ancestors().find_map(|directory| {
        let value = stored.get(directory.to_string_lossy().as_ref())?;
        value
            .as_bool()
            .or_else(|| value.get("trusted").and_then(Value::as_bool))
    })
}

/// Stores a decision for `cwd`.
///
/// # Errors
/// Names the file when it cannot be locked or written, or holds something that is no JSON object, which writing would lose.
pub fn store_decision(agent_dir: &Path, cwd: &Path, trusted: bool) -> Result<(), String> {
    let file = agent_dir.join("trust.json");
    let failed = |why: &dyn std::fmt::Display| format!("{} was not changed: {why}", file.display());
    std::fs::create_dir_all(agent_dir).map_err(|error| failed(&error))?;
    let _lock = FileLock::acquire(&file).map_err(|error| failed(&error))?;
    let mut stored: Map<String, Value> = match regular_file::read_to_string(&file) {
        Ok(text) if text.trim().is_empty() => Map::new(),
        Ok(text) => serde_json::from_str(&text).map_err(|error| failed(&error))?,
        Err(error) if error.kind() == ErrorKind::NotFound => Map::new(),
        Err(error) => return Err(failed(&error)),
    };
    stored.insert(cwd.to_string_lossy().into_owned(), json!(trusted));
    let text = serde_json::to_vec_pretty(&Value::Object(stored)).map_err(|error| failed(&error))?;
    shared_file::replace(&file, &text, Readers::AsBefore).map_err(|error| failed(&error))
}

fn read(agent_dir: &Path) -> Map<String, Value> {
    let text = regular_file::read_to_string(&agent_dir.join("trust.json")).unwrap_or_default();
    match serde_json::from_str(&text) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

impl ExtensionHost {
    /// Decides, asking `project_trust` handlers of the extensions loaded so far. A decision with source `Undecided` is
    /// "not trusted"; a mode with a person in front of it may ask and override it.
    pub async fn decide_trust(&self, question: &TrustQuestion) -> TrustDecision {
        let decided = |trusted, source| TrustDecision { trusted, source };
        if !needs_trust(&question.cwd, &question.agent_dir) {
            return decided(true, TrustSource::NothingToTrust);
        }
        if let Some(flag) = question.from_flags {
            return decided(flag, TrustSource::Flag);
        }
        if let Some((trusted, remember)) = self.ask_extensions(&question.cwd).await {
            if remember
                && let Err(error) = store_decision(&question.agent_dir, &question.cwd, trusted)
            {
                self.shared.reports.text(
                    "<runtime>",
                    "project_trust",
                    format!("the decision could not be stored: {error}"),
                );
            }
            return decided(trusted, TrustSource::Extension);
        }
        if let Some(stored) = stored_decision(&question.agent_dir, &question.cwd) {
            return decided(stored, TrustSource::Stored);
        }
        match question.default {
            DefaultTrust::Always => decided(true, TrustSource::Setting),
            DefaultTrust::Never => decided(false, TrustSource::Setting),
            DefaultTrust::Ask => decided(false, TrustSource::Undecided),
        }
    }

    async fn ask_extensions(&self, cwd: &Path) -> Option<(bool, bool)> {
        if !self.shared.registry.subscribed(&["project_trust"]) {
            return None;
        }
        let mut rule = TrustAnswer::new(crate::dispatch::combine::event(json!({"cwd": cwd})));
        let _ = self
            .shared
            .dispatch(
                &["project_trust"],
                &mut rule,
                crate::dispatch::Circumstances::default(),
            )
            .await;
        rule.decision
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_stored_decision_counts() {
        let dir = tempfile::tempdir().unwrap();
        let agent = dir.path().join("agent");
        let project = dir.path().join("p/q");
        std::fs::create_dir_all(&project).unwrap();
        assert_eq!(stored_decision(&agent, &project), None);
        store_decision(&agent, dir.path(), true).unwrap();
        store_decision(&agent, &dir.path().join("p"), false).unwrap();
        assert_eq!(stored_decision(&agent, &project), Some(false));
        assert_eq!(stored_decision(&agent, dir.path()), Some(true));
        std::fs::write(agent.join("trust.json"), "{\"/kept\": true").unwrap();
        let problem = store_decision(&agent, dir.path(), false).unwrap_err();
        assert!(problem.contains("trust.json"), "{problem}");
        let text = std::fs::read_to_string(agent.join("trust.json")).unwrap();
        assert_eq!(text, "{\"/kept\": true");
    }

    #[test]
    fn only_project_resources_need_trust() {
        let dir = tempfile::tempdir().unwrap();
        let agent = dir.path().join(".pi/agent");
        std::fs::create_dir_all(agent.join("extensions")).unwrap();
        std::fs::write(dir.path().join("AGENTS.md"), "x").unwrap();
        assert!(!needs_trust(dir.path(), &agent));
        std::fs::create_dir_all(dir.path().join(".xcsh/extensions")).unwrap();
        assert!(needs_trust(dir.path(), &agent));
    }
}
