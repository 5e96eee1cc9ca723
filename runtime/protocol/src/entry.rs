//! Session entries (spec/sessions.md §2).

/// One line of a session file.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct SessionEntry {
    #[serde(flatten)]
    pub members: serde_json::Map<String, serde_json::Value>,
}
