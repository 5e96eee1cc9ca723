//! Compaction and branch summaries (spec/agent-loop.md §7).

use std::collections::BTreeSet;
use std::sync::Arc;

use pier_protocol::message::{Message, Usage};
use serde_json::Value;

use crate::settings::CompactionSettings;

/// What a compaction would do, before anything is asked of a model.
#[derive(Debug, Clone)]
pub struct CompactionPreparation {
    pub first_kept_entry_id: String,
    /// History up to the cut (or to the start of the split turn).
    pub messages_to_summarize: Vec<Arc<Message>>,
    /// Start of the turn that the cut splits.
    pub turn_prefix_messages: Vec<Arc<Message>>,
    /// What stays.
    pub recent_messages: Vec<Arc<Message>>,
    pub is_split_turn: bool,
    /// Estimated context tokens before the compaction.
    pub tokens_before: u64,
    pub previous_summary: Option<String>,
    /// xcsh `preserveData` of the previous compaction.
    pub previous_preserve_data: Option<Value>,
    pub file_ops: FileOps,
    pub settings: CompactionSettings,
}

/// Files that tool calls touched, by what was done with them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileOps {
    pub read: BTreeSet<String>,
    pub written: BTreeSet<String>,
    pub edited: BTreeSet<String>,
}

/// A finished summary, from the model or from an extension.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SuppliedCompaction {
    pub summary: String,
    /// `None` keeps nothing.
    pub first_kept_entry_id: Option<String>,
    pub tokens_before: u64,
    pub details: Option<Value>,
    pub usage: Option<Usage>,
    /// xcsh.
    pub short_summary: Option<String>,
    /// xcsh.
    pub preserve_data: Option<Value>,
}
