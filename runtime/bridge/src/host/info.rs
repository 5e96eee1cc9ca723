//! Read-only views of what is loaded, for modes and for extensions' own lists.

use pier_protocol::extension::SourceInfo;
use serde_json::{Value, json};

use super::{ExtensionHost, Shared};
use crate::registry::{commands, shortcuts};

/// A loaded extension.
#[derive(Debug, Clone, PartialEq)]
pub struct ExtensionSummary {
    /// Path as reported.
    pub path: String,
    /// Display label, when the extension set one.
    pub label: Option<String>,
    /// `pi` or `xcsh`.
    pub profile: &'static str,
    /// Where it comes from.
    pub source: SourceInfo,
    /// Names of its tools.
    pub tools: Vec<String>,
    /// Names of its commands.
    pub commands: Vec<String>,
    /// Events it listens to, each once.
    pub events: Vec<String>,
}

/// A command as lists show it.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandInfo {
    /// Name after the slash.
    pub name: String,
    /// Its description.
    pub description: Option<String>,
    /// Whether [`ExtensionHost::completions`] can say anything.
    pub has_completions: bool,
    /// Where it comes from.
    pub source: SourceInfo,
}

/// A shortcut in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShortcutInfo {
    /// Lower-cased key.
    pub key: String,
    /// Its description.
    pub description: Option<String>,
    /// Extension that registered it.
    pub extension_path: String,
}

impl ExtensionHost {
    /// All loaded extensions in load order.
    pub fn extensions(&self) -> Vec<ExtensionSummary> {
        self.shared.registry.with(|extensions| {
            extensions
                .iter()
                .filter(|loaded| !super::builtin::is_builtin(&loaded.info))
                .map(|loaded| {
                    let mut events: Vec<String> = Vec::new();
                    for handler in &loaded.registered.handlers {
                        if !events.contains(&handler.event) {
                            events.push(handler.event.clone());
                        }
                    }
                    ExtensionSummary {
                        path: loaded.info.path.clone(),
                        label: loaded.registered.label.clone(),
                        profile: loaded.info.profile.as_str(),
                        source: loaded.info.source.clone(),
                        tools: loaded
                            .registered
                            .tools
                            .iter()
                            .map(|tool| tool.name.clone())
                            .collect(),
                        commands: loaded
                            .registered
                            .commands
                            .iter()
                            .map(|command| command.name.clone())
                            .collect(),
                        events,
                    }
                })
                .collect()
        })
    }

    /// Extension commands, for `get_commands` and autocompletion.
    pub fn commands(&self) -> Vec<CommandInfo> {
        self.shared.registry.with(|extensions| {
            commands::list(extensions)
                .into_iter()
                .map(|command| CommandInfo {
                    name: command.invoked_as,
                    description: command.description,
                    has_completions: command.has_completions,
                    source: command.info.source.clone(),
                })
                .collect()
        })
    }

    /// Shortcuts in force.
    pub fn shortcuts(&self) -> Vec<ShortcutInfo> {
        self.shared.registry.with(|extensions| {
            shortcuts::resolve(extensions)
                .0
                .into_iter()
                .map(|shortcut| ShortcutInfo {
                    key: shortcut.key,
                    description: shortcut.description,
                    extension_path: shortcut.info.path.clone(),
                })
                .collect()
        })
    }

    /// Warnings for extension commands that hide behind a built-in command of the mode.
    pub fn builtin_conflicts(&self, builtin: &[&str]) -> Vec<String> {
        let conflicts = self
            .commands()
            .into_iter()
            .filter(|command| builtin.contains(&command.name.as_str()));
        conflicts
            .map(|command| {
                format!(
                    "Extension command '{}' from {} conflicts with built-in commands. Skipping.",
                    command.name, command.source.path
                )
            })
            .collect()
    }

    /// Asks every registered service for its status, in load order; each answer has `name`, `group?`, `state`, `hint?`.
    pub async fn service_status(&self) -> Vec<Value> {
        let services = self.shared.registry.with(|extensions| {
            let mut all = Vec::new();
            for loaded in extensions {
                for service in &loaded.registered.service_status {
                    all.push((loaded.info.clone(), service.clone()));
                }
            }
            all
        });
        let shared = &self.shared;
        let asked = services.into_iter().map(|(info, service)| async move {
            let header = json!({"ext": info.id, "name": service.name});
            let mut status = match shared
                .small_call(&info, &service.name, "serviceStatus", &header, None)
                .await
            {
                Ok(answer) if answer.is_object() => answer,
                Ok(_) => json!({"state": "unavailable", "hint": "the check gave no answer"}),
                Err(error) => json!({"state": "unavailable", "hint": error.to_string()}),
            };
            status["name"] = json!(service.name);
            if let Some(group) = service.group {
                status["group"] = json!(group);
            }
            status
        });
        futures::future::join_all(asked).await
    }
}

impl Shared {
    /// `pi.getCommands()`: extension commands, then templates and skills.
    pub(crate) fn slash_commands(&self) -> Vec<Value> {
        let mut list: Vec<Value> = self.registry.with(|extensions| {
            commands::list(extensions)
                .into_iter()
                .map(|command| {
                    let mut entry = json!({
                        "name": command.invoked_as,
                        "source": "extension",
                        "sourceInfo": command.info.source,
                    });
                    if let Some(description) = command.description {
                        entry["description"] = json!(description);
                    }
                    entry
                })
                .collect()
        });
        if let Some(session) = self.session() {
            list.extend(session.prompt_commands());
        }
        list
    }
}
