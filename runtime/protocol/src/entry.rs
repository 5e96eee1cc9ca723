//! Entries of a session file (spec/sessions.md §2): one JSON line each, linked into a tree by `parentId`.
//!
//! Data only. An entry type or member that this version does not know is kept and written back
//! with the same meaning; reading never fails for an object that merely comes from another product.

mod body;
mod header;

use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

pub use body::{
    BranchSummaryEntry, CompactionEntry, ContextChangeEntry, ContextEditEntry, ContextReplacement,
    CustomEntry, CustomMessageEntry, LabelEntry, McpToolSelectionEntry, MessageEntry,
    ModeChangeEntry, ModelChangeEntry, ServiceTierChangeEntry, SessionInfoEntry, SessionInitEntry,
    ThinkingLevelChangeEntry, TtsrInjectionEntry, UnknownEntry, UsageEntry,
};
pub use header::{SESSION_VERSION, SessionHeader};

/// The `fromId` of a branch summary whose old position was before the first entry.
pub const ROOT: &str = "root";

/// One entry: the four base members and what its type adds.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionEntry {
    /// Eight lowercase hex digits when written here; any string when read.
    pub id: String,
    /// `None` for the first entry of a tree.
    pub parent_id: Option<String>,
    /// ISO-8601 UTC with milliseconds; empty when a file has none.
    pub timestamp: String,
    pub body: EntryBody,
}

/// What an entry says, by `type`.
#[derive(Debug, Clone, PartialEq)]
pub enum EntryBody {
    Message(MessageEntry),
    CustomMessage(CustomMessageEntry),
    Custom(CustomEntry),
    ModelChange(ModelChangeEntry),
    ThinkingLevelChange(ThinkingLevelChangeEntry),
    Compaction(CompactionEntry),
    BranchSummary(BranchSummaryEntry),
    ContextEdit(ContextEditEntry),
    Label(LabelEntry),
    SessionInfo(SessionInfoEntry),
    Usage(UsageEntry),
    /// xcsh only, like the five after it.
    ContextChange(ContextChangeEntry),
    ServiceTierChange(ServiceTierChangeEntry),
    TtsrInjection(TtsrInjectionEntry),
    McpToolSelection(McpToolSelectionEntry),
    SessionInit(SessionInitEntry),
    ModeChange(ModeChangeEntry),
    /// A type this version does not know, or a known one whose members do not fit it.
    Unknown(UnknownEntry),
}

macro_rules! entry_types {
    ($($variant:ident($ty:ty) = $name:literal),* $(,)?) => {
        impl EntryBody {
            /// The `type` member.
            pub fn entry_type(&self) -> &str {
                match self {
                    $(EntryBody::$variant(_) => $name,)*
                    EntryBody::Unknown(body) => &body.entry_type,
                }
            }

            /// Reads the members beside the base ones. A known type whose members have the wrong
            /// shape becomes [`EntryBody::Unknown`] with the reason, so that nothing is lost.
            fn from_members(entry_type: &str, members: Map<String, Value>) -> Self {
                let members = Value::Object(members);
                let problem = match entry_type {
                    $($name => match <$ty>::deserialize(&members) {
                        Ok(body) => return EntryBody::$variant(body),
                        Err(error) => Some(error.to_string()),
                    },)*
                    _ => None,
                };
                let members = match members {
                    Value::Object(members) => members,
                    _ => Map::new(),
                };
                EntryBody::Unknown(UnknownEntry {
                    entry_type: entry_type.to_owned(),
                    members,
                    problem,
                })
            }
        }

        impl Serialize for SessionEntry {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match &self.body {
                    $(EntryBody::$variant(body) => WithBase::new(self, body).serialize(serializer),)*
                    EntryBody::Unknown(body) => {
                        let mut map = serializer.serialize_map(None)?;
                        // A line without a type stays one.
                        if !body.entry_type.is_empty() {
                            map.serialize_entry("type", &body.entry_type)?;
                        }
                        map.serialize_entry("id", &self.id)?;
                        map.serialize_entry("parentId", &self.parent_id)?;
                        map.serialize_entry("timestamp", &self.timestamp)?;
                        for (name, value) in &body.members {
                            map.serialize_entry(name, value)?;
                        }
                        map.end()
                    }
                }
            }
        }

        $(impl From<$ty> for EntryBody {
            fn from(body: $ty) -> Self {
                EntryBody::$variant(body)
            }
        })*
    };
}

