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

/// What an extension without full rights may not do on top: use the environment, commands, or a name whose credentials
/// are somebody else's; each would hand a secret to an endpoint of its choice. `taken`: the name is such a one.
pub(crate) fn restricted(provider: &ProviderRegistration, taken: bool) -> Result<(), String> {
    let name = &provider.name;
    if taken {
        return Err(format!(
            "Provider {name}: a restricted extension may not replace or move a provider that is there already."
        ));
    }
    let config = &provider.config;
    let models = config.get("models").and_then(Value::as_array);
    let headers = std::iter::once(config)
        .chain(models.into_iter().flatten())
        .filter_map(|part| part.get("headers")?.as_object())
        .flatten()
        .filter_map(|(header, value)| Some((header.as_str(), value.as_str()?)));
    let key = config.get("apiKey").and_then(Value::as_str);
    let mut texts = headers.chain(key.map(|key| ("apiKey", key)));
    let is_literal = |text: &str| {
        let parsed = super::key::parse(text, &|name| std::env::var(name).ok());
        parsed == super::key::Key::Value(text.to_owned())
    };
    match texts.find(|(_, text)| !is_literal(text)) {
        Some((member, _)) => Err(format!(
            "Provider {name}: \"{member}\" of a restricted extension must be a literal, not a variable or a command."
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_restricted_extension_gets_at_no_secret() {
        let provider = |config: Value| ProviderRegistration {
            name: "p".into(),
            config,
            ..ProviderRegistration::default()
        };
        let literal = json!({"apiKey": "literal", "headers": {"a": "b"}});
        assert_eq!(restricted(&provider(literal.clone()), false), Ok(()));
        assert!(restricted(&provider(literal), true).is_err());
        for config in [
            json!({"apiKey": "$HOME"}),
            json!({"apiKey": "HOME"}),
            json!({"apiKey": "!cat /etc/passwd"}),
            json!({"headers": {"x": "${HOME}"}}),
            json!({"models": [{"id": "m", "headers": {"x": "!id"}}]}),
        ] {
            let problem = restricted(&provider(config.clone()), false);
            assert!(
                problem.is_err_and(|text| text.contains("literal")),
                "{config}"
            );
        }
    }

    fn check(config: Value, stream: bool, oauth: bool) -> Result<(), String> {
        validate(&ProviderRegistration {
            name: "p".into(),
            config,
            has_stream_simple: stream,
            has_oauth: oauth,
            ..ProviderRegistration::default()
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
