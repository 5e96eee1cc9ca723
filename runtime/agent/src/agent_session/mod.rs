//! The session that modes and the bridge drive: one conversation with its queues, runs, model and tools.
//!
//! [`AgentSession`] is a cheap handle. It owns the order of events (spec/rpc.md §5.11) and the rule that exactly one run is
//! active; it never writes to a stream and never learns in which language an extension is written.

mod bash;
mod control;
pub(crate) mod delivery;
pub(crate) mod emit;
pub(crate) mod inner;
mod models;
mod prompt;
mod types;

use std::path::PathBuf;
use std::sync::Arc;

use pier_protocol::event::{AgentEvent, CompactionResult};
use pier_protocol::message::{Content, ImageBlock, Message};
use pier_protocol::model::{Model, ThinkingLevel};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub use types::*;

use crate::events::{EventListener, Subscription};
use crate::hooks::{ExtensionHooks, ModelSelectSource, SessionStartReason, ShutdownReason};
use crate::host::HostActions;
use crate::prompt::PromptConfig;
use crate::provider::ProviderRegistry;
use crate::queue::Lane;
use crate::session::SessionManager;
use crate::settings::SettingsStore;
use crate::tool::{ToolContext, ToolRegistry};
use crate::tools::BashResult;
use emit::Job;
use inner::Inner;
use models::storage;

/// Everything a session needs from outside.
pub struct AgentConfig {
    pub session: SessionManager,
    pub settings: Arc<SettingsStore>,
    pub providers: Arc<ProviderRegistry>,
    pub tools: Arc<ToolRegistry>,
    pub hooks: Arc<dyn ExtensionHooks>,
    pub host: Arc<dyn HostActions>,
    /// Parts of the system prompt that come from flags and files.
    pub prompt: PromptConfig,
    /// `--provider`/`--model`; wins over the session's stored model.
    pub model: Option<Arc<Model>>,
    /// `--thinking`; wins over the session's stored level.
    pub thinking_level: Option<ThinkingLevel>,
    /// `--models`/`enabledModels`, resolved.
    pub scoped_models: Vec<ScopedModel>,
}

/// Handle of a session. Clones refer to the same session.
#[derive(Clone)]
pub struct AgentSession(Arc<Inner>);

/// Life of a session.
impl AgentSession {
    /// Builds the session and restores what its file holds. Emits nothing; call [`AgentSession::start`] next.
    /// Warnings (a model that could not be restored …) go to [`HostActions::warn`].
    ///
    /// # Panics
    /// Outside a tokio runtime: runs go on in the background of the one that is current here.
    pub fn new(config: AgentConfig) -> Self {
        let inner = Arc::new(Inner::new(config, tokio::runtime::Handle::current()));
        inner.select_initial(true);
        AgentSession(inner)
    }

    /// As [`AgentSession::new`], without a model: for a session that is asked about its file while the providers are still
    /// being loaded. [`AgentSession::choose_models`] must follow.
    ///
    /// # Panics
    /// As there.
    pub fn without_model(config: AgentConfig) -> Self {
        AgentSession(Arc::new(Inner::new(
            config,
            tokio::runtime::Handle::current(),
        )))
    }

    /// Names the models that flags and settings ask for, and selects the session's model and level. Before
    /// [`AgentSession::start`].
    pub fn choose_models(
        &self,
        model: Option<Arc<Model>>,
        thinking_level: Option<ThinkingLevel>,
        scoped_models: Vec<ScopedModel>,
    ) {
        *self.0.startup.write() = inner::StartupChoice {
            model,
            level: thinking_level,
        };
        *self.0.scoped_models.write() = scoped_models;
        self.0.select_initial(true);
    }

    /// `session_start` and `resources_discover`. Once, after listeners were added and extensions are bound.
    pub async fn start(&self, reason: SessionStartReason) {
        self.0.start(reason, None).await;
    }

    /// Adds a listener. Every event from now on is delivered to it in the one global order, and the session waits for it.
    /// It is removed when the returned guard is dropped.
    pub fn subscribe(&self, listener: Arc<dyn EventListener>) -> Subscription {
        self.0.hub.subscribe(listener)
    }

    /// Ends the session: aborts the run, then `session_shutdown`. No event is delivered to listeners any more. Bounded.
    pub async fn shutdown(&self, reason: ShutdownReason) {
        self.0.shutdown(reason).await;
    }
}

