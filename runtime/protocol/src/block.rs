//! Content blocks of messages (spec/agent-loop.md §1.1).
//!
//! Data only. Blocks of an unknown type are kept as they are, because a session file may come from
//! another product of the family and must survive a round trip.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// Members that this version does not know; kept and written back.
pub type Extra = Map<String, Value>;

/// One element of a message's content.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    Text(TextBlock),
    Thinking(ThinkingBlock),
    Image(ImageBlock),
    ToolCall(ToolCallBlock),
    /// A block of a type that this version does not know, with all its members.
    Other(Map<String, Value>),
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TextBlock {
    #[serde(default)]
    pub text: String,
    /// Opaque provider signature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_signature: Option<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThinkingBlock {
    #[serde(default)]
    pub thinking: String,
    /// Opaque provider signature; for redacted blocks the encrypted payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_signature: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redacted: Option<bool>,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageBlock {
    /// Base64 text.
    pub data: String,
    pub mime_type: String,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallBlock {
    pub id: String,
    pub name: String,
    /// Always an object; `{}` when [`ToolCallBlock::arguments_error`] is set.
    #[serde(default, deserialize_with = "object_or_empty")]
    pub arguments: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thought_signature: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Why the model's arguments were not a JSON object; validation then fails with this text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments_error: Option<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

fn object_or_empty<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Map<String, Value>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Object(map) => map,
        _ => Map::new(),
    })
}

impl Block {
    /// A text block without a signature.
    pub fn text(text: impl Into<String>) -> Self {
        Block::Text(TextBlock {
            text: text.into(),
            ..TextBlock::default()
        })
    }

    pub fn image(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Block::Image(ImageBlock {
            data: data.into(),
            mime_type: mime_type.into(),
            extra: Extra::new(),
        })
    }

    /// The text of a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Block::Text(block) => Some(&block.text),
            _ => None,
        }
    }

    pub fn as_tool_call(&self) -> Option<&ToolCallBlock> {
        match self {
            Block::ToolCall(block) => Some(block),
            _ => None,
        }
    }
}

impl From<ImageBlock> for Block {
    fn from(block: ImageBlock) -> Self {
        Block::Image(block)
    }
}

/// Writes a struct's members behind a leading tag.
#[derive(Serialize)]
struct Tagged<'a, T: Serialize> {
    r#type: &'static str,
    #[serde(flatten)]
    body: &'a T,
}

impl Serialize for Block {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Block::Text(body) => Tagged {
                r#type: "text",
                body,
            }
            .serialize(serializer),
            Block::Thinking(body) => Tagged {
                r#type: "thinking",
                body,
            }
            .serialize(serializer),
            Block::Image(body) => Tagged {
                r#type: "image",
                body,
            }
            .serialize(serializer),
            Block::ToolCall(body) => Tagged {
                r#type: "toolCall",
                body,
            }
            .serialize(serializer),
            Block::Other(map) => map.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Block {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut map = Map::<String, Value>::deserialize(deserializer)?;
        let tag = map
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        if !matches!(tag.as_str(), "text" | "thinking" | "image" | "toolCall") {
            return Ok(Block::Other(map));
        }
        map.shift_remove("type");
        let body = Value::Object(map);
        match tag.as_str() {
            "text" => serde_json::from_value(body).map(Block::Text),
            "thinking" => serde_json::from_value(body).map(Block::Thinking),
            "image" => serde_json::from_value(body).map(Block::Image),
            _ => serde_json::from_value(body).map(Block::ToolCall),
        }
        .map_err(|error| {
            serde::de::Error::custom(format!("content block of type \"{tag}\": {error}"))
        })
    }
}

/// Content of a user or custom message: a string or blocks. `null` is read as no blocks (spec/agent-loop.md §1.3).
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    Text(String),
    Blocks(Vec<Block>),
}

impl Content {
    /// All text blocks joined by a line feed.
    pub fn text(&self) -> String {
        match self {
            Content::Text(text) => text.clone(),
            Content::Blocks(blocks) => joined_text(blocks),
        }
    }

    /// The images among the blocks.
    pub fn images(&self) -> impl Iterator<Item = &ImageBlock> {
        let blocks = match self {
            Content::Text(_) => &[],
            Content::Blocks(blocks) => blocks.as_slice(),
        };
        blocks.iter().filter_map(|block| match block {
            Block::Image(image) => Some(image),
            _ => None,
        })
    }

    /// The content as blocks; a string becomes one text block.
    pub fn to_blocks(&self) -> Vec<Block> {
        match self {
            Content::Text(text) => vec![Block::text(text.clone())],
            Content::Blocks(blocks) => blocks.clone(),
        }
    }

    pub fn into_blocks(self) -> Vec<Block> {
        match self {
            Content::Text(text) => vec![Block::text(text)],
            Content::Blocks(blocks) => blocks,
        }
    }
}

impl Default for Content {
    fn default() -> Self {
        Content::Blocks(Vec::new())
    }
}

/// All text blocks joined by a line feed.
pub fn joined_text(blocks: &[Block]) -> String {
    blocks
        .iter()
        .filter_map(Block::as_text)
        .collect::<Vec<_>>()
        .join("\n")
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Content::Text(text) => serializer.serialize_str(text),
            Content::Blocks(blocks) => blocks.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Null => Ok(Content::default()),
            Value::String(text) => Ok(Content::Text(text)),
            array @ Value::Array(_) => serde_json::from_value(array)
                .map(Content::Blocks)
                .map_err(serde::de::Error::custom),
            other => Err(serde::de::Error::custom(format!(
                "content must be a string or an array of blocks, not {other}"
            ))),
        }
    }
}

/// Reads an array of blocks; `null` and a missing member are empty, a string is one text block.
pub fn deserialize_blocks<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Block>, D::Error> {
    Content::deserialize(deserializer).map(Content::into_blocks)
}
