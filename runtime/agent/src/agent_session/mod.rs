//! The session that modes and the bridge drive: one conversation with its queues, runs, model and tools.
//!
//! [`AgentSession`] is a cheap handle. It owns the order of events (spec/rpc.md §5.11) and the rule that exactly one run is
//! active; it never writes to a stream and never learns in which language an extension is written.

mod types;

use std::path::PathBuf;
use std::sync::Arc;

use pier_protocol::event::CompactionResult;
use pier_protocol::message::{ImageBlock, Message};
use pier_protocol::model::{Model, ThinkingLevel};
use serde_json::Value;

pub use types::*;

use crate::bash::BashResult;
use crate::events::EventListener;
use crate::hooks::{ExtensionHooks, SessionStartReason, ShutdownReason, StreamingBehavior};
use crate::host::HostActions;
use crate::prompt::PromptConfig;
use crate::provider::ProviderRegistry;
use crate::session::SessionManager;
use crate::settings::SettingsStore;
use crate::tool::ToolRegistry;

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
pub struct AgentSession(Arc<()>);

#[allow(unused_variables)]
impl AgentSession {
    /// Builds the session and restores what its file holds. Emits nothing; call [`AgentSession::start`] next.
    /// Warnings (a model that could not be restored …) go to [`HostActions::warn`].
    pub fn new(config: AgentConfig) -> Self { todo!() }

    /// `session_start` and `resources_discover`. Once, after listeners were added and extensions are bound.
    pub async fn start(&self, reason: SessionStartReason) { todo!() }

    /// Adds a listener. Every event from now on is delivered to it in the one global order, and the session waits for it.
    /// It is removed when the returned guard is dropped.
    pub fn subscribe(&self, listener: Arc<dyn EventListener>) -> crate::events::Subscription { todo!() }

    // --- prompting -----------------------------------------------------------------------------------------------

    /// Submits a prompt and returns once it is admitted, i.e. right before `agent_start` (spec/rpc.md §3.1). The run goes on
    /// in the background; [`AgentSession::run_settled`] waits for it.
    pub async fn prompt(&self, request: PromptRequest) -> Result<Disposition, SessionError> { todo!() }
    /// Queues a steering message. Starts no run.
    pub async fn steer(&self, text: &str, images: Vec<ImageBlock>) -> Result<Disposition, SessionError> { todo!() }
    /// Queues a follow-up message. Starts no run.
    pub async fn follow_up(&self, text: &str, images: Vec<ImageBlock>) -> Result<Disposition, SessionError> { todo!() }
    /// Empties both queues and returns the removed texts.
    pub async fn clear_queue(&self) -> QueuedTexts { todo!() }
    /// Aborts the run, a retry wait, a compaction and a branch summary; returns when the session is idle.
    pub async fn abort(&self) { todo!() }
    /// Fires the abort without waiting: `ctx.abort()`.
    pub fn request_abort(&self) { todo!() }
    /// Ends a retry wait.
    pub fn abort_retry(&self) { todo!() }
    /// Waits until no run is active (after `agent_settled` was delivered).
    pub async fn run_settled(&self) { todo!() }
    /// `ctx.sendMessage`: returns at once; failures go to [`HostActions::report_error`].
    pub fn send_custom_message(&self, message: CustomMessageRequest, options: DeliveryOptions) { todo!() }
    /// `ctx.sendUserMessage`: returns at once; failures go to [`HostActions::report_error`].
    pub fn send_user_message(&self, content: pier_protocol::message::Content, options: UserMessageOptions) { todo!() }

    // --- state ---------------------------------------------------------------------------------------------------

