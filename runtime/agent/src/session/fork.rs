//! Which entries a new file gets when a branch is copied (spec/sessions.md §5). Pure.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use pier_protocol::entry::{LabelEntry, SessionEntry};
use pier_protocol::message::Message;

use super::error::SessionError;
use super::ids;
use super::raw::RawObject;
use super::scan;
use super::state::State;
use super::stored::{EntryRef, Line, StoredEntry};

/// The path without its labels, the chain closed over the gaps; the labels of kept entries follow at
/// the end with their old timestamps.
///
/// # Errors
/// An entry cannot be written as JSON.
pub(super) fn copy_branch(state: &State, path: &[EntryRef]) -> Result<Vec<EntryRef>, SessionError> {
    let moved = moved_targets(path);
    let mut copied: Vec<EntryRef> = Vec::with_capacity(path.len());
    let mut previous: Option<Arc<str>> = None;
    for entry in path.iter().filter(|entry| !is_label(entry)) {
        let entry = rechain(entry, previous.as_deref(), &moved)?;
        previous = Some(entry.shared_id().clone());
        copied.push(entry);
    }
    let mut taken: HashSet<String> = copied.iter().map(|entry| entry.id().to_owned()).collect();
    let labels: Vec<(String, String, String)> = copied
        .iter()
        .filter_map(|entry| {
            let label = state.label(entry.id())?;
            Some((
                entry.id().to_owned(),
                label.label.clone(),
                label.timestamp.clone(),
            ))
        })
        .collect();
    for (target_id, label, timestamp) in labels {
        let id = ids::new_entry_id(|id| taken.contains(id));
        taken.insert(id.clone());
        let entry = SessionEntry {
            id,
            parent_id: previous.as_deref().map(str::to_owned),
            timestamp,
            body: LabelEntry {
                target_id,
                label: Some(label),
                ..LabelEntry::default()
            }
            .into(),
        };
        let entry = Arc::new(stored(entry)?);
        previous = Some(entry.shared_id().clone());
        copied.push(entry);
    }
    Ok(copied)
}

pub(super) fn is_label(entry: &EntryRef) -> bool {
    entry.entry_type() == "label"
}

/// Whether an entry is part of the conversation proper; a fork without any is not written yet (spec/sessions.md §3, §5).
pub(super) fn is_conversation(entry: &EntryRef) -> bool {
    let message = entry.message().map(|message| &**message);
    matches!(message, Some(Message::User(_) | Message::Assistant(_)))
}

/// For every label that falls away, the entry that takes its place as a compaction's first kept one.
fn moved_targets(path: &[EntryRef]) -> HashMap<&str, &str> {
    let mut moved = HashMap::new();
    let mut next_kept = None;
    for entry in path.iter().rev() {
        match (is_label(entry), next_kept) {
            (false, _) => next_kept = Some(entry.id()),
            (true, Some(kept)) => {
                moved.insert(entry.id(), kept);
            }
            (true, None) => {}
        }
    }
    moved
}

/// The entry with another parent; its line is only touched where something changes.
pub(super) fn rechain(
    entry: &EntryRef,
    parent: Option<&str>,
    moved: &HashMap<&str, &str>,
) -> Result<EntryRef, SessionError> {
    let encode = |source| SessionError::Encode {
        entry_type: entry.entry_type().to_owned(),
        source,
    };
    let first_kept = (entry.entry_type() == "compaction")
        .then(|| RawObject::parse(entry.json())?.get_text("firstKeptEntryId"))
        .flatten();
    let new_first_kept = first_kept.as_deref().and_then(|id| moved.get(id));
    if entry.parent_id() == parent && new_first_kept.is_none() {
        return Ok(entry.clone());
    }
    let Some(mut object) = RawObject::parse(entry.json()) else {
        // Cannot be taken apart; the chain then starts anew behind it.
        return Ok(entry.clone());
    };
    object.set("parentId", &parent).map_err(encode)?;
    if let Some(kept) = new_first_kept {
        object.set("firstKeptEntryId", *kept).map_err(encode)?;
    }
    let line = object.to_text().map_err(encode)?;
    Ok(match scan::scan(&line) {
        scan::Scanned::Object(head) => Arc::new(StoredEntry::from_line(
            Line::Own(line.as_str().into()),
            &head,
            entry.id(),
        )),
        _ => entry.clone(),
    })
}

/// Writes an entry's line.
///
/// # Errors
/// The entry has no JSON form.
pub(super) fn stored(entry: SessionEntry) -> Result<StoredEntry, SessionError> {
    let entry_type = entry.entry_type().to_owned();
    StoredEntry::from_entry(entry).map_err(|source| SessionError::Encode { entry_type, source })
}
