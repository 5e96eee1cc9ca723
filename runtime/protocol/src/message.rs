//! Messages of a session: every role, in the JSON form of spec/agent-loop.md §1.2.
//!
//! Data only. Unknown roles and unknown members are preserved. Shared messages are `Arc<Message>`;
//! nothing here may mutate a message that was already announced.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

pub use crate::block::{
    Block, Content, Extra, ImageBlock, TextBlock, ThinkingBlock, ToolCallBlock, deserialize_blocks,
    joined_text,
};
use crate::num;
use crate::tool::ToolDeclaration;

/// A message of any role.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    User(UserMessage),
    Assistant(AssistantMessage),
    ToolResult(ToolResultMessage),
    System(SystemMessage),
    /// xcsh only; treated like a user message.
    Developer(UserMessage),
    Custom(CustomMessage),
    BashExecution(BashExecutionMessage),
    BranchSummary(BranchSummaryMessage),
    CompactionSummary(CompactionSummaryMessage),
    /// A role that this version does not know, with all its members.
    Other(Map<String, Value>),
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserMessage {
    #[serde(default)]
    pub content: Content,
    /// Milliseconds since the epoch.
    #[serde(default, deserialize_with = "num::deserialize_i64")]
    pub timestamp: i64,
    #[serde(flatten)]
    pub extra: Extra,
}

/// Why an assistant message ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum StopReason {
    /// Only while streaming; never stored.
    #[default]
    Pending,
    Stop,
    Length,
    ToolUse,
    Error,
    Aborted,
    Deferred,
    /// A word of another product.
    Other(String),
}

impl StopReason {
    pub fn as_str(&self) -> &str {
        match self {
            StopReason::Pending => "pending",
            StopReason::Stop => "stop",
            StopReason::Length => "length",
            StopReason::ToolUse => "toolUse",
            StopReason::Error => "error",
            StopReason::Aborted => "aborted",
            StopReason::Deferred => "deferred",
            StopReason::Other(word) => word,
        }
    }

    /// `error` or `aborted`.
    pub fn is_failure(&self) -> bool {
        matches!(self, StopReason::Error | StopReason::Aborted)
    }
}

impl From<&str> for StopReason {
    fn from(word: &str) -> Self {
        match word {
            "pending" => StopReason::Pending,
            "stop" => StopReason::Stop,
            "length" => StopReason::Length,
            "toolUse" => StopReason::ToolUse,
            "error" => StopReason::Error,
            "aborted" => StopReason::Aborted,
            "deferred" => StopReason::Deferred,
            other => StopReason::Other(other.to_owned()),
        }
    }
}

impl Serialize for StopReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for StopReason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(StopReason::from(
            String::deserialize(deserializer)?.as_str(),
        ))
    }
}

/// Token counts of one response. `reasoning` is part of `output`, `cache_write_1h` part of `cache_write`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    #[serde(default, deserialize_with = "num::deserialize_u64")]
    pub input: u64,
    #[serde(default, deserialize_with = "num::deserialize_u64")]
    pub output: u64,
    #[serde(default, deserialize_with = "num::deserialize_u64")]
    pub cache_read: u64,
    #[serde(default, deserialize_with = "num::deserialize_u64")]
    pub cache_write: u64,
    #[serde(
        rename = "cacheWrite1h",
        default,
        deserialize_with = "num::deserialize_opt_u64",
        skip_serializing_if = "Option::is_none"
    )]
    pub cache_write_1h: Option<u64>,
    #[serde(
        default,
        deserialize_with = "num::deserialize_opt_u64",
        skip_serializing_if = "Option::is_none"
    )]
    pub reasoning: Option<u64>,
    #[serde(default, deserialize_with = "num::deserialize_u64")]
    pub total_tokens: u64,
    #[serde(default)]
    pub cost: Cost,
    #[serde(flatten)]
    pub extra: Extra,
}

/// An amount for each kind of token that is paid for: what a response cost, or what a million tokens cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PerKind {
    #[serde(
        default,
        serialize_with = "num::serialize_f64",
        deserialize_with = "num::deserialize_f64"
    )]
    pub input: f64,
    #[serde(
        default,
        serialize_with = "num::serialize_f64",
        deserialize_with = "num::deserialize_f64"
    )]
    pub output: f64,
    #[serde(
        default,
        serialize_with = "num::serialize_f64",
        deserialize_with = "num::deserialize_f64"
    )]
    pub cache_read: f64,
    #[serde(
        default,
        serialize_with = "num::serialize_f64",
        deserialize_with = "num::deserialize_f64"
    )]
    pub cache_write: f64,
}

impl PerKind {
    /// All kinds together.
    pub fn sum(&self) -> f64 {
        self.input + self.output + self.cache_read + self.cache_write
    }
}

impl std::ops::AddAssign for PerKind {
    fn add_assign(&mut self, more: Self) {
        self.input += more.input;
        self.output += more.output;
        self.cache_read += more.cache_read;
        self.cache_write += more.cache_write;
    }
}

