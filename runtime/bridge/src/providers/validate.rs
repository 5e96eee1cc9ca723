//! What `registerProvider` refuses, with the texts of `spec/extension-api.md` §7.6.

use pier_protocol::extension::ProviderRegistration;
use serde_json::Value;

/// Wire protocols that belong to built-in providers.
const BUILTIN_APIS: [&str; 10] = [
    "openai-completions",
    "openai-responses",
    "openai-codex-responses",
    "azure-openai-responses",
    "anthropic-messages",
    "bedrock-converse-stream",
    "google-generative-ai",
    "google-gemini-cli",
    "google-vertex",
    "cursor-agent",
];

/// Checks a registration.
pub(crate) fn validate(provider: &ProviderRegistration) -> Result<(), String> {
    let name = &provider.name;
    let config = &provider.config;
    let text = |key: &str| {
        config
            .get(key)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
    };
    if provider.has_stream_simple {
        let Some(api) = text("api") else {
            return Err(format!(
                "Provider {name}: \"api\" is required when registering streamSimple."
            ));
        };
        if BUILTIN_APIS.contains(&api) {
            return Err(format!(
                "Cannot register custom API \"{api}\": built-in API names are reserved."
            ));
        }
    }
    let Some(models) = config.get("models") else {
        return Ok(());
    };
    let Some(models) = models.as_array() else {
        return Err(format!("Provider {name}: \"models\" must be an array."));
    };
    if models.is_empty() {
        return Ok(());
    }
    if text("baseUrl").is_none() {
        return Err(format!(
            "Provider {name}: \"baseUrl\" is required when defining custom models."
        ));
    }
    if text("apiKey").is_none() && !provider.has_oauth {
        return Err(format!(
            "Provider {name}: \"apiKey\" or \"oauth\" is required when defining models."
        ));
    }
    for (index, model) in models.iter().enumerate() {
        let member = |key: &str| {
            model
                .get(key)
                .and_then(Value::as_str)
                .filter(|text| !text.is_empty())
        };
        let Some(id) = member("id") else {
            return Err(format!(
                "Provider {name}: model {} has no \"id\".",
                index + 1
            ));
        };
        if member("api").is_none() && text("api").is_none() {
            return Err(format!(
                "Provider {name}, model {id}: no \"api\" specified."
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(config: Value, stream: bool, oauth: bool) -> Result<(), String> {
        validate(&ProviderRegistration {
            name: "p".into(),
            config,
            has_stream_simple: stream,
            has_oauth: oauth,
            has_refresh_models: false,
        })
    }

    #[test]
    fn every_refusal_has_its_text() {
        let text = |result: Result<(), String>| result.unwrap_err();
        assert_eq!(
            text(check(json!({}), true, false)),
            "Provider p: \"api\" is required when registering streamSimple."
        );
        assert_eq!(
            text(check(json!({"api": "anthropic-messages"}), true, false)),
            "Cannot register custom API \"anthropic-messages\": built-in API names are reserved."
        );
        let models = json!([{"id": "m"}]);
        assert_eq!(
            text(check(json!({"models": models}), false, false)),
            "Provider p: \"baseUrl\" is required when defining custom models."
        );
        assert_eq!(
            text(check(
                json!({"models": models, "baseUrl": "http://x"}),
                false,
                false
            )),
            "Provider p: \"apiKey\" or \"oauth\" is required when defining models."
        );
        assert_eq!(
            text(check(
                json!({"models": models, "baseUrl": "http://x"}),
                false,
                true
            )),
            "Provider p, model m: no \"api\" specified."
        );
        assert!(
            text(check(
                json!({"models": [{}], "baseUrl": "u", "apiKey": "k"}),
                false,
                false
            ))
            .contains("no \"id\"")
        );
        assert_eq!(
            check(
                json!({"models": models, "baseUrl": "u", "apiKey": "k", "api": "mine"}),
                true,
                false
            ),
            Ok(())
        );
        assert_eq!(check(json!({"baseUrl": "u"}), false, false), Ok(()));
    }
}
