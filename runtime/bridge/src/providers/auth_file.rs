//! `<agent dir>/auth.json` on disk: readable by its user only, replaced as a whole, one writer at a time.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use pier_agent::regular_file;
use pier_agent::shared_file::{self, FileLock, LockError, Readers};
use serde_json::{Map, Value};

/// How long another process may hold the lock: it may be renewing a token over the network. More than [`STALE`], so
/// that what a crash left does not fail a request.
const LOCK_WAIT: Duration = Duration::from_secs(35);
/// Pause between attempts; nobody tells when a lock becomes free.
const LOCK_PAUSE: Duration = Duration::from_millis(25);
/// Age from which a lock counts as left behind: pi holds this one longer than others, and touches it every 15 s only.
const STALE: Duration = Duration::from_secs(30);
/// How often the lock is touched while it is held. Some of pi's code takes it over after 10 s.
const TOUCH: Duration = Duration::from_secs(2);

/// The right to change the file; given back when dropped.
pub(super) struct AuthLock {
    _lock: Arc<Mutex<FileLock>>,
    file: PathBuf,
}

/// All stored credentials; none without a file.
///
/// # Errors
/// Names the file when it cannot be read or is no JSON object.
pub(super) fn read(file: &Path) -> Result<Map<String, Value>, String> {
    let text = match regular_file::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Map::new()),
        Err(error) => return Err(format!("{} cannot be read: {error}", file.display())),
    };
    match serde_json::from_str(&text) {
        Ok(Value::Object(map)) => Ok(map),
        // The parser's words could quote a part of a secret.
        _ => Err(format!(
            "{} is not a JSON object; repair or remove it",
            file.display()
        )),
    }
}

impl AuthLock {
    /// Waits for the lock, within limits.
    ///
    /// # Errors
    /// The directory cannot be written, or another process holds the lock for too long, which names the lock.
    pub(super) async fn acquire(file: &Path) -> Result<Self, String> {
        let failed =
            |error: &dyn std::fmt::Display| format!("{} cannot be locked: {error}", file.display());
        // As pi does: all names of the file have one lock.
        let file = shared_file::resolved(file).map_err(|error| failed(&error))?;
        let directory = file.parent().unwrap_or_else(|| Path::new("."));
        std::fs::create_dir_all(directory).map_err(|error| failed(&error))?;
        let began = Instant::now();
        let lock = loop {
            match FileLock::try_acquire(&file, STALE) {
                Ok(lock) => break Arc::new(Mutex::new(lock)),
                Err(LockError::Held(_)) if began.elapsed() < LOCK_WAIT => {
                    tokio::time::sleep(LOCK_PAUSE).await;
                }
                Err(error) => return Err(failed(&error)),
            }
        };
        let held = Arc::downgrade(&lock);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(TOUCH).await;
                if !held.upgrade().is_some_and(|lock| lock.lock().touch()) {
                    break;
                }
            }
        });
        Ok(Self { _lock: lock, file })
    }

    /// Replaces one provider's credential and keeps the others.
    ///
    /// # Errors
    /// The file that is there cannot be understood, so writing would lose it; or the disk refuses.
    pub(super) fn store(&self, provider: &str, credential: Value) -> Result<(), String> {
        let mut all = read(&self.file)?;
        all.insert(provider.into(), credential);
        serde_json::to_vec_pretty(&Value::Object(all))
            .map_err(std::io::Error::from)
            .and_then(|text| shared_file::replace(&self.file, &text, Readers::UserOnly))
            .map_err(|error| format!("{} cannot be written: {error}", self.file.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[tokio::test]
    async fn writing_one_credential_keeps_the_others() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("sub/auth.json");
        for (provider, credential) in [
            ("a", json!({"type": "api_key", "key": "1"})),
            ("b", json!({"type": "oauth"})),
        ] {
            let lock = AuthLock::acquire(&file).await.unwrap();
            lock.store(provider, credential).unwrap();
        }
        let all = read(&file).unwrap();
        assert_eq!(all.len(), 2);
        assert_eq!(all["a"]["key"], "1");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::metadata(&file).unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0);
        }
    }

    #[tokio::test]
    async fn a_broken_file_is_named_and_kept() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("auth.json");
        std::fs::write(&file, "{\"a\": {\"key\": \"sk-secret\"").unwrap();
        let problem = read(&file).unwrap_err();
        assert!(problem.contains("auth.json") && !problem.contains("sk-secret"));
        let lock = AuthLock::acquire(&file).await.unwrap();
        assert!(lock.store("b", json!({})).is_err());
        assert!(
            std::fs::read_to_string(&file)
                .unwrap()
                .contains("sk-secret")
        );
    }

    #[tokio::test]
    async fn the_second_writer_waits_for_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("auth.json");
        let first = AuthLock::acquire(&file).await.unwrap();
        let waiting = AuthLock::acquire(&file);
        tokio::pin!(waiting);
        let early = tokio::time::timeout(LOCK_PAUSE * 3, &mut waiting).await;
        assert!(early.is_err(), "both have the lock");
        drop(first);
        let second = tokio::time::timeout(Duration::from_secs(5), waiting).await;
        assert!(second.unwrap().is_ok());
    }
}
