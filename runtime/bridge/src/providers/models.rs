//! Models in provider registrations. Pure.

use pier_protocol::extension::ProviderRegistration;
use pier_protocol::model::Model;
use serde_json::{Map, Value, json};

/// Context window of a model that does not say, in tokens.
const CONTEXT_WINDOW: u64 = 128_000;
/// Output limit of a model that does not say, in tokens.
const MAX_TOKENS: u64 = 16_384;

/// The models that a registration defines; chat models only.
pub(crate) fn own_models(registration: &ProviderRegistration) -> Result<Vec<Model>, String> {
    let config = &registration.config;
    let list = config.get("models").and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .filter(|model| {
            model
                .get("type")
                .and_then(Value::as_str)
                .is_none_or(|kind| kind == "chat")
        })
        .map(|model| own_model(&registration.name, config, model))
        .collect()
}

/// A model as a configuration describes it; `api` and `baseUrl` come from the provider's part when it has none.
pub(crate) fn own_model(provider: &str, config: &Value, model: &Value) -> Result<Model, String> {
    let mut map = model.as_object().cloned().unwrap_or_default();
    let id = map.get("id").cloned().unwrap_or_default();
    map.insert("provider".into(), json!(provider));
    let mut default = |name: &str, value: Value| {
        if map.get(name).is_none_or(Value::is_null) && !value.is_null() {
            map.insert(name.into(), value);
        }
    };
    default("name", id.clone());
    default("api", config.get("api").cloned().unwrap_or_default());
    default(
        "baseUrl",
        config.get("baseUrl").cloned().unwrap_or_default(),
    );
    default("reasoning", json!(false));
    default("input", json!(["text"]));
    default("contextWindow", json!(CONTEXT_WINDOW));
    default("maxTokens", json!(MAX_TOKENS));
    serde_json::from_value(Value::Object(map)).map_err(|error| {
        format!(
            "Provider {provider}, model {}: {error}",
            id.as_str().unwrap_or("?")
        )
    })
}

/// Merges objects member by member; anything else replaces. `null` in `change` leaves `value` as it is at the top.
pub(crate) fn merge_into(value: &mut Value, change: &Value) {
    match (value, change) {
        (_, Value::Null) => {}
        (Value::Object(value), Value::Object(change)) => {
            for (name, new) in change {
                match value.get_mut(name) {
                    Some(known) if known.is_object() && new.is_object() => merge_into(known, new),
                    _ => {
                        value.insert(name.clone(), new.clone());
                    }
                }
            }
        }
        (value, change) => *value = change.clone(),
    }
}

/// An existing model at another endpoint: `baseUrl` replaced, `headers` merged over.
pub(crate) fn redirect(model: &Model, config: &Value) -> Model {
    let mut moved = model.clone();
    if let Some(url) = config.get("baseUrl").and_then(Value::as_str) {
        moved.base_url = url.to_string();
    }
    if let Some(new) = config.get("headers").and_then(Value::as_object) {
        let mut headers: Map<String, Value> = moved
            .extra
            .get("headers")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        headers.extend(new.clone());
        moved.extra.insert("headers".into(), Value::Object(headers));
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_inherit_from_the_provider() {
        let registration = ProviderRegistration {
            name: "p".into(),
            config: json!({"api": "mine", "baseUrl": "http://x", "models": [
                {"id": "a", "contextWindow": 10}, {"id": "b", "type": "image"}, {"id": "c", "api": "own", "name": "C"}
            ]}),
            ..ProviderRegistration::default()
        };
        let models = own_models(&registration).unwrap();
        assert_eq!(models.len(), 2);
        assert_eq!(
            (
                models[0].api.as_str(),
                models[0].name.as_str(),
                models[0].provider.as_str()
            ),
            ("mine", "a", "p")
        );
        assert_eq!(
            (models[1].api.as_str(), models[1].base_url.as_str()),
            ("own", "http://x")
        );
        let moved = redirect(
            &models[0],
            &json!({"baseUrl": "http://y", "headers": {"h": "1"}}),
        );
        assert_eq!(moved.base_url, "http://y");
        assert_eq!(moved.extra["headers"]["h"], "1");
    }
}
