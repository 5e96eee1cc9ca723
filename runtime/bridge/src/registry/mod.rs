//! Which extensions are loaded and what they registered, always in load order. Knows nothing of isolates' insides.

pub(crate) mod commands;
pub(crate) mod flags;
pub(crate) mod parse;
pub(crate) mod shortcuts;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::RwLock;
use pier_protocol::extension::{Registrations, SourceInfo};
use serde_json::Value;

use crate::discovery::{DiscoveredExtension, Profile};
use crate::host::slot::IsolateSlot;
use crate::wire::ExtId;

/// What does not change about a loaded extension.
pub(crate) struct ExtensionInfo {
    pub(crate) id: ExtId,
    order: AtomicUsize,
    /// Path as reported.
    pub(crate) path: String,
    /// Directory of the entry, for relative paths that it returns.
    pub(crate) directory: String,
    pub(crate) profile: Profile,
    pub(crate) source: SourceInfo,
    pub(crate) isolate: Arc<IsolateSlot>,
    pub(crate) discovered: DiscoveredExtension,
}

/// What an [`ExtensionInfo`] is made of.
pub(crate) struct Identity {
    pub(crate) id: ExtId,
    pub(crate) order: usize,
    pub(crate) isolate: Arc<IsolateSlot>,
    pub(crate) discovered: DiscoveredExtension,
}

impl ExtensionInfo {
    pub(crate) fn new(identity: Identity) -> Self {
        let Identity {
            id,
            order,
            isolate,
            discovered,
        } = identity;
        let directory = discovered
            .path
            .parent()
            .map(|parent| parent.to_string_lossy().into_owned())
            .unwrap_or_default();
        Self {
            id,
            order: AtomicUsize::new(order),
            path: discovered.path.to_string_lossy().into_owned(),
            directory,
            profile: discovered.profile,
            source: source_info(&discovered),
            isolate,
            discovered,
        }
    }

    /// Position in load order.
    pub(crate) fn order(&self) -> usize {
        self.order.load(Ordering::Acquire)
    }

    /// Owner name in the agent's registries: unique, and gone with the extension.
    pub(crate) fn owner(&self) -> String {
        format!("extension:{}", self.id)
    }
}

/// `sourceInfo` of an extension (`spec/rpc.md` §3.2).
pub(crate) fn source_info(discovered: &DiscoveredExtension) -> SourceInfo {
    let path = discovered.path.to_string_lossy().into_owned();
    SourceInfo {
        path,
        source: match discovered.source.as_str() {
            "auto" | "settings" => "local".into(),
            other => other.to_string(),
        },
        scope: discovered.scope.as_str().into(),
        origin: if discovered.from_package {
            "package"
        } else {
            "top-level"
        }
        .into(),
        base_dir: discovered.from_package.then(|| path_text(&discovered.root)),
    }
}

fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// A live extension.
#[derive(Clone)]
pub(crate) struct Loaded {
    pub(crate) info: Arc<ExtensionInfo>,
    pub(crate) registered: Registrations,
}

/// One handler that an event goes to.
#[derive(Clone)]
pub(crate) struct Subscriber {
    pub(crate) info: Arc<ExtensionInfo>,
    pub(crate) handler: u64,
    /// The name that the extension subscribed to; alternatives of one event differ here.
    pub(crate) event: Arc<str>,
}

type Index = HashMap<Arc<str>, Vec<Subscriber>>;

/// All live extensions.
#[derive(Default)]
pub(crate) struct Registry {
    state: RwLock<State>,
    index: RwLock<Arc<Index>>,
    /// Whether any tool has `onSession`.
    tool_sessions: AtomicBool,
}

#[derive(Default)]
struct State {
    /// Sorted by `order`.
    extensions: Vec<Loaded>,
}

impl Registry {
    /// Adds extensions; each takes the place that its `order` says.
    pub(crate) fn add(&self, loaded: Vec<Loaded>) {
        let mut state = self.state.write();
        state.extensions.extend(loaded);
        state
            .extensions
            .sort_by_key(|extension| extension.info.order());
        self.rebuild(&state);
    }

    /// Moves extensions to other places in load order.
    pub(crate) fn reorder(&self, orders: &[(ExtId, usize)]) {
        let mut state = self.state.write();
        for (id, order) in orders {
            if let Some(extension) = state
                .extensions
                .iter()
                .find(|extension| extension.info.id == *id)
            {
                extension.info.order.store(*order, Ordering::Release);
            }
        }
        state
            .extensions
            .sort_by_key(|extension| extension.info.order());
        self.rebuild(&state);
    }

    /// Removes an extension and everything it registered.
    pub(crate) fn remove(&self, id: ExtId) -> Option<Loaded> {
        let mut state = self.state.write();
        let at = state
            .extensions
            .iter()
            .position(|extension| extension.info.id == id)?;
        let removed = state.extensions.remove(at);
        self.rebuild(&state);
        Some(removed)
    }

    /// Changes what one extension registered.
    pub(crate) fn change<R>(
        &self,
        id: ExtId,
        change: impl FnOnce(&mut Registrations) -> R,
    ) -> Option<R> {
        let mut state = self.state.write();
        let extension = state
            .extensions
            .iter_mut()
            .find(|extension| extension.info.id == id)?;
        let result = change(&mut extension.registered);
        self.rebuild(&state);
        Some(result)
    }

