//! Small tables that host calls share: things that can be cancelled by number, and notices given once.

use std::collections::{HashMap, HashSet};

use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::wire::ExtId;

/// Numbers are the isolate's own, so the key has the isolate too.
type Key = (u64, u64);

/// Pending operations by (isolate, number); cancelling passes a reason of type `R`.
pub(crate) struct CancelTable<R> {
    pending: Mutex<HashMap<Key, oneshot::Sender<R>>>,
}

impl<R> Default for CancelTable<R> {
    fn default() -> Self {
        Self {
            pending: Mutex::default(),
        }
    }
}

/// Removes its entry when dropped.
pub(crate) struct Pending<'a, R> {
    table: &'a CancelTable<R>,
    key: Key,
    pub(crate) cancelled: oneshot::Receiver<R>,
}

impl<R> CancelTable<R> {
    /// Lists an operation.
    pub(crate) fn add(&self, isolate: u64, number: u64) -> Pending<'_, R> {
        let (sender, cancelled) = oneshot::channel();
        self.pending.lock().insert((isolate, number), sender);
        Pending {
            table: self,
            key: (isolate, number),
            cancelled,
        }
    }

    /// Cancels an operation; one that is not pending any more is fine.
    pub(crate) fn cancel(&self, isolate: u64, number: u64, reason: R) {
        if let Some(sender) = self.pending.lock().remove(&(isolate, number)) {
            // The operation may have ended at this moment.
            let _ = sender.send(reason);
        }
    }
}

impl Pending<'_, ()> {
    /// Runs work that ends soon after `cancel` fires; cancelling this operation fires it.
    pub(crate) async fn run<T>(
        mut self,
        cancel: &CancellationToken,
        work: impl Future<Output = T>,
    ) -> T {
        tokio::pin!(work);
        tokio::select! {
            outcome = &mut work => outcome,
            Ok(()) = &mut self.cancelled => {
                cancel.cancel();
                work.await
            }
        }
    }
}

impl<R> Drop for Pending<'_, R> {
    fn drop(&mut self) {
        self.table.pending.lock().remove(&self.key);
    }
}

/// Which "unsupported" notices were given.
#[derive(Default)]
pub(crate) struct UnsupportedOnce {
    given: Mutex<HashSet<(ExtId, String)>>,
}

impl UnsupportedOnce {
    /// True the first time.
    pub(crate) fn first(&self, ext: ExtId, feature: &str) -> bool {
        self.given.lock().insert((ext, feature.to_string()))
    }
}
