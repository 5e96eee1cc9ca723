//! Stored credentials: `<agent dir>/auth.json`, as pi writes it. `{provider: {type: "api_key", key} | {type: "oauth",
//! refresh, access, expires, ...}}`. Isolates never see the file; they get a key only through a host call.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::auth_file::{self, AuthLock};
use crate::calls::Purpose;
use crate::host::Shared;
use crate::isolate::CallError;
use crate::registry::ExtensionInfo;

/// How long before its end an access token is renewed, in milliseconds.
const RENEW_BEFORE_MS: f64 = 60_000.0;

/// The file as it was read last, with the time and size that say whether it is still so: lists of models ask once
/// per model.
#[derive(Default)]
pub(crate) struct AuthCache(Mutex<Option<Cached>>);

struct Cached {
    stamp: (SystemTime, u64),
    values: Stored,
}

/// What the file holds, or what is wrong with it.
type Stored = Result<Arc<Map<String, Value>>, String>;

impl AuthCache {
    fn read(&self, file: &Path) -> Stored {
        let Some(stamp) = std::fs::metadata(file)
            .ok()
            .and_then(|data| Some((data.modified().ok()?, data.len())))
        else {
            return Ok(Arc::default());
        };
        let mut cached = self.0.lock();
        if let Some(known) = cached.as_ref().filter(|known| known.stamp == stamp) {
            return known.values.clone();
        }
        let values = auth_file::read(file).map(Arc::new);
        *cached = Some(Cached {
            stamp,
            values: values.clone(),
        });
        values
    }
}

/// Whether an access token ends soon. `expires` is what a server or a login function made of it: any number of
/// milliseconds, also as a text.
fn is_expiring(credential: &Value) -> bool {
    let expires = match credential.get("expires") {
        Some(Value::String(text)) => text.trim().parse().ok(),
        other => other.and_then(Value::as_f64),
    };
    let now = crate::dispatch::payload::now_ms() as f64;
    expires.is_some_and(|expires: f64| expires.is_nan() || expires - RENEW_BEFORE_MS < now)
}

/// Whether an entry of `auth.json` holds anything that a request could be made with.
pub fn is_credential(entry: &Value) -> bool {
    let has = |name: &str| {
        let text = entry.get(name).and_then(Value::as_str);
        text.is_some_and(|text| !text.trim().is_empty())
    };
    if entry.get("type").and_then(Value::as_str) == Some("oauth") {
        has("access") || has("refresh")
    } else {
        has("key")
    }
}

impl Shared {
    fn auth_file(&self) -> PathBuf {
        self.options.agent_dir.join("auth.json")
    }

    /// The stored credential of a provider. An entry without anything in it is none.
    fn stored(&self, provider: &str) -> Result<Option<Value>, String> {
        let all = self.auth_cache.read(&self.auth_file())?;
        Ok(all
            .get(provider)
            .filter(|entry| is_credential(entry))
            .cloned())
    }

    /// Whether a credential was given or is stored for a provider.
    pub(crate) fn has_stored_key(&self, provider: &str) -> bool {
        self.runtime_keys.read().contains_key(provider)
            || self.stored(provider).is_ok_and(|entry| entry.is_some())
    }

    /// Kind of the stored credential: `oauth` or `api_key`.
    pub(crate) fn stored_kind(&self, provider: &str) -> Option<String> {
        let entry = self.stored(provider).ok()??;
        entry.get("type")?.as_str().map(str::to_string)
    }

    /// The stored login of a provider, when requests use it.
    pub(super) fn login_of(&self, provider: &str) -> Option<Value> {
        if self.runtime_keys.read().contains_key(provider) {
            return None;
        }
        let credential = self.stored(provider).ok()??;
        let is_login = credential.get("type").and_then(Value::as_str) == Some("oauth");
        is_login.then_some(credential)
    }

    /// The key given for this process, else the stored one; an OAuth credential is renewed and turned into a key by the extension that defines the provider.
    pub(crate) async fn stored_key(
        self: &Arc<Self>,
        provider: &str,
    ) -> Result<Option<String>, String> {
        if let Some(key) = self.runtime_keys.read().get(provider) {
            return Ok(Some(key.clone()));
        }
        let Some(credential) = self.stored(provider)? else {
            self.follow_login(provider, false).await;
            return Ok(None);
        };
        if credential.get("type").and_then(Value::as_str) != Some("oauth") {
            let Some(text) = credential.get("key").and_then(Value::as_str) else {
                return Ok(None);
            };
            return super::key::resolve(text.trim(), &|name| std::env::var(name).ok())
                .await
                .map(Some);
        }
        if !self.has_login(provider) {
            return Ok(credential
                .get("access")
                .and_then(Value::as_str)
                .map(str::to_string));
        }
        let credential = if is_expiring(&credential) {
            // Apart from the request: when that is aborted, a token that the server has given out is still stored, and
            // the one that it replaces may be worthless by now.
            let (shared, provider) = (Arc::clone(self), provider.to_owned());
            tokio::spawn(async move { shared.renew(&provider, &shared.auth_file()).await })
                .await
                .map_err(|error| error.to_string())??
        } else {
            credential
        };
        // It may be another one than at the start, also because another process has logged in.
        self.follow_login(provider, false).await;
        let key = self
            .oauth(provider, "getApiKey", json!({"credentials": credential}))
            .await?;
        Ok(key.as_str().map(str::to_string))
    }

