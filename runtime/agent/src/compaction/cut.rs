//! Where a compaction cuts (spec/agent-loop.md §7.2). Pure over the entries of a branch.

use std::collections::HashMap;
use std::sync::Arc;

use pier_protocol::entry::EntryBody;
use pier_protocol::message::Message;

use super::{CompactionPreparation, FileOps, measure};
use crate::session::{EntryRef, SessionManager};
use crate::settings::CompactionSettings;
use crate::usage::estimate;

/// One entry behind the newest compaction, with what it contributes to the context.
struct Part {
    entry: EntryRef,
    message: Option<Arc<Message>>,
    /// A failed attempt that a `context_edit` hides.
    hidden: bool,
}

impl Part {
    fn is_valid_cut(&self) -> bool {
        matches!(
            self.message.as_deref(),
            Some(
                Message::User(_)
                    | Message::Developer(_)
                    | Message::Assistant(_)
                    | Message::BashExecution(_)
                    | Message::Custom(_)
                    | Message::BranchSummary(_)
                    | Message::CompactionSummary(_)
            )
        )
    }

    fn starts_turn(&self) -> bool {
        self.is_valid_cut() && !matches!(self.message.as_deref(), Some(Message::Assistant(_)))
    }
}

/// Why there is nothing to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NothingToDo {
    /// The last entry is a compaction.
    AlreadyCompacted,
    TooSmall,
}

/// What a compaction of the current branch would do.
pub(crate) fn prepare(
    session: &SessionManager,
    settings: &CompactionSettings,
) -> Result<CompactionPreparation, NothingToDo> {
    let branch = session.get_branch(None);
    if branch
        .last()
        .is_some_and(|entry| entry.entry_type() == "compaction")
    {
        return Err(NothingToDo::AlreadyCompacted);
    }
    let previous = branch.iter().rev().find_map(|entry| match entry.body() {
        EntryBody::Compaction(body) => Some((entry.clone(), body.clone())),
        _ => None,
    });
    let context = session.context();
    let mut messages: HashMap<Arc<str>, Arc<Message>> = HashMap::new();
    for part in &context.messages {
        messages.insert(part.entry_id.clone(), part.message.clone());
    }
    // The projection begins with the previous compaction itself, whose summary is carried on separately.
    let parts: Vec<Part> = context
        .entries
        .iter()
        .filter(|entry| {
            previous
                .as_ref()
                .is_none_or(|(previous, _)| previous.id() != entry.id())
        })
        .map(|entry| {
            let message = messages
                .get(entry.shared_id())
                .cloned()
                .filter(|message| !message.is_system());
            let hidden =
                message.is_none() && entry.message().is_some_and(|message| !message.is_system());
            Part {
                entry: entry.clone(),
                message,
                hidden,
            }
        })
        .collect();
    let cut = cut_at(&parts, settings.keep_recent_tokens).ok_or(NothingToDo::TooSmall)?;
    let turn_start = turn_start(&parts, cut);
    let collect = |from: usize, to: usize| -> Vec<Arc<Message>> {
        parts
            .iter()
            .skip(from)
            .take(to.saturating_sub(from))
            .filter_map(|part| part.message.clone())
            .collect()
    };
    let is_split_turn = turn_start.is_some();
    let history_end = turn_start.unwrap_or(cut);
    let messages_to_summarize = collect(0, history_end);
    let turn_prefix_messages = if is_split_turn {
        collect(history_end, cut)
    } else {
        Vec::new()
    };
    if messages_to_summarize.is_empty() && turn_prefix_messages.is_empty() {
        return Err(NothingToDo::TooSmall);
    }
    let mut file_ops = FileOps::default();
    if let Some(details) = previous
        .as_ref()
        .and_then(|(_, body)| body.details.as_ref())
    {
        file_ops.add_details(details);
    }
    file_ops.add_calls(&messages_to_summarize);
    file_ops.add_calls(&turn_prefix_messages);
    Ok(CompactionPreparation {
        first_kept_entry_id: parts
            .get(cut)
            .map(|part| part.entry.id().to_owned())
            .unwrap_or_default(),
        messages_to_summarize,
        turn_prefix_messages,
        recent_messages: collect(cut, parts.len()),
        is_split_turn,
        tokens_before: measure(session).tokens,
        previous_summary: previous.as_ref().map(|(_, body)| body.summary.clone()),
        previous_preserve_data: previous.and_then(|(_, body)| body.preserve_data),
        file_ops,
        settings: settings.clone(),
    })
}

/// Index of the first kept entry.
fn cut_at(parts: &[Part], keep: u64) -> Option<usize> {
    let valid: Vec<usize> = parts
        .iter()
        .enumerate()
        .filter(|(_, part)| part.is_valid_cut())
        .map(|(at, _)| at)
        .collect();
    let first_valid = *valid.first()?;
    let mut kept = 0u64;
    let mut reached = None;
    for (at, part) in parts.iter().enumerate().rev() {
        kept += part.message.as_deref().map_or(0, estimate);
        if kept >= keep {
            reached = Some(at);
            break;
        }
    }
    let mut cut = match reached {
        Some(at) => valid
            .iter()
            .copied()
            .find(|valid| *valid >= at)
            .or_else(|| valid.last().copied())?,
        None => first_valid,
    };
    // Nothing but failed attempts behind the cut would be kept.
    let rest = parts.get(cut + 1..).unwrap_or_default();
    if rest.iter().any(|part| part.hidden) && rest.iter().all(|part| part.message.is_none()) {
        cut += 1;
    }
    // Entries that contribute nothing stay with what follows them.
    while cut > 0
        && parts
            .get(cut - 1)
            .is_some_and(|part| part.message.is_none())
    {
        cut -= 1;
    }
    Some(cut)
}

/// Where the turn that the cut splits begins; `None` when the kept part begins with a turn.
fn turn_start(parts: &[Part], cut: usize) -> Option<usize> {
    let first_kept = parts
        .iter()
        .enumerate()
        .skip(cut)
        .find(|(_, part)| part.message.is_some())?;
    if first_kept.1.starts_turn() {
        return None;
    }
    let start = parts.iter().take(cut).rposition(Part::starts_turn)?;
    Some(start)
}