    /// One extension.
    pub(crate) fn get(&self, id: ExtId) -> Option<Arc<ExtensionInfo>> {
        self.state
            .read()
            .extensions
            .iter()
            .find(|extension| extension.info.id == id)
            .map(|found| found.info.clone())
    }

    /// All extensions in load order.
    pub(crate) fn infos(&self) -> Vec<Arc<ExtensionInfo>> {
        self.state
            .read()
            .extensions
            .iter()
            .map(|extension| extension.info.clone())
            .collect()
    }

    /// Looks at all extensions in load order without copying what they registered.
    pub(crate) fn with<R>(&self, look: impl FnOnce(&[Loaded]) -> R) -> R {
        look(&self.state.read().extensions)
    }

    /// Whether anybody listens to one of `names`. Cheap.
    pub(crate) fn subscribed(&self, names: &[&str]) -> bool {
        let index = self.index.read();
        names.iter().any(|name| index.contains_key(*name))
    }

    /// Whether any tool has `onSession`.
    pub(crate) fn has_tool_sessions(&self) -> bool {
        self.tool_sessions.load(Ordering::Acquire)
    }

    /// Handlers of `names` as one sequence: load order, then registration order.
    pub(crate) fn subscribers(&self, names: &[&str]) -> Vec<Subscriber> {
        let index = self.index.read().clone();
        let mut found: Vec<Subscriber> = names
            .iter()
            .filter_map(|name| index.get(*name))
            .flatten()
            .cloned()
            .collect();
        if names.len() > 1 {
            found.sort_by_key(|subscriber| (subscriber.info.order(), subscriber.handler));
        }
        found
    }

    fn rebuild(&self, state: &State) {
        let mut index = Index::new();
        for extension in &state.extensions {
            for handler in &extension.registered.handlers {
                let name: Arc<str> = handler.event.as_str().into();
                index.entry(name.clone()).or_default().push(Subscriber {
                    info: extension.info.clone(),
                    handler: handler.id,
                    event: name,
                });
            }
        }
        *self.index.write() = Arc::new(index);
        let sessions = state.extensions.iter().any(|loaded| {
            loaded
                .registered
                .tools
                .iter()
                .any(|tool| tool.has_on_session)
        });
        self.tool_sessions.store(sessions, Ordering::Release);
    }
}

/// Applies the new parts of a late `register` call to what is already registered.
pub(crate) fn merge(into: &mut Registrations, change: Registrations) {
    if change.label.is_some() {
        into.label = change.label;
    }
    into.handlers.extend(change.handlers);
    replace_by(&mut into.tools, change.tools, |tool| tool.name.clone());
    replace_by(&mut into.commands, change.commands, |command| {
        command.name.clone()
    });
    replace_by(&mut into.flags, change.flags, |flag| flag.name.clone());
    replace_by(&mut into.shortcuts, change.shortcuts, |shortcut| {
        shortcut.key.to_lowercase()
    });
    replace_by(
        &mut into.message_renderers,
        change.message_renderers,
        Clone::clone,
    );
    replace_by(
        &mut into.entry_renderers,
        change.entry_renderers,
        Clone::clone,
    );
    into.tool_renderer = change.tool_renderer.or(into.tool_renderer);
    if change.markdown_transformer.is_some() {
        into.markdown_transformer = change.markdown_transformer;
    }
    replace_by(&mut into.providers, change.providers, |provider| {
        provider.name.clone()
    });
    replace_by(&mut into.service_status, change.service_status, |service| {
        service.name.clone()
    });
    replace_by(
        &mut into.profile_collectors,
        change.profile_collectors,
        |collector| collector.id.clone(),
    );
    replace_by(&mut into.bus, change.bus, Clone::clone);
}

/// A second registration of the same key replaces the first in its place.
fn replace_by<T>(into: &mut Vec<T>, new: Vec<T>, key: impl Fn(&T) -> String) {
    for item in new {
        let wanted = key(&item);
        match into.iter_mut().find(|known| key(known) == wanted) {
            Some(known) => *known = item,
            None => into.push(item),
        }
    }
}

/// Removes one registration; `kind` is the singular of the member.
pub(crate) fn withdraw(from: &mut Registrations, kind: &str, id: &Value) -> Result<(), String> {
    let name = id.as_str().unwrap_or_default();
    match kind {
        "handler" => {
            let number = id.as_u64().ok_or("\"id\" of a handler must be a number")?;
            from.handlers.retain(|handler| handler.id != number);
        }
        "tool" => from.tools.retain(|tool| tool.name != name),
        "command" => from.commands.retain(|command| command.name != name),
        "flag" => from.flags.retain(|flag| flag.name != name),
        "shortcut" => from.shortcuts.retain(|shortcut| shortcut.key != name),
        "messageRenderer" => from.message_renderers.retain(|known| known != name),
        "entryRenderer" => from.entry_renderers.retain(|known| known != name),
        "toolRenderer" => from.tool_renderer = None,
        "markdownTransformer" => from.markdown_transformer = None,
        "provider" => from.providers.retain(|provider| provider.name != name),
        "serviceStatus" => from.service_status.retain(|service| service.name != name),
        "profileCollector" => from
            .profile_collectors
            .retain(|collector| collector.id != name),
        "bus" => from.bus.retain(|channel| channel != name),
        other => return Err(format!("unknown kind \"{other}\"")),
    }
    Ok(())
}
