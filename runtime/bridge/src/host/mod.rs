//! [`ExtensionHost`]: all extensions of one session. Loads them, keeps what they registered, ends them.
//!
//! The work is in the sub-modules and in `dispatch`, `host_calls`, `tools`, `providers`; this file holds the state they
//! share and the public handle.

mod bind;
mod builtin;
mod commands;
mod faults;
mod info;
mod inline;
mod invoke;
mod load;
mod reload;
mod services;
mod shutdown;
pub(crate) mod slot;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};
use pier_agent::provider::ProviderRegistry;
use pier_agent::tool::ToolRegistry;
use pier_protocol::extension::Registrations;
use serde_json::{Map, Value};

pub use bind::{Binding, Mode};
pub use info::{CommandInfo, ExtensionSummary, ShortcutInfo};
pub use inline::{Inline, InlinePlace};
pub use load::LoadOutcome;

use crate::calls::CallTable;
use crate::discovery::{DiscoveredExtension, Discovery, DiscoveryOptions};
use crate::dispatch::strikes::Strikes;
use crate::dispatch::updates::UpdateQueue;
use crate::exec::ExecTable;
use crate::host_calls::tables::{CancelTable, UnsupportedOnce};
use crate::isolate::{HostCallError, IsolateFactory, PermissionProfile};
use crate::limits::Limits;
use crate::registry::Registry;
use crate::report::Reporter;
use crate::session_port::Session;
use crate::wire::ExtId;
use slot::IsolateSlot;

/// Fixed facts about the program and the session.
#[derive(Clone)]
pub struct HostOptions {
    /// `appName` for extensions.
    pub app_name: String,
    /// Version of the program.
    pub version: String,
    /// Session working directory.
    pub cwd: PathBuf,
    /// The agent directory.
    pub agent_dir: PathBuf,
    /// Name of the configuration directory, `.pi` by default.
    pub config_dir_name: String,
    /// Limits.
    pub limits: Limits,
    /// Tools of the session; extension tools are registered here.
    pub tools: Arc<ToolRegistry>,
    /// Providers of the session; extension providers are registered here.
    pub providers: Arc<ProviderRegistry>,
    /// Merged settings while no session is bound.
    pub settings: Value,
}

/// Discovers extensions, with current settings and trust.
pub type DiscoveryPlan =
    Arc<dyn Fn() -> futures::future::BoxFuture<'static, Discovery> + Send + Sync>;

/// Handle; clones refer to the same extensions.
#[derive(Clone)]
pub struct ExtensionHost {
    pub(crate) shared: Arc<Shared>,
}

/// State that every part of the bridge works on.
pub(crate) struct Shared {
    pub(crate) options: HostOptions,
    pub(crate) limits: RwLock<Limits>,
    pub(crate) factory: Arc<dyn IsolateFactory>,
    pub(crate) runtime: tokio::runtime::Handle,
    pub(crate) registry: Registry,
    pub(crate) calls: CallTable,
    pub(crate) reports: Reporter,
    pub(crate) execs: ExecTable,
    pub(crate) dialogs: CancelTable<crate::ui::DialogEnd>,
    pub(crate) nested: CancelTable<()>,
    pub(crate) completions: CancelTable<()>,
    pub(crate) builtin: CancelTable<()>,
    /// What extensions do with files, in turn with the tools.
    pub(crate) file_turns: crate::file_turns::FileTurns,
    /// Sessions that extensions started.
    pub(crate) children: crate::children::Children,
    pub(crate) unsupported: UnsupportedOnce,
    pub(crate) updates: UpdateQueue,
    pub(crate) strikes: Strikes,
    pub(crate) binding: RwLock<Binding>,
    pub(crate) session: RwLock<Option<Session>>,
    /// Held while the built-in providers are loaded.
    pub(crate) builtin_lock: tokio::sync::Mutex<()>,
    /// The isolate of the functions that this session was given as extensions.
    pub(crate) inline_place: RwLock<Option<Arc<IsolateSlot>>>,
    /// Finds extensions again for a reload.
    pub(crate) plan: RwLock<Option<DiscoveryPlan>>,
    /// Given on the command line; kept over reloads.
    pub(crate) flag_values: RwLock<Map<String, Value>>,
    /// What `models.json` says.
    pub(crate) models_file: RwLock<Arc<crate::providers::models_file::ModelsFile>>,
    /// What was wrong with it when it was read last.
    pub(crate) models_problem: RwLock<Option<String>>,
    pub(crate) auth_cache: crate::providers::credentials::AuthCache,
    pub(crate) login_models: crate::providers::login_models::LoginModels,
    /// Keys given for this process only (`--api-key`), by provider.
    pub(crate) runtime_keys: RwLock<HashMap<String, String>>,
    pub(crate) isolates: Mutex<Vec<Arc<IsolateSlot>>>,
    /// Late registrations of extensions that are still being loaded.
    pub(crate) early: Mutex<HashMap<ExtId, Vec<Registrations>>>,
    /// Warnings that isolates raised while loading.
    pub(crate) notes: Mutex<Vec<String>>,
    /// Status keys and widgets that extensions put on the screen.
    pub(crate) on_screen: crate::host_calls::ui::OnScreen,
    pub(crate) bound: AtomicBool,
    pub(crate) trusted: AtomicBool,
    /// Counts changes that only the bridge knows of; part of `stateVersion`.
    pub(crate) changes: AtomicU64,
    pub(crate) next_ext: AtomicU32,
    /// Position of the last fork, to tell xcsh's branch from its copy.
    pub(crate) last_fork_at: AtomicBool,
}

