//! A session file as it lies on disk, read without the product's code.

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::path::Path;

pub(super) struct SessionFile {
    pub(super) entries: Vec<Value>,
}

impl SessionFile {
    /// Reads the complete lines; a file that does not exist has none.
    ///
    /// # Errors
    /// A complete line is no JSON, or the first is no header.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error).context(format!("cannot read {}", path.display())),
        };
        let mut entries = Vec::new();
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
        for line in bytes[..whole].split(|byte| *byte == b'\n') {
            if line.is_empty() && whole == 0 {
                break;
            }
            entries.push(serde_json::from_slice(line).with_context(|| {
                format!("{}: {}", path.display(), String::from_utf8_lossy(line))
            })?);
        }
        if !entries.is_empty() {
            let header: Value = entries.remove(0);
            ensure!(header["type"] == "session", "no header: {header}");
        }
        Ok(Self { entries })
    }

    pub(super) fn ids(&self) -> Vec<&str> {
        self.entries
            .iter()
            .filter_map(|entry| entry["id"].as_str())
            .collect()
    }

    /// Every entry has an id of its own and a parent that stands before it.
    ///
    /// # Errors
    /// Names the entry for which that is not so.
    pub(super) fn check_tree(&self) -> Result<()> {
        let mut seen = HashSet::new();
        for entry in &self.entries {
            let id = entry["id"].as_str().context("an entry without an id")?;
            if let Some(parent) = entry["parentId"].as_str() {
                ensure!(seen.contains(parent), "no parent before it: {entry}");
            }
            ensure!(seen.insert(id), "the id is there twice: {entry}");
        }
        Ok(())
    }

    /// Every announced message and entry is there, as often as it was announced.
    ///
    /// # Errors
    /// Names the first one that is missing.
    pub(super) fn check_announced(&self, records: &[Value]) -> Result<()> {
        let mut left: HashMap<String, usize> = HashMap::new();
        for entry in &self.entries {
            for key in keys(entry) {
                *left.entry(key).or_default() += 1;
            }
        }
        for record in records {
            let Some(key) = announced(record) else {
                continue;
            };
            match left.get_mut(&key) {
                Some(count) if *count > 0 => *count -= 1,
                _ => bail!("announced and not in the file: {record}"),
            }
        }
        Ok(())
    }

    /// Every call of an answer that was not cut off has its result right behind the answer, in call order, and there is no other
    /// result (spec/agent-loop.md §3.3, §4.1).
    ///
    /// # Errors
    /// Names the answer or the result.
    pub(super) fn check_calls(&self) -> Result<()> {
        let mut open: Vec<String> = Vec::new();
        for entry in self
            .entries
            .iter()
            .filter(|entry| entry["type"] == "message")
        {
            let message = &entry["message"];
            if message["role"] == "toolResult" {
                let id = message["toolCallId"].as_str().unwrap_or_default();
                ensure!(
                    open.first().is_some_and(|next| next == id),
                    "a result without its call, or out of order (waiting: {open:?}): {entry}"
                );
                open.remove(0);
                continue;
            }
            ensure!(
                open.is_empty(),
                "calls {open:?} have no result before {entry}"
            );
            let cut_off = matches!(message["stopReason"].as_str(), Some("aborted" | "error"));
            if message["role"] == "assistant" && !cut_off {
                open = calls(message);
            }
        }
        ensure!(open.is_empty(), "calls {open:?} have no result at the end");
        Ok(())
    }
}

/// Ids of the tool calls of an answer.
pub(super) fn calls(message: &Value) -> Vec<String> {
    message["content"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|block| block["type"] == "toolCall")
        .filter_map(|block| block["id"].as_str().map(str::to_owned))
        .collect()
}

/// What a record says about the file: `message_end` and `entry_appended` come after the entry was written.
fn announced(record: &Value) -> Option<String> {
    match record["type"].as_str()? {
        "message_end" => Some(record["message"].to_string()),
        "entry_appended" => Some(record["entry"].to_string()),
        _ => None,
    }
}

/// The forms in which an entry may have been announced.
fn keys(entry: &Value) -> Vec<String> {
    let mut keys = vec![entry.to_string()];
    if entry["type"] == "message" {
        keys.push(entry["message"].to_string());
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entry(id: &str, parent: Option<&str>, message: Value) -> Value {
        json!({"type": "message", "id": id, "parentId": parent, "message": message})
    }

    fn answer(stop: &str, calls: &[&str]) -> Value {
        let content: Vec<_> = calls
            .iter()
            .map(|id| json!({"type": "toolCall", "id": id}))
            .collect();
        json!({"role": "assistant", "stopReason": stop, "content": content})
    }

    fn result(id: &str) -> Value {
        json!({"role": "toolResult", "toolCallId": id})
    }

    fn file(messages: Vec<Value>) -> SessionFile {
        let mut parent: Option<String> = None;
        let entries = messages
            .into_iter()
            .enumerate()
            .map(|(at, message)| {
                let entry = entry(&at.to_string(), parent.as_deref(), message);
                parent = Some(at.to_string());
                entry
            })
            .collect();
        SessionFile { entries }
    }

    #[test]
    fn a_missing_additional_or_misplaced_result_is_found() {
        let good = vec![answer("toolUse", &["a", "b"]), result("a"), result("b")];
        file(good.clone()).check_calls().unwrap();
        assert!(file(good[..2].to_vec()).check_calls().is_err());
        assert!(file(vec![result("a")]).check_calls().is_err());
        let swapped = vec![good[0].clone(), good[2].clone(), good[1].clone()];
        assert!(file(swapped).check_calls().is_err());
        file(vec![answer("aborted", &["a"])]).check_calls().unwrap();
    }

    #[test]
    fn an_announcement_needs_an_entry_of_its_own() {
        let message = json!({"role": "user", "content": "x"});
        let record = json!({"type": "message_end", "message": message});
        let once = file(vec![message]);
        once.check_announced(std::slice::from_ref(&record)).unwrap();
        assert!(once.check_announced(&[record.clone(), record]).is_err());
    }

    #[test]
    fn a_broken_tree_is_found() {
        let good = file(vec![result("a"), result("b")]);
        good.check_tree().unwrap();
        let mut broken = file(vec![result("a"), result("b")]);
        broken.entries[1]["id"] = json!("0");
        assert!(broken.check_tree().is_err());
        broken.entries.swap(0, 1);
        assert!(broken.check_tree().is_err());
    }
}
