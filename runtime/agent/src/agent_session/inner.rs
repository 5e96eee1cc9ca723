//! Shared state of a session. The other files of this folder add behaviour to [`Inner`].

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};
use pier_protocol::extension::ExtensionErrorReport;
use pier_protocol::message::{BashExecutionMessage, CustomMessage};
use pier_protocol::model::{Model, ThinkingLevel};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::delivery::Trigger;
use super::emit::Outbox;
use super::{AgentConfig, ContextUsage, ScopedModel};
use crate::events::EventHub;
use crate::hooks::ExtensionHooks;
use crate::host::HostActions;
use crate::prompt::{PromptConfig, PromptOptions, PromptState, build_sections};
use crate::provider::ProviderRegistry;
use crate::queue::Queues;
use crate::schema::SchemaCache;
use crate::session::SessionManager;
use crate::settings::{Settings, SettingsStore};
use crate::tool::ToolRegistry;

/// What the session is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activity {
    Idle,
    /// A session run is active, from acceptance until just before `agent_settled`.
    Busy,
    /// As `Busy`, but clients were told `agent_end`, and whether the run goes on is still being decided. Clients that know no
    /// `agent_settled` take that for the end: their prompts wait for the decision.
    Ending,
    /// `agent_settled` is being delivered; counts as idle, but new runs wait.
    Settling,
}

/// The active session run.
#[derive(Debug, Clone)]
pub(crate) struct ActiveRun {
    /// Unique in the process.
    pub(crate) id: u64,
    pub(crate) cancel: CancellationToken,
    /// Ends a retry wait without counting as an abort.
    pub(crate) skip_retry: CancellationToken,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) model: Option<Arc<Model>>,
    pub(crate) thinking_level: ThinkingLevel,
    pub(crate) queues: Queues,
    /// Custom messages for the next user prompt.
    pub(crate) next_turn: Vec<CustomMessage>,
    /// Custom messages to be stored at the end of the turn.
    pub(crate) turn_end: Vec<CustomMessage>,
    /// Results of user commands that ran during a run.
    pub(crate) bash_results: Vec<BashExecutionMessage>,
    pub(crate) run: Option<ActiveRun>,
    /// Inputs of the prompt that `before_agent_start` handlers edited, for this run.
    pub(crate) run_prompt: Option<PromptOptions>,
    /// A manual compaction or branch summary; prompts are refused meanwhile.
    pub(crate) summary: Option<CancellationToken>,
    /// An automatic compaction within a run.
    pub(crate) auto_compaction: bool,
    pub(crate) bash_runs: HashMap<u64, CancellationToken>,
    pub(crate) triggers: VecDeque<Trigger>,
    /// Continue with the `next_turn` list when the run ends (exact xcsh rules).
    pub(crate) continue_with_next_turn: bool,
    pub(crate) closed: bool,
    /// Aborts that clients asked for. A prompt that was there before the newest of them and has no run yet is meant as well.
    pub(crate) aborts: u64,
}

/// What flags say about the model; wins over what the session's file says.
#[derive(Clone, Default)]
pub(crate) struct StartupChoice {
    pub(crate) model: Option<Arc<Model>>,
    pub(crate) level: Option<ThinkingLevel>,
}

pub(crate) struct Inner {
    pub(crate) session: SessionManager,
    pub(crate) settings: Arc<SettingsStore>,
    pub(crate) providers: Arc<ProviderRegistry>,
    pub(crate) tools: Arc<ToolRegistry>,
    hooks: RwLock<Arc<dyn ExtensionHooks>>,
    pub(crate) host: Arc<dyn HostActions>,
    pub(crate) prompt: RwLock<PromptConfig>,
    pub(crate) startup: RwLock<StartupChoice>,
    pub(crate) scoped_models: RwLock<Vec<ScopedModel>>,
    pub(crate) state: Mutex<State>,
    pub(crate) schemas: SchemaCache,
    pub(crate) hub: EventHub,
    pub(crate) outbox: Outbox,
    pub(crate) activity: watch::Sender<Activity>,
    /// Messages whose run has been asked for and has not begun.
    pub(crate) waiting_triggers: watch::Sender<usize>,
    /// Extension commands that are running.
    pub(crate) commands: watch::Sender<usize>,
    /// Prompts and queued inputs take their places in the order in which they came.
    pub(crate) admission: tokio::sync::Mutex<()>,
    /// One trigger at a time.
    pub(crate) trigger_lock: tokio::sync::Mutex<()>,
    /// One session replacement, reload or navigation at a time.
    pub(crate) control_lock: tokio::sync::Mutex<()>,
    /// A manual compaction or branch summary ended.
    pub(crate) summary_ended: tokio::sync::Notify,
    pub(crate) runtime: tokio::runtime::Handle,
    version: AtomicU64,
    prompt_version: AtomicU64,
    prompt_cache: Mutex<Option<(u64, u64, Arc<str>)>>,
    usage_cache: Mutex<Option<UsageCache>>,
}

