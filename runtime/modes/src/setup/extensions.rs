//! Loads extensions through the bridge, in two steps around the decision about trust.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use pier_agent::hooks::{DiscoveredResources, SessionStartReason, ShutdownReason};
use pier_agent::prompt::PromptConfig;
use pier_agent::regular_file;
use pier_bridge::discovery::{
    DiscoveredExtension, Discovery, DiscoveryOptions, Profile, Scope, SettingsLayer,
};
use pier_bridge::trust::{DefaultTrust, TrustQuestion, TrustSource};
use pier_bridge::{ExtensionHost, LoadOutcome};
use pier_protocol::extension::ExtensionErrorReport;
use pier_protocol::ui::ComponentHandle;
use serde_json::Value;

use super::options::ResourceChoice;
use super::prompt_files::PromptFiles;
use crate::extensions::{Extensions, SlashCommand};

/// Where extensions are looked for.
#[derive(Clone)]
pub(super) struct Places {
    pub(super) cwd: PathBuf,
    pub(super) agent_dir: PathBuf,
    pub(super) choice: ResourceChoice,
    /// Functions of the extension that started the session.
    pub(super) inline: Vec<DiscoveredExtension>,
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
        discovery.extensions.extend(self.inline.iter().cloned());
        discovery
    }

    /// Loads everything that may be loaded, for a session whose project was decided about already.
    pub(super) async fn load_all(&self, host: &ExtensionHost, trusted: bool) -> LoadOutcome {
        let outcome = host.load(&self.discover(trusted).await, |_| true).await;
        self.plan(host, trusted);
        outcome
    }

    /// Tells the host how to find them again.
    fn plan(&self, host: &ExtensionHost, trusted: bool) {
        let places = self.clone();
        host.set_discovery_plan(Arc::new(move || {
            let places = places.clone();
            Box::pin(async move { places.discover(trusted).await })
        }));
    }
}

fn layer(base: &Path, scope: Scope) -> SettingsLayer {
    let file = base.join("settings.json");
    // A missing or broken file is an empty object here; the settings store has warned about it.
    let values = regular_file::read_to_string(&file)
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
    // Settings of the project count only once it is trusted: before, they could hide or disable an
    // extension that guards the user.
    let found = ExtensionHost::discover(places.options(false)).await;
    let mut outcome = host
        .load(&found, |extension| extension.scope != Scope::Project)
        .await;
    let question = TrustQuestion {
        cwd: places.cwd.clone(),
        agent_dir: places.agent_dir.clone(),
        from_flags: flag,
        default: DefaultTrust::from_settings(settings),
    };
    let decision = host.decide_trust(&question).await;
    let trusted = decision.trusted;
    host.set_trusted(trusted);
    if trusted && decision.source != TrustSource::NothingToTrust {
        let everything = ExtensionHost::discover(places.options(true)).await;
        let second = host.align(&everything).await;
        outcome.loaded.extend(second.loaded);
        // What the first discovery said already is not said again.
        let errors = second.errors.into_iter();
        let errors: Vec<_> = errors
            .filter(|error| !outcome.errors.contains(error))
            .collect();
        outcome.errors.extend(errors);
        let warnings = second.warnings.into_iter();
        let warnings: Vec<_> = warnings
            .filter(|text| !outcome.warnings.contains(text))
            .collect();
        outcome.warnings.extend(warnings);
    }
    if !trusted && flag.is_none() {
        outcome.warnings.extend(skipped(&found));
    }
    places.plan(host, trusted);
    (outcome, trusted)
}

/// What to say about extensions that were left out because nobody has said that the project is trusted.
fn skipped(found: &Discovery) -> Option<String> {
    let paths: Vec<String> = found
        .extensions
        .iter()
        .filter(|extension| extension.scope == Scope::Project)
        .map(|extension| extension.path.display().to_string())
        .collect();
    (!paths.is_empty()).then(|| {
        format!(
            "This project is not trusted, so its extensions were not loaded: {}. Start with --approve to trust it this time, or with --no-approve to stay silent",
            paths.join(", ")
        )
    })
}

/// The bridge's extensions as modes see them.
pub(super) struct Loaded {
    pub(super) host: ExtensionHost,
    /// Instructions, templates and skills.
    pub(super) files: Arc<PromptFiles>,
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
        commands.chain(self.files.commands()).collect()
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

    fn read_prompt(
        &self,
        discovered: &DiscoveredResources,
    ) -> Option<(PromptConfig, Vec<ExtensionErrorReport>)> {
        let reading = match self.files.read(discovered) {
            Ok(reading) => reading,
            // The prompt stays as it was.
            Err(problem) => {
                super::warn_all(&[problem]);
                return None;
            }
        };
        super::warn_all(&reading.warnings);
        Some((reading.prompt, reading.reports))
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
