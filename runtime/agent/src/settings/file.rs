//! Settings files: reading, merging and changing single keys.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::regular_file;
use crate::shared_file::{self, FileLock, LockError, Readers};

/// A user setting could not be written.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("Settings file {path}: {source}")]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("Settings file {path} was not changed: {source}")]
    Locked { path: PathBuf, source: LockError },
    #[error("Settings file {path} is not a JSON object; it was not changed")]
    NotAnObject { path: PathBuf },
}

/// Keys that only the user file may set.
const USER_ONLY: [&str; 4] = [
    "defaultProjectTrust",
    "httpProxy",
    "cacheWarming",
    "selfUpdateCommand",
];
/// Arrays of resources, which are combined over the files instead of replaced.
const COMBINED: [&str; 5] = ["extensions", "skills", "prompts", "themes", "packages"];

/// Where settings come from, weakest first: user, project, overrides.
pub(super) struct Sources {
    user_file: Option<PathBuf>,
    project_file: Option<PathBuf>,
    user: Map<String, Value>,
    project: Map<String, Value>,
    overrides: Map<String, Value>,
}

impl Sources {
    pub(super) fn in_memory(user: Map<String, Value>) -> Self {
        Sources {
            user_file: None,
            project_file: None,
            user,
            project: Map::new(),
            overrides: Map::new(),
        }
    }

    pub(super) fn read(
        user_file: PathBuf,
        project_file: Option<PathBuf>,
        warnings: &mut Vec<String>,
    ) -> Self {
        let mut sources = Sources {
            user_file: Some(user_file),
            project_file,
            ..Sources::in_memory(Map::new())
        };
        sources.reread(warnings);
        sources
    }

    pub(super) fn reread(&mut self, warnings: &mut Vec<String>) {
        if let Some(path) = &self.user_file {
            self.user = read_file(path, warnings);
        }
        self.project = self
            .project_file
            .as_deref()
            .map(|path| read_file(path, warnings))
            .unwrap_or_default();
    }

    pub(super) fn set_project_file(&mut self, path: Option<PathBuf>, warnings: &mut Vec<String>) {
        self.project = path
            .as_deref()
            .map(|path| read_file(path, warnings))
            .unwrap_or_default();
        self.project_file = path;
    }

    pub(super) fn set_overrides(&mut self, overrides: Map<String, Value>) {
        self.overrides = overrides;
    }

    pub(super) fn user_file(&self) -> Option<&Path> {
        self.user_file.as_deref()
    }

    pub(super) fn merged(&self) -> Map<String, Value> {
        let mut result = self.user.clone();
        let mut project = self.project.clone();
        project.retain(|key, _| !USER_ONLY.contains(&key.as_str()));
        merge(&mut result, project, true);
        merge(&mut result, self.overrides.clone(), true);
        result
    }

    pub(super) fn set_user(
        &mut self,
        path: &[&str],
        value: Option<Value>,
    ) -> Result<(), SettingsError> {
        set_nested(&mut self.user, path, value.clone());
        // Whoever sets it means the running session; what the project says must not undo that.
        if let Some(value) = &value
            && nested(&self.merged(), path) != Some(value)
        {
            set_nested(&mut self.overrides, path, Some(value.clone()));
        }
        match &self.user_file {
            Some(file) => change_file(file, path, value),
            None => Ok(()),
        }
    }
}

/// Puts `over` on top of `base`: objects merge, everything else replaces, resource arrays at the top are combined.
fn merge(base: &mut Map<String, Value>, over: Map<String, Value>, top: bool) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(Value::Object(below)), Value::Object(above)) => merge(below, above, false),
            (Some(Value::Array(below)), Value::Array(above))
                if top && COMBINED.contains(&key.as_str()) =>
            {
                for item in above {
                    if !below.contains(&item) {
                        below.push(item);
                    }
                }
            }
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

