//! One change at a time per file (`spec/agent-loop.md` §10, "write"): calls that modify the same real file run one after
//! another in the order they were made, also across parallel tool calls, extensions and sessions of the process. Changes of
//! different files never wait for each other.
//!
//! What is done as part of a change may change the same file, too: it lines up in a queue of its own inside the turn.

use std::collections::HashMap;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::shared_file;
use crate::tool::ToolError;

/// How long one turn may last while others wait; the longest that handlers which ask a person may take.
const PATIENCE: Duration = Duration::from_secs(300);

static QUEUES: LazyLock<Mutex<HashMap<PathBuf, Arc<Queue>>>> = LazyLock::new(Mutex::default);

tokio::task_local! {
    /// Turns that the running work is part of.
    static WITHIN: Within;
}

/// Callers of one file, or of one turn.
#[derive(Default)]
struct Queue {
    // Tokio's mutex is fair, which makes it the queue.
    turn: Arc<AsyncMutex<()>>,
    /// Who has the turn, and since when.
    holder: Mutex<Option<(Arc<str>, Instant)>>,
}

/// The right to change a file, until the last clone is dropped.
#[derive(Clone)]
pub struct Turn(Arc<Held>);

struct Held {
    /// Where changes line up that are made as part of this one.
    inside: Arc<Queue>,
    // Dropped in this order: the place looks whether anybody else is in the queue.
    _guard: OwnedMutexGuard<()>,
    place: Place,
}

impl Drop for Held {
    fn drop(&mut self) {
        // Until the next one has noticed that it is its turn.
        *self.place.queue.holder.lock() = Some(("another change".into(), Instant::now()));
    }
}

/// Turns that some work is part of. Does not keep them.
#[derive(Clone, Default)]
pub struct Within(Vec<Weak<Held>>);

impl Within {
    /// Those of the running work.
    pub fn current() -> Self {
        WITHIN.try_with(Clone::clone).unwrap_or_default()
    }

    /// Adds turns.
    pub fn extend(&mut self, other: &Within) {
        self.0.extend(other.0.iter().cloned());
    }

    /// Adds one that was taken inside of the others.
    pub fn push(&mut self, turn: &Turn) {
        self.0.push(Arc::downgrade(&turn.0));
    }

    /// Runs work as part of these turns: it may change their files.
    pub async fn run<T>(self, work: impl Future<Output = T>) -> T {
        WITHIN.scope(self, work).await
    }

    /// The innermost turn for a file that still lasts.
    fn turn_for(&self, key: &Path) -> Option<Turn> {
        let turns = self.0.iter().rev().filter_map(Weak::upgrade);
        turns.map(Turn).find(|turn| turn.0.place.key == key)
    }
}

/// Nobody finished for too long.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} was not changed: {holder} has been changing it for {} seconds without an end. Try again later.",
    path.display(), held.as_secs()
)]
pub struct Busy {
    path: PathBuf,
    holder: Arc<str>,
    held: Duration,
}

/// Waits until all earlier changes of the same real file are done. `path` must be absolute; it need not exist. `who` is told to
/// those who wait too long. The place in the queue is taken when the returned future is first polled, and given up when it is
/// dropped.
///
/// # Errors
/// The turn before has lasted for five minutes of waiting.
pub async fn take_turn(path: &Path, who: &str, within: &Within) -> Result<Turn, Busy> {
    patient_turn(path, who, within, PATIENCE).await
}

async fn patient_turn(
    path: &Path,
    who: &str,
    within: &Within,
    patience: Duration,
) -> Result<Turn, Busy> {
    let key = real_path(path);
    let outer = within.turn_for(&key);
    let queue = match &outer {
        Some(turn) => turn.0.inside.clone(),
        None => QUEUES.lock().entry(key.clone()).or_default().clone(),
    };
    // From here on dropping this future gives the place up.
    let place = Place { key, queue, outer };
    let guard = wait_for(&place.queue, path, patience).await?;
    *place.queue.holder.lock() = Some((who.into(), Instant::now()));
    Ok(Turn(Arc::new(Held {
        inside: Arc::default(),
        _guard: guard,
        place,
    })))
}

async fn wait_for(
    queue: &Queue,
    path: &Path,
    patience: Duration,
) -> Result<OwnedMutexGuard<()>, Busy> {
    let arrived = Instant::now();
    let mut turn = std::pin::pin!(queue.turn.clone().lock_owned());
    let mut until = arrived + patience;
    loop {
        if let Ok(guard) = tokio::time::timeout_at(until, &mut turn).await {
            return Ok(guard);
        }
        // Many short turns are no reason to give up: the time is that of one turn.
        let holder = queue.holder.lock().clone();
        let (holder, since) = holder.unwrap_or_else(|| ("another change".into(), arrived));
        until = since.max(arrived) + patience;
        if until <= Instant::now() {
            return Err(Busy {
                path: path.to_path_buf(),
                holder,
                held: since.elapsed(),
            });
        }
    }
}

