//! `oauth.modifyModels` (`spec/extension-api.md` §7.6): what a login changes about the models of its provider, such as an
//! endpoint of the user's own. The registered models stay as they are below; without the login they count again.

use std::collections::HashMap;
use std::sync::Arc;

use pier_protocol::extension::ProviderRegistration;
use pier_protocol::model::Model;
use serde_json::{Value, json};

use super::{models, validate};
use crate::host::Shared;
use crate::isolate::PermissionProfile;
use crate::registry::ExtensionInfo;

/// Event name of reports.
const EVENT: &str = "modify_models";

/// The credential that a provider's models were last brought in line with. Held while that is done.
type Followed = Arc<tokio::sync::Mutex<Option<Value>>>;

/// By provider.
#[derive(Default)]
pub(crate) struct LoginModels(parking_lot::Mutex<HashMap<String, Followed>>);

impl LoginModels {
    fn of(&self, provider: &str) -> Followed {
        let mut known = self.0.lock();
        known.entry(provider.to_owned()).or_default().clone()
    }
}

impl Shared {
    /// Brings the models of all providers in line with their logins.
    pub(crate) async fn follow_logins(self: &Arc<Self>) {
        let mut names: Vec<String> = self.registry.with(|extensions| {
            let providers = extensions
                .iter()
                .flat_map(|loaded| loaded.registered.providers.iter());
            providers
                .filter(|provider| provider.has_modify_models)
                .map(|provider| provider.name.clone())
                .collect()
        });
        names.sort_unstable();
        names.dedup();
        let all = names.iter().map(|name| self.follow_login(name, true));
        futures::future::join_all(all).await;
    }

    /// The same for one provider, in the background: registrations do not wait.
    pub(crate) fn follow_login_soon(self: &Arc<Self>, provider: &str) {
        let (shared, provider) = (self.clone(), provider.to_owned());
        self.runtime
            .spawn(async move { shared.follow_login(&provider, true).await });
    }

    /// Brings the models of a provider in line with its login; unless `again`, only when the credential is another one than
    /// last time. A function that fails is reported and leaves the models as they are. Bounded like an event handler.
    pub(crate) async fn follow_login(self: &Arc<Self>, provider: &str, again: bool) {
        let followed = self.login_models.of(provider);
        let mut followed = followed.lock().await;
        let credential = self.login_of(provider);
        if !again && *followed == credential {
            return;
        }
        followed.clone_from(&credential);
        let registered = self.options.providers.registered(provider);
        let Some((owner, entry)) = registered else {
            return;
        };
        let modifier = self.modifier(provider);
        let models = match (credential, modifier) {
            (Some(credential), Some((info, registration))) => {
                let before: Vec<&Model> = entry.models.iter().map(|model| &**model).collect();
                let payload = json!({"credentials": credential, "models": before});
                let deadline = self.limits.read().handler;
                let answer = self
                    .oauth_call(&info, provider, "modifyModels", payload, deadline)
                    .await;
                let checked = match answer {
                    Ok(answer) => check(&registration, answer, info.isolate.permissions),
                    Err(error) => {
                        self.reports.call_failed(&info.path, EVENT, &error);
                        return;
                    }
                };
                match checked {
                    Ok(models) => Some(models),
                    Err(problem) => {
                        self.reports.text(&info.path, EVENT, problem);
                        return;
                    }
                }
            }
            _ => None,
        };
        if self
            .options
            .providers
            .change_models(&owner, provider, models)
        {
            self.touch();
        }
    }

    /// The registration whose login a provider uses, if that changes models.
    fn modifier(&self, provider: &str) -> Option<(Arc<ExtensionInfo>, ProviderRegistration)> {
        self.registrations_of(provider)
            .into_iter()
            .find(|(_, registration)| registration.has_oauth)
            .filter(|(_, registration)| registration.has_modify_models)
    }
}

/// The models that the function answered.
fn check(
    registration: &ProviderRegistration,
    answer: Value,
    permissions: PermissionProfile,
) -> Result<Vec<Model>, String> {
    let name = &registration.name;
    let Value::Array(list) = &answer else {
        return Err(format!(
            "Provider {name}: oauth.modifyModels must return the list of models; the models stay as they were."
        ));
    };
    let mut checked: Vec<Model> = Vec::with_capacity(list.len());
    for (index, given) in list.iter().enumerate() {
        let wrong = |problem: String| {
            Err(format!(
                "Provider {name}: oauth.modifyModels returned {problem}; the models stay as they were."
            ))
        };
        let text = |key: &str| given.get(key).and_then(Value::as_str);
        let Some(id) = text("id").filter(|id| !id.is_empty()) else {
            return wrong(format!("model {} without an \"id\"", index + 1));
        };
        if text("provider").is_some_and(|other| other != name) {
            return wrong(format!("model {id} of another provider"));
        }
        let model = match models::own_model(name, &registration.config, given) {
            Ok(model) => model,
            Err(problem) => return wrong(format!("a wrong model ({problem})")),
        };
        if model.api.is_empty() {
            return wrong(format!("model {id} without an \"api\""));
        }
        if checked.iter().any(|known| known.id == model.id) {
            return wrong(format!("model {id} twice"));
        }
        checked.push(model);
    }
    if permissions == PermissionProfile::Restricted {
        let mut changed = registration.clone();
        changed.config = json!({ "models": answer });
        validate::restricted(&changed, false)?;
    }
    Ok(checked)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(answer: Value, permissions: PermissionProfile) -> Result<Vec<Model>, String> {
        let registration = ProviderRegistration {
            name: "p".into(),
            config: json!({"api": "openai-completions", "baseUrl": "http://p"}),
            ..ProviderRegistration::default()
        };
        check(&registration, answer, permissions)
    }

    #[test]
    fn a_list_of_the_providers_models_is_taken() {
        let answer = json!([{"id": "a", "provider": "p", "baseUrl": "http://own"}, {"id": "b"}]);
        let models = checked(answer, PermissionProfile::Trusted).expect("models");
        let urls: Vec<_> = models.iter().map(|model| model.base_url.as_str()).collect();
        assert_eq!(urls, ["http://own", "http://p"]);
        assert!(models.iter().all(|model| model.provider == "p"));
        assert_eq!(
            checked(json!([]), PermissionProfile::Trusted),
            Ok(Vec::new())
        );
    }

    #[test]
    fn anything_else_is_named() {
        for (answer, part) in [
            (Value::Null, "must return the list of models"),
            (json!({"a": 1}), "must return the list of models"),
            (json!([{"name": "a"}]), "model 1 without an \"id\""),
            (json!(["a"]), "model 1 without an \"id\""),
            (
                json!([{"id": "a", "provider": "q"}]),
                "model a of another provider",
            ),
            (json!([{"id": "a"}, {"id": "a"}]), "model a twice"),
            (json!([{"id": "a", "cost": "free"}]), "a wrong model"),
        ] {
            let problem = checked(answer.clone(), PermissionProfile::Trusted).expect_err("refused");
            assert!(problem.contains(part), "{answer}: {problem}");
        }
        // A command in a header would run with the host's rights.
        let answer = json!([{"id": "a", "headers": {"x": "!id"}}]);
        assert!(checked(answer.clone(), PermissionProfile::Restricted).is_err());
        assert!(checked(answer, PermissionProfile::Trusted).is_ok());
    }
}
