//! What the hooks are told and what they answer: data only.

use std::path::PathBuf;
use std::sync::Arc;

use pier_protocol::entry::SessionEntry;
use pier_protocol::event::{AgentEvent, CompactionReason};
use pier_protocol::message::{Block, Content, CustomMessage, ImageBlock, Message, Usage};
use pier_protocol::model::{Model, ThinkingLevel};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::HookEvent;
use crate::compaction::{CompactionPreparation, SuppliedCompaction};
use crate::prompt::PromptOptions;
use crate::provider::TraceRecord;
pub use crate::run::BoundaryPreview;
use crate::tools::BashResult;
use crate::tools::operations::BashOperations;

/// A hook whose failure must stop what it guards (`tool_call`, `user_bash`); the text is shown as it is.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct HookFailure {
    pub message: String,
}

/// Who submitted a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputSource {
    Interactive,
    Rpc,
    Extension,
}

impl InputSource {
    pub fn as_str(self) -> &'static str {
        match self {
            InputSource::Interactive => "interactive",
            InputSource::Rpc => "rpc",
            InputSource::Extension => "extension",
        }
    }
}

/// What to do with a prompt while a run is active.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamingBehavior {
    Steer,
    FollowUp,
}

impl StreamingBehavior {
    /// The word on the wire: `steer` or `followUp`.
    pub fn as_str(self) -> &'static str {
        match self {
            StreamingBehavior::Steer => "steer",
            StreamingBehavior::FollowUp => "followUp",
        }
    }
}

#[derive(Debug, Clone)]
pub struct InputEvent {
    pub text: String,
    pub images: Vec<ImageBlock>,
    pub source: InputSource,
    /// Only while a run is active.
    pub streaming_behavior: Option<StreamingBehavior>,
}

#[derive(Debug, Clone, Default)]
pub enum InputOutcome {
    #[default]
    Continue,
    Transform {
        text: String,
        images: Vec<ImageBlock>,
    },
    /// An extension took the input; nothing is sent.
    Handled,
}

#[derive(Debug, Clone)]
pub struct BeforeAgentStart {
    /// Text of the prompting message.
    pub prompt: String,
    pub images: Vec<ImageBlock>,
    /// The custom message that triggers the run; `None` for a user prompt.
    pub message: Option<Arc<Message>>,
    /// Inputs of the system prompt; handlers may edit a copy. Their text is the prompt as it stands.
    pub system_prompt_options: PromptOptions,
}

#[derive(Debug, Clone, Default)]
pub struct BeforeAgentStartOutcome {
    /// Added after the prompting message, in order.
    pub messages: Vec<CustomMessage>,
    /// What handlers made of the inputs of the prompt, for this run; `None` = unchanged. A forced text is for this run's
    /// requests only and never stored.
    pub system_prompt_options: Option<PromptOptions>,
}

#[derive(Debug, Clone)]
pub struct ToolCallEvent {
    pub tool_call_id: String,
    pub tool_name: String,
    /// Validated arguments.
    pub input: Value,
    pub parent_tool_call_id: Option<String>,
}

#[derive(Debug, Clone, Default)]
pub struct ToolCallOutcome {
    /// Arguments after in-place edits; not validated again. `None` = unchanged.
    pub input: Option<Value>,
    pub block: Option<ToolBlock>,
}

/// The call must not run. A handler that threw blocks with its message as the reason.
#[derive(Debug, Clone, Default)]
pub struct ToolBlock {
    /// Error text for the model; a standard text when absent.
    pub reason: Option<String>,
    /// Counts as a terminating result.
    pub terminate: bool,
}

#[derive(Debug, Clone)]
pub struct ToolResultEvent {
    pub tool_call_id: String,
    pub tool_name: String,
    pub input: Value,
    pub content: Vec<Block>,
    pub details: Option<Value>,
    pub is_error: bool,
    pub structured_content: Option<Value>,
    pub usage: Option<Usage>,
    pub parent_tool_call_id: Option<String>,
}

/// Replacements; `None` leaves a member as it is. For the doubly optional ones `Some(None)` removes it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolResultPatch {
    pub content: Option<Vec<Block>>,
    pub details: Option<Option<Value>>,
    pub is_error: Option<bool>,
    pub structured_content: Option<Option<Value>>,
    pub usage: Option<Option<Usage>>,
}