/// US dollars.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cost {
    #[serde(flatten)]
    pub parts: PerKind,
    #[serde(
        default,
        serialize_with = "num::serialize_f64",
        deserialize_with = "num::deserialize_f64"
    )]
    pub total: f64,
    /// The total is what the provider billed, not the sum of the parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_from_provider: Option<bool>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AssistantMessage {
    #[serde(default, deserialize_with = "deserialize_blocks")]
    pub content: Vec<Block>,
    #[serde(default)]
    pub api: String,
    #[serde(default)]
    pub provider: String,
    #[serde(default)]
    pub model: String,
    #[serde(default)]
    pub usage: Usage,
    #[serde(default)]
    pub stop_reason: StopReason,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    #[serde(default, deserialize_with = "num::deserialize_i64")]
    pub timestamp: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_thinking_level: Option<String>,
    /// The level that the loop asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// `diagnostics`, `rawStopReason`, `endTurn`, `deferred` and whatever else a provider reports.
    #[serde(flatten)]
    pub extra: Extra,
}

impl AssistantMessage {
    /// The tool calls in content order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCallBlock> {
        self.content.iter().filter_map(Block::as_tool_call)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResultMessage {
    #[serde(default)]
    pub tool_call_id: String,
    #[serde(default)]
    pub tool_name: String,
    #[serde(default, deserialize_with = "deserialize_blocks")]
    pub content: Vec<Block>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    #[serde(default)]
    pub is_error: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nested_calls: Option<NestedCalls>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    #[serde(default, deserialize_with = "num::deserialize_i64")]
    pub timestamp: i64,
    #[serde(flatten)]
    pub extra: Extra,
}

/// Calls that a tool made itself through `ctx.executeTool`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NestedCalls {
    #[serde(default)]
    pub calls: Vec<NestedCall>,
    /// False when calls were left out or were still running.
    #[serde(default)]
    pub complete: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NestedCall {
    pub id: String,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    /// Size in bytes when the arguments were too large to keep.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments_bytes: Option<u64>,
    /// `ok`, `error` or `unfinished`.
    pub status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Prompt state kept in the session (spec/agent-loop.md §9).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SystemMessage {
    /// Usually empty; `null` is read as `""`.
    #[serde(default, deserialize_with = "string_or_empty")]
    pub content: String,
    /// Changed sections; `None` removes one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sections: Option<indexmap::IndexMap<String, Option<String>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools_added: Option<Vec<ToolDeclaration>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools_removed: Option<Vec<ToolName>>,
    #[serde(default, deserialize_with = "num::deserialize_i64")]
    pub timestamp: i64,
    #[serde(flatten)]
    pub extra: Extra,
}

fn string_or_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) => text,
        Value::Array(blocks) => blocks
            .iter()
            .filter_map(|block| block.get("text").and_then(Value::as_str))
            .collect::<Vec<_>>()
            .join("\n"),
        _ => String::new(),
    })
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolName {
    pub name: String,
}

