//! The system prompt: sections, their state in the session, and its text (spec/agent-loop.md §9).

pub mod expand;
mod options;
mod sections;
mod state;

use std::path::PathBuf;

pub use options::{PromptOptions, is_section_name};
pub use sections::build_sections;
pub use state::{PromptState, render};

/// Parts of the system prompt that come from flags and files.
#[derive(Debug, Clone, Default)]
pub struct PromptConfig {
    /// `--system-prompt` or `SYSTEM.md`: replaces the preamble and removes `tools` and `rules`.
    pub custom: Option<String>,
    /// `--append-system-prompt` or `APPEND_SYSTEM.md`.
    pub append: Option<String>,
    /// `AGENTS.md` and the like, outermost first.
    pub context_files: Vec<ContextFile>,
    pub skills: Vec<SkillSummary>,
    /// Prompt templates, for `/name arguments`.
    pub templates: Vec<PromptTemplate>,
    /// Further bullets of the `rules` section.
    pub guidelines: Vec<String>,
    /// Further sections by extension, in order: name and text.
    pub extra_sections: Vec<(String, String)>,
    /// BCP 47 tag of the language that the user reads; the client chose it, so it stays when files are read anew.
    pub locale: Option<String>,
}

impl PromptConfig {
    /// Takes over what was read anew; what the client chose stays.
    pub fn renew(&mut self, read: PromptConfig) {
        let locale = self.locale.take();
        *self = PromptConfig { locale, ..read };
    }
}

/// A file with instructions for a project.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
pub struct ContextFile {
    pub path: PathBuf,
    pub content: String,
}

/// A skill as the model is told about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillSummary {
    pub name: String,
    pub description: String,
    pub location: PathBuf,
    /// Only for people (`disable-model-invocation`): the model is not told about it.
    pub hidden: bool,
}

/// A prompt template (spec/cli.md §4.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptTemplate {
    /// Without the slash.
    pub name: String,
    pub description: Option<String>,
    pub path: PathBuf,
    /// Text with placeholders.
    pub content: String,
}
