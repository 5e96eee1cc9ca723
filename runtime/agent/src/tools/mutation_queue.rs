//! One change at a time per file (`spec/agent-loop.md` §10, "write"): calls that modify the same real file run one after
//! another in the order they were made, also across parallel tool calls and sessions of the process. Changes of
//! different files never wait for each other.

use std::collections::HashMap;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use tokio::sync::Mutex as AsyncMutex;

/// Links followed by hand before giving up; the kernel's own limit.
const MAX_LINKS: usize = 40;

static QUEUES: LazyLock<Mutex<HashMap<PathBuf, Arc<AsyncMutex<()>>>>> =
    LazyLock::new(Mutex::default);

/// Runs `change` when all earlier changes of the same real file are done. `path` must be absolute; it need not exist.
/// The place in the queue is taken when the returned future is first polled.
pub async fn with_file_mutation_queue<T>(path: &Path, change: impl Future<Output = T>) -> T {
    let key = real_path(path);
    let queue = Arc::clone(QUEUES.lock().entry(key.clone()).or_default());
    let _forget = ForgetIdle { key };
    // Tokio's mutex is fair, which makes it the queue.
    let _turn = queue.lock_owned().await;
    change.await
}

/// Removes the queue of a file when nobody else holds it, also when the change is dropped half-way.
struct ForgetIdle {
    key: PathBuf,
}

impl Drop for ForgetIdle {
    fn drop(&mut self) {
        let mut queues = QUEUES.lock();
        // The map's own reference is the only one left: the guard of this call was dropped before (locals drop in
        // reverse order), and new callers take theirs under this lock.
        if queues
            .get(&self.key)
            .is_some_and(|queue| Arc::strong_count(queue) == 1)
        {
            queues.remove(&self.key);
        }
    }
}

/// The file behind links; for a file that does not exist yet, the place where it would be created.
fn real_path(path: &Path) -> PathBuf {
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        if let Ok(real) = path.canonicalize() {
            return real;
        }
        // A link to a file that does not exist: writing creates the target.
        let Ok(target) = std::fs::read_link(&path) else {
            break;
        };
        path = match path.parent() {
            Some(parent) => parent.join(target),
            None => target,
        };
    }
    let mut missing = Vec::new();
    let mut ancestor = path.as_path();
    while let (Some(parent), Some(name)) = (ancestor.parent(), ancestor.file_name()) {
        missing.push(name);
        if let Ok(mut real) = parent.canonicalize() {
            real.extend(missing.iter().rev());
            return real;
        }
        ancestor = parent;
    }
    path
}
