//! Model and thinking level: initial choice, switching, cycling (spec/agent-loop.md §8).

use std::sync::Arc;

use pier_protocol::event::AgentEvent;
use pier_protocol::model::{Model, ThinkingLevel};

use super::emit::Job;
use super::inner::Inner;
use super::{CycledModel, ScopedModel, SessionError};
use crate::hooks::{ModelSelectSource, Notification};
use crate::session::SessionError as StorageError;

impl Inner {
    /// Chooses model and level for the session as it is now, and records them in a session that has none yet.
    pub(crate) fn select_initial(&self, use_session: bool) {
        let context = self.session.context();
        let has_messages = context
            .messages
            .iter()
            .any(|part| !part.message.is_system());
        let stored = context.model.clone().filter(|_| use_session);
        let restored = stored.as_ref().and_then(|stored| {
            self.providers
                .find(&stored.provider, &stored.model_id)
                .filter(|model| self.providers.has_credentials(model))
        });
        let startup = self.startup.read().clone();
        let model = startup
            .model
            .clone()
            .or_else(|| {
                if has_messages {
                    restored.clone()
                } else {
                    self.first_scoped().or(restored.clone())
                }
            })
            .or_else(|| self.default_model());
        if let (Some(stored), None, None, true) = (&stored, &restored, &startup.model, has_messages)
        {
            let instead = model
                .as_ref()
                .map_or("no model".to_owned(), |model| model.key());
            self.host.warn(&format!(
                "Could not restore model {}/{}. Using {instead}",
                stored.provider, stored.model_id
            ));
        }
        let settings = self.settings();
        let wanted = startup
            .level
            .or_else(|| {
                // A word of another version means the lowest level, as for extensions.
                (use_session && context.has_thinking_entry)
                    .then(|| ThinkingLevel::parse(&context.thinking_level).unwrap_or_default())
            })
            .or_else(|| model.as_ref().and_then(|model| self.scoped_level(model)))
            .or_else(|| {
                model
                    .as_ref()
                    .and_then(|model| settings.model_thinking_levels.get(&model.key()).copied())
            })
            .or(settings.default_thinking_level)
            .unwrap_or(ThinkingLevel::Medium);
        let level = model
            .as_ref()
            .map_or(ThinkingLevel::Off, |model| model.clamp_level(wanted));
        let mut state = self.state.lock();
        state.model = model.clone();
        state.thinking_level = level;
        drop(state);
        self.touch();
        let recorded = self.record_initial(model.as_deref(), level, &context);
        if let Err(error) = recorded {
            self.host.warn(&format!(
                "The selected model could not be recorded: {error}"
            ));
        }
    }

    fn record_initial(
        &self,
        model: Option<&Model>,
        level: ThinkingLevel,
        context: &crate::session::SessionContext,
    ) -> Result<(), StorageError> {
        if let (Some(model), None) = (model, &context.model) {
            self.session
                .append_model_change(&model.provider, &model.id)?;
        }
        if !context.has_thinking_entry {
            self.session.append_thinking_level_change(level.as_str())?;
        }
        Ok(())
    }

    /// The saved default if it is in the scoped list, else the first scoped model.
    fn first_scoped(&self) -> Option<Arc<Model>> {
        let scoped = self.scoped_models.read();
        let settings = self.settings();
        let saved = scoped.iter().find(|scoped| {
            settings.default_provider.as_deref() == Some(scoped.model.provider.as_str())
                && settings.default_model.as_deref() == Some(scoped.model.id.as_str())
        });
        saved
            .or_else(|| scoped.first())
            .map(|scoped| self.providers.current(&scoped.model))
    }

    fn default_model(&self) -> Option<Arc<Model>> {
        let settings = self.settings();
        let saved = match (&settings.default_provider, &settings.default_model) {
            (Some(provider), Some(id)) => self
                .providers
                .find(provider, id)
                .filter(|model| self.providers.has_credentials(model)),
            _ => None,
        };
        saved.or_else(|| {
            let available = self.providers.available_models();
            // The offline provider answers only when there is nothing else.
            let real = available
                .iter()
                .find(|model| model.provider != crate::provider::scripted::PROVIDER);
            real.or_else(|| available.first()).cloned()
        })
    }

    fn scoped_level(&self, model: &Model) -> Option<ThinkingLevel> {
        self.scoped_models
            .read()
            .iter()
            .find(|scoped| same(&scoped.model, model))
            .and_then(|scoped| scoped.thinking_level)
    }

    pub(crate) async fn set_model(
        self: &Arc<Self>,
        provider: &str,
        id: &str,
        source: ModelSelectSource,
    ) -> Result<Arc<Model>, SessionError> {
        let model = self
            .providers
            .find(provider, id)
            .filter(|model| self.providers.has_credentials(model))
            .ok_or_else(|| SessionError::ModelNotFound {
                provider: provider.to_owned(),
                id: id.to_owned(),
            })?;
        self.switch_model(model.clone(), source).await?;
        Ok(model)
    }