fn read_file(path: &Path, warnings: &mut Vec<String>) -> Map<String, Value> {
    let text = match regular_file::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Map::new(),
        Err(error) => {
            warnings.push(format!("Invalid settings file {}: {error}", path.display()));
            return Map::new();
        }
    };
    let text = text.trim_start_matches('\u{feff}');
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(mut map)) => {
            migrate(&mut map);
            map
        }
        Ok(_) => {
            warnings.push(format!(
                "Invalid settings file {}: it is not a JSON object",
                path.display()
            ));
            Map::new()
        }
        Err(error) => {
            warnings.push(format!("Invalid settings file {}: {error}", path.display()));
            Map::new()
        }
    }
}

/// Old key names become the new ones where those are absent.
fn migrate(map: &mut Map<String, Value>) {
    if let Some(mode) = map.shift_remove("queueMode") {
        map.entry("steeringMode").or_insert(mode);
    }
    if let Some(Value::Bool(on)) = map.shift_remove("websockets") {
        map.entry("transport")
            .or_insert_with(|| Value::from(if on { "websocket" } else { "sse" }));
    }
    if let Some(Value::Object(skills)) = map.get("skills").cloned() {
        if let Some(enabled) = skills.get("enableSkillCommands") {
            map.entry("enableSkillCommands")
                .or_insert_with(|| enabled.clone());
        }
        let list = skills
            .get("customDirectories")
            .filter(|dirs| dirs.is_array())
            .cloned();
        map.insert(
            "skills".to_owned(),
            list.unwrap_or_else(|| Value::Array(Vec::new())),
        );
    }
    if let Some(Value::Object(retry)) = map.get_mut("retry")
        && let Some(delay) = retry.shift_remove("maxDelayMs")
        && let Value::Object(provider) = retry
            .entry("provider")
            .or_insert_with(|| Value::Object(Map::new()))
    {
        provider.entry("maxRetryDelayMs").or_insert(delay);
    }
}

fn nested<'a>(map: &'a Map<String, Value>, path: &[&str]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    let mut value = map.get(*first)?;
    for key in rest {
        value = value.get(key)?;
    }
    Some(value)
}

fn set_nested(map: &mut Map<String, Value>, path: &[&str], value: Option<Value>) {
    let Some((first, rest)) = path.split_first() else {
        return;
    };
    if rest.is_empty() {
        match value {
            Some(value) => {
                map.insert((*first).to_owned(), value);
            }
            None => {
                map.shift_remove(*first);
            }
        }
        return;
    }
    let slot = map
        .entry(*first)
        .or_insert_with(|| Value::Object(Map::new()));
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    if let Value::Object(inner) = slot {
        set_nested(inner, rest, value);
    }
}

/// Merges one key into what the file holds now, under the lock that pi takes too, replacing it atomically.
fn change_file(path: &Path, keys: &[&str], value: Option<Value>) -> Result<(), SettingsError> {
    let io = |source| SettingsError::Io {
        path: path.to_path_buf(),
        source,
    };
    std::fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).map_err(io)?;
    let _lock = FileLock::acquire(path).map_err(|source| SettingsError::Locked {
        path: path.to_path_buf(),
        source,
    })?;
    let mut map = match regular_file::read_to_string(path) {
        Ok(text) if text.trim().is_empty() => Map::new(),
        Ok(text) => match serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}')) {
            Ok(Value::Object(map)) => map,
            _ => {
                return Err(SettingsError::NotAnObject {
                    path: path.to_path_buf(),
                });
            }
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Map::new(),
        Err(error) => return Err(io(error)),
    };
    set_nested(&mut map, keys, value);
    let text =
        serde_json::to_string_pretty(&Value::Object(map)).map_err(|error| io(error.into()))? + "\n";
    shared_file::replace(path, text.as_bytes(), Readers::AsBefore).map_err(io)
}

#[cfg(test)]
mod tests {
    use super::super::SettingsStore;
    use super::*;

