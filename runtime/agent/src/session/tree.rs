//! The whole tree of a session as clients see it (spec/rpc.md §3.6, `get_tree`).
//!
//! Nodes lie in one list and refer to each other by position: a conversation is a chain as long as
//! the session, and a nested structure of that depth could not even be dropped safely.

use std::collections::HashMap;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::state::State;
use super::stored::EntryRef;

/// All entries, linked.
#[derive(Debug, Clone)]
pub struct SessionTree {
    pub nodes: Vec<TreeNode>,
    /// Positions of nodes without a parent. An entry whose parent is missing is a root; so is the
    /// first entry in file order of a circle.
    pub roots: Vec<usize>,
}

#[derive(Debug, Clone)]
pub struct TreeNode {
    pub entry: EntryRef,
    /// Positions, by timestamp; entries of the same time in file order.
    pub children: Vec<usize>,
    pub label: Option<String>,
    /// When the label was set, ISO-8601.
    pub label_timestamp: Option<String>,
}

impl SessionTree {
    /// The tree of `entries`, which are all of the session or what a reader may see of it.
    pub(super) fn build(entries: &[EntryRef], state: &State) -> Self {
        let mut nodes = Vec::new();
        let mut at_id = HashMap::new();
        let last_of: HashMap<&str, usize> = entries
            .iter()
            .enumerate()
            .map(|(position, entry)| (entry.id(), position))
            .collect();
        for (position, entry) in entries.iter().enumerate() {
            // Of several entries with one id only the last is reachable.
            if last_of.get(entry.id()) != Some(&position) {
                continue;
            }
            let label = state.label(entry.id());
            at_id.insert(entry.shared_id().clone(), nodes.len());
            nodes.push(TreeNode {
                entry: entry.clone(),
                children: Vec::new(),
                label: label.map(|label| label.label.clone()),
                label_timestamp: label.map(|label| label.timestamp.clone()),
            });
        }
        let parents: Vec<Option<usize>> = nodes
            .iter()
            .map(|node| node.entry.parent_id().and_then(|id| at_id.get(id).copied()))
            .collect();
        let mut tree = SessionTree {
            nodes,
            roots: Vec::new(),
        };
        for (at, parent) in cut_circles(parents).into_iter().enumerate() {
            match parent.and_then(|parent| tree.nodes.get_mut(parent)) {
                Some(parent) => parent.children.push(at),
                None => tree.roots.push(at),
            }
        }
        let times: Vec<i64> = tree
            .nodes
            .iter()
            .map(|node| node.entry.timestamp_millis())
            .collect();
        for node in &mut tree.nodes {
            node.children
                .sort_by_key(|child| times.get(*child).copied());
        }
        tree
    }

    /// JSON text: an array of `{entry, children, label?, labelTimestamp?}`.
    ///
    /// # Errors
    /// When a label cannot be written as JSON, which no string prevents.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        enum Step {
            Open(usize),
            Text(&'static str),
            Close(usize),
        }
        let mut out = String::from("[");
        let push_list = |steps: &mut Vec<Step>, list: &[usize]| {
            for (n, at) in list.iter().enumerate().rev() {
                steps.push(Step::Open(*at));
                if n > 0 {
                    steps.push(Step::Text(","));
                }
            }
        };
        let mut steps = Vec::new();
        push_list(&mut steps, &self.roots);
        while let Some(step) = steps.pop() {
            match step {
                Step::Text(text) => out.push_str(text),
                Step::Open(at) => {
                    let Some(node) = self.nodes.get(at) else {
                        continue;
                    };
                    out.push_str("{\"entry\":");
                    out.push_str(node.entry.json());
                    out.push_str(",\"children\":[");
                    steps.push(Step::Close(at));
                    push_list(&mut steps, &node.children);
                }
                Step::Close(at) => {
                    let Some(node) = self.nodes.get(at) else {
                        continue;
                    };
                    out.push(']');
                    for (name, value) in [
                        ("label", &node.label),
                        ("labelTimestamp", &node.label_timestamp),
                    ] {
                        if let Some(value) = value {
                            out.push_str(",\"");
                            out.push_str(name);
                            out.push_str("\":");
                            out.push_str(&serde_json::to_string(value)?);
                        }
                    }
                    out.push('}');
                }
            }
        }
        out.push(']');
        Ok(out)
    }
}

impl Serialize for SessionTree {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = self.to_json().map_err(serde::ser::Error::custom)?;
        RawValue::from_string(text)
            .map_err(serde::ser::Error::custom)?
            .serialize(serializer)
    }
}

/// Removes one parent link from every circle, that of its first member.
fn cut_circles(mut parents: Vec<Option<usize>>) -> Vec<Option<usize>> {
    const NEW: usize = usize::MAX;
    // The walk that reached a node first; a walk that meets itself has found a circle.
    let mut walk_of = vec![NEW; parents.len()];
    for start in 0..parents.len() {
        let mut at = start;
        let mut met_itself = None;
        loop {
            match walk_of.get_mut(at) {
                Some(walk) if *walk == NEW => *walk = start,
                Some(walk) if *walk == start => {
                    met_itself = Some(at);
                    break;
                }
                _ => break,
            }
            match parents.get(at).copied().flatten() {
                Some(parent) => at = parent,
                None => break,
            }
        }
        let Some(on_circle) = met_itself else {
            continue;
        };
        let mut first = on_circle;
        let mut at = on_circle;
        while let Some(parent) = parents.get(at).copied().flatten() {
            first = first.min(parent);
            at = parent;
            if at == on_circle {
                break;
            }
        }
        if let Some(link) = parents.get_mut(first) {
            *link = None;
        }
    }
    parents
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_are_cut_once_at_their_first_member() {
        assert_eq!(
            cut_circles(vec![None, Some(0), Some(1)]),
            vec![None, Some(0), Some(1)]
        );
        assert_eq!(cut_circles(vec![Some(0)]), vec![None]);
        // 0 hangs below the circle 1 -> 2 -> 3 -> 1.
        assert_eq!(
            cut_circles(vec![Some(3), Some(2), Some(3), Some(1)]),
            vec![Some(3), None, Some(3), Some(1)]
        );
        assert_eq!(
            cut_circles(vec![Some(1), Some(0), Some(3), Some(2), Some(1)]),
            vec![None, Some(0), None, Some(2), Some(1)]
        );
    }
}