/// Runs a tool's change when all earlier changes of the same real file are done. `path` must be absolute; it need not exist.
///
/// # Errors
/// Those of the change; `Aborted` when cancelled while waiting; a text that says who holds the file for minutes.
pub async fn with_file_mutation_queue<T>(
    path: &Path,
    tool: &str,
    cancel: &CancellationToken,
    change: impl Future<Output = Result<T, ToolError>>,
) -> Result<T, ToolError> {
    let mut within = Within::current();
    let who = format!("the tool {tool}");
    let turn = tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(ToolError::Aborted),
        turn = take_turn(path, &who, &within) => {
            turn.map_err(|busy| ToolError::failed(busy.to_string()))?
        }
    };
    within.push(&turn);
    within.run(change).await
}

/// A caller's place in a queue. Dropped, it removes the queue of a file when nobody else is in it.
struct Place {
    key: PathBuf,
    queue: Arc<Queue>,
    /// The turn that this one is part of lasts as long.
    outer: Option<Turn>,
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.outer.is_some() {
            return;
        }
        let mut queues = QUEUES.lock();
        // Two references are the map's own and this one: the guard of this call was dropped before, and new callers take theirs
        // under this lock.
        if Arc::strong_count(&self.queue) == 2 {
            queues.remove(&self.key);
        }
    }
}

/// The file behind links; for a file that does not exist yet, the place where it would be created.
fn real_path(path: &Path) -> PathBuf {
    // A link to a file that does not exist: writing creates the target.
    let path = shared_file::resolved(path).unwrap_or_else(|_| path.to_path_buf());
    if let Ok(real) = path.canonicalize() {
        return real;
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

#[cfg(test)]
mod tests {
    use super::*;

    async fn take(path: &Path, within: &Within) -> Result<Turn, Busy> {
        take_turn(path, "somebody", within).await
    }

    /// Whether the turn comes without anybody else doing something.
    async fn is_free(path: &Path, within: &Within) -> bool {
        tokio::select! {
            biased;
            turn = take(path, within) => turn.is_ok(),
            () = tokio::task::yield_now() => false,
        }
    }

    #[tokio::test]
    async fn work_inside_a_turn_lines_up_inside_of_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("f");
        let outside = Within::default();
        let outer = take(&file, &outside).await.unwrap();
        assert!(!is_free(&file, &outside).await);
        let mut within = Within::default();
        within.push(&outer);
        let first = take(&file, &within).await.unwrap();
        // Two changes inside the same turn wait for each other.
        assert!(!is_free(&file, &within).await);
        // The outer turn lasts until what began inside of it is done.
        drop(outer);
        assert!(!is_free(&file, &outside).await);
        let mut deeper = within.clone();
        deeper.push(&first);
        assert!(is_free(&file, &deeper).await);
        drop(first);
        // Turns that are over do not count.
        let next = take(&file, &within).await.unwrap();
        assert!(!is_free(&file, &outside).await);
        drop(next);
        assert!(!QUEUES.lock().contains_key(&real_path(&file)));
    }

    #[tokio::test]
    async fn a_tools_change_may_contain_another_one() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("f");
        let never = CancellationToken::new();
        let inner = with_file_mutation_queue(&file, "edit", &never, async { Ok(1) });
        let outer = with_file_mutation_queue(&file, "write", &never, inner);
        assert_eq!(outer.await.unwrap(), 1);
        let turn = take(&file, &Within::default()).await.unwrap();
        let cancelled = CancellationToken::new();
        let waiting = with_file_mutation_queue(&file, "edit", &cancelled, async { Ok(()) });
        let (outcome, ()) = tokio::join!(waiting, async { cancelled.cancel() });
        assert!(matches!(outcome, Err(ToolError::Aborted)));
        drop(turn);
    }

    #[tokio::test]
    async fn waiting_ends_when_one_turn_lasts_too_long_and_not_because_many_wait() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("f");
        let outside = Within::default();
        let short = Duration::from_millis(300);
        let wait = async || patient_turn(&file, "y.ts", &outside, short).await;
        let turn = take_turn(&file, "x.ts", &outside).await.unwrap();
        let Err(busy) = wait().await else {
            panic!("the file is taken");
        };
        assert!(busy.held >= short);
        assert_eq!(
            busy.to_string(),
            format!(
                "{} was not changed: x.ts has been changing it for 0 seconds without an end. Try again later.",
                file.display()
            )
        );
        drop(turn);
        // Each of them has less than the time, all together more.
        let slow = async || {
            let turn = wait().await.unwrap();
            tokio::time::sleep(short / 3).await;
            drop(turn);
        };
        let began = Instant::now();
        tokio::join!(slow(), slow(), slow(), slow(), slow(), slow());
        assert!(began.elapsed() > short + short / 2);
    }
}
