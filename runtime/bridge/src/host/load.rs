//! Loading: isolates start in parallel, factories of one package run one after another, and what they registered is
//! applied in load order. A failing extension leaves nothing behind and stops nobody (`spec/extension-api.md` §1.4).

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use pier_protocol::extension::{ExtensionErrorReport, Registrations};
use serde_json::json;

use super::services::Services;
use super::slot::IsolateSlot;
use super::{ExtensionHost, Shared};
use super::{builtin, inline};
use crate::discovery::{DiscoveredExtension, Discovery, PackageKey, file_url};
use crate::dispatch::rules::unknown_event;
use crate::isolate::realm::Realm;
use crate::isolate::{CallError, IsolateSpec};
use crate::registry::{ExtensionInfo, Identity, Loaded, merge, parse};
use crate::report::describe;
use crate::wire::{ExtId, LoadHeader};

/// What became of a load.
#[derive(Debug, Clone, Default)]
pub struct LoadOutcome {
    /// Paths of the extensions that are loaded now, in load order.
    pub loaded: Vec<String>,
    /// Extensions that failed; `error` is the reason of `Failed to load extension "<path>": <reason>`. They were not
    /// sent to the error sink: the caller decides how to show them.
    pub errors: Vec<ExtensionErrorReport>,
    /// Clashes and other things worth a warning.
    pub warnings: Vec<String>,
}

/// An extension to load and its position in load order.
#[derive(Clone)]
pub(crate) struct Placed {
    pub(crate) order: usize,
    pub(crate) extension: DiscoveredExtension,
}

/// How long an isolate that nobody needs gets to end.
const DISPOSE_GRACE: Duration = Duration::from_millis(500);

impl ExtensionHost {
    /// Loads the extensions of `discovery` that `which` picks. May be called again for others (trust: user-level
    /// extensions first, project ones after the decision): what is loaded already stays, at its place in this discovery.
    pub async fn load(
        &self,
        discovery: &Discovery,
        which: impl Fn(&DiscoveredExtension) -> bool,
    ) -> LoadOutcome {
        let known = self.shared.registry.infos();
        let mut orders = Vec::new();
        let mut placed = Vec::new();
        // Place 0 belongs to the host's own providers.
        for (order, extension) in (1..).zip(discovery.extensions.iter()) {
            match known
                .iter()
                .find(|info| info.discovered.entry == extension.entry)
            {
                Some(info) => orders.push((info.id, order)),
                None if which(extension) => placed.push(Placed {
                    order,
                    extension: extension.clone(),
                }),
                None => {}
            }
        }
        self.shared.registry.reorder(&orders);
        let mut outcome = self.shared.load(placed).await;
        let problems = discovery.problems.iter();
        outcome.errors.extend(
            problems
                .map(|problem| ExtensionErrorReport::new(&problem.path, "load", &problem.reason)),
        );
        outcome.warnings.extend(discovery.warnings.iter().cloned());
        outcome
    }

    /// Brings what is loaded in line with a discovery: loads what is missing, ends what is not listed any more. For the
    /// second step after a decision about trust, when settings of the project begin to count.
    pub async fn align(&self, discovery: &Discovery) -> LoadOutcome {
        let listed = |info: &ExtensionInfo| {
            discovery
                .extensions
                .iter()
                .any(|extension| extension.entry == info.discovered.entry)
        };
        for info in self.shared.registry.infos() {
            if !listed(&info) && !builtin::is_builtin(&info) {
                self.shared.withdraw(&info);
            }
        }
        self.shared.drop_empty_isolates().await;
        self.load(discovery, |_| true).await
    }
}

struct Attempt {
    id: ExtId,
    placed: Placed,
    slot: Arc<IsolateSlot>,
    result: Result<Registrations, ExtensionErrorReport>,
}

impl Shared {
    pub(crate) async fn load(self: &Arc<Self>, placed: Vec<Placed>) -> LoadOutcome {
        let mut groups: Vec<(PackageKey, Vec<Placed>)> = Vec::new();
        for item in placed {
            match groups
                .iter_mut()
                .find(|(key, _)| *key == item.extension.package)
            {
                Some((_, members)) => members.push(item),
                None => groups.push((item.extension.package.clone(), vec![item])),
            }
        }
        let mut tasks = Vec::new();
        for (package, members) in groups {
            let shared = self.clone();
            tasks.push(
                self.runtime
                    .spawn(async move { shared.load_package(package, members).await }),
            );
        }
        let mut attempts = Vec::new();
        let mut outcome = LoadOutcome::default();
        for task in tasks {
            match task.await {
                Ok(done) => attempts.extend(done),
                Err(error) => outcome.warnings.push(format!(
                    "loading an extension failed inside the host: {error}"
                )),
            }
        }
        attempts.sort_by_key(|attempt| attempt.placed.order);
        let mut loaded = Vec::new();
        for attempt in attempts {
            match attempt.result {
                Ok(registered) => {
                    outcome.loaded.push(shown(&attempt.placed.extension));
                    loaded.push(self.accept(attempt.id, attempt.placed, attempt.slot, registered));
                }
                Err(report) => {
                    self.early.lock().remove(&attempt.id);
                    outcome.errors.push(report);
                }
            }
        }
        self.apply(loaded, &mut outcome);
        self.follow_logins().await;
        outcome.warnings.append(&mut self.notes.lock());
        self.drop_empty_isolates().await;
        if self.bound.load(Ordering::Acquire) {
            self.bind_isolates().await;
        }
        outcome
    }

