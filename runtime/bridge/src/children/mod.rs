//! Sessions that extensions start in this process (`createAgentSession`, spec/sdk-exports.md §2.2): on the same core, with
//! isolates of their own for their extensions, and never outliving the isolate that asked for them.
//!
//! The program that put the first session together also makes these ([`SessionMaker`]); this module keeps them, limits
//! them and ends them.

pub(crate) mod events;
mod request;
pub(crate) mod tool;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use futures::future::BoxFuture;
use parking_lot::{Mutex, RwLock};
use pier_agent::AgentSession;
use pier_agent::hooks::ShutdownReason;
use pier_agent::provider::ProviderRegistry;
use pier_agent::tool::Tool;
use pier_protocol::extension::ExtensionErrorReport;
use serde_json::{Map, Value};

pub use request::{
    ChildInline, ChildPrompt, ChildRequest, ChildResources, ChildScoped, ChildSession,
    ChildTemplate,
};

use crate::host::{ExtensionHost, Inline, Shared};
use crate::isolate::HostCallError;
use crate::session_port::Session;
use crate::wire::ExtId;
use events::Pump;

/// How deep sessions may be nested: the first one's extensions make depth 1.
const MAX_DEPTH: u32 = 4;
/// Sessions of one isolate that may exist at a time.
const MAX_LIVE: usize = 64;

/// What a session takes over from the one whose extension asked for it.
pub struct Inherited {
    /// A copy: what the new session's extensions register stays theirs.
    pub providers: Arc<ProviderRegistry>,
    /// Tools that run in the isolate that asked.
    pub custom_tools: Vec<Arc<dyn Tool>>,
    /// Extensions that are functions of the isolate that asked.
    pub inline: Option<Inline>,
    /// Values of extension flags.
    pub flags: Map<String, Value>,
    pub cwd: PathBuf,
    pub trusted: bool,
    /// For [`ExtensionHost::set_session_maker`] of the new host.
    pub depth: u32,
    /// Where errors of the new session's extensions are reported.
    pub reports: crate::report::ErrorSink,
}

/// A session that was made and has not started.
pub struct MadeSession {
    pub session: AgentSession,
    /// As extensions see it.
    pub port: Session,
    pub host: ExtensionHost,
    /// Paths of the extensions that were loaded.
    pub loaded: Vec<String>,
    pub failures: Vec<ExtensionErrorReport>,
    /// Clashes, and a model that could not be restored.
    pub warnings: Vec<String>,
}

/// Puts sessions together.
#[async_trait]
pub trait SessionMaker: Send + Sync {
    /// # Errors
    /// A text for the extension's author: what member of the request cannot be met, and why.
    async fn make(
        self: Arc<Self>,
        request: ChildRequest,
        inherited: Inherited,
    ) -> Result<MadeSession, String>;

    /// Instructions, skills and templates that a session would get: `{systemPrompt?, appendSystemPrompt, agentsFiles,
    /// skills, prompts, diagnostics}`. Reads files; called on a blocking thread.
    fn read_resources(&self, cwd: PathBuf, trusted: bool, resources: &ChildResources) -> Value;
}

/// One session and who asked for it.
pub(crate) struct Child {
    pub(crate) id: u64,
    /// Slot of the isolate that asked.
    owner: u64,
    /// Extension that asked.
    pub(crate) ext: ExtId,
    pub(crate) session: AgentSession,
    pub(crate) port: Session,
    pub(crate) host: ExtensionHost,
    pub(crate) pump: Mutex<Option<Pump>>,
}

impl Child {
    /// Aborts the run, tells the session's extensions, ends their isolates. Bounded.
    fn end(self: Arc<Self>) -> BoxFuture<'static, ()> {
        // Boxed by hand: the end of a session may end sessions of its own extensions.
        Box::pin(async move {
            drop(self.pump.lock().take());
            self.session.shutdown(ShutdownReason::Quit).await;
            self.host.shutdown().await;
            self.host.unbind();
        })
    }

    /// Waits until subscribers have been told everything that happened so far.
    pub(crate) async fn flush(&self) {
        let flushed = self.pump.lock().as_ref().map(Pump::flush);
        if let Some(flushed) = flushed {
            flushed.await;
        }
    }
}

