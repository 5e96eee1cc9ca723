//! What the entry types add to the base members (spec/sessions.md §2 and §2.1). Data only; every
//! struct keeps members it does not know in `extra`.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::block::{Content, Extra};
use crate::message::{CustomMessage, Message, Usage};
use crate::num;

/// `message`: a message of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessageEntry {
    pub message: Arc<Message>,
    #[serde(flatten)]
    pub extra: Extra,
}

impl From<Arc<Message>> for MessageEntry {
    fn from(message: Arc<Message>) -> Self {
        MessageEntry {
            message,
            extra: Extra::new(),
        }
    }
}

/// `custom_message`: text that an extension put into the model's context.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomMessageEntry {
    pub custom_type: String,
    #[serde(default)]
    pub content: Content,
    /// Whether user interfaces show it.
    #[serde(default)]
    pub display: bool,
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub details: Option<Value>,
    #[serde(flatten)]
    pub extra: Extra,
}

impl From<&CustomMessage> for CustomMessageEntry {
    fn from(message: &CustomMessage) -> Self {
        CustomMessageEntry {
            custom_type: message.custom_type.clone(),
            content: message.content.clone(),
            display: message.display,
            details: message.details.clone(),
            extra: message.extra.clone(),
        }
    }
}

/// `custom`: state of an extension, never shown to the model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomEntry {
    pub custom_type: String,
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub data: Option<Value>,
    #[serde(flatten)]
    pub extra: Extra,
}

/// `model_change`: pi writes `provider` and `modelId`, xcsh writes `model` (`provider/id`) and maybe `role`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelChangeEntry {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

impl ModelChangeEntry {
    pub fn new(provider: impl Into<String>, model_id: impl Into<String>) -> Self {
        ModelChangeEntry {
            provider: Some(provider.into()),
            model_id: Some(model_id.into()),
            ..Self::default()
        }
    }

    /// Provider and model id that the conversation switched to. `None` when the entry names no
    /// model, or names one for another role than `default` (xcsh keeps several at a time).
    pub fn selection(&self) -> Option<(&str, &str)> {
        if self.role.as_deref().is_some_and(|role| role != "default") {
            return None;
        }
        match (&self.provider, &self.model_id, &self.model) {
            (Some(provider), Some(model_id), _) => Some((provider, model_id)),
            // A model id may itself contain slashes.
            (_, _, Some(model)) => model.split_once('/'),
            _ => None,
        }
    }
}

/// `thinking_level_change`; xcsh writes `null` for "no level".
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThinkingLevelChangeEntry {
    #[serde(default)]
    pub thinking_level: Option<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

/// `compaction`: replaces what came before [`CompactionEntry::first_kept_entry_id`] by a summary.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionEntry {
    pub summary: String,
    /// Nothing before the compaction is kept when this is missing or does not lie before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_kept_entry_id: Option<String>,
    #[serde(default, deserialize_with = "num::deserialize_u64")]
    pub tokens_before: u64,
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub details: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// True when an extension supplied the summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_hook: Option<bool>,
    /// xcsh's name for `fromHook`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_extension: Option<bool>,
    /// Prompt and tools at that time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_message: Option<Arc<Message>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub short_summary: Option<String>,
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub preserve_data: Option<Value>,
    #[serde(flatten)]
    pub extra: Extra,
}

impl CompactionEntry {
    /// Whether an extension supplied the summary, in either dialect.
    pub fn is_from_extension(&self) -> bool {
        self.from_hook.or(self.from_extension).unwrap_or(false)
    }
}

/// `branch_summary`: what happened on a branch that was left.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BranchSummaryEntry {
    /// The old leaf, or [`super::ROOT`].
    #[serde(default)]
    pub from_id: String,
    #[serde(default)]
    pub summary: String,
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub details: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_hook: Option<bool>,
    /// xcsh's name for `fromHook`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_extension: Option<bool>,
    #[serde(flatten)]
    pub extra: Extra,
}

impl BranchSummaryEntry {
    /// Whether an extension supplied the summary, in either dialect.
    pub fn is_from_extension(&self) -> bool {
        self.from_hook.or(self.from_extension).unwrap_or(false)
    }
}

/// `context_edit`: replaces or hides the content of an earlier entry in the model's context.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextEditEntry {
    pub target_id: String,
    /// `None` (`null`) hides the target.
    #[serde(default)]
    pub replacement: Option<ContextReplacement>,
    #[serde(flatten)]
    pub extra: Extra,
}

/// New content of an edited entry.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ContextReplacement {
    pub content: Content,
    #[serde(flatten)]
    pub extra: Extra,
}

/// `label`: names an entry; a missing or empty label removes the name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LabelEntry {
    pub target_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

/// `session_info`: names the session; `""` clears the name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionInfoEntry {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

/// `usage`: tokens spent outside the conversation, such as cache warming.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct UsageEntry {
    #[serde(default)]
    pub kind: String,
    #[serde(default)]
    pub provider: String,
    #[serde(default)]
    pub model: String,
    #[serde(default)]
    pub usage: Usage,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

/// `context_change` (xcsh).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextChangeEntry {
    #[serde(default)]
    pub context_name: Option<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

/// `service_tier_change` (xcsh).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceTierChangeEntry {
    #[serde(default)]
    pub service_tier: Option<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

/// `ttsr_injection` (xcsh): rules that were injected into a running response.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TtsrInjectionEntry {
    #[serde(default)]
    pub injected_rules: Vec<Value>,
    #[serde(flatten)]
    pub extra: Extra,
}

/// `mcp_tool_selection` (xcsh).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpToolSelectionEntry {
    #[serde(default)]
    pub selected_tool_names: Vec<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

/// `session_init` (xcsh): how a subagent was started.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionInitEntry {
    #[serde(default)]
    pub system_prompt: String,
    #[serde(default)]
    pub task: String,
    #[serde(flatten)]
    pub extra: Extra,
}

/// `mode_change` (xcsh).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ModeChangeEntry {
    #[serde(default)]
    pub mode: String,
    #[serde(flatten)]
    pub extra: Extra,
}

/// An entry that could not be read as one of the known types.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UnknownEntry {
    /// The `type` member; empty when there is none.
    pub entry_type: String,
    /// All members beside the base ones.
    pub members: Map<String, Value>,
    /// Why a known type was not accepted; `None` for a type this version does not know.
    pub problem: Option<String>,
}

/// Keeps `null` apart from a missing member.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