    fn accept(
        &self,
        id: ExtId,
        placed: Placed,
        slot: Arc<IsolateSlot>,
        mut registered: Registrations,
    ) -> Loaded {
        for change in self.early.lock().remove(&id).unwrap_or_default() {
            merge(&mut registered, change);
        }
        let identity = Identity {
            id,
            order: placed.order,
            isolate: slot,
            discovered: placed.extension,
        };
        let info = ExtensionInfo::new(identity);
        Loaded {
            info: Arc::new(info),
            registered,
        }
    }

    /// Makes registrations effective, in load order.
    fn apply(self: &Arc<Self>, loaded: Vec<Loaded>, outcome: &mut LoadOutcome) {
        outcome
            .warnings
            .extend(crate::tools::clash_notes(self, &loaded));
        for extension in &loaded {
            for handler in &extension.registered.handlers {
                if let Some(complaint) = unknown_event(&handler.event) {
                    let warning = format!("{}: {complaint}", extension.info.path);
                    if !outcome.warnings.contains(&warning) {
                        outcome.warnings.push(warning);
                    }
                }
            }
        }
        self.registry.add(loaded.clone());
        for extension in &loaded {
            for tool in &extension.registered.tools {
                self.register_tool(&extension.info, tool);
            }
            for provider in &extension.registered.providers {
                if let Err(message) = self.register_provider(&extension.info, provider) {
                    let _ = self.registry.change(extension.info.id, |registered| {
                        registered
                            .providers
                            .retain(|known| known.name != provider.name);
                    });
                    outcome.errors.push(ExtensionErrorReport::new(
                        &extension.info.path,
                        "register_provider",
                        message,
                    ));
                }
            }
        }
        self.registry.with(|extensions| {
            for (name, paths) in crate::registry::commands::clashes(extensions) {
                outcome.warnings.push(format!(
                    "Command \"/{name}\" is registered by {}; the last one is used, the others are /{name}:1 ... in this order.",
                    paths.join(", ")
                ));
            }
            outcome.warnings.extend(crate::registry::shortcuts::resolve(extensions).1);
        });
        self.touch();
    }

    async fn load_package(
        self: Arc<Self>,
        package: PackageKey,
        members: Vec<Placed>,
    ) -> Vec<Attempt> {
        let Some(first) = members.first() else {
            return Vec::new();
        };
        let slot = match self.slot_for(&package, first) {
            Ok(slot) => slot,
            Err((slot, message)) => {
                let failed = |placed: Placed| Attempt {
                    id: self.allocate_ext(),
                    result: Err(load_report(
                        &placed.extension,
                        format!("Failed to load extension: {message}"),
                    )),
                    placed,
                    slot: slot.clone(),
                };
                return members.into_iter().map(failed).collect();
            }
        };
        let mut attempts = Vec::new();
        for placed in members {
            let id = self.allocate_ext();
            slot.add(id, &shown(&placed.extension));
            let result = self.load_entry(&slot, id, &placed.extension).await;
            attempts.push(Attempt {
                id,
                placed,
                slot: slot.clone(),
                result,
            });
        }
        attempts
    }