/// A message that an extension put into the conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomMessage {
    #[serde(default)]
    pub custom_type: String,
    #[serde(default)]
    pub content: Content,
    /// Whether user interfaces show it; the model sees it either way.
    #[serde(default)]
    pub display: bool,
    /// Never sent to the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    #[serde(default, deserialize_with = "num::deserialize_i64")]
    pub timestamp: i64,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BashExecutionMessage {
    #[serde(default)]
    pub command: String,
    #[serde(default)]
    pub output: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    #[serde(default)]
    pub cancelled: bool,
    #[serde(default)]
    pub truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_output_path: Option<String>,
    #[serde(default, deserialize_with = "num::deserialize_i64")]
    pub timestamp: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exclude_from_context: Option<bool>,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BranchSummaryMessage {
    #[serde(default)]
    pub summary: String,
    #[serde(default)]
    pub from_id: String,
    #[serde(default, deserialize_with = "num::deserialize_i64")]
    pub timestamp: i64,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionSummaryMessage {
    #[serde(default)]
    pub summary: String,
    #[serde(default, deserialize_with = "num::deserialize_u64")]
    pub tokens_before: u64,
    #[serde(default, deserialize_with = "num::deserialize_i64")]
    pub timestamp: i64,
    #[serde(flatten)]
    pub extra: Extra,
}

impl Message {
    pub fn role(&self) -> &str {
        match self {
            Message::User(_) => "user",
            Message::Assistant(_) => "assistant",
            Message::ToolResult(_) => "toolResult",
            Message::System(_) => "system",
            Message::Developer(_) => "developer",
            Message::Custom(_) => "custom",
            Message::BashExecution(_) => "bashExecution",
            Message::BranchSummary(_) => "branchSummary",
            Message::CompactionSummary(_) => "compactionSummary",
            Message::Other(map) => map.get("role").and_then(Value::as_str).unwrap_or(""),
        }
    }

    /// Milliseconds since the epoch; zero when an unknown role carries none.
    pub fn timestamp(&self) -> i64 {
        match self {
            Message::User(message) | Message::Developer(message) => message.timestamp,
            Message::Assistant(message) => message.timestamp,
            Message::ToolResult(message) => message.timestamp,
            Message::System(message) => message.timestamp,
            Message::Custom(message) => message.timestamp,
            Message::BashExecution(message) => message.timestamp,
            Message::BranchSummary(message) => message.timestamp,
            Message::CompactionSummary(message) => message.timestamp,
            Message::Other(map) => map.get("timestamp").and_then(Value::as_i64).unwrap_or(0),
        }
    }

    pub fn as_assistant(&self) -> Option<&AssistantMessage> {
        match self {
            Message::Assistant(message) => Some(message),
            _ => None,
        }
    }

    pub fn as_tool_result(&self) -> Option<&ToolResultMessage> {
        match self {
            Message::ToolResult(message) => Some(message),
            _ => None,
        }
    }

    pub fn as_user(&self) -> Option<&UserMessage> {
        match self {
            Message::User(message) => Some(message),
            _ => None,
        }
    }

    pub fn as_custom(&self) -> Option<&CustomMessage> {
        match self {
            Message::Custom(message) => Some(message),
            _ => None,
        }
    }

    pub fn is_system(&self) -> bool {
        matches!(self, Message::System(_))
    }

    /// A user message in the form the loop writes: the text block first, images after it.
    pub fn user(text: impl Into<String>, images: Vec<ImageBlock>, timestamp: i64) -> Self {
        let mut blocks = vec![Block::text(text)];
        blocks.extend(images.into_iter().map(Block::Image));
        Message::User(UserMessage {
            content: Content::Blocks(blocks),
            timestamp,
            extra: Extra::new(),
        })
    }

    /// Text of the message, blocks joined by a line feed; empty where a role has none.
    pub fn text(&self) -> String {
        match self {
            Message::User(message) | Message::Developer(message) => message.content.text(),
            Message::Assistant(message) => joined_text(&message.content),
            Message::ToolResult(message) => joined_text(&message.content),
            Message::System(message) => message.content.clone(),
            Message::Custom(message) => message.content.text(),
            Message::BashExecution(message) => message.output.clone(),
            Message::BranchSummary(message) => message.summary.clone(),
            Message::CompactionSummary(message) => message.summary.clone(),
            Message::Other(_) => String::new(),
        }
    }
}

macro_rules! from_role {
    ($($variant:ident($body:ty)),* $(,)?) => {
        $(impl From<$body> for Message {
            fn from(body: $body) -> Self {
                Message::$variant(body)
            }
        })*
    };
}
from_role!(
    User(UserMessage),
    Assistant(AssistantMessage),
    ToolResult(ToolResultMessage),
    System(SystemMessage),
    Custom(CustomMessage),
    BashExecution(BashExecutionMessage),
    BranchSummary(BranchSummaryMessage),
    CompactionSummary(CompactionSummaryMessage),
);

#[derive(Serialize)]
struct WithRole<'a, T: Serialize> {
    role: &'static str,
    #[serde(flatten)]
    body: &'a T,
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Message::User(body) => WithRole { role: "user", body }.serialize(serializer),
            Message::Assistant(body) => WithRole {
                role: "assistant",
                body,
            }
            .serialize(serializer),
            Message::ToolResult(body) => WithRole {
                role: "toolResult",
                body,
            }
            .serialize(serializer),
            Message::System(body) => WithRole {
                role: "system",
                body,
            }
            .serialize(serializer),
            Message::Developer(body) => WithRole {
                role: "developer",
                body,
            }
            .serialize(serializer),
            Message::Custom(body) => WithRole {
                role: "custom",
                body,
            }
            .serialize(serializer),
            Message::BashExecution(body) => WithRole {
                role: "bashExecution",
                body,
            }
            .serialize(serializer),
            Message::BranchSummary(body) => WithRole {
                role: "branchSummary",
                body,
            }
            .serialize(serializer),
            Message::CompactionSummary(body) => WithRole {
                role: "compactionSummary",
                body,
            }
            .serialize(serializer),
            Message::Other(map) => map.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut map = Map::<String, Value>::deserialize(deserializer)?;
        let role = match map.get("role") {
            Some(Value::String(role)) => role.clone(),
            _ => {
                return Err(serde::de::Error::custom(
                    "message has no string member \"role\"",
                ));
            }
        };
        const KNOWN: [&str; 9] = [
            "user",
            "assistant",
            "toolResult",
            "system",
            "developer",
            "custom",
            "bashExecution",
            "branchSummary",
            "compactionSummary",
        ];
        if !KNOWN.contains(&role.as_str()) {
            return Ok(Message::Other(map));
        }
        map.shift_remove("role");
        let body = Value::Object(map);
        use serde_json::from_value;
        match role.as_str() {
            "user" => from_value(body).map(Message::User),
            "assistant" => from_value(body).map(Message::Assistant),
            "toolResult" => from_value(body).map(Message::ToolResult),
            "system" => from_value(body).map(Message::System),
            "developer" => from_value(body).map(Message::Developer),
            "custom" => from_value(body).map(Message::Custom),
            "bashExecution" => from_value(body).map(Message::BashExecution),
            "branchSummary" => from_value(body).map(Message::BranchSummary),
            _ => from_value(body).map(Message::CompactionSummary),
        }
        .map_err(|error| serde::de::Error::custom(format!("{role} message: {error}")))
    }
}