impl ExtensionHost {
    /// An empty host. Must be called inside a tokio runtime; host calls run on it.
    pub fn new(options: HostOptions, factory: Arc<dyn IsolateFactory>) -> Self {
        let limits = options.limits.clone();
        let shared = Arc::new(Shared {
            limits: RwLock::new(limits),
            options,
            factory,
            runtime: tokio::runtime::Handle::current(),
            registry: Registry::default(),
            calls: CallTable::default(),
            reports: Reporter::default(),
            execs: ExecTable::default(),
            dialogs: CancelTable::default(),
            nested: CancelTable::default(),
            completions: CancelTable::default(),
            unsupported: UnsupportedOnce::default(),
            updates: UpdateQueue::default(),
            strikes: Strikes::default(),
            binding: RwLock::new(Binding::default()),
            session: RwLock::new(None),
            builtin_lock: tokio::sync::Mutex::new(()),
            inline_place: RwLock::new(None),
            plan: RwLock::new(None),
            builtin: CancelTable::default(),
            file_turns: crate::file_turns::FileTurns::default(),
            children: crate::children::Children::default(),
            flag_values: RwLock::new(Map::new()),
            models_file: RwLock::default(),
            models_problem: RwLock::default(),
            auth_cache: crate::providers::credentials::AuthCache::default(),
            login_models: crate::providers::login_models::LoginModels::default(),
            runtime_keys: RwLock::default(),
            isolates: Mutex::default(),
            early: Mutex::default(),
            notes: Mutex::default(),
            on_screen: crate::host_calls::ui::OnScreen::default(),
            bound: AtomicBool::new(false),
            trusted: AtomicBool::new(false),
            changes: AtomicU64::new(0),
            next_ext: AtomicU32::new(0),
            last_fork_at: AtomicBool::new(false),
        });
        Self { shared }
    }

    /// Reports go to `sink`; earlier ones are delivered first.
    pub fn set_error_sink(&self, sink: crate::report::ErrorSink) {
        self.shared.reports.set_sink(sink);
    }

    /// Logs in to a provider that an extension registered with `oauth`, through the UI, and stores the credential.
    pub async fn login(&self, provider: &str) -> Result<(), String> {
        self.shared.login(provider).await
    }

    /// How a reload finds extensions. Without it a reload loads the same files again.
    pub fn set_discovery_plan(&self, plan: DiscoveryPlan) {
        *self.shared.plan.write() = Some(plan);
    }

    /// Values of extension flags, before anything is loaded: those of the session that a session belongs to.
    pub fn set_flag_values(&self, values: Map<String, Value>) {
        *self.shared.flag_values.write() = values;
    }

    /// Replaces the limits; running calls keep theirs.
    pub fn set_limits(&self, limits: Limits) {
        *self.shared.limits.write() = limits;
    }

    /// Uses `key` for a provider, before anything stored or configured; never written anywhere.
    pub fn set_runtime_key(&self, provider: &str, key: String) {
        self.shared
            .runtime_keys
            .write()
            .insert(provider.to_string(), key);
        self.shared.touch();
        self.shared.follow_login_soon(provider);
    }

    /// What `ctx.isProjectTrusted()` answers.
    pub fn set_trusted(&self, trusted: bool) {
        self.shared.trusted.store(trusted, Ordering::Release);
        self.shared.touch();
    }

    /// Looks for extensions on a blocking thread.
    pub async fn discover(options: DiscoveryOptions) -> Discovery {
        let found = tokio::task::spawn_blocking(move || crate::discovery::discover(&options)).await;
        found.unwrap_or_else(|error| Discovery {
            warnings: vec![format!("extension discovery failed: {error}")],
            ..Discovery::default()
        })
    }
}

impl Shared {
    /// The session, once one is bound.
    pub(crate) fn session(&self) -> Option<Session> {
        self.session.read().clone()
    }

    /// The session, or the error of an action method that was called too early (`spec/extension-api.md` §2.2).
    pub(crate) fn bound_session(&self) -> Result<Session, HostCallError> {
        self.session().ok_or_else(|| {
            HostCallError::of(
                "ExtensionRuntimeNotInitializedError",
                "Extension runtime not initialized. Action methods cannot be called during extension loading.",
            )
        })
    }

    /// Something that `state` shows changed.
    pub(crate) fn touch(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn allocate_ext(&self) -> ExtId {
        self.next_ext.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Permissions of a package: what the user listed or installed is trusted like in pi; what a project brings along
    /// as a package is not, unless settings say so.
    pub(crate) fn permissions_for(&self, extension: &DiscoveredExtension) -> PermissionProfile {
        let settings = self.settings();
        let named = settings
            .get("extensionPermissions")
            .and_then(Value::as_object);
        let word = named.and_then(|named| {
            named
                .get(&extension.source)
                .or_else(|| named.get(&extension.package.0))
                .or_else(|| named.get(extension.path.to_string_lossy().as_ref()))
                .and_then(Value::as_str)
        });
        match word {
            Some("trusted") => PermissionProfile::Trusted,
            Some("restricted") => PermissionProfile::Restricted,
            _ if extension.scope == crate::discovery::Scope::Project && extension.from_package => {
                PermissionProfile::Restricted
            }
            _ => PermissionProfile::Trusted,
        }
    }

    /// Merged settings.
    pub(crate) fn settings(&self) -> Value {
        match self.session() {
            Some(session) => session.settings(),
            None => self.options.settings.clone(),
        }
    }

    /// Session working directory.
    pub(crate) fn cwd(&self) -> PathBuf {
        match self.session() {
            Some(session) => session.cwd(),
            None => self.options.cwd.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
