//! Model providers that extensions register or `models.json` describes, as providers of the agent
//! (`spec/extension-api.md` §7.6). Where their keys and headers come from is in [`access`].

mod access;
mod auth_file;
pub(crate) mod complete;
pub(crate) mod credentials;
mod hosted;
pub(crate) mod key;
pub(crate) mod login_models;
pub(crate) mod models;
pub(crate) mod models_file;
mod secrets;
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
        match ModelsFile::load(&shared.options.agent_dir.join("models.json")) {
            Ok(file) => {
                *shared.models_file.write() = Arc::new(file);
                shared.register_complete()
            }
            Err(problem) => {
                let problem = format!("{problem}. None of its models are available.");
                *shared.models_problem.write() = Some(problem.clone());
                vec![problem]
            }
        }
    }

    /// Whether `models.json` changes a provider that is not there (yet).
    pub fn models_file_needs_others(&self) -> bool {
        self.shared.models_file_needs_others()
    }

    /// What `models.json` says about providers that nobody defined in the end.
    pub fn models_file_leftovers(&self) -> Vec<String> {
        self.shared.models_file_leftovers()
    }
}

impl Shared {
    fn models_file_needs_others(&self) -> bool {
        let file = self.models_file();
        file.names()
            .any(|name| file.needs_others(name) && self.options.providers.get(name).is_none())
    }

    fn models_file_leftovers(&self) -> Vec<String> {
        let file = self.models_file();
        file.names()
            .filter(|name| self.options.providers.get(name).is_none())
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

    /// Offers the providers that the file defines completely. Whoever registers one of them as well is above the file.
    fn register_complete(self: &Arc<Self>) -> Vec<String> {
        let file = self.models_file();
        let mut problems = Vec::new();
        for name in file.names().filter(|name| !file.needs_others(name)) {
            match file.compose(name, Vec::new()) {
                Ok(models) => {
                    let provider = Arc::new(HostedProvider::new(self, name, None));
                    let providers = &self.options.providers;
                    providers.register_below(FILE_OWNER, name, provider, models);
                }
                Err(problem) => problems.push(format!("models.json: {problem}")),
            }
        }
        self.touch();
        problems
    }

    /// Reads `models.json` again and brings what is registered in line with it. A file that is wrong changes nothing. Answers
    /// what is to be said.
    pub(crate) async fn read_models_file_again(self: &Arc<Self>) -> Vec<String> {
        let path = self.options.agent_dir.join("models.json");
        let reading = tokio::task::spawn_blocking(move || ModelsFile::load(&path)).await;
        let read = reading.unwrap_or_else(|error| Err(error.to_string()));
        let file = match read {
            Ok(file) => file,
            Err(problem) => {
                let problem = format!("{problem}. The models stay as they were.");
                *self.models_problem.write() = Some(problem.clone());
                return vec![problem];
            }
        };
        *self.models_problem.write() = None;
        let before = self.models_file();
        if *before == file {
            return Vec::new();
        }
        let mut names: Vec<String> = before.names().chain(file.names()).map(Into::into).collect();
        names.sort_unstable();
        names.dedup();
        *self.models_file.write() = Arc::new(file);
        self.options.providers.clear_owner(FILE_OWNER);
        let mut problems = self.register_complete();
        if self.models_file_needs_others() {
            let outcome = self.load_builtin().await;
            problems.extend(outcome.errors.into_iter().map(|report| report.error));
            problems.extend(outcome.warnings);
        }
        for name in &names {
            self.register_again(name);
        }
        problems.extend(self.models_file_leftovers());
        problems
    }

    /// Puts together anew what extensions registered under a name, the lowest first, so that the order stays.
    fn register_again(self: &Arc<Self>, name: &str) {
        let registrations = self.registrations_of(name);
        for owner in self.options.providers.owners(name) {
            let mut known = registrations.iter();
            let Some((info, registration)) = known.find(|(info, _)| info.owner() == owner) else {
                continue;
            };
            if let Err(problem) = self.register_provider(info, registration) {
                self.reports.text(&info.path, "register_provider", problem);
            }
        }
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
            let Some((_, entry)) = providers.registered(name) else {
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
                .registered(name)
                .map(|(_, entry)| entry.models.iter().map(|model| (**model).clone()).collect())
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
    pub(crate) fn unregister_provider(self: &Arc<Self>, info: &ExtensionInfo, name: &str) {
        self.options.providers.unregister(&info.owner(), name);
        self.touch();
        self.follow_login_soon(name);
    }

    /// `models.json` again, `refreshModels` of every provider that has it, then what logins change.
    pub(crate) async fn refresh_models(self: &Arc<Self>) {
        for problem in self.read_models_file_again().await {
            self.reports.text(FILE_OWNER, "refresh_models", problem);
        }
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
                    match self.register_provider(&info, &refreshed) {
                        Ok(()) => self.keep_registration(&info, refreshed),
                        Err(problem) => {
                            self.reports.text(&info.path, "refresh_models", problem);
                        }
                    }
                }
                Ok(_) => {}
                Err(error) => self
                    .reports
                    .call_failed(&info.path, "refresh_models", &error),
            }
        }
        self.follow_logins().await;
    }

    /// The first answer of the registrations of a provider, newest first.
    pub(super) fn find_registration<T>(
        &self,
        provider: &str,
        mut find: impl FnMut(&ProviderRegistration) -> Option<T>,
    ) -> Option<T> {
        self.registry.with(|extensions| {
            extensions.iter().rev().find_map(|loaded| {
                let mut known = loaded.registered.providers.iter();
                find(known.find(|known| known.name == provider)?)
            })
        })
    }

    /// What is registered from now on, for whoever puts the provider together anew.
    fn keep_registration(&self, info: &ExtensionInfo, registration: ProviderRegistration) {
        let _ = self.registry.change(info.id, |registered| {
            let mut known = registered.providers.iter_mut();
            if let Some(known) = known.find(|known| known.name == registration.name) {
                *known = registration;
            }
        });
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
