//! Prompt state: what the session's system messages add up to, and the patch that brings it to what is wanted.

use std::sync::Arc;

use indexmap::IndexMap;
use pier_protocol::message::{Message, SystemMessage, ToolName};
use pier_protocol::tool::ToolDeclaration;

/// Sections and tools in force.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PromptState {
    pub sections: IndexMap<String, String>,
    pub tools: IndexMap<String, ToolDeclaration>,
    /// Whether any system message contributed.
    pub known: bool,
}

impl PromptState {
    /// Replays the system messages among `messages`.
    pub fn replay<'a>(messages: impl IntoIterator<Item = &'a Arc<Message>>) -> Self {
        let mut state = PromptState::default();
        for message in messages {
            if let Message::System(system) = &**message {
                state.apply(system);
            }
        }
        state
    }

    fn apply(&mut self, message: &SystemMessage) {
        self.known = true;
        // A file of another version may hold plain text; it then stands for the preamble.
        if !message.content.is_empty() {
            self.sections
                .insert("preamble".to_owned(), message.content.clone());
        }
        for (name, text) in message.sections.iter().flatten() {
            match text {
                Some(text) => {
                    self.sections.insert(name.clone(), text.clone());
                }
                None => {
                    self.sections.shift_remove(name);
                }
            }
        }
        for removed in message.tools_removed.iter().flatten() {
            self.tools.shift_remove(&removed.name);
        }
        for added in message.tools_added.iter().flatten() {
            self.tools.insert(added.name.clone(), added.clone());
        }
    }

    /// The message that turns this state into `wanted`; `None` when nothing changed.
    pub fn patch_to(&self, wanted: &PromptState, timestamp: i64) -> Option<SystemMessage> {
        let mut sections: IndexMap<String, Option<String>> = IndexMap::new();
        for (name, text) in &wanted.sections {
            if self.sections.get(name) != Some(text) {
                sections.insert(name.clone(), Some(text.clone()));
            }
        }
        for name in self
            .sections
            .keys()
            .filter(|name| !wanted.sections.contains_key(*name))
        {
            sections.insert(name.clone(), None);
        }
        let same =
            |tool: &ToolDeclaration, other: &PromptState| other.tools.get(&tool.name) == Some(tool);
        let added: Vec<ToolDeclaration> = wanted
            .tools
            .values()
            .filter(|tool| !same(tool, self))
            .cloned()
            .collect();
        let removed: Vec<ToolName> = self
            .tools
            .values()
            .filter(|tool| !same(tool, wanted))
            .map(|tool| ToolName {
                name: tool.name.clone(),
            })
            .collect();
        if sections.is_empty() && added.is_empty() && removed.is_empty() {
            return None;
        }
        Some(SystemMessage {
            sections: Some(sections).filter(|sections| !sections.is_empty()),
            tools_added: Some(added).filter(|added| !added.is_empty()),
            tools_removed: Some(removed).filter(|removed| !removed.is_empty()),
            timestamp,
            ..SystemMessage::default()
        })
    }

    /// The whole state as one message, for a compaction entry.
    pub fn as_message(&self, timestamp: i64) -> Option<SystemMessage> {
        PromptState::default().patch_to(self, timestamp)
    }

    /// The prompt as one text.
    pub fn text(&self) -> String {
        render(&self.sections)
    }

    pub fn declarations(&self) -> Vec<ToolDeclaration> {
        self.tools.values().cloned().collect()
    }
}

/// Sections as one text: the preamble bare, every other one in tags of its name, joined by blank lines.
pub fn render(sections: &IndexMap<String, String>) -> String {
    sections
        .iter()
        .filter(|(_, text)| !text.is_empty())
        .map(|(name, text)| {
            if name == "preamble" {
                text.clone()
            } else {
                format!("<{name}>\n{text}\n</{name}>")
            }
        })
        .collect::<Vec<_>>()
        .join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(sections: &[(&str, &str)], tools: &[(&str, &str)]) -> PromptState {
        PromptState {
            sections: sections
                .iter()
                .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
                .collect(),
            tools: tools
                .iter()
                .map(|(name, description)| {
                    let tool = ToolDeclaration {
                        name: (*name).to_owned(),
                        description: (*description).to_owned(),
                        ..ToolDeclaration::default()
                    };
                    ((*name).to_owned(), tool)
                })
                .collect(),
            known: true,
        }
    }

    #[test]
    fn replaying_a_patch_gives_the_wanted_state() {
        let old = state(
            &[("preamble", "p"), ("cwd", "/a")],
            &[("read", "1"), ("bash", "1")],
        );
        let new = state(
            &[("preamble", "p"), ("skills", "s")],
            &[("read", "2"), ("grep", "1")],
        );
        let first: Arc<Message> = Arc::new(old.as_message(1).unwrap().into());
        let patch = old.patch_to(&new, 2).unwrap();
        assert_eq!(patch.sections.as_ref().unwrap().get("cwd"), Some(&None));
        assert!(
            !patch.sections.as_ref().unwrap().contains_key("preamble"),
            "unchanged sections are left out"
        );
        let second: Arc<Message> = Arc::new(patch.into());
        assert_eq!(PromptState::replay([&first]), old);
        assert_eq!(PromptState::replay([&first, &second]), new);
    }

    #[test]
    fn no_change_gives_no_patch() {
        let same = state(&[("preamble", "p")], &[("read", "1")]);
        assert_eq!(same.patch_to(&same.clone(), 1), None);
    }

    #[test]
    fn only_the_preamble_is_bare() {
        assert_eq!(
            state(&[("preamble", "p"), ("cwd", "/a")], &[]).text(),
            "p\n\n<cwd>\n/a\n</cwd>"
        );
    }
}
