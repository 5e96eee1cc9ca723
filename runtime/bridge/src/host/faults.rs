//! What happens when an isolate misbehaves outside a call, or ends: reports, and the withdrawal of everything its
//! extensions registered. The session and all other extensions go on.

use std::sync::Arc;

use super::Shared;
use super::slot::IsolateSlot;
use crate::isolate::{Fault, StopCause};
use crate::registry::ExtensionInfo;

/// What the engine says when nothing is left that could ever finish the evaluation of a module.
const NEVER_RESOLVED: &str = "Top-level await promise never resolved";

/// Warnings that wait for the end of a load.
const MAX_NOTES: usize = 256;

impl Shared {
    /// A fault that the engine reported.
    pub(crate) fn handle_fault(self: &Arc<Self>, slot: &Arc<IsolateSlot>, fault: &Fault) {
        if let Fault::Stopped(cause) = fault {
            self.isolate_ended(slot, cause);
            return;
        }
        let file = match fault {
            Fault::UncaughtException(failure) | Fault::UnhandledRejection(failure) => {
                failure.place.as_ref().map(|place| place.file.clone())
            }
            Fault::MissingExports { importer, .. } => Some(importer.clone()),
            Fault::Stopped(_) => None,
        };
        let path = slot.reported_path(file.as_deref());
        if let Fault::MissingExports {
            specifier,
            importer,
            names,
        } = fault
        {
            // The extension works until it uses one of them: worth a warning, not an error.
            let note = format!(
                "{importer} imports from \"{specifier}\" what this host does not have: {}. Using one of them will throw.",
                names.join(", ")
            );
            tracing::warn!(extension = %path, "{note}");
            let mut notes = self.notes.lock();
            if notes.len() < MAX_NOTES {
                notes.push(note);
            }
            return;
        }
        if let Fault::UncaughtException(failure) = fault
            && failure.message == NEVER_RESOLVED
        {
            let ids = slot.ids();
            if self.early.lock().keys().any(|id| ids.contains(id)) {
                // Only a load can be in this state; it fails now instead of when its time is up.
                slot.load_is_stuck(failure.clone());
                return;
            }
            if ids.iter().all(|id| self.registry.get(*id).is_none()) {
                // The load that failed said it; its isolate is about to end.
                return;
            }
        }
        self.reports.fault(&path, fault);
        if slot.storm()
            && let Ok(api) = slot.api()
        {
            let cause = StopCause::Other(
                "it failed hundreds of times within seconds, outside any call".into(),
            );
            api.terminate(cause.clone());
            self.isolate_ended(slot, &cause);
        }
    }

    /// The isolate is gone: its extensions lose their registrations and open calls. Handled once per isolate.
    pub(crate) fn isolate_ended(self: &Arc<Self>, slot: &Arc<IsolateSlot>, cause: &StopCause) {
        // The call that learns of it second answers behind the report, which names that call's request.
        let reporting = slot.reporting_end.lock();
        if !slot.mark_ended() {
            return;
        }
        let ids = slot.ids();
        let mut reported = false;
        for id in &ids {
            if let Some(info) = self.registry.get(*id) {
                self.withdraw(&info);
                self.reports
                    .fault(&info.path, &Fault::Stopped(cause.clone()));
                reported = true;
            }
        }
        // While loading, the load outcome says it.
        if !reported && self.early.lock().keys().all(|id| !ids.contains(id)) {
            self.reports
                .fault(&slot.reported_path(None), &Fault::Stopped(cause.clone()));
        }
        drop(reporting);
        self.calls.cancel_all(&ids);
        self.execs.kill_of(&ids);
        self.file_turns.end_of(slot.id);
        self.end_children_of(slot.id);
        self.isolates
            .lock()
            .retain(|known| !Arc::ptr_eq(known, slot));
    }

    /// Takes back everything that one extension registered, and what it left on the screen.
    pub(crate) fn withdraw(self: &Arc<Self>, info: &ExtensionInfo) {
        self.registry.remove(info.id);
        self.options.tools.clear_owner(&info.owner());
        self.options.providers.clear_owner(&info.owner());
        self.clear_ui_of(info);
        self.touch();
    }
}