/// Prompting.
impl AgentSession {
    /// Submits a prompt and returns once it is admitted, i.e. right before `agent_start` (spec/rpc.md §3.1). The run goes on
    /// in the background; [`AgentSession::run_settled`] waits for it. An extension command has run to its end.
    ///
    /// # Errors
    /// Busy without `streaming_behavior`, a compaction in progress, no model, no credentials, an unreadable skill.
    pub async fn prompt(&self, request: PromptRequest) -> Result<Disposition, SessionError> {
        self.0.prompt(request).await
    }

    /// Queues a steering message. Starts no run.
    ///
    /// # Errors
    /// The text is an extension command, or names an unreadable skill.
    pub async fn steer(
        &self,
        text: &str,
        images: Vec<ImageBlock>,
    ) -> Result<Disposition, SessionError> {
        self.0.queue_input(Lane::Steering, text, images).await
    }

    /// Queues a follow-up message. Starts no run.
    ///
    /// # Errors
    /// As [`AgentSession::steer`].
    pub async fn follow_up(
        &self,
        text: &str,
        images: Vec<ImageBlock>,
    ) -> Result<Disposition, SessionError> {
        self.0.queue_input(Lane::FollowUp, text, images).await
    }

    /// Empties both queues and returns the removed texts.
    pub async fn clear_queue(&self) -> QueuedTexts {
        self.0.clear_queue().await
    }

    /// Aborts the run, a retry wait, a compaction and a branch summary, and a prompt that is still being prepared; returns when the session is idle. Waits for tools
    /// that are running: they see their signal and have bounds of their own.
    pub async fn abort(&self) {
        self.0.abort().await;
    }

    /// Fires the abort without waiting: `ctx.abort()`.
    pub fn request_abort(&self) {
        self.0.request_abort();
    }

    /// Ends a retry wait; the run settles without counting as aborted.
    pub fn abort_retry(&self) {
        if let Some(run) = &self.0.state.lock().run {
            run.skip_retry.cancel();
        }
    }

    /// Waits until no run is active (after `agent_settled` was delivered).
    pub async fn run_settled(&self) {
        self.0.nothing_to_do().await;
    }

    /// `ctx.sendMessage`: returns at once; failures go to [`HostActions::report_error`]. Callable from any thread.
    pub fn send_custom_message(&self, message: CustomMessageRequest, options: DeliveryOptions) {
        self.0.send_custom_message(message, options);
    }

    /// `ctx.sendUserMessage`: returns at once; failures go to [`HostActions::report_error`]. Callable from any thread.
    pub fn send_user_message(&self, content: Content, options: UserMessageOptions) {
        self.0.send_user_message(content, options);
    }
}

/// State.
impl AgentSession {
    /// False from the acceptance of a prompt until just before `agent_settled` handlers run.
    pub fn is_idle(&self) -> bool {
        self.0.is_idle() && *self.0.waiting_triggers.borrow() == 0
    }

    /// A compaction or branch summary is running.
    pub fn is_compacting(&self) -> bool {
        let state = self.0.state.lock();
        state.summary.is_some() || state.auto_compaction
    }

    /// The active run: an id that is unique in the process, and the token that fires when the run is aborted.
    pub fn current_run(&self) -> Option<(u64, CancellationToken)> {
        self.0
            .state
            .lock()
            .run
            .as_ref()
            .map(|run| (run.id, run.cancel.clone()))
    }

    /// Queued user texts or messages held for the next turn (spec/extension-api.md §4.2).
    pub fn has_pending_messages(&self) -> bool {
        let state = self.0.state.lock();
        state.queues.listed() > 0 || !state.next_turn.is_empty()
    }

    pub fn queued_texts(&self) -> QueuedTexts {
        self.0.state.lock().queues.texts().clone()
    }

    pub fn cwd(&self) -> PathBuf {
        self.0.cwd()
    }

    pub fn model(&self) -> Option<Arc<Model>> {
        self.0.model()
    }

    pub fn thinking_level(&self) -> ThinkingLevel {
        self.0.thinking_level()
    }

    /// `None` without a model or with an unknown window.
    pub fn context_usage(&self) -> Option<ContextUsage> {
        self.0.context_usage()
    }

    /// Counts over the whole file.
    pub fn stats(&self) -> SessionStats {
        let counted = self.0.session.stats();
        SessionStats {
            session_file: self.0.session.session_file(),
            session_id: self.0.session.session_id(),
            user_messages: counted.user_messages,
            assistant_messages: counted.assistant_messages,
            tool_calls: counted.tool_calls,
            tool_results: counted.tool_results,
            total_messages: counted.total_messages,
            tokens: TokenTotals {
                input: counted.tokens.input,
                output: counted.tokens.output,
                cache_read: counted.tokens.cache_read,
                cache_write: counted.tokens.cache_write,
                total: counted.tokens.total,
            },
            cost: counted.cost,
            context_usage: self.context_usage(),
        }
    }

