//! What host calls need from the session, as a trait: implemented for `AgentSession` in `agent_port.rs`, and in
//! memory by tests.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use pier_agent::agent_session::{
    CustomMessageRequest, DeliveryOptions, NavigateOptions, UserMessageOptions,
};
use pier_agent::hooks::ForkPosition;
use pier_agent::tool::ToolContext;
use pier_protocol::message::Content;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// The run that is active.
#[derive(Clone)]
pub struct RunHandle {
    /// Unique in the process.
    pub id: u64,
    /// Fires when the run is aborted.
    pub cancel: CancellationToken,
}

/// The session that extensions act on. Errors are texts for the extension.
#[async_trait]
pub trait SessionPort: Send + Sync + 'static {
    /// The members of the `state` answer that the session knows (`docs/bridge-protocol.md`).
    fn state(&self) -> serde_json::Map<String, Value>;
    /// Changes whenever `state` or the session's entries would.
    fn state_version(&self) -> u64;
    /// JSON text of `session.sync`.
    fn changes_since(&self, epoch: u64, version: u64) -> Result<String, String>;
    /// Id of the session.
    fn session_id(&self) -> String;
    /// Working directory.
    fn cwd(&self) -> PathBuf;
    /// Merged settings.
    fn settings(&self) -> Value;
    /// What a built-in tool works with that an extension runs as a function.
    fn tool_context(&self) -> ToolContext {
        ToolContext::detached(self.cwd())
    }
    /// Prompt templates and skills, as `SlashCommandInfo`.
    fn prompt_commands(&self) -> Vec<Value>;
    /// Inputs of the system prompt, as `systemPromptOptions`.
    fn system_prompt_options(&self) -> Value;
    /// Where artifacts of a stored session go.
    fn artifacts_dir(&self) -> Option<PathBuf>;
    /// The active run, if any.
    fn run(&self) -> Option<RunHandle>;

    /// `pi.sendMessage`.
    fn send_message(&self, message: CustomMessageRequest, options: DeliveryOptions);
    /// `pi.sendUserMessage`.
    fn send_user_message(&self, content: Content, options: UserMessageOptions);
    /// `pi.appendEntry`; the new entry's id.
    fn append_entry(&self, custom_type: &str, data: Option<Value>) -> Result<String, String>;
    /// An entry written by the `setup` callback of a new session; its id.
    fn append_raw(&self, entry: Value) -> Result<String, String>;
    /// Sets or removes a label.
    fn set_label(&self, entry_id: &str, label: Option<&str>) -> Result<(), String>;
    /// Replaces the active tools.
    fn set_active_tools(&self, names: &[String]);
    /// `ctx.abort()`.
    fn request_abort(&self);
    /// `ctx.shutdown()`.
    fn request_shutdown(&self);

    /// Sets the level; unknown words are an error.
    async fn set_thinking_level(&self, level: &str) -> Result<(), String>;
    /// Names the session.
    async fn set_session_name(&self, name: &str) -> Result<(), String>;
    /// `false` when no credential is available.
    async fn set_model(&self, provider: &str, id: &str) -> Result<bool, String>;
    /// Waits until the agent is idle.
    async fn wait_for_idle(&self);
    /// Compacts.
    async fn compact(&self, instructions: Option<String>) -> Result<Value, String>;
    /// True = cancelled.
    async fn new_session(&self, parent: Option<String>) -> Result<bool, String>;
    /// True = cancelled.
    async fn switch_session(&self, path: PathBuf) -> Result<bool, String>;
    /// True = cancelled.
    async fn fork(&self, entry_id: String, position: ForkPosition) -> Result<bool, String>;
    /// True = cancelled.
    async fn navigate(&self, target_id: &str, options: NavigateOptions) -> Result<bool, String>;
    /// Full reload of extensions and settings.
    async fn reload(&self) -> Result<(), String>;
    /// Re-opens the current session file (xcsh `ctx.reload()`).
    async fn reopen(&self) -> Result<(), String>;
}

/// Shared handle.
pub type Session = Arc<dyn SessionPort>;
