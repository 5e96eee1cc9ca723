//! What crosses boundaries about tools: declarations, specifications and results (spec/agent-loop.md §4.1, §9;
//! spec/extension-api.md §6.1). Data only.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::block::{Block, Extra, deserialize_blocks};
use crate::extension::SourceInfo;
use crate::message::Usage;

/// A tool as the model sees it: name, description and JSON schema.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolDeclaration {
    pub name: String,
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub parameters: Value,
    #[serde(flatten)]
    pub extra: Extra,
}

/// How calls of one batch run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExecutionMode {
    #[default]
    Parallel,
    /// One such tool in a batch makes the whole batch sequential.
    Sequential,
}

/// Everything the host knows about a tool except how to run it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolSpec {
    pub name: String,
    #[serde(default)]
    pub label: String,
    #[serde(default)]
    pub description: String,
    /// JSON schema of the arguments, an object.
    pub parameters: Value,
    /// One line for the `tools` section of the system prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_snippet: Option<String>,
    /// Bullets for the `rules` section.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prompt_guidelines: Vec<String>,
    #[serde(default)]
    pub execution_mode: ExecutionMode,
    /// Active without being named.
    #[serde(default = "yes")]
    pub default_active: bool,
    /// Never offered unless named explicitly.
    #[serde(default)]
    pub hidden: bool,
    /// Validation failures are not fatal; raw arguments are passed (xcsh `lenientArgValidation`).
    #[serde(default)]
    pub lenient_validation: bool,
    pub source: SourceInfo,
    /// Catalogue metadata that is only passed through (`namespace`, `annotations` …), and [`ToolSpec::exposure`].
    #[serde(flatten)]
    pub extra: Extra,
}

/// How the model and other tools reach a tool (`spec/extension-api.md` §6.1 `exposure`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposure {
    /// Offered to the model while active; other tools may call it.
    Direct,
    /// Offered to the model while active; other tools may not call it.
    ModelOnly,
    /// Inactive until somebody names it; other tools may call it all the same. `codemode` and `deferred` differ only in
    /// which lists for the model they are in, and no tool of Pier's makes such lists.
    OnRequest,
    /// Out of everybody's reach.
    Hidden,
}

fn yes() -> bool {
    true
}

impl ToolSpec {
    /// A parallel, active tool with the given schema.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        parameters: Value,
        source: SourceInfo,
    ) -> Self {
        let name = name.into();
        ToolSpec {
            label: name.clone(),
            name,
            description: description.into(),
            parameters,
            prompt_snippet: None,
            prompt_guidelines: Vec::new(),
            execution_mode: ExecutionMode::Parallel,
            default_active: true,
            hidden: false,
            lenient_validation: false,
            source,
            extra: Map::new(),
        }
    }

    /// What the `exposure` of a definition says; a word that is not known says nothing.
    pub fn exposure(&self) -> Exposure {
        match self.extra.get("exposure").and_then(Value::as_str) {
            Some("model-only") => Exposure::ModelOnly,
            Some("codemode" | "deferred") => Exposure::OnRequest,
            Some("hidden") => Exposure::Hidden,
            _ => Exposure::Direct,
        }
    }

    pub fn declaration(&self) -> ToolDeclaration {
        ToolDeclaration {
            name: self.name.clone(),
            description: self.description.clone(),
            parameters: self.parameters.clone(),
            extra: Extra::new(),
        }
    }
}

/// What a tool returns, and what `tool_execution_update`/`tool_execution_end` show. Members that the host does not know are kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolOutput {
    #[serde(default, deserialize_with = "deserialize_blocks")]
    pub content: Vec<Block>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// In events only, never stored in the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Value>,
    /// Counted in session totals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Set on every result of a batch, it ends the loop after the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminate: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    #[serde(flatten)]
    pub extra: Extra,
}

/// A member of `extra` that xcsh shows with the result as well.
pub const IS_WARNING: &str = "isWarning";

impl ToolOutput {
    /// Whether the tool worked and warns (xcsh).
    pub fn is_warning(&self) -> bool {
        self.extra.get(IS_WARNING) == Some(&Value::Bool(true))
    }

    pub fn text(text: impl Into<String>) -> Self {
        ToolOutput {
            content: vec![Block::text(text)],
            ..ToolOutput::default()
        }
    }

    /// The result of a call that threw: one text block and empty details (spec/agent-loop.md §4.1).
    pub fn thrown(text: impl Into<String>) -> Self {
        ToolOutput {
            content: vec![Block::text(text)],
            details: Some(Value::Object(Map::new())),
            ..ToolOutput::default()
        }
    }
}
