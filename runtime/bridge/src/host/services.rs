//! The host as one isolate sees it: routes its calls into the dispatch table and its faults into reports.

use std::sync::{Arc, Weak};

use futures::future::BoxFuture;

use super::Shared;
use super::slot::IsolateSlot;
use crate::host_calls;
use crate::isolate::{Fault, HostCallError, IsolateHost};

/// Weak on both sides: the isolate must not keep its owner alive.
pub(crate) struct Services {
    shared: Weak<Shared>,
    slot: Weak<IsolateSlot>,
}

impl Services {
    pub(crate) fn new(shared: &Arc<Shared>, slot: &Arc<IsolateSlot>) -> Self {
        Self {
            shared: Arc::downgrade(shared),
            slot: Arc::downgrade(slot),
        }
    }

    /// Who answers a method, and its name: a realm of the isolate has another session.
    fn owner<'a>(
        &self,
        method: &'a str,
    ) -> Result<(Arc<Shared>, Arc<IsolateSlot>, &'a str), HostCallError> {
        match (self.shared.upgrade(), self.slot.upgrade()) {
            (Some(shared), Some(slot)) if !slot.has_ended() => match slot.realms.route(method)? {
                (Some((shared, slot)), method) => Ok((shared, slot, method)),
                (None, method) => Ok((shared, slot, method)),
            },
            _ => Err(HostCallError::new(
                "This extension was shut down; the host no longer answers it.",
            )),
        }
    }
}

impl IsolateHost for Services {
    fn call_sync(&self, method: &str, args: &str) -> Result<Option<String>, HostCallError> {
        let (shared, slot, method) = self.owner(method)?;
        // Timers and tasks that a host call starts belong to the host's runtime, not to the isolate's.
        let _runtime = shared.runtime.enter();
        host_calls::call_sync(&shared, &slot, method, args)
    }

    fn call_async(
        &self,
        method: String,
        args: String,
    ) -> BoxFuture<'static, Result<Option<String>, HostCallError>> {
        match self.owner(&method) {
            Ok((shared, slot, method)) => Box::pin(host_calls::call_async(
                shared,
                slot,
                method.to_owned(),
                args,
            )),
            Err(error) => Box::pin(async move { Err(error) }),
        }
    }

    fn fault(&self, fault: Fault) {
        if let (Some(shared), Some(slot)) = (self.shared.upgrade(), self.slot.upgrade()) {
            shared.handle_fault(&slot, &fault);
        }
    }

    fn output(&self, line: &str) {
        use std::io::Write as _;
        let name = self
            .slot
            .upgrade()
            .map(|slot| slot.name.clone())
            .unwrap_or_default();
        // A closed stderr leaves nobody to tell.
        let _ = writeln!(std::io::stderr().lock(), "[{name}] {line}");
    }
}
