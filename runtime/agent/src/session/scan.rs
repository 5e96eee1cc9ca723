//! Reads the few members of a line that the tree needs, without building the rest.
//!
//! A line is checked to be JSON as JavaScript sees it: any nesting depth, repeated members (the last
//! one counts), numbers of any size and lone surrogate escapes are fine. Nothing here touches files.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Base members of a line that holds a JSON object; members of another type than string are `None`.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Head<'a> {
    pub(super) entry_type: Option<Cow<'a, str>>,
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) parent_id: Option<Cow<'a, str>>,
    pub(super) timestamp: Option<Cow<'a, str>>,
}

impl Head<'_> {
    fn into_owned(self) -> Head<'static> {
        let own = |text: Option<Cow<'_, str>>| text.map(|text| Cow::Owned(text.into_owned()));
        Head {
            entry_type: own(self.entry_type),
            id: own(self.id),
            parent_id: own(self.parent_id),
            timestamp: own(self.timestamp),
        }
    }
}

/// What a line is.
#[derive(Debug, PartialEq)]
pub(super) enum Scanned<'a> {
    Object(Head<'a>),
    /// JSON, but not an object.
    OtherJson,
    NotJson,
}

/// Classifies one line.
pub(super) fn scan(line: &str) -> Scanned<'_> {
    match serde_json::from_str::<ScanResult<'_>>(line) {
        Ok(ScanResult(Some(head))) => Scanned::Object(head),
        Ok(ScanResult(None)) => Scanned::OtherJson,
        Err(_) => match repair_surrogates(line) {
            Some(repaired) => match serde_json::from_str::<ScanResult<'_>>(&repaired) {
                Ok(ScanResult(Some(head))) => Scanned::Object(head.into_owned()),
                Ok(ScanResult(None)) => Scanned::OtherJson,
                Err(_) => Scanned::NotJson,
            },
            None => Scanned::NotJson,
        },
    }
}

/// The head of a line that is a JSON object.
#[cfg(test)]
pub(super) fn head(line: &str) -> Option<Head<'_>> {
    match scan(line) {
        Scanned::Object(head) => Some(head),
        _ => None,
    }
}

/// Parses JSON text, reading lone surrogate escapes as replacement characters: JavaScript writes
/// them for half an emoji, and Rust strings cannot hold them.
///
/// # Errors
/// The parser's, for the text as it was given.
pub(super) fn parse_json<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    serde_json::from_str(text).or_else(|error| match repair_surrogates(text) {
        Some(repaired) => serde_json::from_str(&repaired),
        None => Err(error),
    })
}

/// Replaces lone surrogate escapes by `\ufffd`; `None` when there are none.
fn repair_surrogates(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let unit_at = |at: usize| -> Option<u16> {
        if bytes.get(at) != Some(&b'\\') || bytes.get(at + 1) != Some(&b'u') {
            return None;
        }
        u16::from_str_radix(text.get(at + 2..at + 6)?, 16).ok()
    };
    let mut repaired = String::new();
    let (mut at, mut copied) = (0, 0);
    while let Some(offset) = bytes
        .get(at..)
        .and_then(|rest| rest.iter().position(|b| *b == b'\\'))
    {
        at += offset;
        match unit_at(at) {
            Some(0xd800..=0xdbff) if matches!(unit_at(at + 6), Some(0xdc00..=0xdfff)) => at += 12,
            Some(0xd800..=0xdfff) => {
                repaired.push_str(text.get(copied..at)?);
                repaired.push_str("\\ufffd");
                at += 6;
                copied = at;
            }
            // Any other escape is two bytes; this also steps over `\\`.
            _ => at += 2,
        }
    }
    if copied == 0 {
        return None;
    }
    repaired.push_str(text.get(copied..)?);
    Some(repaired)
}

struct ScanResult<'a>(Option<Head<'a>>);

impl<'de> Deserialize<'de> for ScanResult<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(HeadVisitor)
    }
}

struct HeadVisitor;

