//! Whether the built-in model providers are worth loading.
//!
//! They live in an isolate of their own that costs time to start, so they are loaded when a
//! credential or a choice says that one of them may be used, and not for the scripted provider.

use std::path::Path;

use pier_agent::provider::ProviderRegistry;
use pier_agent::provider::scripted::PROVIDER;
use pier_agent::regular_file;
use pier_agent::session::SessionManager;
use pier_agent::settings::Settings;
use serde_json::{Map, Value};

use super::options::ModelChoice;

/// Credentials of providers whose variables do not end in `_API_KEY`.
const VARIABLES: &[&str] = &[
    "ANTHROPIC_OAUTH_TOKEN",
    "AWS_ACCESS_KEY_ID",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_PROFILE",
    "COPILOT_GITHUB_TOKEN",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "HF_TOKEN",
];

/// What says that they are needed before any extension is loaded: a stored credential, a variable, a key.
pub(super) fn needed_at_once(choice: &ModelChoice, agent_dir: &Path) -> bool {
    choice.api_key.is_some()
        || has_stored(agent_dir)
        || std::env::vars_os()
            .any(|(name, value)| !value.is_empty() && name.to_str().is_some_and(is_variable))
}

/// What says so once extensions have registered theirs: a provider was named that nobody has.
pub(super) fn needed_after_all(
    choice: &ModelChoice,
    settings: &Settings,
    session: &SessionManager,
    providers: &ProviderRegistry,
) -> bool {
    let unknown = |name: &str| name != PROVIDER && providers.get(name).is_none();
    let pattern_is_unknown = choice.pattern.as_deref().is_some_and(|pattern| {
        super::model::find(
            &providers.models(),
            choice.provider.as_deref(),
            pattern,
            &|_| true,
        )
        .is_err()
    });
    let stored = session.context().model.clone();
    pattern_is_unknown
        || choice.provider.as_deref().is_some_and(unknown)
        || choice.pattern.is_none() && settings.default_provider.as_deref().is_some_and(unknown)
        || choice.pattern.is_none() && stored.is_some_and(|stored| unknown(&stored.provider))
}

fn is_variable(name: &str) -> bool {
    name.ends_with("_API_KEY") || VARIABLES.contains(&name)
}

fn has_stored(agent_dir: &Path) -> bool {
    regular_file::read_to_string(&agent_dir.join("auth.json"))
        .ok()
        .and_then(|text| serde_json::from_str::<Map<String, Value>>(&text).ok())
        .is_some_and(|stored| stored.values().any(pier_bridge::is_credential))
}

#[cfg(test)]
mod tests {
    use super::{has_stored, is_variable};

    #[test]
    fn variables_with_credentials_are_known() {
        assert!(is_variable("OPENAI_API_KEY") && is_variable("HF_TOKEN"));
        assert!(!is_variable("PATH") && !is_variable("MY_API_KEYS"));
    }

    #[test]
    fn an_empty_or_broken_file_stores_nothing() {
        let dir = tempfile::tempdir().expect("dir");
        assert!(!has_stored(dir.path()));
        for (text, stored) in [
            ("{}", false),
            ("nonsense", false),
            (r#"{"openai":{"type":"api_key"}}"#, false),
            (r#"{"openai":{"type":"api_key","key":"k"}}"#, true),
        ] {
            std::fs::write(dir.path().join("auth.json"), text).expect("write");
            assert_eq!(has_stored(dir.path()), stored, "{text}");
        }
    }
}