    /// The compaction-aware projection of the current branch.
    pub fn messages(&self) -> Vec<Arc<Message>> {
        self.0.session.context().to_messages()
    }

    /// Trimmed text of the last answer that ended normally or has text (spec/rpc.md §3.2).
    pub fn last_assistant_text(&self) -> Option<String> {
        self.messages().iter().rev().find_map(|message| {
            let answer = message.as_assistant()?;
            let text: String = answer
                .content
                .iter()
                .filter_map(|block| block.as_text())
                .collect();
            let text = text.trim();
            (!answer.stop_reason.is_failure() || !text.is_empty()).then(|| text.to_owned())
        })
    }

    /// The effective system prompt as one text.
    pub fn system_prompt(&self) -> String {
        self.0.system_prompt().to_string()
    }

    /// Grows whenever something that `state` of the bridge shows changed, session entries excepted.
    pub fn state_version(&self) -> u64 {
        self.0.version()
    }

    /// The session file's state; clones share it.
    pub fn session(&self) -> SessionManager {
        self.0.session.clone()
    }

    /// Reads the session file's state.
    pub fn with_session<R>(&self, read: impl FnOnce(&SessionManager) -> R) -> R {
        read(&self.0.session)
    }

    pub fn settings(&self) -> Arc<SettingsStore> {
        self.0.settings.clone()
    }

    pub fn providers(&self) -> Arc<ProviderRegistry> {
        self.0.providers.clone()
    }

    pub fn tools(&self) -> Arc<ToolRegistry> {
        self.0.tools.clone()
    }

    pub fn hooks(&self) -> Arc<dyn ExtensionHooks> {
        self.0.hooks()
    }

    /// Replaces the hooks, from inside [`HostActions::reload_runtime`].
    pub fn set_hooks(&self, hooks: Arc<dyn ExtensionHooks>) {
        self.0.set_hooks(hooks);
    }

    pub fn host(&self) -> Arc<dyn HostActions> {
        self.0.host.clone()
    }

    /// Changes the inputs of the system prompt: context files, skills, templates. Takes effect with the next request.
    pub fn update_prompt(&self, change: impl FnOnce(&mut PromptConfig)) {
        change(&mut self.0.prompt.write());
        self.0.touch_prompt();
    }

    /// `systemPromptOptions`: the inputs that are in force, as extensions see them.
    pub fn prompt_options(&self) -> crate::prompt::PromptOptions {
        self.0.prompt_options()
    }

    /// The inputs of the system prompt that come from flags and files.
    pub fn prompt_config(&self) -> PromptConfig {
        self.0.prompt.read().clone()
    }
}

/// Session entries.
impl AgentSession {
    /// Appends a `custom` entry, visible at once, and announces it in order; returns its id. Callable from any thread.
    ///
    /// # Errors
    /// The session file cannot be written.
    pub fn append_custom_entry(
        &self,
        custom_type: &str,
        data: Option<Value>,
    ) -> Result<String, SessionError> {
        let entry = self
            .0
            .session
            .append_custom(custom_type, data)
            .map_err(storage)?;
        self.0.post(Job::Event(AgentEvent::EntryAppended {
            entry: entry.entry().clone(),
        }));
        Ok(entry.id().to_owned())
    }

    /// Sets or removes the label of an entry. Callable from any thread.
    ///
    /// # Errors
    /// The entry does not exist, or the session file cannot be written.
    pub fn set_label(&self, entry_id: &str, label: Option<&str>) -> Result<(), SessionError> {
        self.0
            .session
            .append_label(entry_id, label)
            .map_err(storage)?;
        self.0.touch();
        Ok(())
    }

    /// Names the session, visible at once; the announcement was delivered when this returns.
    ///
    /// # Errors
    /// The trimmed name is empty, or the session file cannot be written.
    pub async fn set_session_name(&self, name: &str) -> Result<(), SessionError> {
        self.set_session_name_now(name)?;
        self.0.flush().await;
        Ok(())
    }

    /// As [`AgentSession::set_session_name`], announced in the background. Callable from any thread.
    ///
    /// # Errors
    /// As there.
    pub fn set_session_name_now(&self, name: &str) -> Result<(), SessionError> {
        let name = name.trim();
        if name.is_empty() {
            return Err(SessionError::EmptyName);
        }
        self.0.session.append_session_info(name).map_err(storage)?;
        let name = self.0.session.session_name();
        self.0
            .post(Job::Event(AgentEvent::SessionInfoChanged { name }));
        Ok(())
    }
}

/// Models, levels, tools.
impl AgentSession {
    pub fn active_tools(&self) -> Vec<String> {
        self.0.tools.active_names()
    }