    /// Renews a token under the lock: of two processes that find it expired, one asks and the other takes over what
    /// that one got.
    async fn renew(self: &Arc<Self>, provider: &str, file: &Path) -> Result<Value, String> {
        let lock = AuthLock::acquire(file).await?;
        let stored = auth_file::read(file)?;
        let credential = stored
            .get(provider)
            .cloned()
            .ok_or_else(|| format!("no longer logged in to \"{provider}\""))?;
        if !is_expiring(&credential) {
            return Ok(credential);
        }
        let mut renewed = self
            .oauth(provider, "refreshToken", json!({"credentials": credential}))
            .await?;
        if !renewed.is_object() {
            return Err("the renewed credential is not an object".into());
        }
        renewed["type"] = json!("oauth");
        lock.store(provider, renewed.clone())?;
        Ok(renewed)
    }

    fn has_login(&self, provider: &str) -> bool {
        let registrations = self.registrations_of(provider);
        registrations
            .iter()
            .any(|(_, registration)| registration.has_oauth)
    }

    /// Logs in to a provider of an extension and stores what it returns.
    pub(crate) async fn login(self: &Arc<Self>, provider: &str) -> Result<(), String> {
        let answer = self.oauth(provider, "login", json!({})).await?;
        let credential = match answer {
            Value::String(key) => json!({"type": "api_key", "key": key}),
            Value::Object(mut map) => {
                map.insert("type".into(), json!("oauth"));
                Value::Object(map)
            }
            _ => return Err("the login returned no credential".into()),
        };
        let lock = AuthLock::acquire(&self.auth_file()).await?;
        lock.store(provider, credential)?;
        drop(lock);
        self.touch();
        self.follow_login(provider, true).await;
        Ok(())
    }

    async fn oauth(
        self: &Arc<Self>,
        provider: &str,
        op: &str,
        payload: Value,
    ) -> Result<Value, String> {
        let (info, _) = self
            .registrations_of(provider)
            .into_iter()
            .find(|(_, registration)| registration.has_oauth)
            .ok_or_else(|| format!("provider \"{provider}\" has no login"))?;
        let deadline = self.limits.read().long;
        self.oauth_call(&info, provider, op, payload, deadline)
            .await
            .map_err(|error| error.to_string())
    }

    /// Calls a login function of an extension.
    pub(super) async fn oauth_call(
        self: &Arc<Self>,
        info: &ExtensionInfo,
        provider: &str,
        op: &str,
        payload: Value,
        deadline: Option<Duration>,
    ) -> Result<Value, CallError> {
        let scope = self
            .calls
            .begin(info.id, provider, Purpose::Other, CancellationToken::new());
        let header = json!({"ext": info.id, "provider": provider, "op": op, "callId": scope.id()});
        let payload: Arc<str> = payload.to_string().into();
        self.invoke_json(
            &info.isolate,
            "oauth",
            &header,
            Some(payload),
            &scope,
            deadline,
        )
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_end_by_any_number() {
        let now = crate::dispatch::payload::now_ms();
        let expiring = |expires: Value| is_expiring(&json!({"expires": expires}));
        for past in [
            json!(now + 59_000),
            json!(now as f64 - 0.5),
            json!(format!(" {} ", now - 1)),
            json!("NaN"),
            json!(i64::MIN),
            json!(-1e300),
        ] {
            assert!(expiring(past.clone()), "{past}");
        }
        for later in [
            json!(now + 61_000),
            json!(u64::MAX),
            json!(1e300),
            json!("soon"),
            json!(null),
        ] {
            assert!(!expiring(later.clone()), "{later}");
        }
    }

    #[test]
    fn an_entry_needs_something_in_it() {
        for entry in [
            json!({"type": "api_key", "key": "k"}),
            json!({"key": "k"}),
            json!({"type": "oauth", "access": "a"}),
            json!({"type": "oauth", "refresh": "r", "access": ""}),
        ] {
            assert!(is_credential(&entry), "{entry}");
        }
        for entry in [
            json!({"type": "api_key"}),
            json!({"type": "api_key", "key": " "}),
            json!({"type": "api_key", "key": 5}),
            json!({"type": "oauth", "expires": 1}),
            json!("k"),
            json!(null),
        ] {
            assert!(!is_credential(&entry), "{entry}");
        }
    }
}
