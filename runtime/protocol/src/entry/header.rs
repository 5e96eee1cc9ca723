//! The first line of a session file (spec/sessions.md §1.2). Data only.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::block::Extra;

/// The format version that is written; older ones are migrated when they are opened.
pub const SESSION_VERSION: u64 = 3;

/// `{"type":"session", ...}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionHeader {
    /// Always `session`.
    pub r#type: String,
    /// Missing or not a whole number in very old files, which count as version 1.
    #[serde(
        default,
        deserialize_with = "version_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub version: Option<u64>,
    pub id: String,
    /// ISO-8601 UTC with milliseconds.
    #[serde(default, deserialize_with = "string_or_empty")]
    pub timestamp: String,
    /// The absolute directory the session works in; missing in some old files.
    #[serde(
        default,
        deserialize_with = "string_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub cwd: Option<String>,
    /// Path of the file this one was forked from; xcsh may write an id instead.
    #[serde(
        default,
        deserialize_with = "string_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub parent_session: Option<String>,
    /// xcsh keeps the session name here.
    #[serde(
        default,
        deserialize_with = "string_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub title: Option<String>,
    /// xcsh: `auto` or `user`.
    #[serde(
        default,
        deserialize_with = "string_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub title_source: Option<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

impl SessionHeader {
    /// A header of the current version.
    pub fn new(
        id: impl Into<String>,
        timestamp: impl Into<String>,
        cwd: impl Into<String>,
    ) -> Self {
        SessionHeader {
            r#type: "session".to_owned(),
            version: Some(SESSION_VERSION),
            id: id.into(),
            timestamp: timestamp.into(),
            cwd: Some(cwd.into()),
            parent_session: None,
            title: None,
            title_source: None,
            extra: Extra::new(),
        }
    }

    /// The version, 1 when none is stated.
    pub fn effective_version(&self) -> u64 {
        self.version.unwrap_or(1)
    }
}

fn version_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Number(number) => number.as_u64().or_else(|| {
            // A writer may print 3 as 3.0.
            number
                .as_f64()
                .filter(|n| *n >= 0.0 && n.fract() == 0.0)
                .map(|n| n as u64)
        }),
        _ => None,
    })
}

fn string_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) => Some(text),
        _ => None,
    })
}

fn string_or_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(string_or_none(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_all_products_survive_a_round_trip() {
        for text in [
            r#"{"type":"session","version":3,"id":"a","timestamp":"t","cwd":"/p","parentSession":"/q.jsonl"}"#,
            r#"{"type":"session","version":3,"id":"123","timestamp":"t","cwd":"/p","title":"T","titleSource":"auto"}"#,
            r#"{"type":"session","id":"a","timestamp":"t","cwd":"/p","provider":"x","modelId":"y"}"#,
        ] {
            let header: SessionHeader = serde_json::from_str(text).unwrap();
            let before: Value = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_value(&header).unwrap(), before);
        }
    }

    #[test]
    fn a_missing_version_is_one_and_a_float_is_read() {
        let header: SessionHeader = serde_json::from_str(r#"{"type":"session","id":"a"}"#).unwrap();
        assert_eq!(header.effective_version(), 1);
        let header: SessionHeader =
            serde_json::from_str(r#"{"type":"session","id":"a","version":2.0,"cwd":7}"#).unwrap();
        assert_eq!(header.effective_version(), 2);
        assert_eq!(header.cwd, None);
    }
}
