//! Replacing extensions: a reload is a new isolate, the module map is never patched (`spec/extension-loading.md` §7).
//!
//! An isolate that is replaced is *retired*: nothing of it is registered any more, but calls that are still open (the
//! command that asked for the reload) may end in it before it is disposed.

use std::sync::Arc;
use std::time::Duration;

use pier_agent::hooks::{SessionStartReason, ShutdownReason};
use serde_json::json;

use super::builtin::is_builtin;
use super::load::{LoadOutcome, Placed};
use super::slot::IsolateSlot;
use super::{ExtensionHost, Shared};
use crate::discovery::Profile;

/// How long open calls of a retired isolate may go on.
const RETIRE_LIMIT: Duration = Duration::from_secs(30);
/// How often it is looked at.
const RETIRE_TICK: Duration = Duration::from_millis(50);
/// How long its thread gets to end.
const DISPOSE_GRACE: Duration = Duration::from_millis(500);

/// What old contexts of pi extensions say from now on.
const STALE: &str = "This extension ctx is stale after session replacement or reload. Use the context of the current session.";

impl ExtensionHost {
    /// For `HostActions::reload_runtime`: replaces what the end of the old session makes stale, after
    /// `session_shutdown` and before `session_start`.
    ///
    /// A reload discovers and loads everything anew. Any other replacement re-creates pi extensions only: xcsh never
    /// replaces an extension instance, so its extensions live on and see `session_switch` (`spec/extension-api.md` §4.5).
    pub async fn reload_runtime(
        &self,
        ended: ShutdownReason,
        _starting: SessionStartReason,
    ) -> LoadOutcome {
        let shared = &self.shared;
        let everything = ended == ShutdownReason::Reload;
        let infos = shared.registry.infos();
        let replaced = |slot: &IsolateSlot| {
            infos.iter().any(|info| {
                info.isolate.id == slot.id
                    && !is_builtin(info)
                    && (everything || info.profile == Profile::Pi)
            })
        };
        let again: Vec<Placed> = infos
            .iter()
            .filter(|info| replaced(&info.isolate))
            .map(|info| Placed {
                order: info.order(),
                extension: info.discovered.clone(),
            })
            .collect();
        let slots: Vec<Arc<IsolateSlot>> = shared
            .isolates
            .lock()
            .iter()
            .filter(|slot| replaced(slot))
            .cloned()
            .collect();
        for slot in slots {
            shared.retire(&slot);
        }
        let said = match everything {
            true => shared.read_models_file_again().await,
            false => Vec::new(),
        };
        let plan = shared.plan.read().clone();
        let mut outcome = match plan.filter(|_| everything) {
            Some(plan) => {
                let discovery = plan().await;
                self.load(&discovery, |_| true).await
            }
            None => shared.load(again).await,
        };
        outcome.warnings.extend(said);
        outcome
    }
}

impl Shared {
    /// Withdraws everything of an isolate, makes its contexts stale and ends it once its open calls are done.
    pub(crate) fn retire(self: &Arc<Self>, slot: &Arc<IsolateSlot>) {
        let ids = slot.ids();
        for id in &ids {
            if let Some(info) = self.registry.get(*id) {
                self.withdraw(&info);
                if info.profile == Profile::Pi
                    && let Ok(api) = slot.api()
                {
                    api.post(
                        "stale",
                        json!({"ext": id, "message": STALE}).to_string(),
                        None,
                    );
                }
            }
        }
        self.isolates.lock().retain(|known| known.id != slot.id);
        let (shared, slot) = (self.clone(), slot.clone());
        self.runtime.spawn(async move {
            let deadline = tokio::time::Instant::now() + RETIRE_LIMIT;
            while shared.calls.any_open(&ids) && tokio::time::Instant::now() < deadline {
                tokio::time::sleep(RETIRE_TICK).await;
            }
            shared.end_slot(&slot).await;
        });
    }

    /// Ends an isolate for good and everything that it started.
    pub(crate) async fn end_slot(self: &Arc<Self>, slot: &Arc<IsolateSlot>) {
        slot.mark_ended();
        let ids = slot.ids();
        self.calls.cancel_all(&ids);
        self.execs.kill_of(&ids);
        self.file_turns.end_of(slot.id);
        self.children.end_of(slot.id).await;
        if let Ok(api) = slot.api() {
            api.dispose(DISPOSE_GRACE).await;
        }
    }
}
