//! The end: whatever extensions left behind goes with it. `session_shutdown` handlers ran before, through
//! the agent, within their own budget.

use std::time::Duration;

use super::ExtensionHost;

/// How long all isolates together may take to end.
const LIMIT: Duration = Duration::from_secs(2);

impl ExtensionHost {
    /// Ends all isolates in parallel and kills their children. Bounded; safe to call twice.
    pub async fn shutdown(&self) {
        let shared = &self.shared;
        let slots = std::mem::take(&mut *shared.isolates.lock());
        let ends = slots.iter().map(|slot| shared.end_slot(slot));
        // An isolate that does not end in time was told to terminate; its thread dies with the process.
        let _ = tokio::time::timeout(LIMIT, futures::future::join_all(ends)).await;
        shared.execs.kill_all();
        let infos = shared.registry.infos();
        for info in infos {
            shared.withdraw(&info);
        }
    }

    /// Whether children of extensions are still running; for tests and for the exit report.
    pub fn running_children(&self) -> usize {
        self.shared.execs.count()
    }
}