/// An entry that a boundary handler wants stored (spec/extension-api.md §5.9).
#[derive(Debug, Clone)]
pub enum EntryDraft {
    Custom {
        custom_type: String,
        data: Option<Value>,
    },
    CustomMessage(CustomMessage),
    ContextEdit {
        target_id: String,
        replacement: Option<Content>,
    },
    Compaction(SuppliedCompaction),
}

#[derive(Debug, Clone)]
pub struct TurnEndEvent {
    pub turn_index: u64,
    pub message: Arc<Message>,
    pub tool_results: Vec<Arc<Message>>,
    pub message_entry_id: Option<String>,
    pub tool_result_entry_ids: Vec<String>,
    /// Model context as it stands.
    pub context: Vec<Arc<Message>>,
    pub preview: BoundaryPreview,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunOutcome {
    Completed,
    Aborted,
    Error,
}

impl RunOutcome {
    pub fn as_str(self) -> &'static str {
        match self {
            RunOutcome::Completed => "completed",
            RunOutcome::Aborted => "aborted",
            RunOutcome::Error => "error",
        }
    }
}

#[derive(Debug, Clone)]
pub struct BeforeSettleEvent {
    pub outcome: RunOutcome,
    pub context: Vec<Arc<Message>>,
    pub preview: BoundaryPreview,
}

/// Result of a boundary hook.
#[derive(Debug, Clone, Default)]
pub struct BoundaryOutcome {
    pub entries: Vec<EntryDraft>,
    /// Take another turn.
    pub continue_run: bool,
}

#[derive(Debug, Clone)]
pub struct UserBashEvent {
    pub command: String,
    pub exclude_from_context: bool,
    pub cwd: PathBuf,
}

#[derive(Debug, Clone, Default)]
pub enum UserBashOutcome {
    /// Run it with the host's shell.
    #[default]
    Run,
    /// The extension ran it.
    Result(BashResult),
    /// Run it with the extension's executor.
    Operations(Arc<dyn BashOperations>),
}

/// Why a session starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionStartReason {
    Startup,
    Reload,
    New,
    Resume,
    Fork,
}

impl SessionStartReason {
    pub fn as_str(self) -> &'static str {
        match self {
            SessionStartReason::Startup => "startup",
            SessionStartReason::Reload => "reload",
            SessionStartReason::New => "new",
            SessionStartReason::Resume => "resume",
            SessionStartReason::Fork => "fork",
        }
    }
}

/// Why a session ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShutdownReason {
    Quit,
    Reload,
    New,
    Resume,
    Fork,
}

impl ShutdownReason {
    pub fn as_str(self) -> &'static str {
        match self {
            ShutdownReason::Quit => "quit",
            ShutdownReason::Reload => "reload",
            ShutdownReason::New => "new",
            ShutdownReason::Resume => "resume",
            ShutdownReason::Fork => "fork",
        }
    }
}

#[derive(Debug, Clone)]
pub struct BeforeSwitchEvent {
    /// `New` or `Resume`.
    pub reason: SessionStartReason,
    pub target_session_file: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForkPosition {
    /// The new session ends just before the entry.
    Before,
    /// The entry is included.
    At,
}

impl ForkPosition {
    pub fn as_str(self) -> &'static str {
        match self {
            ForkPosition::Before => "before",
            ForkPosition::At => "at",
        }
    }
}

#[derive(Debug, Clone)]
pub struct BeforeForkEvent {
    pub entry_id: String,
    pub position: ForkPosition,
}

#[derive(Clone)]
pub struct BeforeCompactEvent {
    pub preparation: Arc<CompactionPreparation>,
    /// Root to leaf.
    pub branch_entries: Vec<Arc<SessionEntry>>,
    pub custom_instructions: Option<String>,
    pub reason: CompactionReason,
    pub will_retry: bool,
    pub signal: CancellationToken,
}

#[derive(Debug, Clone, Default)]
#[expect(clippy::large_enum_variant, reason = "one outcome a compaction")]
pub enum BeforeCompactOutcome {
    #[default]
    Continue,
    Cancel,
    /// Used as it is; no model call.
    Supply(SuppliedCompaction),
}

#[derive(Debug, Clone)]
pub struct CompactingEvent {
    pub session_id: String,
    pub messages: Vec<Arc<Message>>,
}

/// xcsh `session.compacting`.
#[derive(Debug, Clone, Default)]
pub struct CompactingOutcome {
    /// Appended to the summary request.
    pub context: Vec<String>,
    /// Replaces the instructions of the summary request.
    pub prompt: Option<String>,
    /// Stored with the entry.
    pub preserve_data: Option<Value>,
}

