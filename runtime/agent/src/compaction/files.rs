//! Files that the summarised tool calls touched. Kept through a chain of compactions in their details.

use std::collections::BTreeSet;
use std::sync::Arc;

use pier_protocol::message::Message;
use serde_json::{Value, json};

/// Files that tool calls touched, by what was done with them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileOps {
    pub read: BTreeSet<String>,
    pub written: BTreeSet<String>,
    pub edited: BTreeSet<String>,
}

impl FileOps {
    /// Adds the `read`, `write` and `edit` calls of answers.
    pub fn add_calls(&mut self, messages: &[Arc<Message>]) {
        for call in messages
            .iter()
            .filter_map(|message| message.as_assistant())
            .flat_map(|answer| answer.tool_calls())
        {
            let Some(path) = call.arguments.get("path").and_then(Value::as_str) else {
                continue;
            };
            let set = match call.name.as_str() {
                "read" => &mut self.read,
                "write" => &mut self.written,
                "edit" => &mut self.edited,
                _ => continue,
            };
            set.insert(path.to_owned());
        }
    }

    /// Adds what an earlier compaction listed.
    pub fn add_details(&mut self, details: &Value) {
        let list = |name: &str| {
            details
                .get(name)
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(str::to_owned)
        };
        self.read.extend(list("readFiles"));
        self.edited.extend(list("modifiedFiles"));
    }

    pub fn modified(&self) -> BTreeSet<&str> {
        self.written
            .iter()
            .chain(&self.edited)
            .map(String::as_str)
            .collect()
    }

    /// Files that were only read.
    pub fn only_read(&self) -> BTreeSet<&str> {
        let modified = self.modified();
        self.read
            .iter()
            .map(String::as_str)
            .filter(|path| !modified.contains(path))
            .collect()
    }

    /// `{readFiles, modifiedFiles}`
    pub fn details(&self) -> Value {
        json!({"readFiles": self.only_read(), "modifiedFiles": self.modified()})
    }

    /// The lists as they stand behind a summary; empty when there are none.
    pub fn text(&self) -> String {
        let block = |tag: &str, paths: BTreeSet<&str>| {
            if paths.is_empty() {
                return String::new();
            }
            let lines: Vec<&str> = paths.into_iter().collect();
            format!("\n\n<{tag}>\n{}\n</{tag}>", lines.join("\n"))
        };
        block("read-files", self.only_read()) + &block("modified-files", self.modified())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_modified_is_not_listed_as_read() {
        let mut ops = FileOps::default();
        ops.add_details(&json!({"readFiles": ["b", "a"], "modifiedFiles": ["c"]}));
        ops.written.insert("a".to_owned());
        assert_eq!(
            ops.text(),
            "\n\n<read-files>\nb\n</read-files>\n\n<modified-files>\na\nc\n</modified-files>"
        );
        assert_eq!(
            ops.details(),
            json!({"readFiles": ["b"], "modifiedFiles": ["a", "c"]})
        );
        assert_eq!(FileOps::default().text(), "");
    }
}
