//! The built-in model providers: an extension of the host's own, in an isolate of its own, loaded when somebody needs it.
//!
//! Credentials stay here; the isolate gets a key with each request. Lists of extensions never show it.

use std::path::PathBuf;
use std::sync::Arc;

use super::load::{LoadOutcome, Placed};
use super::{ExtensionHost, Shared};
use crate::discovery::{DiscoveredExtension, PackageKey, Profile, Scope, Surface};
use crate::registry::ExtensionInfo;

/// Module specifier of the providers.
pub(super) const ENTRY: &str = "pier:providers";
/// Path under which their errors are reported.
const PATH: &str = "<builtin:providers>";

/// Whether an extension is the host's own.
pub(super) fn is_builtin(info: &ExtensionInfo) -> bool {
    info.path == PATH
}

impl ExtensionHost {
    /// Loads the built-in providers, once. Worth its time only when a model other than the scripted one may be used:
    /// requests of providers that describe no more than an endpoint load it by themselves.
    pub async fn load_builtin_providers(&self) -> LoadOutcome {
        self.shared.load_builtin().await
    }
}

impl Shared {
    pub(crate) async fn load_builtin(self: &Arc<Self>) -> LoadOutcome {
        let _one = self.builtin_lock.lock().await;
        if self.builtin_info().is_some() {
            return LoadOutcome::default();
        }
        let extension = DiscoveredExtension {
            path: PATH.into(),
            entry: PathBuf::from(ENTRY),
            package: PackageKey(ENTRY.into()),
            root: self.options.agent_dir.clone(),
            profile: Profile::Xcsh,
            scope: Scope::Temporary,
            source: "builtin".into(),
            from_package: false,
            surface: Surface::Extension,
        };
        // Before every extension: what they register under the same name counts.
        let outcome = self
            .load(vec![Placed {
                order: 0,
                extension,
            }])
            .await;
        // Extensions that move a built-in provider to another endpoint could not do so before there were models.
        for (info, registrations) in self.registry.with(|extensions| {
            let others = extensions.iter().filter(|loaded| !is_builtin(&loaded.info));
            others
                .map(|loaded| (loaded.info.clone(), loaded.registered.providers.clone()))
                .collect::<Vec<_>>()
        }) {
            for registration in registrations {
                if let Err(problem) = self.register_provider(&info, &registration) {
                    self.reports.text(&info.path, "register_provider", problem);
                }
            }
        }
        self.follow_logins().await;
        outcome
    }

    /// The built-in providers, when they are loaded.
    pub(crate) fn builtin_info(&self) -> Option<Arc<ExtensionInfo>> {
        self.registry
            .infos()
            .into_iter()
            .find(|info| is_builtin(info))
    }

    /// An extension and a provider of it that stream any model of a protocol that the library speaks.
    pub(crate) async fn any_builtin_stream(
        self: &Arc<Self>,
    ) -> Result<(Arc<ExtensionInfo>, String), String> {
        let outcome = self.load_builtin().await;
        if let Some(problem) = outcome.errors.first() {
            return Err(format!(
                "the built-in providers could not be loaded: {}",
                problem.error
            ));
        }
        let found = self.registry.with(|extensions| {
            let builtin = extensions.iter().find(|loaded| is_builtin(&loaded.info))?;
            let provider = builtin
                .registered
                .providers
                .iter()
                .find(|provider| provider.has_stream_simple)?;
            Some((builtin.info.clone(), provider.name.clone()))
        });
        found.ok_or_else(|| "there are no built-in providers".to_string())
    }
}