    /// Takes effect with the next request. Callable from any thread.
    pub fn set_active_tools(&self, names: &[String]) {
        self.0.tools.set_active(names);
        self.0.touch();
    }

    /// Selects an available model for this session.
    ///
    /// # Errors
    /// The model does not exist or its provider has no credentials.
    pub async fn set_model(&self, provider: &str, id: &str) -> Result<Arc<Model>, SessionError> {
        self.0.set_model(provider, id, ModelSelectSource::Set).await
    }

    /// The next model of the scoped list, or of all available ones; `None` when there is no other.
    pub async fn cycle_model(&self) -> Option<CycledModel> {
        self.0.cycle_model().await
    }

    /// Clamped to the model; returns the effective level. The announcement was delivered when this returns.
    pub async fn set_thinking_level(&self, level: ThinkingLevel) -> ThinkingLevel {
        let effective = self.0.set_level(level);
        self.0.flush().await;
        effective
    }

    /// As [`AgentSession::set_thinking_level`], announced in the background. Callable from any thread.
    pub fn set_thinking_level_now(&self, level: ThinkingLevel) -> ThinkingLevel {
        self.0.set_level(level)
    }

    /// `None` for a model without reasoning.
    pub async fn cycle_thinking_level(&self) -> Option<ThinkingLevel> {
        self.0.cycle_level().await
    }

    pub fn available_thinking_levels(&self) -> Vec<ThinkingLevel> {
        self.0.available_levels()
    }

    pub fn scoped_models(&self) -> Vec<ScopedModel> {
        self.0.scoped()
    }

    /// Replaces the scoped list.
    pub fn set_scoped_models(&self, models: Vec<ScopedModel>) {
        *self.0.scoped_models.write() = models;
        self.0.touch();
    }
}

/// Compaction and shell commands.
impl AgentSession {
    /// Aborts the run, then compacts.
    ///
    /// # Errors
    /// Nothing to compact, cancelled, or the model's text.
    pub async fn compact(
        &self,
        custom_instructions: Option<String>,
    ) -> Result<CompactionResult, SessionError> {
        self.0.compact_manually(custom_instructions).await
    }

    /// Runs a user's shell command and records it. Several may run at a time.
    ///
    /// # Errors
    /// A `user_bash` handler failed, or the command could not be run at all.
    pub async fn bash(&self, request: BashRequest) -> Result<BashResult, SessionError> {
        self.0.bash(request).await
    }

    /// What a built-in tool works with that an extension runs as a function, outside of any call of the model.
    pub fn tool_context(&self) -> ToolContext {
        self.0.tool_context(None, None)
    }

    /// Aborts all running [`AgentSession::bash`] commands.
    pub fn abort_bash(&self) {
        self.0.abort_bash();
    }
}

/// Session control (spec/sessions.md §5). None of these may be called from inside the run they would wait for.
impl AgentSession {
    /// True = cancelled by a hook.
    ///
    /// # Errors
    /// The new session cannot be created; the old one stays.
    pub async fn new_session(&self, parent_session: Option<String>) -> Result<bool, SessionError> {
        self.0.new_session(parent_session).await
    }

    /// True = cancelled by a hook.
    ///
    /// # Errors
    /// The file is not a session, is in use, or its directory is gone; the old session stays.
    pub async fn switch_session(&self, path: PathBuf) -> Result<bool, SessionError> {
        self.0.switch_session(path).await
    }

    /// Continues in a new session with the branch up to an entry.
    ///
    /// # Errors
    /// The entry cannot be forked at, or the new file cannot be written; the old session stays.
    pub async fn fork(&self, request: ForkRequest) -> Result<ForkOutcome, SessionError> {
        self.0.fork(request).await
    }

    /// Continues in a copy of the current branch. True = cancelled by a hook.
    ///
    /// # Errors
    /// There is no entry, or the new file cannot be written; the old session stays.
    pub async fn clone_session(&self) -> Result<bool, SessionError> {
        self.0.clone_session().await
    }

    /// Moves to another entry of the tree.
    ///
    /// # Errors
    /// The entry does not exist, the session is busy, or the summary failed; the position stays.
    pub async fn navigate(
        &self,
        target_id: &str,
        options: NavigateOptions,
    ) -> Result<NavigateOutcome, SessionError> {
        self.0.navigate(target_id, options).await
    }

    /// Reloads extensions and settings in place; refused while a run or compaction is active.
    ///
    /// # Errors
    /// Busy, or extensions could not be loaded; the session then goes on without them.
    pub async fn reload(&self) -> Result<(), SessionError> {
        self.0.reload().await
    }
}
