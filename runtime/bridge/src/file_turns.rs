//! Turns of extensions in the queue of changes of files (`withFileMutationQueue`): the agent's queue, which its own tools use, too.
//!
//! A turn ends when the extension says so, when the call that it was asked for is given up, and with the isolate.

use std::collections::HashMap;
use std::path::PathBuf;

use parking_lot::Mutex;
use pier_agent::tools::mutation_queue::{Within, take_turn};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// The answer to whoever waits for a turn.
type Coming = oneshot::Receiver<Result<Within, String>>;

/// Turns that extensions have or wait for, by the number of the isolate and their own.
#[derive(Default)]
pub(crate) struct FileTurns {
    asked: Mutex<HashMap<(u64, u64), Asked>>,
    next: std::sync::atomic::AtomicU64,
}

struct Asked {
    end: CancellationToken,
    /// Until somebody waits for it.
    coming: Option<Coming>,
    /// What work inside of the turn is part of; nothing before it came.
    within: Within,
}

impl FileTurns {
    /// Lists a turn: its number, and the work that takes and keeps it. Its first poll takes the place in the queue. It ends with
    /// `gone`.
    pub(crate) fn ask(
        &self,
        isolate: u64,
        path: PathBuf,
        who: String,
        within: Within,
        gone: &CancellationToken,
    ) -> (u64, impl Future<Output = ()> + Send + use<>) {
        let number = self.next.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
        let end = gone.child_token();
        let (tell, coming) = oneshot::channel();
        self.asked.lock().insert(
            (isolate, number),
            Asked {
                end: end.clone(),
                coming: Some(coming),
                within: Within::default(),
            },
        );
        let work = async move {
            let taken = tokio::select! {
                biased;
                () = end.cancelled() => return,
                taken = take_turn(&path, &who, &within) => taken,
            };
            match taken {
                Ok(turn) => {
                    let mut inside = Within::default();
                    inside.push(&turn);
                    if tell.send(Ok(inside)).is_ok() {
                        end.cancelled().await;
                    }
                }
                // Nobody may be waiting any more.
                Err(busy) => drop(tell.send(Err(busy.to_string()))),
            }
        };
        (number, work)
    }

    /// Waits until the turn has come.
    pub(crate) async fn wait(&self, isolate: u64, number: u64) -> Result<(), String> {
        let key = (isolate, number);
        let coming = self
            .asked
            .lock()
            .get_mut(&key)
            .and_then(|asked| asked.coming.take())
            .ok_or_else(|| format!("there is no turn {number} to wait for"))?;
        let within = coming
            .await
            .map_err(|_| "The call was given up before its turn to change the file came.")??;
        if let Some(asked) = self.asked.lock().get_mut(&key) {
            asked.within = within;
        }
        Ok(())
    }

    /// What work inside of a turn is part of; nothing when it is over.
    pub(crate) fn within(&self, isolate: u64, number: u64) -> Within {
        let asked = self.asked.lock();
        let turn = asked.get(&(isolate, number));
        turn.map(|asked| asked.within.clone()).unwrap_or_default()
    }

    /// Ends a turn, come or not; one that is over is fine.
    pub(crate) fn end(&self, isolate: u64, number: u64) {
        if let Some(asked) = self.asked.lock().remove(&(isolate, number)) {
            asked.end.cancel();
        }
    }

    /// Ends all turns of an isolate.
    pub(crate) fn end_of(&self, isolate: u64) {
        self.asked.lock().retain(|(of, _), asked| {
            if *of == isolate {
                asked.end.cancel();
            }
            *of != isolate
        });
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::*;

    fn ask(
        turns: &FileTurns,
        isolate: u64,
        path: &Path,
        within: Within,
        gone: &CancellationToken,
    ) -> u64 {
        let (number, work) = turns.ask(isolate, path.to_path_buf(), "x.ts".into(), within, gone);
        tokio::spawn(work);
        number
    }

    #[tokio::test]
    async fn a_turn_ends_with_its_call_and_with_its_isolate() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("f");
        let turns = Arc::new(FileTurns::default());
        let never = CancellationToken::new();
        let gone = CancellationToken::new();
        let first = ask(&turns, 1, &file, Within::default(), &gone);
        turns.wait(1, first).await.unwrap();
        // Inside of it the file can be had, for others not.
        let inside = ask(&turns, 1, &file, turns.within(1, first), &never);
        turns.wait(1, inside).await.unwrap();
        turns.end(1, inside);
        let second = ask(&turns, 2, &file, Within::default(), &never);
        let abandoned = ask(&turns, 3, &file, Within::default(), &gone);
        let third = ask(&turns, 2, &file, Within::default(), &never);
        gone.cancel();
        turns.wait(2, second).await.unwrap();
        let error = turns.wait(3, abandoned).await.unwrap_err();
        assert!(error.contains("given up"), "{error}");
        turns.end_of(2);
        assert!(turns.wait(2, third).await.is_err());
        let last = ask(&turns, 4, &file, Within::default(), &never);
        turns.wait(4, last).await.unwrap();
        turns.end(4, last);
        turns.end(4, last);
    }
}
