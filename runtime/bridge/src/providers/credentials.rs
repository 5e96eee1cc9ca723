//! Stored credentials: `<agent dir>/auth.json`, as pi writes it. `{provider: {type: "api_key", key} | {type: "oauth",
//! refresh, access, expires, ...}}`. Isolates never see the file; they get a key only through a host call.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::calls::Purpose;
use crate::host::Shared;

/// How long before its end an access token is renewed, in milliseconds.
const RENEW_BEFORE_MS: i64 = 60_000;

/// The file as it was read last, with the time and size that say whether it is still so: lists of models ask once
/// per model.
#[derive(Default)]
pub(crate) struct AuthCache(Mutex<Option<Cached>>);

struct Cached {
    stamp: (SystemTime, u64),
    values: Arc<Map<String, Value>>,
}

impl AuthCache {
    fn read(&self, file: &Path) -> Arc<Map<String, Value>> {
        let Some(stamp) = std::fs::metadata(file)
            .ok()
            .and_then(|data| Some((data.modified().ok()?, data.len())))
        else {
            return Arc::default();
        };
        let mut cached = self.0.lock();
        if let Some(known) = cached.as_ref().filter(|known| known.stamp == stamp) {
            return known.values.clone();
        }
        let values = Arc::new(read(file));
        *cached = Some(Cached {
            stamp,
            values: values.clone(),
        });
        values
    }
}

fn read(file: &Path) -> Map<String, Value> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    match serde_json::from_str(&text) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

/// Replaces one provider's credential. Written to a neighbour first, so that a crash loses nothing; readable by the
/// user only.
fn write(file: &Path, provider: &str, credential: Value) -> std::io::Result<()> {
    let mut all = read(file);
    all.insert(provider.into(), credential);
    let directory = file.parent().unwrap_or_else(|| Path::new("."));
    std::fs::create_dir_all(directory)?;
    let temporary = directory.join(format!(".auth.json.{}", std::process::id()));
    {
        use std::io::Write as _;
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt as _;
            options.mode(0o600);
        }
        let mut target = options.open(&temporary)?;
        target.write_all(serde_json::to_string_pretty(&Value::Object(all))?.as_bytes())?;
        target.sync_all()?;
    }
    std::fs::rename(&temporary, file)
}

impl Shared {
    fn auth_file(&self) -> PathBuf {
        self.options.agent_dir.join("auth.json")
    }

    /// Whether a credential was given or is stored for a provider.
    pub(crate) fn has_stored_key(&self, provider: &str) -> bool {
        self.runtime_keys.read().contains_key(provider)
            || self
                .auth_cache
                .read(&self.auth_file())
                .contains_key(provider)
    }

    /// Kind of the stored credential: `oauth` or `api_key`.
    pub(crate) fn stored_kind(&self, provider: &str) -> Option<String> {
        self.auth_cache
            .read(&self.auth_file())
            .get(provider)?
            .get("type")?
            .as_str()
            .map(str::to_string)
    }

    /// The key given for this process, else the stored one; an OAuth credential is renewed and turned into a key by the extension that defines the provider.
    pub(crate) async fn stored_key(
        self: &Arc<Self>,
        provider: &str,
    ) -> Result<Option<String>, String> {
        if let Some(key) = self.runtime_keys.read().get(provider) {
            return Ok(Some(key.clone()));
        }
        let file = self.auth_file();
        let Some(mut credential) = self.auth_cache.read(&file).get(provider).cloned() else {
            return Ok(None);
        };
        if credential.get("type").and_then(Value::as_str) != Some("oauth") {
            let Some(text) = credential.get("key").and_then(Value::as_str) else {
                return Ok(None);
            };
            return super::key::resolve(text, &|name| std::env::var(name).ok())
                .await
                .map(Some);
        }
        if !self.has_login(provider) {
            return Ok(credential
                .get("access")
                .and_then(Value::as_str)
                .map(str::to_string));
        }
        let expires = credential
            .get("expires")
            .and_then(Value::as_i64)
            .unwrap_or(i64::MAX);
        if expires - RENEW_BEFORE_MS < crate::dispatch::payload::now_ms() {
            let mut renewed = self
                .oauth(provider, "refreshToken", json!({"credentials": credential}))
                .await?;
            if !renewed.is_object() {
                return Err("the renewed credential is not an object".into());
            }
            renewed["type"] = json!("oauth");
            write(&file, provider, renewed.clone())
                .map_err(|error| format!("cannot store the renewed credential: {error}"))?;
            credential = renewed;
        }
        let key = self
            .oauth(provider, "getApiKey", json!({"credentials": credential}))
            .await?;
        Ok(key.as_str().map(str::to_string))
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
        write(&self.auth_file(), provider, credential)
            .map_err(|error| format!("cannot store the credential: {error}"))?;
        self.touch();
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
        let scope = self
            .calls
            .begin(info.id, provider, Purpose::Other, CancellationToken::new());
        let header = json!({"ext": info.id, "provider": provider, "op": op, "callId": scope.id()});
        let deadline = self.limits.read().long;
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
        .map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing_one_credential_keeps_the_others() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("sub/auth.json");
        write(&file, "a", json!({"type": "api_key", "key": "1"})).unwrap();
        write(&file, "b", json!({"type": "oauth"})).unwrap();
        let all = read(&file);
        assert_eq!(all.len(), 2);
        assert_eq!(all["a"]["key"], "1");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(
                std::fs::metadata(&file).unwrap().permissions().mode() & 0o077,
                0
            );
        }
    }
}