    /// False from the acceptance of a prompt until just before `agent_settled` handlers run.
    pub fn is_idle(&self) -> bool { todo!() }
    /// A compaction or branch summary is running.
    pub fn is_compacting(&self) -> bool { todo!() }
    pub fn has_pending_messages(&self) -> bool { todo!() }
    pub fn queued_texts(&self) -> QueuedTexts { todo!() }
    pub fn cwd(&self) -> PathBuf { todo!() }
    pub fn model(&self) -> Option<Arc<Model>> { todo!() }
    pub fn thinking_level(&self) -> ThinkingLevel { todo!() }
    pub fn context_usage(&self) -> Option<ContextUsage> { todo!() }
    pub fn stats(&self) -> SessionStats { todo!() }
    /// The compaction-aware projection of the current branch.
    pub fn messages(&self) -> Vec<Arc<Message>> { todo!() }
    pub fn last_assistant_text(&self) -> Option<String> { todo!() }
    /// The effective system prompt as one text.
    pub fn system_prompt(&self) -> String { todo!() }
    /// Changes whenever something that `state` of the bridge shows changed.
    pub fn state_version(&self) -> u64 { todo!() }
    /// Reads the session file's state.
    pub fn with_session<R>(&self, read: impl FnOnce(&SessionManager) -> R) -> R { todo!() }
    pub fn settings(&self) -> Arc<SettingsStore> { todo!() }
    pub fn providers(&self) -> Arc<ProviderRegistry> { todo!() }
    pub fn tools(&self) -> Arc<ToolRegistry> { todo!() }
    pub fn hooks(&self) -> Arc<dyn ExtensionHooks> { todo!() }
    /// Replaces the hooks, from inside [`HostActions::reload_runtime`].
    pub fn set_hooks(&self, hooks: Arc<dyn ExtensionHooks>) { todo!() }
    pub fn host(&self) -> Arc<dyn HostActions> { todo!() }

    // --- session entries -----------------------------------------------------------------------------------------

    /// Appends a `custom` entry and announces it; returns its id.
    pub fn append_custom_entry(&self, custom_type: &str, data: Option<Value>) -> Result<String, SessionError> { todo!() }
    /// Sets or removes the label of an entry.
    pub fn set_label(&self, entry_id: &str, label: Option<&str>) -> Result<(), SessionError> { todo!() }
    pub async fn set_session_name(&self, name: &str) -> Result<(), SessionError> { todo!() }

    // --- models, tools, settings ---------------------------------------------------------------------------------

    pub fn active_tools(&self) -> Vec<String> { todo!() }
    /// Takes effect with the next request.
    pub fn set_active_tools(&self, names: &[String]) { todo!() }
    /// Selects an available model.
    pub async fn set_model(&self, provider: &str, id: &str) -> Result<Arc<Model>, SessionError> { todo!() }
    pub async fn cycle_model(&self) -> Option<CycledModel> { todo!() }
    /// Clamped to the model; returns the effective level.
    pub async fn set_thinking_level(&self, level: ThinkingLevel) -> ThinkingLevel { todo!() }
    pub async fn cycle_thinking_level(&self) -> Option<ThinkingLevel> { todo!() }
    pub fn available_thinking_levels(&self) -> Vec<ThinkingLevel> { todo!() }
    pub fn scoped_models(&self) -> Vec<ScopedModel> { todo!() }

    // --- compaction, bash ----------------------------------------------------------------------------------------

    /// Aborts the run, then compacts.
    pub async fn compact(&self, custom_instructions: Option<String>) -> Result<CompactionResult, SessionError> { todo!() }
    pub async fn bash(&self, request: BashRequest) -> Result<BashResult, SessionError> { todo!() }
    pub fn abort_bash(&self) { todo!() }

    // --- session control (spec/sessions.md §5) -------------------------------------------------------------------

    /// True = cancelled by a hook.
    pub async fn new_session(&self, parent_session: Option<String>) -> Result<bool, SessionError> { todo!() }
    pub async fn switch_session(&self, path: PathBuf) -> Result<bool, SessionError> { todo!() }
    pub async fn fork(&self, request: ForkRequest) -> Result<ForkOutcome, SessionError> { todo!() }
    pub async fn clone_session(&self) -> Result<bool, SessionError> { todo!() }
    pub async fn navigate(&self, target_id: &str, options: NavigateOptions) -> Result<NavigateOutcome, SessionError> { todo!() }
    /// Reloads extensions and settings in place; refused while a run or compaction is active.
    pub async fn reload(&self) -> Result<(), SessionError> { todo!() }
    /// Ends the session: aborts the run, then `session_shutdown`. No event is delivered to listeners any more.
    pub async fn shutdown(&self, reason: ShutdownReason) { todo!() }
    fn _unused(_: StreamingBehavior) {}
}
