//! Session events (spec/rpc.md §5). They serialise to the wire form of the pi dialect.
//!
//! Members marked `serde(skip)` exist for other dialects and for extension events, and never reach a pi client.
//! Data only.

use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::entry::SessionEntry;
use crate::message::{Message, ToolCallBlock, Usage};
use crate::model::ThinkingLevel;
use crate::tool::ToolOutput;

pub use crate::partial::PartialMessage;

/// Everything a session announces, in one global order.
#[derive(Debug, Clone, Serialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum AgentEvent {
    AgentStart {},
    AgentEnd {
        /// Messages that went through the loop in this low-level run.
        messages: Vec<Arc<Message>>,
        /// Auto-retry will follow.
        will_retry: bool,
    },
    AgentSettled {
        aborted: bool,
    },
    TurnStart {
        /// Counted from zero within the low-level run.
        #[serde(skip)]
        turn_index: u64,
        #[serde(skip)]
        timestamp: i64,
    },
    TurnEnd {
        /// The assistant message.
        message: Arc<Message>,
        tool_results: Vec<Arc<Message>>,
        #[serde(skip)]
        turn_index: u64,
    },
    MessageStart {
        message: Arc<Message>,
    },
    MessageUpdate {
        usage: Usage,
        assistant_message_event: AssistantMessageEvent,
        /// The message so far. Cumulative dialects take a snapshot; it costs a copy of the message.
        #[serde(skip)]
        partial: PartialMessage,
    },
    MessageEnd {
        message: Arc<Message>,
    },
    ToolExecutionStart {
        tool_call_id: String,
        tool_name: String,
        /// Raw model arguments, before coercion.
        args: Value,
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_tool_call_id: Option<String>,
    },
    ToolExecutionUpdate {
        tool_call_id: String,
        tool_name: String,
        args: Value,
        partial_result: Arc<ToolOutput>,
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_tool_call_id: Option<String>,
    },
    ToolExecutionEnd {
        tool_call_id: String,
        tool_name: String,
        result: Arc<ToolOutput>,
        is_error: bool,
        /// The tool worked and warns (xcsh).
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_warning: bool,
        /// Absent when the tool never ran.
        #[serde(skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_tool_call_id: Option<String>,
    },
    QueueUpdate {
        steering: Vec<String>,
        follow_up: Vec<String>,
    },
    EntryAppended {
        entry: Arc<SessionEntry>,
    },
    SessionInfoChanged {
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    ThinkingLevelChanged {
        level: ThinkingLevel,
    },
    CompactionStart {
        reason: CompactionReason,
    },
    CompactionEnd {
        reason: CompactionReason,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<CompactionResult>,
        aborted: bool,
        will_retry: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        error_message: Option<String>,
    },
    AutoRetryStart {
        attempt: u32,
        max_attempts: u32,
        delay_ms: u64,
        error_message: String,
    },
    AutoRetryEnd {
        success: bool,
        attempt: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        final_error: Option<String>,
    },
    SummarizationRetryScheduled {
        attempt: u32,
        max_attempts: u32,
        delay_ms: u64,
        error_message: String,
    },
    SummarizationRetryAttemptStart {
        source: SummarySource,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<CompactionReason>,
    },
    SummarizationRetryFinished {},
    BashExecutionUpdate {
        /// Id of the command that started it, any JSON value.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<Value>,
        delta: String,
    },
}

impl AgentEvent {
    /// The wire name, which is also the extension event of the same kind.
    pub fn name(&self) -> &'static str {
        match self {
            AgentEvent::AgentStart {} => "agent_start",
            AgentEvent::AgentEnd { .. } => "agent_end",
            AgentEvent::AgentSettled { .. } => "agent_settled",
            AgentEvent::TurnStart { .. } => "turn_start",
            AgentEvent::TurnEnd { .. } => "turn_end",
            AgentEvent::MessageStart { .. } => "message_start",
            AgentEvent::MessageUpdate { .. } => "message_update",
            AgentEvent::MessageEnd { .. } => "message_end",
            AgentEvent::ToolExecutionStart { .. } => "tool_execution_start",
            AgentEvent::ToolExecutionUpdate { .. } => "tool_execution_update",
            AgentEvent::ToolExecutionEnd { .. } => "tool_execution_end",
            AgentEvent::QueueUpdate { .. } => "queue_update",
            AgentEvent::EntryAppended { .. } => "entry_appended",
            AgentEvent::SessionInfoChanged { .. } => "session_info_changed",
            AgentEvent::ThinkingLevelChanged { .. } => "thinking_level_changed",
            AgentEvent::CompactionStart { .. } => "compaction_start",
            AgentEvent::CompactionEnd { .. } => "compaction_end",
            AgentEvent::AutoRetryStart { .. } => "auto_retry_start",
            AgentEvent::AutoRetryEnd { .. } => "auto_retry_end",
            AgentEvent::SummarizationRetryScheduled { .. } => "summarization_retry_scheduled",
            AgentEvent::SummarizationRetryAttemptStart { .. } => {
                "summarization_retry_attempt_start"
            }
            AgentEvent::SummarizationRetryFinished {} => "summarization_retry_finished",
            AgentEvent::BashExecutionUpdate { .. } => "bash_execution_update",
        }
    }

    /// True when the event carries a system message, which the xcsh and omp dialects leave out.
    pub fn is_system_message(&self) -> bool {
        match self {
            AgentEvent::MessageStart { message } | AgentEvent::MessageEnd { message } => {
                message.is_system()
            }
            _ => false,
        }
    }
}

/// What `message_update` carries (spec/rpc.md §5.3). `content_index` indexes the assistant content.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
#[expect(
    clippy::large_enum_variant,
    reason = "the large variant comes once a call, and events live behind an Arc"
)]
pub enum AssistantMessageEvent {
    #[serde(rename = "text_start")]
    TextStart { content_index: usize },
    #[serde(rename = "text_delta")]
    TextDelta { content_index: usize, delta: String },
    #[serde(rename = "text_end")]
    TextEnd {
        content_index: usize,
        content: String,
    },
    #[serde(rename = "thinking_start")]
    ThinkingStart { content_index: usize },
    #[serde(rename = "thinking_delta")]
    ThinkingDelta { content_index: usize, delta: String },
    #[serde(rename = "thinking_end")]
    ThinkingEnd {
        content_index: usize,
        content: String,
    },
    #[serde(rename = "toolcall_start")]
    ToolCallStart {
        content_index: usize,
        id: String,
        tool_name: String,
    },
    #[serde(rename = "toolcall_delta")]
    ToolCallDelta { content_index: usize, delta: String },
    #[serde(rename = "toolcall_end")]
    ToolCallEnd {
        content_index: usize,
        tool_call: ToolCallSnapshot,
    },
}

/// A finished tool call, written with `type: "toolCall"`.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCallSnapshot(pub ToolCallBlock);

impl Serialize for ToolCallSnapshot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        crate::message::Block::ToolCall(self.0.clone()).serialize(serializer)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CompactionReason {
    Manual,
    Threshold,
    Overflow,
}

impl CompactionReason {
    pub fn as_str(self) -> &'static str {
        match self {
            CompactionReason::Manual => "manual",
            CompactionReason::Threshold => "threshold",
            CompactionReason::Overflow => "overflow",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SummarySource {
    Compaction,
    BranchSummary,
}

/// Data of a finished compaction: the `compact` response and `compaction_end.result`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionResult {
    pub summary: String,
    /// Absent when an extension's summary keeps nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_kept_entry_id: Option<String>,
    pub tokens_before: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated_tokens_after: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}
