//! What flags and settings say about models; what they leave open, the session decides.

use std::sync::Arc;

use pier_agent::agent_session::ScopedModel;
use pier_agent::provider::ProviderRegistry;
use pier_agent::settings::SettingsStore;
use pier_protocol::model::{Model, ThinkingLevel};

use super::StartError;
use super::options::ModelChoice;
use crate::diagnostics;

/// Models and level that were asked for.
#[derive(Default)]
pub(super) struct ChosenModel {
    pub(super) model: Option<Arc<Model>>,
    pub(super) thinking_level: Option<ThinkingLevel>,
    pub(super) scoped: Vec<ScopedModel>,
}

/// What flags and `enabledModels` say; what they leave open, the session decides.
pub(super) fn models(
    choice: &ModelChoice,
    providers: &ProviderRegistry,
    settings: &SettingsStore,
) -> Result<ChosenModel, StartError> {
    let all = providers.models();
    let mut chosen = ChosenModel::default();
    let settings = settings.get();
    let patterns = if choice.scope.is_empty() {
        &settings.enabled_models
    } else {
        &choice.scope
    };
    let (scoped, unmatched) = super::model::scope(&all, patterns);
    super::warn_all(&unmatched);
    chosen.scoped = scoped;
    if let Some(pattern) = &choice.pattern {
        let found = super::model::find(&all, choice.provider.as_deref(), pattern, &|model| {
            providers.has_credentials(model)
        })
        .map_err(StartError::Model)?;
        super::warn_all(found.warning.as_slice());
        chosen.model = Some(found.model);
        chosen.thinking_level = found.thinking_level;
    }
    if let Some(word) = &choice.thinking {
        match ThinkingLevel::parse(word) {
            Some(level) => chosen.thinking_level = Some(level),
            None => diagnostics::warning(&format!(
                "Invalid thinking level \"{word}\". Valid values: off, minimal, low, medium, high, xhigh, max"
            )),
        }
    }
    Ok(chosen)
}
