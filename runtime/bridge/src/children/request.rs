//! What `createAgentSession` asks for, as data. Functions stay in the isolate that asked.

use std::path::PathBuf;

use pier_agent::prompt::{ContextFile, SkillSummary};
use pier_protocol::extension::ToolRegistration;
use pier_protocol::model::{Model, ThinkingLevel};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The whole request. What is absent is as the program's own session would have it.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ChildRequest {
    pub cwd: Option<PathBuf>,
    pub agent_dir: Option<PathBuf>,
    pub model: Option<Model>,
    pub thinking_level: Option<ThinkingLevel>,
    pub scoped_models: Vec<ChildScoped>,
    /// `all` or `builtin`.
    pub no_tools: Option<String>,
    /// Names and patterns.
    pub tools: Option<Vec<String>>,
    pub exclude_tools: Vec<String>,
    pub custom_tools: Vec<ToolRegistration>,
    /// Extensions that are functions.
    pub inline: Option<ChildInline>,
    /// Settings instead of those in files.
    pub settings: Option<Map<String, Value>>,
    /// Settings on top of those in files.
    pub setting_overrides: Map<String, Value>,
    pub session: ChildSession,
    pub resources: ChildResources,
    /// Instructions that the caller has put together; files are not read then.
    pub prompt: Option<ChildPrompt>,
}

/// Functions that the isolate keeps under a number.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct ChildInline {
    pub token: u64,
    pub count: usize,
}

/// A model of the scoped list.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChildScoped {
    pub model: Model,
    #[serde(default)]
    pub thinking_level: Option<ThinkingLevel>,
}

/// Where the conversation is kept.
#[derive(Debug, Default, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum ChildSession {
    /// A new file in the project's directory of sessions.
    #[default]
    New,
    /// This file; a new session when it does not exist.
    File { path: PathBuf },
    /// No file.
    Memory {
        id: Option<String>,
        /// Entries of the branch that it begins with.
        #[serde(default)]
        entries: Vec<Value>,
    },
}

/// Where extensions and instructions come from. Absent members are as for the program's own session.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ChildResources {
    pub no_extensions: Option<bool>,
    /// On top of those that are found.
    pub extension_paths: Vec<String>,
    pub no_skills: Option<bool>,
    pub skill_paths: Vec<String>,
    pub no_prompt_templates: Option<bool>,
    pub prompt_template_paths: Vec<String>,
    pub no_context_files: Option<bool>,
    pub system_prompt: Option<String>,
    pub append_system_prompt: Vec<String>,
}

/// Inputs of the system prompt.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ChildPrompt {
    pub system_prompt: Option<String>,
    pub append_system_prompt: Vec<String>,
    pub agents_files: Vec<ContextFile>,
    pub skills: Vec<SkillSummary>,
    pub prompts: Vec<ChildTemplate>,
}

/// A prompt template.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChildTemplate {
    pub name: String,
    #[serde(default)]
    pub description: Option<String>,
    pub content: String,
    #[serde(default)]
    pub file_path: PathBuf,
}