impl<'de> Visitor<'de> for HeadVisitor {
    type Value = ScanResult<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut head = Head::default();
        while let Some(key) = map.next_key::<Key>()? {
            let slot = match key {
                Key::Type => &mut head.entry_type,
                Key::Id => &mut head.id,
                Key::ParentId => &mut head.parent_id,
                Key::Timestamp => &mut head.timestamp,
                Key::Other => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            *slot = map.next_value::<MaybeText<'de>>()?.0;
        }
        Ok(ScanResult(Some(head)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(ScanResult(None))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(ScanResult(None))
    }
    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(ScanResult(None))
    }
    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(ScanResult(None))
    }
    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(ScanResult(None))
    }
    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(ScanResult(None))
    }
    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(ScanResult(None))
    }
}

enum Key {
    Type,
    Id,
    ParentId,
    Timestamp,
    Other,
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl Visitor<'_> for KeyVisitor {
            type Value = Key;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a member name")
            }
            fn visit_str<E>(self, name: &str) -> Result<Key, E> {
                Ok(match name {
                    "type" => Key::Type,
                    "id" => Key::Id,
                    "parentId" => Key::ParentId,
                    "timestamp" => Key::Timestamp,
                    _ => Key::Other,
                })
            }
        }
        deserializer.deserialize_identifier(KeyVisitor)
    }
}

/// A string, or anything else, which counts as absent.
struct MaybeText<'a>(Option<Cow<'a, str>>);

impl<'de> Deserialize<'de> for MaybeText<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = MaybeText<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(MaybeText(Some(Cow::Borrowed(text))))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(MaybeText(Some(Cow::Owned(text.to_owned()))))
            }
            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(MaybeText(None))
            }
            fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
                Ok(MaybeText(None))
            }
            fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
                Ok(MaybeText(None))
            }
            fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
                Ok(MaybeText(None))
            }
            fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
                Ok(MaybeText(None))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(MaybeText(None))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(MaybeText(None))
            }
        }
        deserializer.deserialize_any(TextVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_members_are_found_wherever_they_stand() {
        let found = head(r#"{"message":{"id":"inner","type":"x"},"parentId":"p","id":"a","id":"b","timestamp":5,"type":"m"}"#)
            .unwrap();
        assert_eq!(found.id.as_deref(), Some("b"));
        assert_eq!(found.parent_id.as_deref(), Some("p"));
        assert_eq!(found.entry_type.as_deref(), Some("m"));
        assert_eq!(found.timestamp, None);
    }

    #[test]
    fn what_javascript_accepts_is_accepted() {
        let deep = format!(
            r#"{{"id":"a","x":{}1{}}}"#,
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        for line in [
            r#"{"id":"a","n":1e999}"#,
            r#"{"id":"a","s":"\ud800"}"#,
            r#"{"\udfff":1,"id":"a\ud800"}"#,
            " \t{\"id\":\"a\"}\r",
            deep.as_str(),
        ] {
            assert!(
                matches!(scan(line), Scanned::Object(_)),
                "{}",
                &line[..20.min(line.len())]
            );
        }
    }

    #[test]
    fn other_json_and_garbage_are_told_apart() {
        for line in ["1", "-1.5", "null", "true", "\"x\"", "[1,{\"a\":2}]"] {
            assert_eq!(scan(line), Scanned::OtherJson, "{line}");
        }
        for line in [
            "{",
            "{\"id\":\"a\"",
            "{\"id\":\"a\"}x",
            "\0\0",
            "{'id':1}",
            "{\"id\":\"\\u12\"}",
        ] {
            assert_eq!(scan(line), Scanned::NotJson, "{line}");
        }
    }

    #[test]
    fn only_lone_surrogates_are_replaced() {
        assert_eq!(repair_surrogates(r#""\ud83d\ude00""#), None);
        assert_eq!(repair_surrogates(r#""\\ud83d""#), None);
        assert_eq!(
            repair_surrogates(r#""\ude00\ud83d""#).unwrap(),
            r#""\ufffd\ufffd""#
        );
        assert_eq!(
            repair_surrogates(r#""a\ud83d\n""#).unwrap(),
            r#""a\ufffd\n""#
        );
        assert_eq!(repair_surrogates("\"\\"), None);
    }
}
