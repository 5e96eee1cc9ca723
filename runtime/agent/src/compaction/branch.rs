//! Summaries of a branch that is left behind (spec/agent-loop.md §7.5).

use std::sync::Arc;

use pier_protocol::entry::EntryBody;
use pier_protocol::event::SummarySource;
use pier_protocol::message::{Content, CustomMessage, Message};
use pier_protocol::model::Model;
use tokio_util::sync::CancellationToken;

use super::FileOps;
use super::serialize::{blocks, serialize};
use super::summary::{BRANCH_SUMMARY, Purpose, SummaryError, text_of};
use crate::agent_session::inner::Inner;
use crate::hooks::SuppliedSummary;
use crate::session::EntryRef;

const INTRODUCTION: &str = "Work on another line of this conversation:";
/// `branchSummary.reserveTokens`
const DEFAULT_RESERVE: u64 = 16_384;
/// Window of a model that does not say.
const DEFAULT_WINDOW: u64 = 128_000;

impl Inner {
    /// Summarises the entries of a branch, oldest first. `instructions` replace ours or are added to them.
    pub(crate) async fn summarize_branch(
        &self,
        model: &Arc<Model>,
        entries: &[EntryRef],
        instructions: Option<&str>,
        replace: bool,
        cancel: &CancellationToken,
    ) -> Result<SuppliedSummary, SummaryError> {
        let reserve = self
            .settings()
            .branch_summary_reserve_tokens
            .unwrap_or(DEFAULT_RESERVE);
        let window = if model.context_window == 0 {
            DEFAULT_WINDOW
        } else {
            model.context_window
        };
        let messages = newest_within(entries, window.saturating_sub(reserve));
        let mut request = format!(
            "<conversation>\n{}\n</conversation>\n\n",
            serialize(&messages)
        );
        match instructions.map(str::trim).filter(|text| !text.is_empty()) {
            Some(own) if replace => request.push_str(own),
            Some(focus) => {
                request.push_str(&format!("{BRANCH_SUMMARY}\n\nAdditional focus: {focus}"))
            }
            None => request.push_str(BRANCH_SUMMARY),
        }
        let purpose = Purpose {
            source: SummarySource::BranchSummary,
            reason: None,
        };
        let answer = self.ask_summary(model, request, purpose, cancel).await?;
        let mut files = FileOps::default();
        files.add_calls(&messages);
        Ok(SuppliedSummary {
            summary: format!("{INTRODUCTION}\n\n{}{}", text_of(&answer), files.text()),
            details: Some(files.details()),
            usage: Some(answer.usage),
        })
    }
}

/// The newest messages that fit, oldest first; tool results are left out.
fn newest_within(entries: &[EntryRef], tokens: u64) -> Vec<Arc<Message>> {
    let mut left = tokens;
    let mut kept = Vec::new();
    for message in entries.iter().rev().filter_map(message_of) {
        let size: usize = blocks(&message)
            .iter()
            .map(|block| block.encode_utf16().count())
            .sum();
        let cost = size.div_ceil(4) as u64;
        if cost > left {
            break;
        }
        left -= cost;
        kept.push(message);
    }
    kept.reverse();
    kept
}

fn message_of(entry: &EntryRef) -> Option<Arc<Message>> {
    match entry.body() {
        EntryBody::Message(body)
            if body.message.as_tool_result().is_some() || body.message.is_system() =>
        {
            None
        }
        EntryBody::Message(body) => Some(body.message.clone()),
        EntryBody::CustomMessage(body) => Some(Arc::new(Message::Custom(CustomMessage {
            custom_type: body.custom_type.clone(),
            content: body.content.clone(),
            ..CustomMessage::default()
        }))),
        // Earlier summaries carry what lies before them.
        EntryBody::Compaction(body) => Some(summary_text(&body.summary)),
        EntryBody::BranchSummary(body) if !body.summary.is_empty() => {
            Some(summary_text(&body.summary))
        }
        _ => None,
    }
}

fn summary_text(text: &str) -> Arc<Message> {
    Arc::new(Message::Custom(CustomMessage {
        content: Content::Text(text.to_owned()),
        ..CustomMessage::default()
    }))
}
