//! Loads extensions through the bridge, in two steps around the decision about trust.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use pier_agent::hooks::{SessionStartReason, ShutdownReason};
use pier_bridge::discovery::{Discovery, DiscoveryOptions, Profile, Scope, SettingsLayer};
use pier_bridge::trust::{DefaultTrust, TrustQuestion};
use pier_bridge::{ExtensionHost, LoadOutcome};
use pier_protocol::ui::ComponentHandle;
use serde_json::Value;

use super::options::ResourceChoice;
use crate::extensions::{Extensions, SlashCommand};

/// Where extensions are looked for.
#[derive(Clone)]
pub(super) struct Places {
    pub(super) cwd: PathBuf,
    pub(super) agent_dir: PathBuf,
    pub(super) choice: ResourceChoice,
}

impl Places {
    fn options(&self, trusted: bool) -> DiscoveryOptions {
        let mut options = DiscoveryOptions::standard(
            self.cwd.clone(),
            self.agent_dir.clone(),
            crate::paths::home(),
        );
        options.explicit.clone_from(&self.choice.extensions);
        options.no_discovery = self.choice.no_extensions;
        if trusted {
            options
                .settings
                .push(layer(&self.cwd.join(".pi"), Scope::Project));
        }
        options.settings.push(layer(&self.agent_dir, Scope::User));
        options
    }

    /// What may be loaded: everything, or everything that is not the project's.
    async fn discover(&self, trusted: bool) -> Discovery {
        let mut discovery = ExtensionHost::discover(self.options(trusted)).await;
        if !trusted {
            discovery
                .extensions
                .retain(|extension| extension.scope != Scope::Project);
        }
        discovery
    }
}

fn layer(base: &Path, scope: Scope) -> SettingsLayer {
    let file = base.join("settings.json");
    // A missing or broken file is an empty object here; the settings store has warned about it.
    let values = std::fs::read_to_string(&file)
        .ok()
        .and_then(|text| serde_json::from_str::<Value>(&text).ok())
        .filter(Value::is_object)
        .unwrap_or_else(|| Value::Object(serde_json::Map::new()));
    SettingsLayer {
        file,
        base: base.to_owned(),
        scope,
        profile: Profile::Pi,
        values,
    }
}

/// Loads what the user chose, decides about trust, then loads what the project brings along. The
/// second part says whether the project is trusted.
pub(super) async fn load(
    host: &ExtensionHost,
    places: &Places,
    flag: Option<bool>,
    settings: &Value,
) -> (LoadOutcome, bool) {
    // Settings of the project may add to the order, so what it lists is found before it is trusted;
    // nothing of it runs.
    let everything = ExtensionHost::discover(places.options(true)).await;
    let own = |scope: Scope| scope != Scope::Project;
    let mut outcome = host
        .load(&everything, |extension| own(extension.scope))
        .await;
    let question = TrustQuestion {
        cwd: places.cwd.clone(),
        agent_dir: places.agent_dir.clone(),
        from_flags: flag,
        default: DefaultTrust::from_settings(settings),
    };
    let trusted = host.decide_trust(&question).await.trusted;
    host.set_trusted(trusted);
    if trusted && everything.has_project_extensions() {
        let projects = Discovery {
            extensions: everything.extensions,
            ..Discovery::default()
        };
        let second = host
            .load(&projects, |extension| !own(extension.scope))
            .await;
        outcome.loaded.extend(second.loaded);
        outcome.errors.extend(second.errors);
        outcome.warnings.extend(second.warnings);
    }
    let places = places.clone();
    host.set_discovery_plan(Arc::new(move || {
        let places = places.clone();
        Box::pin(async move { places.discover(trusted).await })
    }));
    (outcome, trusted)
}

/// The bridge's extensions as modes see them.
pub(super) struct Loaded {
    pub(super) host: ExtensionHost,
    /// Templates and skills.
    pub(super) prompt_commands: Vec<SlashCommand>,
}

#[async_trait]
impl Extensions for Loaded {
    fn commands(&self) -> Vec<SlashCommand> {
        let commands = self
            .host
            .commands()
            .into_iter()
            .map(|command| SlashCommand {
                name: command.name,
                description: command.description,
                source: "extension",
                source_info: command.source,
            });
        commands
            .chain(self.prompt_commands.iter().cloned())
            .collect()
    }

    async fn services(&self) -> Vec<Value> {
        self.host.service_status().await
    }

    async fn component(
        &self,
        component: &ComponentHandle,
        op: &str,
        members: Value,
    ) -> Option<Value> {
        self.host.component(component, op, members).await
    }

    async fn reload(
        &self,
        ended: ShutdownReason,
        starting: SessionStartReason,
    ) -> Result<(), String> {
        let outcome = self.host.reload_runtime(ended, starting).await;
        super::warn_all(&outcome.warnings);
        match outcome.errors.as_slice() {
            [] => Ok(()),
            errors => Err(errors
                .iter()
                .map(super::load_sentence)
                .collect::<Vec<_>>()
                .join("\n")),
        }
    }

    async fn dispose(&self) {
        self.host.shutdown().await;
    }
}