    async fn switch_model(
        self: &Arc<Self>,
        model: Arc<Model>,
        source: ModelSelectSource,
    ) -> Result<(), SessionError> {
        self.session
            .append_model_change(&model.provider, &model.id)
            .map_err(storage)?;
        let (previous, current_level) = {
            let mut state = self.state.lock();
            (state.model.replace(model.clone()), state.thinking_level)
        };
        self.touch();
        let settings = self.settings();
        let wanted = self
            .scoped_level(&model)
            .or_else(|| settings.model_thinking_levels.get(&model.key()).copied())
            .or(settings.default_thinking_level)
            .unwrap_or(current_level);
        self.change_level(model.clamp_level(wanted));
        self.flush().await;
        if previous
            .as_ref()
            .is_none_or(|previous| !same(previous, &model))
        {
            self.notify(Notification::ModelSelect {
                model,
                previous_model: previous,
                source,
            })
            .await;
        }
        Ok(())
    }

    pub(crate) async fn cycle_model(self: &Arc<Self>) -> Option<CycledModel> {
        let scoped: Vec<Arc<Model>> = self
            .scoped_models
            .read()
            .iter()
            .map(|scoped| self.providers.current(&scoped.model))
            .filter(|model| self.providers.has_credentials(model))
            .collect();
        let is_scoped = !scoped.is_empty();
        let list = if is_scoped {
            scoped
        } else {
            self.providers.available_models()
        };
        let current = self.model();
        let at = current
            .as_ref()
            .and_then(|current| list.iter().position(|model| same(model, current)));
        let next = match at {
            Some(_) if list.len() < 2 => return None,
            Some(at) => list.get((at + 1) % list.len()),
            None => list.first(),
        }?
        .clone();
        if let Err(error) = self
            .switch_model(next.clone(), ModelSelectSource::Cycle)
            .await
        {
            self.host.warn(&error.to_string());
            return None;
        }
        Some(CycledModel {
            model: next,
            thinking_level: self.thinking_level(),
            is_scoped,
        })
    }

    /// Sets a level, clamped to the model. The change is visible at once and announced in order.
    pub(crate) fn set_level(self: &Arc<Self>, level: ThinkingLevel) -> ThinkingLevel {
        let effective = self
            .model()
            .map_or(ThinkingLevel::Off, |model| model.clamp_level(level));
        self.change_level(effective);
        effective
    }

    pub(crate) fn change_level(self: &Arc<Self>, level: ThinkingLevel) {
        let previous = {
            let mut state = self.state.lock();
            std::mem::replace(&mut state.thinking_level, level)
        };
        if previous == level {
            return;
        }
        if let Err(error) = self.session.append_thinking_level_change(level.as_str()) {
            self.host.warn(&format!(
                "The thinking level could not be recorded: {error}"
            ));
        }
        self.post(Job::Event(AgentEvent::ThinkingLevelChanged { level }));
        self.post(Job::Notify(Notification::ThinkingLevelSelect {
            level,
            previous_level: previous,
        }));
    }

    pub(crate) fn available_levels(&self) -> Vec<ThinkingLevel> {
        self.model()
            .map_or_else(|| vec![ThinkingLevel::Off], |model| model.thinking_levels())
    }

    pub(crate) async fn cycle_level(self: &Arc<Self>) -> Option<ThinkingLevel> {
        let levels = self.available_levels();
        if levels.len() < 2 {
            return None;
        }
        let current = self.thinking_level();
        let at = levels
            .iter()
            .position(|level| *level == current)
            .map_or(0, |at| (at + 1) % levels.len());
        let next = levels.get(at).copied()?;
        self.change_level(next);
        self.flush().await;
        Some(next)
    }

    /// Before a run: after tree navigation the branch may imply another level than the live one.
    pub(crate) fn record_selection(&self) -> Result<(), StorageError> {
        let context = self.session.context();
        let level = self.thinking_level();
        if context.thinking_level != level.as_str() {
            self.session.append_thinking_level_change(level.as_str())?;
            self.touch();
        }
        if let Some(model) = self.model()
            && context.model.is_none()
        {
            self.session
                .append_model_change(&model.provider, &model.id)?;
            self.touch();
        }
        Ok(())
    }

    pub(crate) fn scoped(&self) -> Vec<ScopedModel> {
        self.scoped_models.read().clone()
    }
}

fn same(one: &Model, other: &Model) -> bool {
    one.provider == other.provider && one.id == other.id
}

pub(crate) fn storage(error: StorageError) -> SessionError {
    SessionError::Failed(error.to_string())
}
