//! One isolate of one package, and which extensions live in it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::discovery::PackageKey;
use crate::isolate::realm::Realms;
use crate::isolate::{CallError, IsolateApi, JsFailure, PermissionProfile, StopCause};
use crate::wire::ExtId;

/// Faults outside any call that are borne within [`STORM_WINDOW`].
const STORM_LIMIT: u32 = 500;
/// See [`STORM_LIMIT`].
const STORM_WINDOW: Duration = Duration::from_secs(10);

#[derive(Default)]
struct Storm {
    since: Option<Instant>,
    count: u32,
}

static NEXT: AtomicU64 = AtomicU64::new(1);

/// An isolate with its package. A reload makes a new slot; the module map of an old one is never patched.
pub(crate) struct IsolateSlot {
    /// Unique in the process.
    pub(crate) id: u64,
    pub(crate) package: PackageKey,
    /// Shown in logs.
    pub(crate) name: String,
    pub(crate) root: PathBuf,
    pub(crate) permissions: PermissionProfile,
    api: OnceLock<Arc<dyn IsolateApi>>,
    extensions: Mutex<Vec<(ExtId, String)>>,
    /// When faults outside any call happened, for noticing a storm.
    storm: Mutex<Storm>,
    /// Set when the engine found out that the module being loaded can never finish.
    stuck: watch::Sender<Option<JsFailure>>,
    /// Set once its end was handled, so that it is handled once.
    ended: AtomicBool,
    /// Held while the end is reported.
    pub(crate) reporting_end: Mutex<()>,
    /// Extensions of other sessions that live in this isolate.
    pub(crate) realms: Realms,
    /// The isolate that this one is a realm of.
    within: Option<Arc<IsolateSlot>>,
}

impl IsolateSlot {
    pub(crate) fn new(
        package: PackageKey,
        name: String,
        root: PathBuf,
        permissions: PermissionProfile,
    ) -> Self {
        Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            package,
            name,
            root,
            permissions,
            api: OnceLock::new(),
            extensions: Mutex::default(),
            storm: Mutex::default(),
            stuck: watch::Sender::new(None),
            ended: AtomicBool::new(false),
            reporting_end: Mutex::default(),
            realms: Realms::default(),
            within: None,
        }
    }

    /// A slot for a realm of another slot's isolate, with its permissions.
    pub(crate) fn in_realm(package: PackageKey, name: String, isolate: &Arc<Self>) -> Self {
        Self {
            within: Some(isolate.clone()),
            ..Self::new(package, name, isolate.root.clone(), isolate.permissions)
        }
    }

    /// The slot of the isolate itself.
    pub(crate) fn isolate(self: &Arc<Self>) -> Arc<Self> {
        self.within.as_ref().unwrap_or(self).clone()
    }

    /// Gives the slot its isolate, right after it was started.
    pub(crate) fn start(&self, api: Arc<dyn IsolateApi>) {
        // A slot is started once, by the loader that made it.
        let _ = self.api.set(api);
    }

    pub(crate) fn api(&self) -> Result<&Arc<dyn IsolateApi>, CallError> {
        self.api.get().ok_or_else(|| {
            CallError::Stopped(StopCause::Other("the isolate was never started".into()))
        })
    }

    pub(crate) fn add(&self, id: ExtId, path: &str) {
        self.extensions.lock().push((id, path.to_string()));
    }

    pub(crate) fn ids(&self) -> Vec<ExtId> {
        self.extensions.lock().iter().map(|(id, _)| *id).collect()
    }

    /// The path under which faults outside any call are reported: the extension when there is one, else the package.
    pub(crate) fn reported_path(&self, file: Option<&str>) -> String {
        let extensions = self.extensions.lock();
        if let Some(file) = file
            && let Some((_, path)) = extensions.iter().find(|(_, path)| path == file)
        {
            return path.clone();
        }
        match extensions.first() {
            Some((_, path)) => path.clone(),
            None => self.root.to_string_lossy().into_owned(),
        }
    }

    pub(crate) fn is_running(&self) -> bool {
        self.api.get().is_some_and(|api| api.stopped().is_none())
    }

    /// Counts a fault outside any call. True when there were too many lately.
    pub(crate) fn storm(&self) -> bool {
        let mut storm = self.storm.lock();
        if storm
            .since
            .is_none_or(|since| since.elapsed() > STORM_WINDOW)
        {
            *storm = Storm {
                since: Some(Instant::now()),
                count: 0,
            };
        }
        storm.count += 1;
        storm.count > STORM_LIMIT
    }

    /// The module being loaded can never finish.
    pub(crate) fn load_is_stuck(&self, failure: JsFailure) {
        self.stuck.send_if_modified(|known| {
            let new = known.is_none();
            if new {
                *known = Some(failure);
            }
            new
        });
    }

    /// Forgets what an earlier module of this isolate did.
    pub(crate) fn load_begins(&self) {
        self.stuck.send_replace(None);
    }

    /// Resolves when the module being loaded turns out to be stuck.
    pub(crate) async fn load_stuck(&self) -> JsFailure {
        let mut stuck = self.stuck.subscribe();
        // The sender lives in `self`, so the wait ends with a value.
        let _ = stuck.wait_for(Option::is_some).await;
        let failure = stuck.borrow().clone();
        failure.unwrap_or_default()
    }

    /// True the first time.
    pub(crate) fn mark_ended(&self) -> bool {
        !self.ended.swap(true, Ordering::AcqRel)
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }
}
