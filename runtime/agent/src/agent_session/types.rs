//! Plain values of the session's public interface. No behaviour.

use std::path::PathBuf;
use std::sync::Arc;

use pier_protocol::message::{Content, ImageBlock};
use pier_protocol::model::{Model, ThinkingLevel};
use serde::Serialize;
use serde_json::Value;

use crate::hooks::{ForkPosition, InputSource, StreamingBehavior};

/// A prompt as a client submits it.
#[derive(Debug, Clone)]
pub struct PromptRequest {
    pub text: String,
    pub images: Vec<ImageBlock>,
    pub source: InputSource,
    /// What to do when a run is active; ignored while idle.
    pub streaming_behavior: Option<StreamingBehavior>,
    /// Whether `/command`, `/skill:name` and templates are recognised.
    pub expand: bool,
}

impl PromptRequest {
    /// A prompt of a person or client, with commands and templates.
    pub fn new(text: impl Into<String>, source: InputSource) -> Self {
        PromptRequest {
            text: text.into(),
            images: Vec::new(),
            source,
            streaming_behavior: None,
            expand: true,
        }
    }
}

/// What became of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Disposition {
    /// A run starts.
    Started,
    Queued,
    /// An extension command or an `input` handler took it.
    Handled,
}

/// Why a session operation was refused or failed. The texts are what clients show (spec/rpc.md §3).
#[derive(Debug, Clone, thiserror::Error)]
pub enum SessionError {
    #[error(
        "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message."
    )]
    Busy,
    #[error(
        "Cannot submit a prompt while compaction is in progress. Wait for compaction to finish and retry."
    )]
    Compacting,
    #[error("No model selected. Choose one with --model or set_model, or configure a provider.")]
    NoModel,
    #[error(
        "No API key found for the selected model.\n\nUse /login where your frontend has it, or give provider \"{provider}\" a key: --api-key, its environment variable, or auth.json."
    )]
    NoCredentials { provider: String },
    #[error(
        "Extension command \"/{name}\" cannot be queued. Use prompt() or execute the command when not streaming."
    )]
    CommandNotQueueable { name: String },
    #[error("Model not found: {provider}/{id}")]
    ModelNotFound { provider: String, id: String },
    #[error("Already compacted")]
    AlreadyCompacted,
    #[error("Nothing to compact (session too small)")]
    NothingToCompact,
    #[error("Compaction cancelled")]
    CompactionCancelled,
    #[error("Session name cannot be empty")]
    EmptyName,
    #[error("Entry {id} not found")]
    EntryNotFound { id: String },
    #[error("Invalid entry ID for forking")]
    InvalidForkEntry,
    #[error("Cannot clone session: no current entry selected")]
    NothingToClone,
    #[error("This operation would wait for the run that is executing it")]
    WouldDeadlock,
    /// Any other reason, as text for the client.
    #[error("{0}")]
    Failed(String),
}

/// When a custom message reaches the model (spec/extension-api.md §3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliverAs {
    Steer,
    FollowUp,
    NextTurn,
}

impl DeliverAs {
    /// `None` for an unknown word, which counts as absent.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "steer" => Some(DeliverAs::Steer),
            "followUp" => Some(DeliverAs::FollowUp),
            "nextTurn" => Some(DeliverAs::NextTurn),
            _ => None,
        }
    }
}

/// Options of `sendMessage`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeliveryOptions {
    pub deliver_as: Option<DeliverAs>,
    /// Absent and `false` differ in pi's matrix.
    pub trigger_turn: Option<bool>,
}

/// Options of `sendUserMessage`.
#[derive(Debug, Clone, Default)]
pub struct UserMessageOptions {
    pub deliver_as: Option<StreamingBehavior>,
    /// pi's opt-in to commands and templates.
    pub expand_prompt_templates: bool,
    /// Path of the extension that sends it, for reports.
    pub sender: Option<String>,
}

/// A custom message as an extension gives it; content `null` was already normalised.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CustomMessageRequest {
    pub custom_type: String,
    pub content: Content,
    pub display: bool,
    pub details: Option<Value>,
    /// xcsh.
    pub attribution: Option<String>,
    /// Path of the extension that sends it, for reports.
    pub sender: Option<String>,
}

/// How much of the model's window is used.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextUsage {
    /// `None` directly after a compaction.
    pub tokens: Option<u64>,
    pub context_window: u64,
    pub percent: Option<f64>,
}

/// Texts of the queued user messages; custom messages are not in the lists.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QueuedTexts {
    pub steering: Vec<String>,
    pub follow_up: Vec<String>,
}

/// Result of cycling through models.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CycledModel {
    pub model: Arc<Model>,
    pub thinking_level: ThinkingLevel,
    /// From the scoped list rather than from all available models.
    pub is_scoped: bool,
}

/// A model of the scoped list (`--models`), with the level it was named with.
#[derive(Debug, Clone)]
pub struct ScopedModel {
    pub model: Arc<Model>,
    pub thinking_level: Option<ThinkingLevel>,
}

/// Data of `get_session_stats` (spec/rpc.md §3.2).
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionStats {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_file: Option<PathBuf>,
    pub session_id: String,
    pub user_messages: u64,
    pub assistant_messages: u64,
    pub tool_calls: u64,
    pub tool_results: u64,
    pub total_messages: u64,
    pub tokens: TokenTotals,
    #[serde(serialize_with = "pier_protocol::num::serialize_f64")]
    pub cost: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_usage: Option<ContextUsage>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenTotals {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub total: u64,
}

/// A user's shell command (`bash` of RPC).
#[derive(Debug, Clone, Default)]
pub struct BashRequest {
    pub command: String,
    pub exclude_from_context: bool,
    /// Id of the client's command; repeated in `bash_execution_update`.
    pub id: Option<Value>,
}

/// Options of tree navigation (spec/sessions.md §5).
#[derive(Debug, Clone, Default)]
pub struct NavigateOptions {
    pub summarize: bool,
    pub custom_instructions: Option<String>,
    pub replace_instructions: bool,
    pub label: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NavigateOutcome {
    pub cancelled: bool,
    /// Text of a user or custom target, for the editor.
    pub editor_text: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForkOutcome {
    pub cancelled: bool,
    /// Text of the user message that was forked at, for the editor; with `ForkPosition::Before` only.
    pub text: Option<String>,
}

#[derive(Debug, Clone)]
pub struct ForkRequest {
    pub entry_id: String,
    pub position: ForkPosition,
}
