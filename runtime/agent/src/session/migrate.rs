//! Brings the text of a file of version 1 or 2 to version 3 (spec/sessions.md §3.2).
//!
//! Text in, text out. Members that a migration does not concern keep their text, and lines that are
//! not entries stay where they are; writing the result is `torn`'s and `writer`'s business.

use std::collections::HashSet;

use pier_protocol::entry::SESSION_VERSION;

use super::ids;
use super::raw::RawObject;
use super::read::FileText;
use super::scan::{self, Scanned};

/// The migrated text of a whole file, ending in a line end.
pub(super) fn migrate(text: &FileText, from_version: u64) -> String {
    let mut lines: Vec<MigratedLine> = text
        .lines()
        .map(|(_, range)| {
            let line = text.text.get(range).unwrap_or_default();
            match scan::scan(line) {
                Scanned::NotJson => MigratedLine::Verbatim(line),
                // A member that cannot be split off stays part of an unchanged line.
                Scanned::Object(_) => match RawObject::parse(line) {
                    Some(object) => MigratedLine::Object(line, Box::new(object), false),
                    None => MigratedLine::Json(line),
                },
                Scanned::OtherJson => MigratedLine::Json(line),
            }
        })
        .collect();
    if from_version < 2 {
        add_ids(&mut lines);
    }
    for line in lines.iter_mut().filter(|line| !line.is_header()) {
        rename_hook_messages(line);
    }
    if let Some(header) = lines.iter_mut().find(|line| line.is_header()) {
        header.change(|object| object.set("version", &SESSION_VERSION));
    }
    let mut migrated = String::with_capacity(text.text.len() + text.text.len() / 8);
    for line in &lines {
        match line {
            MigratedLine::Verbatim(text)
            | MigratedLine::Json(text)
            | MigratedLine::Object(text, _, false) => {
                migrated.push_str(text);
            }
            MigratedLine::Object(original, object, true) => match object.to_text() {
                Ok(changed) => migrated.push_str(&changed),
                Err(_) => migrated.push_str(original),
            },
        }
        migrated.push('\n');
    }
    migrated
}

enum MigratedLine<'a> {
    /// Not JSON: not counted by version 1 indexes.
    Verbatim(&'a str),
    /// JSON that is kept as it is.
    Json(&'a str),
    /// The original text, its members, and whether they were changed.
    Object(&'a str, Box<RawObject>, bool),
}

impl MigratedLine<'_> {
    fn is_header(&self) -> bool {
        matches!(self, MigratedLine::Object(_, object, _)
            if object.get_text("type").as_deref() == Some("session"))
    }

    fn change(&mut self, edit: impl FnOnce(&mut RawObject) -> Result<(), serde_json::Error>) {
        if let MigratedLine::Object(_, object, changed) = self {
            // Strings and numbers always have a JSON form, so an edit does not stop half way.
            *changed |= edit(object).is_ok();
        }
    }
}

/// Version 1 has no ids: entries form a chain in file order, and a compaction refers to the first kept
/// entry by its index among all JSON lines, the header being 0.
fn add_ids(lines: &mut [MigratedLine<'_>]) {
    let mut taken = HashSet::new();
    let ids: Vec<Option<String>> = lines
        .iter()
        .filter(|line| !matches!(line, MigratedLine::Verbatim(_)))
        .map(|line| match line {
            MigratedLine::Object(_, _, _) if !line.is_header() => {
                let id = ids::new_entry_id(|id| taken.contains(id));
                taken.insert(id.clone());
                Some(id)
            }
            _ => None,
        })
        .collect();
    let mut previous: Option<&str> = None;
    let json_lines = lines
        .iter_mut()
        .filter(|line| !matches!(line, MigratedLine::Verbatim(_)));
    for (line, id) in json_lines.zip(&ids) {
        let Some(id) = id else { continue };
        line.change(|object| {
            object.set("id", id)?;
            object.set("parentId", &previous)?;
            if let Some(index) = object.get_index("firstKeptEntryIndex") {
                let kept = usize::try_from(index)
                    .ok()
                    .and_then(|index| ids.get(index)?.as_deref());
                if let Some(kept) = kept {
                    object.set("firstKeptEntryId", kept)?;
                }
            }
            object.remove("firstKeptEntryIndex");
            Ok(())
        });
        previous = Some(id);
    }
}

/// Version 2 called the role of extension messages `hookMessage`.
fn rename_hook_messages(line: &mut MigratedLine<'_>) {
    let MigratedLine::Object(_, object, _) = &*line else {
        return;
    };
    let Some(mut message) = object.get("message").and_then(RawObject::parse) else {
        return;
    };
    if message.get_text("role").as_deref() == Some("hookMessage") {
        line.change(|object| {
            message.set("role", "custom")?;
            object.set("message", &message)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn migrated(text: &str, version: u64) -> Vec<serde_json::Value> {
        let text = FileText::new(text.as_bytes().to_vec());
        migrate(&text, version)
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }

    #[test]
    fn version_1_becomes_a_chain_and_indexes_become_ids() {
        let lines = migrated(
            concat!(
                "{\"type\":\"session\",\"id\":\"s\",\"provider\":\"p\"}\n",
                "not json, not counted\n",
                "{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"a\"}}\n",
                "{\"type\":\"message\",\"message\":{\"role\":\"hookMessage\",\"content\":\"b\"},\"n\":1.50}\n",
                "{\"type\":\"compaction\",\"summary\":\"s\",\"firstKeptEntryIndex\":2,\"tokensBefore\":1}\n",
                "{\"type\":\"compaction\",\"summary\":\"s\",\"firstKeptEntryIndex\":99,\"tokensBefore\":1}",
            ),
            1,
        );
        assert_eq!(lines.len(), 5);
        assert_eq!(lines[0]["version"], 3);
        assert_eq!(lines[0]["provider"], "p");
        assert!(lines[0].get("parentId").is_none());
        assert!(lines[1]["parentId"].is_null());
        for pair in lines[1..].windows(2) {
            assert_eq!(pair[1]["parentId"], pair[0]["id"]);
        }
        assert_eq!(lines[2]["message"]["role"], "custom");
        assert_eq!(lines[3]["firstKeptEntryId"], lines[2]["id"]);
        assert!(lines[4].get("firstKeptEntryId").is_none());
        assert!(lines[3].get("firstKeptEntryIndex").is_none());
    }

    #[test]
    fn version_2_keeps_ids_and_the_text_of_everything_else() {
        let header = r#"{"type":"session","version":2,"id":"s","x":1.0}"#;
        let kept = r#"{"type":"message", "id":"a","parentId":null,"message":{"role":"user","content":"\ud800"}, "n":1e999}"#;
        let hook = r#"{"type":"message","id":"b","parentId":"a","message":{"z":1e999,"role":"hookMessage"}}"#;
        let text = FileText::new(format!("{header}\r\n{kept}\n{{torn\n\n{hook}").into_bytes());
        let lines: Vec<String> = migrate(&text, 2).lines().map(str::to_owned).collect();
        assert_eq!(
            lines[0],
            r#"{"type":"session","version":3,"id":"s","x":1.0}"#
        );
        assert_eq!(lines[1], kept);
        assert_eq!(lines[2], "{torn");
        assert_eq!(lines[3], "");
        assert_eq!(
            lines[4],
            r#"{"type":"message","id":"b","parentId":"a","message":{"z":1e999,"role":"custom"}}"#
        );
        assert_eq!(lines.len(), 5);
    }
}
