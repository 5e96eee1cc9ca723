//! What a start depends on, as plain values. The command line makes these; nothing here reads anything.

use std::path::PathBuf;

use pier_bridge::{DeclaredFlag, GivenFlag};

/// Everything that flags, environment and working directory say about a start.
#[derive(Clone)]
pub struct StartOptions {
    pub cwd: PathBuf,
    /// `PI_CODING_AGENT_DIR` or `~/.pi/agent`.
    pub agent_dir: PathBuf,
    /// `PI_CODING_AGENT_SESSION_DIR`.
    pub session_dir_variable: Option<String>,
    pub app_name: String,
    pub model: ModelChoice,
    pub session: SessionChoice,
    pub tools: ToolChoice,
    pub resources: ResourceChoice,
    /// Text, or the name of a file with the text.
    pub system_prompt: Option<String>,
    pub append_system_prompt: Vec<String>,
    /// `--approve` or `--no-approve`.
    pub trust: Option<bool>,
    pub offline: bool,
    /// File that gets a line for every model request.
    pub trace: Option<PathBuf>,
    /// Script of the scripted provider.
    pub script: Option<PathBuf>,
}

/// Reads the rest of the command line once extensions have declared their flags: settles those
/// that only extensions know, and the words that may be their values.
pub type ExtensionFlags = Box<dyn FnOnce(&[DeclaredFlag]) -> Result<FlagOutcome, String> + Send>;

/// What became of the flags that only extensions know.
#[derive(Debug, Default)]
pub struct FlagOutcome {
    pub given: Vec<GivenFlag>,
    /// The messages of the command line.
    pub messages: Vec<String>,
    pub warnings: Vec<String>,
}

/// Flags about the model.
#[derive(Debug, Default, Clone)]
pub struct ModelChoice {
    pub provider: Option<String>,
    pub pattern: Option<String>,
    pub thinking: Option<String>,
    pub scope: Vec<String>,
    pub api_key: Option<String>,
}

/// Flags about the session (`spec/sessions.md` §6).
#[derive(Debug, Default, Clone)]
pub struct SessionChoice {
    pub continue_last: bool,
    pub resume: bool,
    pub open: Option<String>,
    pub id: Option<String>,
    pub fork: Option<String>,
    pub dir: Option<String>,
    pub in_memory: bool,
    pub name: Option<String>,
}

/// Flags about tools.
#[derive(Debug, Default, Clone)]
pub struct ToolChoice {
    pub allow: Option<Vec<String>>,
    pub exclude: Vec<String>,
    pub none: bool,
    pub no_builtin: bool,
}

/// Flags about extensions and other resources.
#[derive(Debug, Default, Clone)]
pub struct ResourceChoice {
    pub extensions: Vec<String>,
    pub no_extensions: bool,
    pub skills: Vec<String>,
    pub no_skills: bool,
    pub prompt_templates: Vec<String>,
    pub no_prompt_templates: bool,
    pub no_context_files: bool,
}