/// The sessions that this host's extensions started.
#[derive(Default)]
pub(crate) struct Children {
    maker: RwLock<Option<(Arc<dyn SessionMaker>, u32)>>,
    live: Mutex<Vec<Arc<Child>>>,
}

static NEXT: AtomicU64 = AtomicU64::new(1);

/// A number for a session, unique in the process.
pub(crate) fn next_id() -> u64 {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Children {
    /// The maker and the depth of the sessions that it makes.
    pub(crate) fn maker(&self, owner: u64) -> Result<(Arc<dyn SessionMaker>, u32), HostCallError> {
        let (maker, depth) = self.maker.read().clone().ok_or_else(|| {
            HostCallError::new("createAgentSession: this program runs one session only.")
        })?;
        if depth >= MAX_DEPTH {
            return Err(HostCallError::new(format!(
                "createAgentSession: sessions can be nested {MAX_DEPTH} deep, and this one already is."
            )));
        }
        if self
            .live
            .lock()
            .iter()
            .filter(|child| child.owner == owner)
            .count()
            >= MAX_LIVE
        {
            return Err(HostCallError::new(format!(
                "createAgentSession: {MAX_LIVE} sessions of this extension exist already; dispose() those that are done."
            )));
        }
        Ok((maker, depth + 1))
    }

    pub(crate) fn add(&self, id: u64, owner: u64, ext: ExtId, made: MadeSession) -> Arc<Child> {
        let child = Arc::new(Child {
            id,
            owner,
            ext,
            session: made.session,
            port: made.port,
            host: made.host,
            pump: Mutex::new(None),
        });
        self.live.lock().push(child.clone());
        child
    }

    /// A live session of the isolate `owner`.
    pub(crate) fn get(&self, owner: u64, id: u64) -> Result<Arc<Child>, HostCallError> {
        let live = self.live.lock();
        let found = live
            .iter()
            .find(|child| child.owner == owner && child.id == id);
        found
            .cloned()
            .ok_or_else(|| HostCallError::new("This agent session was disposed."))
    }

    fn take(&self, which: impl Fn(&Child) -> bool) -> Vec<Arc<Child>> {
        let mut live = self.live.lock();
        let (taken, kept) = live.drain(..).partition(|child| which(child));
        *live = kept;
        taken
    }

    /// Ends one session.
    pub(crate) async fn dispose(&self, owner: u64, id: u64) {
        end_all(self.take(|child| child.owner == owner && child.id == id)).await;
    }

    /// Ends the sessions of an isolate.
    pub(crate) async fn end_of(&self, owner: u64) {
        end_all(self.take(|child| child.owner == owner)).await;
    }
}

async fn end_all(children: Vec<Arc<Child>>) {
    futures::future::join_all(children.into_iter().map(Child::end)).await;
}

impl ExtensionHost {
    /// Lets extensions start sessions of their own, this host's sessions being at `depth` (0 for the first one).
    pub fn set_session_maker(&self, maker: Arc<dyn SessionMaker>, depth: u32) {
        *self.shared.children.maker.write() = Some((maker, depth));
    }

    /// Lets go of the session, which holds this host as well.
    pub(crate) fn unbind(&self) {
        *self.shared.session.write() = None;
        *self.shared.children.maker.write() = None;
    }
}

impl Shared {
    /// Ends the sessions that an isolate started, in the background.
    pub(crate) fn end_children_of(self: &Arc<Self>, owner: u64) {
        let shared = self.clone();
        self.runtime
            .spawn(async move { shared.children.end_of(owner).await });
    }
}
