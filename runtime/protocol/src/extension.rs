//! What an extension registers, where it comes from, and how its errors are reported
//! (spec/extension-api.md §2, §7; spec/rpc.md §5.9; docs/bridge-protocol.md). Data only.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Where a tool, command, skill or extension comes from (spec/rpc.md §3.2 `get_commands`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceInfo {
    pub path: String,
    /// `builtin`, `cli`, `local`, a package name …
    pub source: String,
    /// `user`, `project` or `temporary`.
    pub scope: String,
    /// `package` or `top-level`.
    pub origin: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_dir: Option<String>,
}

impl SourceInfo {
    /// Something that belongs to the host itself.
    pub fn builtin(name: &str) -> Self {
        SourceInfo {
            path: format!("<builtin:{name}>"),
            source: "builtin".into(),
            scope: "temporary".into(),
            origin: "top-level".into(),
            base_dir: None,
        }
    }
}

/// A place in an extension's source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceLocation {
    pub file: String,
    /// Counted from 1.
    pub line: u32,
    /// Counted from 1.
    pub column: u32,
}

/// One failure of extension code that no command carries. Serialises to the members of the `extension_error` record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionErrorReport {
    /// File path, or `command:<name>`, `<runtime>`, `<boundary>`.
    pub extension_path: String,
    /// Hook name, `command`, `send_message` …
    pub event: String,
    pub error: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<SourceLocation>,
    /// It only follows from something that has a report of its own: worth telling to whoever waits for it, and to nobody
    /// else. Never on the wire.
    #[serde(skip)]
    pub follows: bool,
}

impl ExtensionErrorReport {
    pub fn new(
        extension_path: impl Into<String>,
        event: impl Into<String>,
        error: impl Into<String>,
    ) -> Self {
        ExtensionErrorReport {
            extension_path: extension_path.into(),
            event: event.into(),
            error: error.into(),
            stack: None,
            location: None,
            follows: false,
        }
    }
}

/// Everything one extension registered during loading, or one later change of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Registrations {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    pub handlers: Vec<HandlerRegistration>,
    pub tools: Vec<ToolRegistration>,
    pub commands: Vec<CommandRegistration>,
    pub flags: Vec<FlagRegistration>,
    pub shortcuts: Vec<ShortcutRegistration>,
    pub message_renderers: Vec<String>,
    pub entry_renderers: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_renderer: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub markdown_transformer: Option<MarkdownTransformerRegistration>,
    pub providers: Vec<ProviderRegistration>,
    pub service_status: Vec<ServiceStatusRegistration>,
    pub profile_collectors: Vec<ProfileCollectorRegistration>,
    /// Event-bus channels with a listener.
    pub bus: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HandlerRegistration {
    /// Unique within the isolate.
    pub id: u64,
    pub event: String,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ToolRegistration {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    pub description: String,
    pub parameters: Value,
    pub hidden: bool,
    pub default_inactive: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_snippet: Option<String>,
    pub prompt_guidelines: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_mode: Option<crate::tool::ExecutionMode>,
    pub has_prepare_arguments: bool,
    pub has_render_call: bool,
    pub has_render_result: bool,
    pub has_on_session: bool,
    /// Own keys of the definition.
    pub own: Vec<String>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CommandRegistration {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub has_completions: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FlagType {
    Boolean,
    String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlagRegistration {
    pub name: String,
    #[serde(rename = "type")]
    pub flag_type: FlagType,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A boolean or a string.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ShortcutRegistration {
    pub key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MarkdownTransformerRegistration {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_types: Option<Vec<String>>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProviderRegistration {
    pub name: String,
    /// The JSON part of the configuration.
    pub config: Value,
    pub has_stream_simple: bool,
    #[serde(rename = "hasOAuth")]
    pub has_oauth: bool,
    /// `oauth.modifyModels`.
    pub has_modify_models: bool,
    pub has_refresh_models: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ServiceStatusRegistration {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ProfileCollectorRegistration {
    pub id: String,
    pub name: String,
}
