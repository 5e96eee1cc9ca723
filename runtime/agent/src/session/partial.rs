//! A session without some of its entries: what hung below one of these hangs below the nearest entry before it that is left.

use std::collections::HashMap;
use std::sync::Arc;

use super::error::SessionError;
use super::fork;
use super::state::State;
use super::stored::EntryRef;

/// What is left.
#[derive(Debug, Clone)]
pub struct PartialView {
    /// In file order.
    pub entries: Vec<EntryRef>,
    pub leaf_id: Option<Arc<str>>,
}

impl PartialView {
    pub(super) fn new(
        state: &State,
        hides: impl Fn(&EntryRef) -> bool,
    ) -> Result<Self, SessionError> {
        let hidden: HashMap<&str, &EntryRef> = state
            .entries()
            .iter()
            .filter(|entry| hides(entry))
            .map(|entry| (entry.id(), entry))
            .collect();
        let mut entries = Vec::with_capacity(state.entries().len());
        for entry in state.entries() {
            if hides(entry) {
                continue;
            }
            let parent = shown(entry.parent_id(), &hidden);
            entries.push(fork::rechain(entry, parent, &HashMap::new())?);
        }
        let leaf_id = shown(state.leaf().map(|id| &**id), &hidden).map(Arc::from);
        Ok(Self { entries, leaf_id })
    }
}

/// This entry, or the nearest before it that is not hidden.
fn shown<'a>(mut id: Option<&'a str>, hidden: &HashMap<&str, &'a EntryRef>) -> Option<&'a str> {
    // No more steps than there are hidden entries: damaged files have circles.
    for _ in 0..=hidden.len() {
        match id.and_then(|id| hidden.get(id)) {
            Some(entry) => id = entry.parent_id(),
            None => return id,
        }
    }
    None
}
