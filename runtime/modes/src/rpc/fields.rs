//! Reads members of a request and words the complaint when one is missing or of another type.
//!
//! Members that nobody asks for are left alone: clients of other versions send more.

use pier_protocol::block::ImageBlock;
use serde_json::{Map, Value};

/// The members of one request.
pub(crate) struct Fields<'a> {
    command: &'a str,
    members: &'a Map<String, Value>,
}

type Field<T> = Result<T, String>;

impl<'a> Fields<'a> {
    pub(crate) fn new(command: &'a str, members: &'a Map<String, Value>) -> Self {
        Self { command, members }
    }

    /// A string that must be there.
    pub(crate) fn string(&self, name: &str) -> Field<String> {
        match self.members.get(name) {
            Some(Value::String(text)) => Ok(text.clone()),
            other => Err(self.wrong(name, "a string", other)),
        }
    }

    /// A string that may be missing or null.
    pub(crate) fn optional_string(&self, name: &str) -> Field<Option<String>> {
        match self.members.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(_) => self.string(name).map(Some),
        }
    }

    /// A boolean that must be there.
    pub(crate) fn boolean(&self, name: &str) -> Field<bool> {
        match self.members.get(name) {
            Some(Value::Bool(value)) => Ok(*value),
            other => Err(self.wrong(name, "true or false", other)),
        }
    }

    /// A boolean that is false when missing or null.
    pub(crate) fn flag(&self, name: &str) -> Field<bool> {
        match self.members.get(name) {
            None | Some(Value::Null) => Ok(false),
            Some(_) => self.boolean(name),
        }
    }

    /// An array that must be there.
    pub(crate) fn array(&self, name: &str) -> Field<&'a [Value]> {
        match self.members.get(name) {
            Some(Value::Array(items)) => Ok(items),
            other => Err(self.wrong(name, "an array", other)),
        }
    }

    /// One of a set of words.
    pub(crate) fn word<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Field<T> {
        let text = self.string(name)?;
        words
            .iter()
            .find(|(word, _)| *word == text)
            .map(|(_, value)| *value)
            .ok_or_else(|| {
                let known: Vec<_> = words.iter().map(|(word, _)| *word).collect();
                format!(
                    "{}: \"{name}\" must be one of {}, not \"{text}\"",
                    self.command,
                    known.join(", ")
                )
            })
    }

    /// One of a set of words, or nothing.
    pub(crate) fn optional_word<T: Copy>(
        &self,
        name: &str,
        words: &[(&str, T)],
    ) -> Field<Option<T>> {
        match self.members.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(_) => self.word(name, words).map(Some),
        }
    }

    /// The `images` of a prompt (`spec/rpc.md` §3.1).
    pub(crate) fn images(&self) -> Field<Vec<ImageBlock>> {
        let items = match self.members.get("images") {
            None | Some(Value::Null) => return Ok(Vec::new()),
            Some(_) => self.array("images")?,
        };
        items
            .iter()
            .enumerate()
            .map(|(index, item)| self.image(index, item))
            .collect()
    }

    fn image(&self, index: usize, item: &Value) -> Field<ImageBlock> {
        let member = |name: &str| {
            item.get(name)
                .and_then(Value::as_str)
                .map(str::to_owned)
                .ok_or_else(|| {
                    format!(
                        "{}: \"images[{index}].{name}\" must be a string",
                        self.command
                    )
                })
        };
        if item.get("type").and_then(Value::as_str) != Some("image") {
            return Err(format!(
                "{}: \"images[{index}].type\" must be \"image\"",
                self.command
            ));
        }
        Ok(ImageBlock {
            data: member("data")?,
            mime_type: member("mimeType")?,
            ..ImageBlock::default()
        })
    }

    fn wrong(&self, name: &str, wanted: &str, found: Option<&Value>) -> String {
        let found = match found {
            None => "it is missing".to_owned(),
            Some(Value::Null) => "it is null".to_owned(),
            Some(Value::Bool(_)) => "it is a boolean".to_owned(),
            Some(Value::Number(_)) => "it is a number".to_owned(),
            Some(Value::String(_)) => "it is a string".to_owned(),
            Some(Value::Array(_)) => "it is an array".to_owned(),
            Some(Value::Object(_)) => "it is an object".to_owned(),
        };
        format!("{}: \"{name}\" must be {wanted}; {found}", self.command)
    }
}
