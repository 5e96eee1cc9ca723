//! Model providers that extensions register or `models.json` describes, as providers of the agent
//! (`spec/extension-api.md` §7.6). Where their keys and headers come from is in [`access`].

mod access;
mod auth_file;
pub(crate) mod complete;
pub(crate) mod credentials;
mod hosted;
pub(crate) mod key;
pub(crate) mod models;
pub(crate) mod models_file;
pub(crate) mod stream;
pub(crate) mod validate;

use std::sync::Arc;

use pier_protocol::extension::ProviderRegistration;
use pier_protocol::model::Model;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::calls::Purpose;
use crate::host::{ExtensionHost, Shared};
use crate::isolate::PermissionProfile;
use crate::registry::ExtensionInfo;
use hosted::HostedProvider;
use models_file::ModelsFile;

/// Owner of what only `models.json` defines.
const FILE_OWNER: &str = "models.json";

impl ExtensionHost {
    /// Reads `models.json` and offers the providers that it defines completely; the others wait for whoever defines
    /// them. Answers what is wrong with the file.
    pub fn load_models_file(&self) -> Vec<String> {
        let shared = &self.shared;
        let file = match ModelsFile::load(&shared.options.agent_dir.join("models.json")) {
            Ok(file) => file,
            Err(problem) => return vec![problem],
        };
        *shared.models_file.write() = Arc::new(file);
        let file = shared.models_file();
        let complete = file.names().filter(|name| !file.needs_others(name));
        complete
            .filter_map(|name| shared.register_from_file(&file, name).err())
            .map(|problem| format!("models.json: {problem}"))
            .collect()
    }

    /// Whether `models.json` changes a provider that is not there (yet).
    pub fn models_file_needs_others(&self) -> bool {
        let file = self.shared.models_file();
        file.names().any(|name| {
            file.needs_others(name) && self.shared.options.providers.get(name).is_none()
        })
    }

    /// What `models.json` says about providers that nobody defined in the end.
    pub fn models_file_leftovers(&self) -> Vec<String> {
        let file = self.shared.models_file();
        file.names()
            .filter(|name| self.shared.options.providers.get(name).is_none())
            .map(|name| {
                format!(
                    "models.json: provider \"{name}\" is not known; define its \"baseUrl\", \"api\" and \"models\"."
                )
            })
            .collect()
    }
}

impl Shared {
    pub(crate) fn models_file(&self) -> Arc<ModelsFile> {
        self.models_file.read().clone()
    }

    fn register_from_file(self: &Arc<Self>, file: &ModelsFile, name: &str) -> Result<(), String> {
        let models = file.compose(name, Vec::new())?;
        let provider = HostedProvider::new(self, name, None);
        self.options
            .providers
            .register(FILE_OWNER, name, Arc::new(provider), models);
        self.touch();
        Ok(())
    }

    /// Registers a provider at once. The error is the text for the extension.
    pub(crate) fn register_provider(
        self: &Arc<Self>,
        info: &Arc<ExtensionInfo>,
        registration: &ProviderRegistration,
    ) -> Result<(), String> {
        validate::validate(registration)?;
        let name = &registration.name;
        let providers = &self.options.providers;
        if info.isolate.permissions == PermissionProfile::Restricted {
            let taken = providers
                .get(name)
                .is_some_and(|_| !providers.is_owner(&info.owner(), name));
            validate::restricted(registration, taken || self.has_stored_key(name))?;
        }
        let own = models::own_models(registration)?;
        if own.is_empty() && !registration.has_stream_simple {
            // Only an endpoint: the existing models of that provider move there.
            let Some(entry) = providers.get(name) else {
                // Applied again once the built-in providers are there.
                if self.builtin_info().is_none() {
                    return Ok(());
                }
                return Err(format!(
                    "Provider {name}: there are no models to redirect; define \"models\"."
                ));
            };
            let moved = entry
                .models
                .iter()
                .map(|model| models::redirect(model, &registration.config))
                .collect();
            providers.register(&info.owner(), name, entry.provider, moved);
            self.touch();
            return Ok(());
        }
        let models = if own.is_empty() {
            providers
                .get(name)
                .map(|entry| entry.models.iter().map(|model| (**model).clone()).collect())
                .unwrap_or_default()
        } else {
            own
        };
        let models = self.with_models_file(name, models);
        let provider = HostedProvider::new(self, name, Some((info.clone(), registration.clone())));
        providers.register(&info.owner(), name, Arc::new(provider), models);
        self.touch();
        Ok(())
    }

    /// The models with what `models.json` adds; without that when the file does not fit, which is said.
    fn with_models_file(&self, name: &str, models: Vec<Model>) -> Vec<Model> {
        match self.models_file().compose(name, models.clone()) {
            Ok(models) => models,
            Err(problem) => {
                self.reports.text(FILE_OWNER, "register_provider", problem);
                models
            }
        }
    }

    /// Takes a provider back; what it had replaced returns.
    pub(crate) fn unregister_provider(&self, info: &ExtensionInfo, name: &str) {
        self.options.providers.unregister(&info.owner(), name);
        self.touch();
    }

    /// `refreshModels` of every provider that has it.
    pub(crate) async fn refresh_models(self: &Arc<Self>) {
        let all = self.registry.with(|extensions| {
            let mut found = Vec::new();
            for loaded in extensions {
                let having = loaded
                    .registered
                    .providers
                    .iter()
                    .filter(|provider| provider.has_refresh_models);
                found.extend(having.map(|provider| (loaded.info.clone(), provider.clone())));
            }
            found
        });
        for (info, registration) in all {
            let scope = self.calls.begin(
                info.id,
                &registration.name,
                Purpose::Other,
                CancellationToken::new(),
            );
            let header =
                json!({"ext": info.id, "provider": registration.name, "callId": scope.id()});
            let deadline = self.limits.read().handler;
            let answer = self
                .invoke_json(
                    &info.isolate,
                    "refreshModels",
                    &header,
                    None,
                    &scope,
                    deadline,
                )
                .await;
            match answer {
                Ok(list @ Value::Array(_)) => {
                    let mut refreshed = registration.clone();
                    refreshed.config["models"] = list;
                    if let Err(problem) = self.register_provider(&info, &refreshed) {
                        self.reports.text(&info.path, "refresh_models", problem);
                    }
                }
                Ok(_) => {}
                Err(error) => self
                    .reports
                    .call_failed(&info.path, "refresh_models", &error),
            }
        }
    }

    /// What extensions registered under a provider's name, the newest first.
    pub(crate) fn registrations_of(
        &self,
        provider: &str,
    ) -> Vec<(Arc<ExtensionInfo>, ProviderRegistration)> {
        self.registry.with(|extensions| {
            let newest_first = extensions.iter().rev();
            newest_first
                .filter_map(|loaded| {
                    let mut known = loaded.registered.providers.iter();
                    let found = known.find(|known| known.name == provider)?;
                    Some((loaded.info.clone(), found.clone()))
                })
                .collect()
        })
    }
}
