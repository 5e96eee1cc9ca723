//! A realm: extensions that a session was given as functions (`extensionFactories`, spec/extension-loading.md §1). They live in the
//! isolate of whoever gave them, whose session is another one, and behave towards their own host as if the isolate were theirs.
//!
//! Calls into the isolate carry the realm's number in their header; host calls come back as `@<number>/<method>`.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;

use crate::host::Shared;
use crate::host::slot::IsolateSlot;
use crate::isolate::{CallError, CallOptions, HostCallError, IsolateApi, StopCause};

/// The host of a realm and its slot there.
type Owner = (Arc<Shared>, Arc<IsolateSlot>);
/// The same, without keeping it alive.
type WeakOwner = (Weak<Shared>, Weak<IsolateSlot>);

/// The realms of one isolate: who answers their host calls.
#[derive(Default)]
pub(crate) struct Realms(Mutex<HashMap<u64, WeakOwner>>);

impl Realms {
    /// Whose call this is, if it is a realm's, and the name of the method.
    pub(crate) fn route<'a>(
        &self,
        method: &'a str,
    ) -> Result<(Option<Owner>, &'a str), HostCallError> {
        let Some((number, method)) = method
            .strip_prefix('@')
            .and_then(|rest| rest.split_once('/'))
        else {
            return Ok((None, method));
        };
        let realms = self.0.lock();
        let found = number
            .parse()
            .ok()
            .and_then(|number: u64| realms.get(&number))
            .and_then(|(shared, slot)| Some((shared.upgrade()?, slot.upgrade()?)));
        match found {
            Some(owner) => Ok((Some(owner), method)),
            None => Err(HostCallError::new(
                "The session of this extension was disposed; the host no longer answers it.",
            )),
        }
    }
}

static NEXT: AtomicU64 = AtomicU64::new(1);

/// The isolate as the realm's host sees it.
pub(crate) struct Realm {
    number: u64,
    /// Whose isolate it is.
    isolate: Arc<IsolateSlot>,
    stopped: OnceLock<StopCause>,
}

impl Realm {
    /// A realm in the isolate of `isolate`, for the slot `slot` of the host `shared`.
    pub(crate) fn open(
        shared: &Arc<Shared>,
        slot: &Arc<IsolateSlot>,
        isolate: &Arc<IsolateSlot>,
    ) -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let owner = (Arc::downgrade(shared), Arc::downgrade(slot));
        isolate.realms.0.lock().insert(number, owner);
        Self {
            number,
            isolate: isolate.clone(),
            stopped: OnceLock::new(),
        }
    }

    /// The header with the realm's number.
    fn header(&self, header: &str) -> String {
        let members = header.strip_prefix('{').unwrap_or("}");
        let comma = if members.starts_with('}') { "" } else { "," };
        format!("{{\"realm\":{}{comma}{members}", self.number)
    }
}

#[async_trait]
impl IsolateApi for Realm {
    async fn call(
        &self,
        kind: &str,
        header: String,
        payload: Option<Arc<str>>,
        options: CallOptions,
    ) -> Result<Option<String>, CallError> {
        if let Some(cause) = self.stopped() {
            return Err(CallError::Stopped(cause));
        }
        let api = self.isolate.api()?;
        api.call(kind, self.header(&header), payload, options).await
    }

    fn post(&self, kind: &str, header: String, payload: Option<Arc<str>>) {
        if let (None, Ok(api)) = (self.stopped(), self.isolate.api()) {
            api.post(kind, self.header(&header), payload);
        }
    }

    /// Others live in the isolate as well, so its code is not stopped; it is not called any more.
    fn terminate(&self, cause: StopCause) {
        let _ = self.stopped.set(cause);
    }

    async fn dispose(&self, _grace: Duration) {
        self.isolate.realms.0.lock().remove(&self.number);
        self.post("realmEnd", "{}".into(), None);
        let _ = self.stopped.set(StopCause::Disposed);
    }

    fn stopped(&self) -> Option<StopCause> {
        let own = self.stopped.get().cloned();
        own.or_else(|| self.isolate.api().ok()?.stopped())
    }

    fn stretch(&self) -> Option<(u64, Duration)> {
        self.isolate.api().ok()?.stretch()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discovery::PackageKey;
    use crate::isolate::PermissionProfile;

    #[test]
    fn headers_name_the_realm_and_calls_of_a_gone_one_are_refused() {
        let slot = Arc::new(IsolateSlot::new(
            PackageKey("p".into()),
            "p".into(),
            "/p".into(),
            PermissionProfile::Trusted,
        ));
        let realm = Realm {
            number: 7,
            isolate: slot.clone(),
            stopped: OnceLock::new(),
        };
        assert_eq!(realm.header("{}"), r#"{"realm":7}"#);
        assert_eq!(realm.header(r#"{"ext":1}"#), r#"{"realm":7,"ext":1}"#);
        let (owner, method) = slot.realms.route("state").expect("its own");
        assert!(owner.is_none() && method == "state");
        for gone in ["@7/state", "@x/state"] {
            assert!(slot.realms.route(gone).is_err());
        }
    }
}