    /// The running isolate of a package, or a new one.
    fn slot_for(
        self: &Arc<Self>,
        package: &PackageKey,
        first: &Placed,
    ) -> Result<Arc<IsolateSlot>, (Arc<IsolateSlot>, String)> {
        let known = self
            .isolates
            .lock()
            .iter()
            .find(|slot| slot.package == *package && slot.is_running())
            .cloned();
        if let Some(slot) = known {
            return Ok(slot);
        }
        let place = self.inline_place.read().clone();
        if let Some(isolate) = place.filter(|_| inline::is_inline(&first.extension)) {
            let slot = IsolateSlot::in_realm(package.clone(), isolate.name.clone(), &isolate);
            let slot = Arc::new(slot);
            slot.start(Arc::new(Realm::open(self, &slot, &isolate)));
            self.isolates.lock().push(slot.clone());
            return Ok(slot);
        }
        let name = crate::discovery::derived_name(&first.extension.path);
        let slot = Arc::new(IsolateSlot::new(
            package.clone(),
            name.clone(),
            first.extension.root.clone(),
            self.permissions_for(&first.extension),
        ));
        let limits = self.limits.read().clone();
        let spec = IsolateSpec {
            name,
            root: first.extension.root.clone(),
            cwd: self.cwd(),
            host: Arc::new(Services::new(self, &slot)),
            heap_limit_bytes: limits.heap_bytes,
            busy_limit: limits.busy,
            permissions: slot.permissions,
        };
        match self.factory.spawn(spec) {
            Ok(api) => slot.start(api),
            Err(message) => return Err((slot, message)),
        }
        self.isolates.lock().push(slot.clone());
        Ok(slot)
    }

    async fn load_entry(
        self: &Arc<Self>,
        slot: &Arc<IsolateSlot>,
        id: ExtId,
        extension: &DiscoveredExtension,
    ) -> Result<Registrations, ExtensionErrorReport> {
        let path = shown(extension);
        let entry = match extension.entry.to_str() {
            Some(builtin::ENTRY) => builtin::ENTRY.to_string(),
            Some(entry) if inline::is_inline(extension) => entry.to_owned(),
            _ => file_url(&extension.entry),
        };
        let cwd = self.cwd();
        let flags = self.flag_values.read().clone();
        let header = LoadHeader {
            ext: id,
            entry: &entry,
            path: &path,
            profile: extension.profile.as_str(),
            cwd: &cwd.to_string_lossy(),
            config_dir_name: &self.options.config_dir_name,
            agent_dir: &self.options.agent_dir.to_string_lossy(),
            app_name: &self.options.app_name,
            version: &self.options.version,
            surface: extension.surface.as_str(),
            flags: &flags,
        };
        self.early.lock().insert(id, Vec::new());
        let scope = self.calls.begin(
            id,
            "load",
            crate::calls::Purpose::Other,
            tokio_util::sync::CancellationToken::new(),
        );
        let deadline = self.limits.read().load;
        slot.load_begins();
        let answer = tokio::select! {
            answer = self.invoke_json(slot, "load", &header, None, &scope, deadline) => answer,
            failure = slot.load_stuck() => Err(CallError::Js(failure)),
        };
        let failure = match answer {
            Ok(value) => match parse::registrations(value) {
                Ok(registered) => return Ok(registered),
                Err(message) => {
                    load_report(extension, format!("Failed to load extension: {message}"))
                }
            },
            Err(error) => {
                let mut report = load_report(extension, reason(&error));
                report.stack = error.stack().map(str::to_string);
                report.location = error.place().cloned();
                report
            }
        };
        // Whatever the factory left running must not act on this session.
        if let Ok(api) = slot.api() {
            let message =
                format!("Extension \"{path}\" failed to load and its API is no longer active.");
            api.post(
                "stale",
                json!({"ext": id, "message": message}).to_string(),
                None,
            );
        }
        Err(failure)
    }

    /// Ends isolates in which no extension could be loaded.
    async fn drop_empty_isolates(self: &Arc<Self>) {
        let live: Vec<ExtId> = self.registry.infos().iter().map(|info| info.id).collect();
        let empty: Vec<_> = {
            let mut isolates = self.isolates.lock();
            let (keep, empty) = isolates
                .drain(..)
                .partition(|slot| slot.ids().iter().any(|id| live.contains(id)));
            *isolates = keep;
            empty
        };
        for slot in empty {
            slot.mark_ended();
            self.execs.kill_of(&slot.ids());
            self.file_turns.end_of(slot.id);
            self.end_children_of(slot.id);
            if let Ok(api) = slot.api() {
                api.dispose(DISPOSE_GRACE).await;
            }
        }
    }
}

fn shown(extension: &DiscoveredExtension) -> String {
    extension.path.to_string_lossy().into_owned()
}

fn load_report(extension: &DiscoveredExtension, reason: String) -> ExtensionErrorReport {
    ExtensionErrorReport::new(shown(extension), "load", reason)
}

/// The reason of a failed load (`spec/extension-api.md` §1.2, §1.4).
fn reason(error: &CallError) -> String {
    match error {
        CallError::Js(failure) if failure.name == "InvalidFactoryError" => failure.message.clone(),
        CallError::Js(failure) => format!("Failed to load extension: {}", failure.message),
        other => format!("Failed to load extension: {}", describe("load", other)),
    }
}