entry_types!(
    Message(MessageEntry) = "message",
    CustomMessage(CustomMessageEntry) = "custom_message",
    Custom(CustomEntry) = "custom",
    ModelChange(ModelChangeEntry) = "model_change",
    ThinkingLevelChange(ThinkingLevelChangeEntry) = "thinking_level_change",
    Compaction(CompactionEntry) = "compaction",
    BranchSummary(BranchSummaryEntry) = "branch_summary",
    ContextEdit(ContextEditEntry) = "context_edit",
    Label(LabelEntry) = "label",
    SessionInfo(SessionInfoEntry) = "session_info",
    Usage(UsageEntry) = "usage",
    ContextChange(ContextChangeEntry) = "context_change",
    ServiceTierChange(ServiceTierChangeEntry) = "service_tier_change",
    TtsrInjection(TtsrInjectionEntry) = "ttsr_injection",
    McpToolSelection(McpToolSelectionEntry) = "mcp_tool_selection",
    SessionInit(SessionInitEntry) = "session_init",
    ModeChange(ModeChangeEntry) = "mode_change",
);

/// Writes the base members in front of a body.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WithBase<'a, T: Serialize> {
    r#type: &'a str,
    id: &'a str,
    parent_id: Option<&'a str>,
    timestamp: &'a str,
    #[serde(flatten)]
    body: &'a T,
}

impl<'a, T: Serialize> WithBase<'a, T> {
    fn new(entry: &'a SessionEntry, body: &'a T) -> Self {
        WithBase {
            r#type: entry.body.entry_type(),
            id: &entry.id,
            parent_id: entry.parent_id.as_deref(),
            timestamp: &entry.timestamp,
            body,
        }
    }
}

impl SessionEntry {
    /// The `type` member.
    pub fn entry_type(&self) -> &str {
        self.body.entry_type()
    }