#[derive(Clone)]
pub struct BeforeTreeEvent {
    pub target_id: String,
    pub old_leaf_id: Option<String>,
    pub common_ancestor_id: Option<String>,
    pub entries_to_summarize: Vec<Arc<SessionEntry>>,
    pub user_wants_summary: bool,
    pub custom_instructions: Option<String>,
    pub replace_instructions: bool,
    pub label: Option<String>,
    pub signal: CancellationToken,
}

#[derive(Debug, Clone, Default)]
pub struct BeforeTreeOutcome {
    pub cancel: bool,
    /// Used only when a summary is wanted.
    pub summary: Option<SuppliedSummary>,
    pub custom_instructions: Option<String>,
    pub replace_instructions: Option<bool>,
    pub label: Option<String>,
}

#[derive(Debug, Clone, Default)]
pub struct SuppliedSummary {
    pub summary: String,
    pub details: Option<Value>,
    pub usage: Option<Usage>,
}

/// A file or directory that an extension named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscoveredPath {
    /// The extension, as errors name it.
    pub extension: String,
    /// Directory of its entry file.
    pub base_dir: PathBuf,
    /// Absolute.
    pub path: PathBuf,
}

/// What `resources_discover` handlers returned, in load order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiscoveredResources {
    pub skills: Vec<DiscoveredPath>,
    pub prompts: Vec<DiscoveredPath>,
    pub themes: Vec<DiscoveredPath>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelSelectSource {
    Set,
    Cycle,
    Restore,
}

impl ModelSelectSource {
    pub fn as_str(self) -> &'static str {
        match self {
            ModelSelectSource::Set => "set",
            ModelSelectSource::Cycle => "cycle",
            ModelSelectSource::Restore => "restore",
        }
    }
}

/// Something that happened; handlers' return values are ignored.
#[derive(Debug, Clone)]
pub enum Notification {
    /// A session event other than `message_update` and `message_end`, before any client sees it. `turn_end` and `message_end`
    /// reach extensions through their own methods instead. Compaction events go to xcsh extensions as `auto_compaction_*`
    /// unless their reason is manual.
    Event(Arc<AgentEvent>),
    SessionStart {
        reason: SessionStartReason,
        previous_session_file: Option<PathBuf>,
    },
    SessionShutdown {
        reason: ShutdownReason,
        target_session_file: Option<PathBuf>,
    },
    SessionTree {
        new_leaf_id: Option<String>,
        old_leaf_id: Option<String>,
        summary_entry: Option<Arc<SessionEntry>>,
        from_extension: bool,
    },
    SessionCompact {
        compaction_entry: Arc<SessionEntry>,
        from_extension: bool,
        reason: CompactionReason,
        will_retry: bool,
    },
    SessionCompactFailed {
        reason: CompactionReason,
        error_message: Option<String>,
        aborted: bool,
        will_retry: bool,
        from_extension: bool,
    },
    ModelSelect {
        model: Arc<Model>,
        previous_model: Option<Arc<Model>>,
        source: ModelSelectSource,
    },
    ThinkingLevelSelect {
        level: ThinkingLevel,
        previous_level: ThinkingLevel,
    },
    AfterProviderResponse {
        status: u16,
        headers: Value,
    },
    ProviderStreamEvent {
        provider: String,
        api: String,
        model: String,
        data: Value,
    },
    /// A model request ended.
    LlmTrace {
        record: Arc<TraceRecord>,
    },
}

impl Notification {
    /// The event that a handler must have subscribed to.
    pub fn hook(&self) -> Option<HookEvent> {
        match self {
            Notification::Event(event) => HookEvent::of(event),
            Notification::SessionStart { .. } => Some(HookEvent::SessionStart),
            Notification::SessionShutdown { .. } => Some(HookEvent::SessionShutdown),
            Notification::SessionTree { .. } => Some(HookEvent::SessionTree),
            Notification::SessionCompact { .. } => Some(HookEvent::SessionCompact),
            Notification::SessionCompactFailed { .. } => Some(HookEvent::SessionCompactFailed),
            Notification::ModelSelect { .. } => Some(HookEvent::ModelSelect),
            Notification::ThinkingLevelSelect { .. } => Some(HookEvent::ThinkingLevelSelect),
            Notification::AfterProviderResponse { .. } => Some(HookEvent::AfterProviderResponse),
            Notification::ProviderStreamEvent { .. } => Some(HookEvent::ProviderStreamEvent),
            Notification::LlmTrace { .. } => Some(HookEvent::LlmTrace),
        }
    }
}