struct UsageCache {
    epoch: u64,
    version: u64,
    window: u64,
    usage: ContextUsage,
}

/// Ids of runs and commands.
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

pub(crate) fn next_id() -> u64 {
    NEXT_ID.fetch_add(1, Ordering::Relaxed)
}

impl Inner {
    pub(crate) fn new(config: AgentConfig, runtime: tokio::runtime::Handle) -> Self {
        Inner {
            session: config.session,
            settings: config.settings,
            providers: config.providers,
            tools: config.tools,
            hooks: RwLock::new(config.hooks),
            host: config.host,
            prompt: RwLock::new(config.prompt),
            startup: RwLock::new(StartupChoice {
                model: config.model,
                level: config.thinking_level,
            }),
            scoped_models: RwLock::new(config.scoped_models),
            state: Mutex::new(State::default()),
            schemas: SchemaCache::new(),
            hub: EventHub::new(),
            outbox: Outbox::default(),
            activity: watch::Sender::new(Activity::Idle),
            waiting_triggers: watch::Sender::new(0),
            commands: watch::Sender::new(0),
            admission: tokio::sync::Mutex::new(()),
            trigger_lock: tokio::sync::Mutex::new(()),
            control_lock: tokio::sync::Mutex::new(()),
            summary_ended: tokio::sync::Notify::new(),
            runtime,
            version: AtomicU64::new(1),
            prompt_version: AtomicU64::new(1),
            prompt_cache: Mutex::new(None),
            usage_cache: Mutex::new(None),
        }
    }

    pub(crate) fn hooks(&self) -> Arc<dyn ExtensionHooks> {
        self.hooks.read().clone()
    }

    pub(crate) fn set_hooks(&self, hooks: Arc<dyn ExtensionHooks>) {
        *self.hooks.write() = hooks;
        self.touch();
    }

    pub(crate) fn settings(&self) -> Arc<Settings> {
        self.settings.get()
    }

    pub(crate) fn cwd(&self) -> PathBuf {
        self.session.cwd()
    }

    pub(crate) fn model(&self) -> Option<Arc<Model>> {
        let model = self.state.lock().model.clone()?;
        Some(self.providers.current(&model))
    }

    pub(crate) fn thinking_level(&self) -> ThinkingLevel {
        self.state.lock().thinking_level
    }

    pub(crate) fn is_idle(&self) -> bool {
        !matches!(*self.activity.borrow(), Activity::Busy | Activity::Ending)
    }

    /// Something that clients can see changed.
    pub(crate) fn touch(&self) {
        self.version.fetch_add(1, Ordering::Relaxed);
    }

    /// Inputs of the system prompt changed.
    pub(crate) fn touch_prompt(&self) {
        self.prompt_version.fetch_add(1, Ordering::Relaxed);
        self.touch();
    }

    pub(crate) fn version(&self) -> u64 {
        // Every part only grows, so the sum changes whenever one of them does.
        self.version.load(Ordering::Relaxed) + self.tools.version()
    }

    pub(crate) fn report(&self, path: &str, event: &str, error: impl Into<String>) {
        self.host
            .report_error(ExtensionErrorReport::new(path, event, error));
    }

    /// Marks the session busy, or says that it is not idle.
    pub(crate) fn try_begin_run(self: &Arc<Self>) -> Option<BusyGuard> {
        let mut state = self.state.lock();
        if state.closed {
            return None;
        }
        let begun = self.activity.send_if_modified(|activity| {
            let idle = *activity == Activity::Idle;
            if idle {
                *activity = Activity::Busy;
            }
            idle
        });
        if !begun {
            return None;
        }
        let run = ActiveRun {
            id: next_id(),
            cancel: CancellationToken::new(),
            skip_retry: CancellationToken::new(),
        };
        state.run = Some(run.clone());
        drop(state);
        self.touch();
        Some(BusyGuard {
            inner: self.clone(),
            run,
            armed: true,
        })
    }

    /// Waits until no `agent_settled` is being delivered.
    pub(crate) async fn not_settling(&self) {
        let mut activity = self.activity.subscribe();
        // The sender lives in `self`.
        let _ = activity
            .wait_for(|activity| *activity != Activity::Settling)
            .await;
    }

    /// Waits while it is being decided whether a run goes on; false when nothing was.
    pub(crate) async fn decided(&self) -> bool {
        let mut activity = self.activity.subscribe();
        if *activity.borrow() != Activity::Ending {
            return false;
        }
        let _ = activity
            .wait_for(|activity| *activity != Activity::Ending)
            .await;
        true
    }

    /// Waits until no run is active and `agent_settled` was delivered.
    pub(crate) async fn settled(&self) {
        let mut activity = self.activity.subscribe();
        let _ = activity
            .wait_for(|activity| *activity == Activity::Idle)
            .await;
    }

