//! Checks a `context_edit` before it is appended (spec/sessions.md §2, notes). Pure.

use pier_protocol::block::{Block, Content};
use pier_protocol::entry::{ContextReplacement, EntryBody};
use pier_protocol::message::Message;

use super::context::is_editable;
use super::error::SessionError;
use super::state::State;

/// The replacement in the form that is stored for this target.
///
/// # Errors
/// The target does not exist, is not on the active branch, or is of a kind that cannot be edited.
pub(super) fn checked(
    state: &State,
    target_id: &str,
    replacement: Option<Content>,
) -> Result<Option<ContextReplacement>, SessionError> {
    let Some(target) = state.get(target_id) else {
        return Err(SessionError::EntryNotFound(target_id.to_owned()));
    };
    let leaf = state.leaf().map(|leaf| &**leaf);
    if !state
        .path_to(leaf)
        .iter()
        .any(|entry| entry.id() == target_id)
    {
        return Err(SessionError::NotOnActiveBranch(target_id.to_owned()));
    }
    let blocks_only = match target.body() {
        EntryBody::CustomMessage(_) => false,
        EntryBody::Message(body) if is_editable(&body.message) => {
            matches!(
                &*body.message,
                Message::Assistant(_) | Message::ToolResult(_)
            )
        }
        _ => return Err(SessionError::NotEditable(target_id.to_owned())),
    };
    Ok(replacement.map(|content| {
        let content = match content {
            Content::Text(text) if blocks_only => Content::Blocks(vec![Block::text(text)]),
            other => other,
        };
        ContextReplacement {
            content,
            ..ContextReplacement::default()
        }
    }))
}