    #[test]
    fn project_wins_objects_merge_and_resource_arrays_combine() {
        let dir = tempfile::tempdir().unwrap();
        let user = dir.path().join("user.json");
        let project = dir.path().join("project.json");
        std::fs::write(&user, r#"{"retry":{"maxRetries":1,"baseDelayMs":5},"extensions":["a"],"enabledModels":["x"],"httpProxy":"u"}"#)
            .unwrap();
        std::fs::write(&project, r#"{"retry":{"maxRetries":2},"extensions":["b"],"enabledModels":["y"],"httpProxy":"p","odd":1}"#)
            .unwrap();
        let (store, warnings) = SettingsStore::load(user, Some(project));
        assert!(warnings.is_empty(), "{warnings:?}");
        let settings = store.get();
        assert_eq!(
            (settings.retry.max_retries, settings.retry.base_delay_ms),
            (2, 5)
        );
        assert_eq!(settings.raw["extensions"], serde_json::json!(["a", "b"]));
        assert_eq!(settings.enabled_models, ["y"]);
        assert_eq!(settings.raw["httpProxy"], "u");
        assert_eq!(settings.raw["odd"], 1);
    }

    #[test]
    fn a_broken_file_is_a_warning_and_is_never_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let user = dir.path().join("settings.json");
        std::fs::write(&user, "{ broken").unwrap();
        let (store, warnings) = SettingsStore::load(user.clone(), None);
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].contains("settings.json"), "{warnings:?}");
        let error = store
            .set_user(&["retry", "enabled"], Some(false.into()))
            .unwrap_err();
        assert!(error.to_string().contains("not a JSON object"), "{error}");
        assert_eq!(std::fs::read_to_string(&user).unwrap(), "{ broken");
        assert!(
            !store.get().retry.enabled,
            "the value still applies to this process"
        );
    }

    #[test]
    fn a_change_keeps_what_another_process_wrote() {
        let dir = tempfile::tempdir().unwrap();
        let user = dir.path().join("agent/settings.json");
        let (store, _) = SettingsStore::load(user.clone(), None);
        store
            .set_user(&["steeringMode"], Some("all".into()))
            .unwrap();
        std::fs::write(&user, r#"{"steeringMode":"all","theme":"dark"}"#).unwrap();
        store
            .set_user(&["compaction", "enabled"], Some(false.into()))
            .unwrap();
        let content: Value =
            serde_json::from_str(&std::fs::read_to_string(&user).unwrap()).unwrap();
        assert_eq!(
            content,
            serde_json::json!({"steeringMode":"all","theme":"dark","compaction":{"enabled":false}})
        );
    }

    #[test]
    fn what_is_set_counts_under_a_project_that_says_otherwise() {
        let dir = tempfile::tempdir().unwrap();
        let (user, project) = (dir.path().join("u.json"), dir.path().join("p.json"));
        std::fs::write(
            &project,
            r#"{"steeringMode":"one-at-a-time","retry":{"enabled":true,"maxRetries":7}}"#,
        )
        .unwrap();
        let (store, _) = SettingsStore::load(user.clone(), Some(project.clone()));
        store
            .set_user(&["steeringMode"], Some("all".into()))
            .unwrap();
        store
            .set_user(&["retry", "enabled"], Some(false.into()))
            .unwrap();
        store.reload();
        let settings = store.get();
        assert_eq!(settings.steering_mode.as_str(), "all");
        assert!(!settings.retry.enabled);
        assert_eq!(settings.retry.max_retries, 7);
        let (next, _) = SettingsStore::load(user, Some(project));
        assert!(
            next.get().retry.enabled,
            "the next session is the project's"
        );
    }

    #[test]
    fn old_names_are_read_under_the_new_ones() {
        let dir = tempfile::tempdir().unwrap();
        let user = dir.path().join("s.json");
        std::fs::write(&user, r#"{"queueMode":"all","skills":{"enableSkillCommands":false,"customDirectories":["d"]},"retry":{"maxDelayMs":9}}"#)
            .unwrap();
        let (store, _) = SettingsStore::load(user, None);
        let settings = store.get();
        assert_eq!(settings.steering_mode.as_str(), "all");
        assert_eq!(settings.raw["enableSkillCommands"], false);
        assert_eq!(settings.raw["skills"], serde_json::json!(["d"]));
        assert_eq!(settings.raw["retry"]["provider"]["maxRetryDelayMs"], 9);
    }
}
