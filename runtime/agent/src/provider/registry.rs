//! Providers by name and the models they offer. Registration at run time is immediate; removing a registration
//! brings back what it had replaced (spec/extension-api.md §7.6).

use std::sync::{Arc, Weak};

use indexmap::IndexMap;
use parking_lot::{Mutex, RwLock};
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
    /// In place of the entry's models ([`ProviderRegistry::change_models`]).
    changed: Option<Vec<Arc<Model>>>,
}

impl Registered {
    fn models(&self) -> &[Arc<Model>] {
        self.changed.as_deref().unwrap_or(&self.entry.models)
    }

    fn effective(&self) -> ProviderEntry {
        ProviderEntry {
            provider: self.entry.provider.clone(),
            models: self.models().to_vec(),
        }
    }
}

/// All providers. Cheap to share behind an `Arc`.
#[derive(Default)]
pub struct ProviderRegistry {
    /// By name; the last one of a name is in force.
    registered: RwLock<IndexMap<String, Vec<Registered>>>,
    /// Models that are registered no more and that somebody still holds.
    retired: Mutex<Vec<Weak<Model>>>,
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
        self.put(owner, name, provider, models, false);
    }

    /// The same below everyone else's registration of the name.
    pub fn register_below(
        &self,
        owner: &str,
        name: &str,
        provider: Arc<dyn ModelProvider>,
        models: Vec<Model>,
    ) {
        self.put(owner, name, provider, models, true);
    }

    fn put(
        &self,
        owner: &str,
        name: &str,
        provider: Arc<dyn ModelProvider>,
        models: Vec<Model>,
        below: bool,
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
        self.withdraw(stack, owner);
        let at = if below { 0 } else { stack.len() };
        let registered = Registered {
            owner: owner.to_owned(),
            entry: ProviderEntry { provider, models },
            changed: None,
        };
        stack.insert(at, registered);
    }

    /// A registry of its own with what is effective here now, for a sub-agent of the session that has these `hooks`: what is
    /// registered there hides it, and does not touch this registry. Who traces this session traces that one, too.
    pub fn inherit(&self, agent: SubAgent, hooks: Arc<dyn ExtensionHooks>) -> Self {
        let state = self.registered.read();
        let inherited = state.iter().filter_map(|(name, stack)| {
            let entry = stack.last()?.effective();
            let registered = Registered {
                owner: "inherited".to_owned(),
                entry,
                changed: None,
            };
            Some((name.clone(), vec![registered]))
        });
        Self {
            registered: RwLock::new(inherited.collect()),
            retired: Mutex::default(),
            trace: self.trace.for_agent(agent, hooks),
        }
    }

    /// Removes an owner's registration of `name`.
    pub fn unregister(&self, owner: &str, name: &str) {
        let mut state = self.registered.write();
        if let Some(stack) = state.get_mut(name) {
            self.withdraw(stack, owner);
            if stack.is_empty() {
                state.shift_remove(name);
            }
        }
    }

    /// Removes everything an owner registered.
    pub fn clear_owner(&self, owner: &str) {
        let mut state = self.registered.write();
        for stack in state.values_mut() {
            self.withdraw(stack, owner);
        }
        state.retain(|_, stack| !stack.is_empty());
    }

    fn withdraw(&self, stack: &mut Vec<Registered>, owner: &str) {
        for gone in stack.extract_if(.., |registered| registered.owner == owner) {
            self.retire(
                gone.entry
                    .models
                    .into_iter()
                    .chain(gone.changed.into_iter().flatten()),
            );
        }
    }

    fn retire(&self, models: impl Iterator<Item = Arc<Model>>) {
        let mut retired = self.retired.lock();
        retired.extend(models.map(|model| Arc::downgrade(&model)));
        retired.retain(|model| model.strong_count() > 0);
    }

    /// What is registered now under the name of a model that was registered once; any other model is what it is.
    pub fn current(&self, model: &Arc<Model>) -> Arc<Model> {
        match self.find(&model.provider, &model.id) {
            Some(known) if !Arc::ptr_eq(&known, model) && self.was_registered(model) => known,
            _ => model.clone(),
        }
    }

    fn was_registered(&self, model: &Arc<Model>) -> bool {
        let is_it = |known: &Arc<Model>| Arc::ptr_eq(known, model);
        let state = self.registered.read();
        let stack = state.get(&model.provider).into_iter().flatten();
        let mut hidden = stack.flat_map(|known| known.entry.models.iter().chain(known.models()));
        hidden.any(is_it)
            || self
                .retired
                .lock()
                .iter()
                .any(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(model)))
    }

    /// The effective registration of a provider.
    pub fn get(&self, name: &str) -> Option<ProviderEntry> {
        self.top(name, Registered::effective)
    }

    /// The effective registration of a provider and its owner, with the models as they were registered.
    pub fn registered(&self, name: &str) -> Option<(String, ProviderEntry)> {
        self.top(name, |top| (top.owner.clone(), top.entry.clone()))
    }

    fn top<R>(&self, name: &str, look: impl FnOnce(&Registered) -> R) -> Option<R> {
        self.registered
            .read()
            .get(name)
            .and_then(|stack| stack.last())
            .map(look)
    }

    /// Puts `models` in place of those that `owner` registered, until it registers again; `None` brings those back. True when
    /// that changed anything.
    pub fn change_models(&self, owner: &str, name: &str, models: Option<Vec<Model>>) -> bool {
        let mut state = self.registered.write();
        let registered = state
            .get_mut(name)
            .and_then(|stack| stack.iter_mut().find(|known| known.owner == owner));
        let Some(registered) = registered else {
            return false;
        };
        let models: Option<Vec<Arc<Model>>> =
            models.map(|models| models.into_iter().map(Arc::new).collect());
        let changes = registered.changed != models;
        if changes {
            let before = std::mem::replace(&mut registered.changed, models);
            self.retire(before.into_iter().flatten());
        }
        changes
    }

    /// Whether the effective registration of `name` is this owner's.
    pub fn is_owner(&self, owner: &str, name: &str) -> bool {
        let state = self.registered.read();
        let effective = state.get(name).and_then(|stack| stack.last());
        effective.is_some_and(|registered| registered.owner == owner)
    }

    /// Who registered `name`, the one in force last.
    pub fn owners(&self, name: &str) -> Vec<String> {
        let state = self.registered.read();
        let stack = state.get(name).into_iter().flatten();
        stack.map(|registered| registered.owner.clone()).collect()
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
            .flat_map(|registered| registered.models().iter().cloned())
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
        self.top(provider, |top| {
            let mut models = top.models().iter();
            models.find(|model| model.id == id).cloned()
        })?
    }

    pub fn has_credentials(&self, model: &Model) -> bool {
        // Without the list of its models: this is asked for each of them.
        let provider = self.top(&model.provider, |top| top.entry.provider.clone());
        provider.is_some_and(|provider| provider.has_credentials(model))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::scripted::ScriptedProvider;

    fn model(url: &str) -> Model {
        Model {
            id: "m".into(),
            base_url: url.into(),
            ..Model::default()
        }
    }

    fn register(registry: &ProviderRegistry, owner: &str, url: &str) {
        registry.register(
            owner,
            "p",
            Arc::new(ScriptedProvider::new()),
            vec![model(url)],
        );
    }

    #[test]
    fn changed_models_count_until_they_are_registered_again() {
        let registry = ProviderRegistry::new();
        register(&registry, "a", "http://old");
        let changed = Model {
            provider: "p".into(),
            ..model("http://changed")
        };
        let url = || registry.find("p", "m").expect("model").base_url.clone();
        assert!(registry.change_models("a", "p", Some(vec![changed.clone()])));
        assert!(!registry.change_models("a", "p", Some(vec![changed.clone()])));
        assert!(!registry.change_models("b", "p", Some(vec![changed.clone()])));
        assert_eq!(url(), "http://changed");
        assert_eq!(registry.models().len(), 1);
        let (owner, entry) = registry.registered("p").expect("entry");
        assert_eq!(
            (owner.as_str(), entry.models[0].base_url.as_str()),
            ("a", "http://old")
        );
        assert!(registry.change_models("a", "p", None));
        assert_eq!(url(), "http://old");
        registry.change_models("a", "p", Some(vec![changed]));
        register(&registry, "a", "http://new");
        assert_eq!(url(), "http://new");
    }

    #[test]
    fn who_holds_a_registered_model_can_follow_it() {
        let registry = ProviderRegistry::new();
        register(&registry, "a", "http://old");
        let held = registry.find("p", "m").expect("model");
        let own = Arc::new(Model {
            max_tokens: 7,
            ..(*held).clone()
        });
        assert!(Arc::ptr_eq(&registry.current(&held), &held));
        register(&registry, "b", "http://over");
        assert_eq!(registry.current(&held).base_url, "http://over");
        registry.unregister("b", "p");
        assert_eq!(registry.current(&held).base_url, "http://old");
        register(&registry, "a", "http://again");
        assert_eq!(registry.current(&held).base_url, "http://again");
        // A model that an extension has changed for itself is nobody's.
        assert!(Arc::ptr_eq(&registry.current(&own), &own));
        registry.unregister("a", "p");
        assert!(Arc::ptr_eq(&registry.current(&held), &held));
    }
}
