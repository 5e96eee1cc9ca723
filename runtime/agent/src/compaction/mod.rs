//! Compaction and branch summaries (spec/agent-loop.md §7).
//!
//! `cut` decides what is summarised, `serialize` writes it down, `summary` asks the model, `run` ties them to hooks,
//! events and storage, `auto` decides when.

mod auto;
pub(crate) mod branch;
mod cut;
mod files;
mod run;
mod serialize;
pub(crate) mod summary;

use std::sync::Arc;

use pier_protocol::message::{Message, Usage};
use serde_json::Value;

pub use files::FileOps;
pub(crate) use run::replayed_prompt;

use crate::agent_session::ContextUsage;
use crate::session::SessionManager;
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

/// What an automatic check did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recovery {
    /// Nothing, or something that needs no further run.
    Done,
    /// The turn must be tried again.
    Continue,
}

/// The context of a session, measured.
pub(crate) struct Measured {
    pub(crate) tokens: u64,
    /// No response has been counted since the last compaction.
    pub(crate) uncounted: bool,
}

/// Measures the context of the current branch.
pub(crate) fn measure(session: &SessionManager) -> Measured {
    let context = session.context();
    Measured {
        tokens: context.gauge.tokens(),
        uncounted: context.is_compacted() && !context.gauge.is_reported(),
    }
}

/// How much of a window of `context_window` tokens is used.
pub(crate) fn context_usage(session: &SessionManager, context_window: u64) -> ContextUsage {
    let measured = measure(session);
    let tokens = (!measured.uncounted).then_some(measured.tokens);
    ContextUsage {
        tokens,
        context_window,
        percent: tokens.map(|tokens| tokens as f64 / context_window as f64 * 100.0),
    }
}