    /// As `settled`, and no run that was asked for is still to begin.
    pub(crate) async fn nothing_to_do(&self) {
        let mut waiting = self.waiting_triggers.subscribe();
        loop {
            // The sender lives as long as `self`.
            let _ = waiting.wait_for(|waiting| *waiting == 0).await;
            self.settled().await;
            if *waiting.borrow() == 0 {
                return;
            }
        }
    }

    /// Inputs of the system prompt as flags, files and active tools make them.
    pub(crate) fn base_prompt_options(&self) -> PromptOptions {
        PromptOptions::new(&self.prompt.read(), &self.tools.active(), &self.cwd())
    }

    /// Inputs of the system prompt that are in force: those that handlers edited for this run, with the tools that are
    /// active now, else the plain ones.
    pub(crate) fn prompt_options(&self) -> PromptOptions {
        let run = self.state.lock().run_prompt.clone();
        match run {
            Some(mut options) => {
                options.select(&self.tools.active());
                options
            }
            None => self.base_prompt_options(),
        }
    }

    /// The text that this run's requests are forced to use.
    pub(crate) fn forced_prompt(&self) -> Option<String> {
        let state = self.state.lock();
        state.run_prompt.as_ref()?.force_system_prompt.clone()
    }

    /// Sections and tools that the next request should have.
    pub(crate) fn wanted_prompt(&self) -> PromptState {
        let active = self.tools.active();
        PromptState {
            sections: build_sections(&self.prompt_options()),
            tools: active
                .iter()
                .map(|tool| (tool.spec().name.clone(), tool.spec().declaration()))
                .collect(),
            known: true,
        }
    }

    /// The effective prompt as one text, computed once for each change of its inputs.
    pub(crate) fn system_prompt(&self) -> Arc<str> {
        let key = (
            self.prompt_version.load(Ordering::Relaxed),
            self.tools.version(),
        );
        let mut cache = self.prompt_cache.lock();
        if let Some((prompt, tools, text)) = &*cache
            && (*prompt, *tools) == key
        {
            return text.clone();
        }
        let text: Arc<str> = self.prompt_options().text().into();
        *cache = Some((key.0, key.1, text.clone()));
        text
    }

    /// How much of the window is used; `None` without a model or with an unknown window.
    pub(crate) fn context_usage(&self) -> Option<ContextUsage> {
        let window = self.model()?.context_window;
        if window == 0 {
            return None;
        }
        let (epoch, version) = (self.session.epoch(), self.session.version());
        let mut cache = self.usage_cache.lock();
        if let Some(cached) = &*cache
            && (cached.epoch, cached.version, cached.window) == (epoch, version, window)
        {
            return Some(cached.usage);
        }
        let usage = crate::compaction::context_usage(&self.session, window);
        *cache = Some(UsageCache {
            epoch,
            version,
            window,
            usage,
        });
        Some(usage)
    }

    /// Variables that commands of this session see.
    pub(crate) fn child_env(&self) -> Vec<(String, String)> {
        let mut env = vec![("PI_SESSION_ID".to_owned(), self.session.session_id())];
        if let Some(file) = self.session.session_file() {
            env.push((
                "PI_SESSION_FILE".to_owned(),
                file.to_string_lossy().into_owned(),
            ));
        }
        let state = self.state.lock();
        if let Some(model) = &state.model {
            env.push(("PI_PROVIDER".to_owned(), model.provider.clone()));
            env.push(("PI_MODEL".to_owned(), model.id.clone()));
        }
        env.push((
            "PI_REASONING_LEVEL".to_owned(),
            state.thinking_level.as_str().to_owned(),
        ));
        env
    }
}

/// The session is busy while this lives, unless [`BusyGuard::disarm`] hands the duty on.
pub(crate) struct BusyGuard {
    inner: Arc<Inner>,
    pub(crate) run: ActiveRun,
    armed: bool,
}

impl BusyGuard {
    /// `agent_settled` is about to be delivered. From here on the session counts as idle, so there is no run any more.
    pub(crate) fn settling(&self) {
        let mut state = self.inner.state.lock();
        state.run = None;
        let edited = state.run_prompt.take().is_some();
        drop(state);
        if edited {
            self.inner.touch_prompt();
        }
        self.inner.activity.send_replace(Activity::Settling);
        self.inner.touch();
    }

    /// Ends the run.
    pub(crate) fn finish(mut self) {
        self.release();
    }

    fn release(&mut self) {
        if !std::mem::take(&mut self.armed) {
            return;
        }
        let mut state = self.inner.state.lock();
        state.run = None;
        let edited = state.run_prompt.take().is_some();
        state.auto_compaction = false;
        drop(state);
        if edited {
            self.inner.touch_prompt();
        }
        self.inner.activity.send_replace(Activity::Idle);
        self.inner.touch();
    }
}

impl Drop for BusyGuard {
    // A prompt that was refused after it had begun, or a run that panicked, must not leave the session busy.
    fn drop(&mut self) {
        self.release();
    }
}
