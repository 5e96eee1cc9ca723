//! What the model gets to see of a branch (spec/sessions.md §4): a function of the path, and of the
//! blob store for files that keep images there.
//!
//! Invariant: building a path at once, and building a part of it and extending that with the rest, give the same.

use std::collections::HashMap;
use std::sync::Arc;

use pier_protocol::block::{Content, Extra};
use pier_protocol::entry::{CompactionEntry, ContextReplacement, EntryBody};
use pier_protocol::message::{
    BranchSummaryMessage, CompactionSummaryMessage, CustomMessage, Message,
};

use super::blobs::{self, BlobDirs};
use super::stored::EntryRef;
use crate::convert::to_provider_message;
use crate::usage::ContextGauge;

/// A branch, projected for the model.
#[derive(Debug, Clone)]
pub struct SessionContext {
    /// In order, with the entry each came from.
    pub messages: Vec<ContextMessage>,
    /// The entries that were projected: the last compaction first, if there is one.
    pub entries: Vec<EntryRef>,
    /// Level of the last `thinking_level_change` on the branch; `off` when there is none or it says `null`.
    pub thinking_level: String,
    /// Whether the branch has a `thinking_level_change` at all.
    pub has_thinking_entry: bool,
    /// Named by the last `model_change` or assistant message on the branch.
    pub model: Option<ModelSelection>,
    /// How many of `messages` the last compaction made or kept; answers among them are older than it.
    pub compacted: usize,
    /// The system messages among `messages`.
    pub system_messages: Vec<Arc<Message>>,
    /// `messages` in the form that providers get, shared with requests under way.
    pub provider_messages: Arc<Vec<Arc<Message>>>,
    /// How much `messages` take up. Counts that a response reported before the last compaction or edit are void.
    pub gauge: ContextGauge,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ContextMessage {
    pub message: Arc<Message>,
    /// The entry that contributed it.
    pub entry_id: Arc<str>,
    /// Its content was replaced by a `context_edit`.
    pub edited: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSelection {
    pub provider: String,
    pub model_id: String,
}

impl SessionContext {
    /// Projects a path from root to leaf.
    pub(super) fn build(path: &[EntryRef], blobs: &BlobDirs) -> Self {
        let (thinking_level, has_thinking_entry) = match last_level(path) {
            Some(level) => (level, true),
            None => (NO_THINKING.to_owned(), false),
        };
        let mut context = SessionContext {
            messages: Vec::with_capacity(path.len()),
            entries: Vec::new(),
            thinking_level,
            has_thinking_entry,
            model: last_model(path),
            compacted: 0,
            system_messages: Vec::new(),
            provider_messages: Arc::new(Vec::with_capacity(path.len())),
            gauge: ContextGauge::default(),
        };
        let (entries, compacted) = context_entries(path);
        let edits = last_edits(&entries);
        let (kept, after) = entries.split_at(compacted);
        for (at, entry) in kept.iter().enumerate() {
            context.add(entry, at == 0, edits.get(entry.id()), blobs);
        }
        context.compacted = context.messages.len();
        context.gauge.forget_reports();
        for entry in after {
            if entry.entry_type() == "context_edit" {
                context.gauge.forget_reports();
            }
            context.add(entry, false, edits.get(entry.id()), blobs);
        }
        context.entries = entries;
        context
    }

    /// Whether appending this entry leaves what is already projected as it is.
    pub(super) fn can_extend_by(entry: &EntryRef) -> bool {
        !matches!(entry.entry_type(), "compaction" | "context_edit")
    }

    /// Goes on with entries that came behind the path, each of which [`SessionContext::can_extend_by`].
    pub(super) fn extend(&mut self, entries: Vec<EntryRef>, blobs: &BlobDirs) {
        if let Some(level) = last_level(&entries) {
            self.thinking_level = level;
            self.has_thinking_entry = true;
        }
        if let Some(model) = last_model(&entries) {
            self.model = Some(model);
        }
        for entry in &entries {
            self.add(entry, false, None, blobs);
        }
        self.entries.extend(entries);
    }

    fn add(
        &mut self,
        entry: &EntryRef,
        is_first: bool,
        edit: Option<&Option<&ContextReplacement>>,
        blobs: &BlobDirs,
    ) {
        let from = self.messages.len();
        project(entry, is_first, edit, &mut self.messages);
        let refers = blobs::may_refer(entry.json());
        // Copies the list only while a request still holds it.
        let provider_messages = Arc::make_mut(&mut self.provider_messages);
        for part in self.messages.iter_mut().skip(from) {
            if refers {
                part.message = blobs.complete(part.message.clone());
            }
            self.gauge.add(&part.message);
            provider_messages.extend(to_provider_message(&part.message));
            if part.message.is_system() {
                self.system_messages.push(part.message.clone());
            }
        }
    }

    /// Whether the branch was compacted.
    pub fn is_compacted(&self) -> bool {
        self.entries
            .first()
            .is_some_and(|entry| entry.entry_type() == "compaction")
    }

    /// The messages alone.
    pub fn to_messages(&self) -> Vec<Arc<Message>> {
        self.messages
            .iter()
            .map(|part| part.message.clone())
            .collect()
    }
}

/// The level of a branch that names none.
const NO_THINKING: &str = "off";

fn last_level(path: &[EntryRef]) -> Option<String> {
    for entry in path
        .iter()
        .rev()
        .filter(|entry| entry.entry_type() == "thinking_level_change")
    {
        if let EntryBody::ThinkingLevelChange(body) = entry.body() {
            let level = body.thinking_level.as_deref().unwrap_or(NO_THINKING);
            return Some(level.to_owned());
        }
    }
    None
}

fn last_model(path: &[EntryRef]) -> Option<ModelSelection> {
    path.iter().rev().find_map(|entry| {
        let (provider, model_id) = match entry.entry_type() {
            "model_change" => match entry.body() {
                EntryBody::ModelChange(body) => body.selection()?,
                _ => return None,
            },
            "message" => {
                let assistant = entry.message()?.as_assistant()?;
                (assistant.provider.as_str(), assistant.model.as_str())
            }
            _ => return None,
        };
        (!provider.is_empty() && !model_id.is_empty()).then(|| ModelSelection {
            provider: provider.to_owned(),
            model_id: model_id.to_owned(),
        })
    })
}

/// The last compaction, what it keeps, and everything after it; and how many of these there were when it was made (0 without one).
fn context_entries(path: &[EntryRef]) -> (Vec<EntryRef>, usize) {
    let last = path
        .iter()
        .enumerate()
        .rev()
        .find_map(|(at, entry)| Some((at, as_compaction(entry)?)));
    let Some((at, compaction)) = last else {
        return (path.to_vec(), 0);
    };
    let (before, after) = path.split_at(at);
    let first_kept = compaction
        .first_kept_entry_id
        .as_deref()
        .and_then(|id| before.iter().position(|entry| entry.id() == id))
        .unwrap_or(before.len());
    let mut entries = Vec::with_capacity(path.len() - first_kept);
    entries.extend(after.first().cloned());
    entries.extend(
        before
            .iter()
            .skip(first_kept)
            .filter(|entry| !is_system(entry))
            .cloned(),
    );
    let compacted = entries.len();
    entries.extend(after.iter().skip(1).cloned());
    (entries, compacted)
}

fn as_compaction(entry: &EntryRef) -> Option<&CompactionEntry> {
    if entry.entry_type() != "compaction" {
        return None;
    }
    match entry.body() {
        EntryBody::Compaction(body) => Some(body),
        _ => None,
    }
}

fn is_system(entry: &EntryRef) -> bool {
    entry.message().is_some_and(|message| message.is_system())
}

/// The edit that counts for each target: the last one.
fn last_edits(entries: &[EntryRef]) -> HashMap<&str, Option<&ContextReplacement>> {
    let mut edits = HashMap::new();
    for entry in entries
        .iter()
        .filter(|entry| entry.entry_type() == "context_edit")
    {
        if let EntryBody::ContextEdit(body) = entry.body() {
            edits.insert(body.target_id.as_str(), body.replacement.as_ref());
        }
    }
    edits
}

fn project(
    entry: &EntryRef,
    is_first: bool,
    edit: Option<&Option<&ContextReplacement>>,
    messages: &mut Vec<ContextMessage>,
) {
    let mut add = |message: Arc<Message>| {
        if let Some((message, edited)) = apply_edit(message, edit) {
            messages.push(ContextMessage {
                message,
                entry_id: entry.shared_id().clone(),
                edited,
            });
        }
    };
    // The other types contribute nothing and are not even parsed.
    match entry.entry_type() {
        "message" => {
            if let Some(message) = entry.message() {
                add(message.clone());
            }
        }
        "custom_message" => {
            if let EntryBody::CustomMessage(body) = entry.body() {
                add(Arc::new(Message::Custom(CustomMessage {
                    custom_type: body.custom_type.clone(),
                    content: body.content.clone(),
                    display: body.display,
                    details: body.details.clone(),
                    timestamp: entry.timestamp_millis(),
                    extra: body.extra.clone(),
                })));
            }
        }
        "branch_summary" => {
            if let EntryBody::BranchSummary(body) = entry.body()
                && !body.summary.is_empty()
            {
                add(Arc::new(Message::BranchSummary(BranchSummaryMessage {
                    summary: body.summary.clone(),
                    from_id: body.from_id.clone(),
                    timestamp: entry.timestamp_millis(),
                    extra: Extra::new(),
                })));
            }
        }
        "compaction" if is_first => {
            if let Some(body) = as_compaction(entry) {
                if let Some(system) = &body.system_message {
                    add(system.clone());
                }
                add(Arc::new(Message::CompactionSummary(
                    CompactionSummaryMessage {
                        summary: body.summary.clone(),
                        tokens_before: body.tokens_before,
                        timestamp: entry.timestamp_millis(),
                        extra: Extra::new(),
                    },
                )));
            }
        }
        _ => {}
    }
}

/// The message as the model sees it and whether it was edited; `None` when an edit hides it.
fn apply_edit(
    message: Arc<Message>,
    edit: Option<&Option<&ContextReplacement>>,
) -> Option<(Arc<Message>, bool)> {
    let Some(replacement) = edit else {
        return Some((message, false));
    };
    if !is_editable(&message) {
        return Some((message, false));
    }
    let Some(replacement) = replacement else {
        return None;
    };
    let mut edited = Message::clone(&message);
    set_content(&mut edited, replacement.content.clone());
    Some((Arc::new(edited), true))
}

/// Whether a `context_edit` may change messages of this role.
pub(super) fn is_editable(message: &Message) -> bool {
    matches!(
        message,
        Message::User(_) | Message::Assistant(_) | Message::ToolResult(_) | Message::Custom(_)
    )
}

fn set_content(message: &mut Message, content: Content) {
    match message {
        Message::User(body) => body.content = content,
        Message::Custom(body) => body.content = content,
        // These two hold blocks only: a string becomes one text block.
        Message::Assistant(body) => body.content = content.into_blocks(),
        Message::ToolResult(body) => body.content = content.into_blocks(),
        _ => {}
    }
}
