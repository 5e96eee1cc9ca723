//! What a request is authorised with: keys, headers, and the settings that go along. Keys and templates are resolved
//! for each request and kept nowhere.

use std::sync::Arc;

use pier_protocol::model::Model;
use serde_json::{Map, Value, json};

use super::key;
use crate::host::Shared;

fn env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

impl Shared {
    /// The key for requests of a provider: stored credentials, then `models.json`, then what was registered.
    pub(crate) async fn api_key(
        self: &Arc<Self>,
        provider: &str,
    ) -> Result<Option<String>, String> {
        if let Some(key) = self.stored_key(provider).await? {
            return Ok(Some(key));
        }
        match self.key_template(provider) {
            Some(template) => key::resolve(&template, &env).await.map(Some),
            None => Ok(None),
        }
    }

    /// Whether a key could be had now, without asking anybody; `None` when nothing says where one would come from.
    pub(crate) fn key_available(&self, provider: &str) -> Option<bool> {
        if self.has_stored_key(provider) {
            return Some(true);
        }
        let template = self.key_template(provider)?;
        Some(key::is_available(&template, &env))
    }

    /// Where the key comes from when none is stored. A registration that only moves a provider leaves its key alone.
    pub(crate) fn key_template(&self, provider: &str) -> Option<String> {
        let text = |config: &Value| {
            let key = config.get("apiKey").and_then(Value::as_str);
            key.filter(|key| !key.is_empty()).map(str::to_owned)
        };
        if let Some(key) = self.models_file().provider(provider).and_then(text) {
            return Some(key);
        }
        // Asked for every model of every list: nothing is copied here.
        self.find_registration(provider, |registration| {
            let key = text(&registration.config);
            let defines_models = registration
                .config
                .get("models")
                .and_then(Value::as_array)
                .is_some_and(|models| !models.is_empty());
            (key.is_some() || defines_models || registration.has_stream_simple).then_some(key)
        })
        .flatten()
    }

    /// Whether the key also goes into `Authorization`.
    pub(super) fn wants_auth_header(&self, provider: &str) -> bool {
        let file = self.models_file();
        let registrations = self.registrations_of(provider);
        let configs = registrations
            .iter()
            .map(|(_, registration)| &registration.config)
            .chain(file.provider(provider));
        configs
            .filter_map(|config| config.get("authHeader"))
            .any(|wanted| *wanted == Value::Bool(true))
    }

    /// What extension code needs for a request of its own (`spec/sdk-exports.md` §2.4), as the host would make it.
    pub(crate) async fn request_auth(
        self: &Arc<Self>,
        provider: &str,
        model: Option<&str>,
    ) -> Result<Value, String> {
        let key = self.api_key(provider).await?;
        if key.is_none() && self.wants_auth_header(provider) {
            return Err(format!("No API key found for \"{provider}\""));
        }
        // To get the key may have renewed a login, and a login may move its models.
        let model = model.and_then(|id| self.options.providers.find(provider, id));
        let headers = self
            .request_headers(provider, model.as_deref(), key.as_deref(), &mut Vec::new())
            .await?;
        let mut auth = Map::new();
        if let Some(key) = key {
            auth.insert("apiKey".into(), json!(key));
        }
        if !headers.is_empty() {
            auth.insert("headers".into(), Value::Object(headers));
        }
        if let Some(model) = model.filter(|model| !model.base_url.is_empty()) {
            auth.insert("baseUrl".into(), json!(model.base_url));
        }
        Ok(Value::Object(auth))
    }

    /// Headers of a request, resolved: those of the provider, of `models.json`, of the model; later ones win. Then the key,
    /// where it goes into `Authorization`. What came from the environment or a command goes to `secrets` as well.
    pub(super) async fn request_headers(
        &self,
        provider: &str,
        model: Option<&Model>,
        key: Option<&str>,
        secrets: &mut Vec<String>,
    ) -> Result<Map<String, Value>, String> {
        let mut headers = Map::new();
        for (name, value) in self.configured_headers(provider, model) {
            let value = match value.as_str() {
                Some(text) if key::is_template(text) => {
                    let resolved = key::resolve(text, &env)
                        .await
                        .map_err(|problem| format!("header {name}: {problem}"))?;
                    secrets.push(resolved.clone());
                    json!(resolved)
                }
                _ => value,
            };
            headers.insert(name, value);
        }
        if let Some(key) = key.filter(|_| self.wants_auth_header(provider)) {
            headers.insert("Authorization".into(), json!(format!("Bearer {key}")));
        }
        Ok(headers)
    }

    fn configured_headers(&self, provider: &str, model: Option<&Model>) -> Map<String, Value> {
        let file = self.models_file();
        let registrations = self.registrations_of(provider);
        let oldest_first = registrations.iter().rev().map(|(_, known)| &known.config);
        let mut headers = Map::new();
        for config in oldest_first.chain(file.provider(provider)) {
            if let Some(Value::Object(more)) = config.get("headers") {
                headers.extend(more.clone());
            }
        }
        if let Some(Value::Object(more)) = model.and_then(|model| model.extra.get("headers")) {
            headers.extend(more.clone());
        }
        headers
    }

    /// `retry.provider` and `thinkingBudgets` of the settings, as options of a request.
    pub(super) fn request_settings(&self) -> Map<String, Value> {
        let settings = self.settings();
        let mut options = Map::new();
        for name in ["timeoutMs", "maxRetries", "maxRetryDelayMs"] {
            if let Some(value) = settings["retry"]["provider"][name].as_u64() {
                options.insert(name.into(), json!(value));
            }
        }
        if settings["thinkingBudgets"].is_object() {
            options.insert(
                "thinkingBudgets".into(),
                settings["thinkingBudgets"].clone(),
            );
        }
        options
    }
}
