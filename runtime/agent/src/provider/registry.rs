//! Providers by name and the models they offer. Registration at run time is immediate; removing a registration
//! brings back what it had replaced (spec/extension-api.md §7.6).

use std::sync::Arc;

use indexmap::IndexMap;
use parking_lot::RwLock;
use pier_protocol::model::Model;

use super::trace::Tracing;
use super::{ModelProvider, ModelRequest, RequestTrace, SubAgent, TraceSink};
use crate::hooks::ExtensionHooks;

/// One registration of a provider.
#[derive(Clone)]
pub struct ProviderEntry {
    pub provider: Arc<dyn ModelProvider>,
    /// In the order they are listed; `provider` of each is the registered name.
    pub models: Vec<Arc<Model>>,
}

struct Registered {
    owner: String,
    entry: ProviderEntry,
}

/// All providers. Cheap to share behind an `Arc`.
#[derive(Default)]
pub struct ProviderRegistry {
    /// By name; the last one of a name is in force.
    registered: RwLock<IndexMap<String, Vec<Registered>>>,
    trace: Tracing,
}

impl ProviderRegistry {
    pub fn new() -> Self {
        Self::default()
    }

    /// Sends a record of every request to `sink` from now on.
    pub fn add_trace_sink(&self, sink: Arc<dyn TraceSink>) {
        self.trace.add(sink);
    }

    /// The trace of a request that is about to be sent; `None` when nobody wants it.
    pub fn trace(
        &self,
        request: &ModelRequest,
        hooks: Arc<dyn ExtensionHooks>,
    ) -> Option<RequestTrace> {
        RequestTrace::begin(&self.trace, hooks, request)
    }

    /// Registers `name` for `owner`, replacing that owner's earlier registration of the name and hiding everyone
    /// else's. The models get the provider's name.
    pub fn register(
        &self,
        owner: &str,
        name: &str,
        provider: Arc<dyn ModelProvider>,
        models: Vec<Model>,
    ) {
        let models = models
            .into_iter()
            .map(|mut model| {
                model.provider = name.to_owned();
                Arc::new(model)
            })
            .collect();
        let mut state = self.registered.write();
        let stack = state.entry(name.to_owned()).or_default();
        stack.retain(|registered| registered.owner != owner);
        stack.push(Registered {
            owner: owner.to_owned(),
            entry: ProviderEntry { provider, models },
        });
    }

    /// A registry of its own with what is effective here now, for a sub-agent of the session that has these `hooks`: what is
    /// registered there hides it, and does not touch this registry. Who traces this session traces that one, too.
    pub fn inherit(&self, agent: SubAgent, hooks: Arc<dyn ExtensionHooks>) -> Self {
        let state = self.registered.read();
        let inherited = state.iter().filter_map(|(name, stack)| {
            let entry = stack.last()?.entry.clone();
            let registered = Registered {
                owner: "inherited".to_owned(),
                entry,
            };
            Some((name.clone(), vec![registered]))
        });
        Self {
            registered: RwLock::new(inherited.collect()),
            trace: self.trace.for_agent(agent, hooks),
        }
    }

    /// Removes an owner's registration of `name`.
    pub fn unregister(&self, owner: &str, name: &str) {
        let mut state = self.registered.write();
        if let Some(stack) = state.get_mut(name) {
            stack.retain(|registered| registered.owner != owner);
            if stack.is_empty() {
                state.shift_remove(name);
            }
        }
    }

    /// Removes everything an owner registered.
    pub fn clear_owner(&self, owner: &str) {
        let mut state = self.registered.write();
        for stack in state.values_mut() {
            stack.retain(|registered| registered.owner != owner);
        }
        state.retain(|_, stack| !stack.is_empty());
    }

    /// The effective registration of a provider.
    pub fn get(&self, name: &str) -> Option<ProviderEntry> {
        self.registered
            .read()
            .get(name)
            .and_then(|stack| stack.last())
            .map(|registered| registered.entry.clone())
    }

    /// Whether the effective registration of `name` is this owner's.
    pub fn is_owner(&self, owner: &str, name: &str) -> bool {
        let state = self.registered.read();
        let effective = state.get(name).and_then(|stack| stack.last());
        effective.is_some_and(|registered| registered.owner == owner)
    }

    /// Names of all providers, in order of first registration.
    pub fn names(&self) -> Vec<String> {
        self.registered.read().keys().cloned().collect()
    }

    /// All models of all providers.
    pub fn models(&self) -> Vec<Arc<Model>> {
        self.registered
            .read()
            .values()
            .filter_map(|stack| stack.last())
            .flat_map(|registered| registered.entry.models.iter().cloned())
            .collect()
    }

    /// Models whose provider could be asked now.
    pub fn available_models(&self) -> Vec<Arc<Model>> {
        self.models()
            .into_iter()
            .filter(|model| self.has_credentials(model))
            .collect()
    }

    pub fn find(&self, provider: &str, id: &str) -> Option<Arc<Model>> {
        self.get(provider)?
            .models
            .iter()
            .find(|model| model.id == id)
            .cloned()
    }

    pub fn has_credentials(&self, model: &Model) -> bool {
        self.get(&model.provider)
            .is_some_and(|entry| entry.provider.has_credentials(model))
    }
}