    /// The message of a `message` entry.
    pub fn message(&self) -> Option<&std::sync::Arc<crate::message::Message>> {
        match &self.body {
            EntryBody::Message(body) => Some(&body.message),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for SessionEntry {
    /// # Errors
    /// Only when the value is not an object with a string `id`.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = Map::<String, Value>::deserialize(deserializer)?;
        let id = match members.shift_remove("id") {
            Some(Value::String(id)) => id,
            _ => {
                return Err(serde::de::Error::custom(
                    "session entry has no string member \"id\"",
                ));
            }
        };
        let parent_id = match members.shift_remove("parentId") {
            Some(Value::String(parent)) => Some(parent),
            _ => None,
        };
        let timestamp = match members.shift_remove("timestamp") {
            Some(Value::String(timestamp)) => timestamp,
            Some(other) => {
                // Not ours to interpret, but ours to keep.
                members.insert("timestamp".to_owned(), other);
                String::new()
            }
            None => String::new(),
        };
        let entry_type = match members.shift_remove("type") {
            Some(Value::String(entry_type)) => entry_type,
            _ => String::new(),
        };
        let body = EntryBody::from_members(&entry_type, members);
        Ok(SessionEntry {
            id,
            parent_id,
            timestamp,
            body,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(text: &str) -> SessionEntry {
        let before: Value = serde_json::from_str(text).unwrap();
        let entry: SessionEntry = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_value(&entry).unwrap(), before, "{text}");
        entry
    }

    #[test]
    fn every_entry_type_of_every_dialect_survives_a_round_trip() {
        let bodies = [
            r#""type":"message","message":{"role":"user","content":"hi","timestamp":1}"#,
            r#""type":"message","message":{"role":"fileMention","files":[{"path":"a"}],"timestamp":1}"#,
            r#""type":"custom_message","customType":"t","content":[{"type":"text","text":"x"}],"display":false,"details":{"a":[1]},"attribution":"agent""#,
            r#""type":"custom","customType":"t","data":null"#,
            r#""type":"custom","customType":"t""#,
            r#""type":"model_change","provider":"p","modelId":"m/x""#,
            r#""type":"model_change","model":"p/m/x","role":"smol""#,
            r#""type":"thinking_level_change","thinkingLevel":null"#,
            r#""type":"compaction","summary":"s","firstKeptEntryId":"a","tokensBefore":12,"details":{},"shortSummary":"x","preserveData":{"k":1},"fromExtension":true"#,
            r#""type":"compaction","summary":"s","tokensBefore":12,"fromHook":false,"systemMessage":{"role":"system","content":"","timestamp":3},"usage":{"input":1,"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":3,"cost":{"input":0.5,"output":0,"cacheRead":0,"cacheWrite":0,"total":0.5}}"#,
            r#""type":"branch_summary","fromId":"root","summary":"s","fromHook":true"#,
            r#""type":"context_edit","targetId":"a","replacement":null"#,
            r#""type":"context_edit","targetId":"a","replacement":{"content":"x","more":1}"#,
            r#""type":"label","targetId":"a","label":"L""#,
            r#""type":"label","targetId":"a""#,
            r#""type":"session_info","name":"n""#,
            r#""type":"usage","kind":"cache","provider":"p","model":"m","usage":{"input":1,"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":3,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"note":"n""#,
            r#""type":"context_change","contextName":"c","tenant":"t","namespace":"n""#,
            r#""type":"service_tier_change","serviceTier":null"#,
            r#""type":"ttsr_injection","injectedRules":["a",{"b":1}]"#,
            r#""type":"mcp_tool_selection","selectedToolNames":["a"]"#,
            r#""type":"session_init","systemPrompt":"s","task":"t","tools":["a"],"outputSchema":{"x":1}"#,
            r#""type":"mode_change","mode":"plan","data":{"x":1}"#,
            r#""type":"from_the_future","anything":[1,{"two":2}]"#,
        ];
        for body in bodies {
            let entry = round_trip(&format!(
                r#"{{"id":"0a0b0c0d","parentId":null,"timestamp":"2026-01-31T12:34:56.789Z",{body},"zzz":{{"kept":[true]}}}}"#
            ));
            match &entry.body {
                EntryBody::Unknown(unknown) => {
                    assert_eq!(unknown.entry_type, "from_the_future");
                    assert_eq!(unknown.problem, None);
                }
                known => assert!(body.contains(known.entry_type()), "{body}"),
            }
        }
    }

    #[test]
    fn a_known_type_with_members_of_the_wrong_shape_is_kept_with_the_reason() {
        let entry = round_trip(
            r#"{"id":"a","parentId":"b","timestamp":"t","type":"label","targetId":{"not":"a string"}}"#,
        );
        let EntryBody::Unknown(unknown) = &entry.body else {
            panic!("{entry:?}")
        };
        assert_eq!(unknown.entry_type, "label");
        assert!(
            unknown.problem.as_deref().unwrap().contains("string"),
            "{unknown:?}"
        );
    }

    #[test]
    fn an_entry_without_type_or_with_a_foreign_timestamp_keeps_what_it_has() {
        round_trip(r#"{"id":"a","parentId":null,"timestamp":"","x":1}"#);
        let entry: SessionEntry =
            serde_json::from_str(r#"{"type":"new","id":"a","timestamp":12}"#).unwrap();
        assert_eq!(entry.timestamp, "");
        let EntryBody::Unknown(unknown) = &entry.body else {
            panic!("{entry:?}")
        };
        assert_eq!(unknown.members["timestamp"], 12);
    }

    #[test]
    fn an_object_without_a_string_id_is_refused() {
        for text in [
            r#"{"type":"label"}"#,
            r#"{"type":"label","id":1}"#,
            "[]",
            "1",
        ] {
            assert!(
                serde_json::from_str::<SessionEntry>(text).is_err(),
                "{text}"
            );
        }
    }

    #[test]
    fn a_model_change_names_its_model_in_both_dialects() {
        let pi = ModelChangeEntry {
            provider: Some("p".into()),
            model_id: Some("m/x".into()),
            ..Default::default()
        };
        assert_eq!(pi.selection(), Some(("p", "m/x")));
        let xcsh = ModelChangeEntry {
            model: Some("p/m/x".into()),
            ..Default::default()
        };
        assert_eq!(xcsh.selection(), Some(("p", "m/x")));
        let role = ModelChangeEntry {
            role: Some("smol".into()),
            ..xcsh.clone()
        };
        assert_eq!(role.selection(), None);
        let default_role = ModelChangeEntry {
            role: Some("default".into()),
            ..xcsh
        };
        assert_eq!(default_role.selection(), Some(("p", "m/x")));
        assert_eq!(ModelChangeEntry::default().selection(), None);
    }
}
