//! Settings: files, merging and the typed view that the loop uses (spec/cli.md §6).
//!
//! A broken file is a warning and counts as empty; an unknown key is kept; a value of the wrong type is a warning
//! and counts as absent. Nothing here decides whether a project is trusted.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;
use parking_lot::{Mutex, RwLock};
use pier_protocol::model::ThinkingLevel;
use serde_json::{Map, Value};

mod file;
mod view;

pub use file::SettingsError;

/// How a queue is drained.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum QueueMode {
    /// One message per turn.
    #[default]
    OneAtATime,
    All,
}

impl QueueMode {
    /// Any other word means the default, as peers do.
    pub fn parse(word: &str) -> Self {
        if word == "all" {
            QueueMode::All
        } else {
            QueueMode::OneAtATime
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            QueueMode::OneAtATime => "one-at-a-time",
            QueueMode::All => "all",
        }
    }
}

/// When a steering message interrupts running tools (xcsh, omp).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum InterruptMode {
    /// After the whole batch.
    #[default]
    Wait,
    /// After the tool that finishes next; the rest of the batch is skipped.
    Immediate,
}

impl InterruptMode {
    /// Any other word means the default, as peers do.
    pub fn parse(word: &str) -> Self {
        if word == "immediate" {
            InterruptMode::Immediate
        } else {
            InterruptMode::Wait
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            InterruptMode::Wait => "wait",
            InterruptMode::Immediate => "immediate",
        }
    }
}

/// Which product's message delivery rules apply (spec/extension-api.md §3.1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DeliveryRules {
    /// xcsh's matrix, except that `nextTurn` always waits for the next user prompt.
    #[default]
    Host,
    /// xcsh's matrix to the letter.
    Xcsh,
    /// pi's matrix: `triggerTurn: false` while busy waits for the end of the turn.
    Pi,
}

/// `compaction.*`
#[derive(Debug, Clone, PartialEq)]
pub struct CompactionSettings {
    pub enabled: bool,
    /// Tokens kept free for the answer.
    pub reserve_tokens: u64,
    /// Tokens of recent history that are not summarised.
    pub keep_recent_tokens: u64,
}

impl Default for CompactionSettings {
    fn default() -> Self {
        CompactionSettings {
            enabled: true,
            reserve_tokens: 16_384,
            keep_recent_tokens: 20_000,
        }
    }
}

/// `retry.*`
#[derive(Debug, Clone, PartialEq)]
pub struct RetrySettings {
    pub enabled: bool,
    /// Retries after the first attempt.
    pub max_retries: u32,
    /// Milliseconds before the first retry; doubled for each further one.
    pub base_delay_ms: u64,
    /// Milliseconds; cap of the delay.
    pub max_agent_delay_ms: u64,
}

impl Default for RetrySettings {
    fn default() -> Self {
        RetrySettings {
            enabled: true,
            max_retries: 3,
            base_delay_ms: 2_000,
            max_agent_delay_ms: 60_000,
        }
    }
}

/// Typed view of the merged settings.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    pub steering_mode: QueueMode,
    pub follow_up_mode: QueueMode,
    pub interrupt_mode: InterruptMode,
    pub delivery: DeliveryRules,
    /// Agent-wide `toolExecution: "sequential"`.
    pub sequential_tools: bool,
    pub compaction: CompactionSettings,
    pub retry: RetrySettings,
    /// `branchSummary.reserveTokens`
    pub branch_summary_reserve_tokens: Option<u64>,
    /// `images.blockImages`
    pub block_images: bool,
    /// `images.autoResize`
    pub resize_images: bool,
    pub default_provider: Option<String>,
    pub default_model: Option<String>,
    pub default_thinking_level: Option<ThinkingLevel>,
    /// `provider/model` to level.
    pub model_thinking_levels: IndexMap<String, ThinkingLevel>,
    /// Patterns of `enabledModels`.
    pub enabled_models: Vec<String>,
    pub shell_path: Option<PathBuf>,
    pub shell_command_prefix: Option<String>,
    /// Milliseconds after which a written entry is forced to disk at the latest; zero leaves it to the end of each run.
    pub session_sync_ms: Option<u64>,
    /// Compaction overrides by `provider/model`.
    compaction_overrides: IndexMap<String, Map<String, Value>>,
    /// The merged object, with unknown keys.
    pub raw: Map<String, Value>,
}

/// The settings of a session: files, overrides and the current view. Shared behind an `Arc`.
pub struct SettingsStore {
    sources: Mutex<file::Sources>,
    current: RwLock<Arc<Settings>>,
}

impl SettingsStore {
    /// Settings that live only in memory; writes change nothing on disk.
    pub fn in_memory(settings: Map<String, Value>) -> Self {
        let sources = file::Sources::in_memory(settings);
        let current = RwLock::new(Arc::new(Settings::from_merged(
            sources.merged(),
            &mut Vec::new(),
        )));
        SettingsStore {
            sources: Mutex::new(sources),
            current,
        }
    }

    /// Reads the user file and, for a trusted project, the project file. Missing files are empty. Returns warnings about
    /// broken files and values, each naming the file or key.
    pub fn load(user_file: PathBuf, project_file: Option<PathBuf>) -> (Self, Vec<String>) {
        let mut warnings = Vec::new();
        let sources = file::Sources::read(user_file, project_file, &mut warnings);
        let settings = Settings::from_merged(sources.merged(), &mut warnings);
        (
            SettingsStore {
                sources: Mutex::new(sources),
                current: RwLock::new(Arc::new(settings)),
            },
            warnings,
        )
    }

    /// The view at this moment.
    pub fn get(&self) -> Arc<Settings> {
        self.current.read().clone()
    }

    /// Reads the files again, keeping command-line overrides. Returns warnings.
    pub fn reload(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let mut sources = self.sources.lock();
        sources.reread(&mut warnings);
        self.refresh(&sources, &mut warnings);
        warnings
    }

    /// Starts or stops reading a project file (after a trust decision). Returns warnings.
    pub fn set_project_file(&self, project_file: Option<PathBuf>) -> Vec<String> {
        let mut warnings = Vec::new();
        let mut sources = self.sources.lock();
        sources.set_project_file(project_file, &mut warnings);
        self.refresh(&sources, &mut warnings);
        warnings
    }

    /// Command-line values; they win over both files.
    pub fn set_overrides(&self, overrides: Map<String, Value>) {
        let mut sources = self.sources.lock();
        sources.set_overrides(overrides);
        self.refresh(&sources, &mut Vec::new());
    }

    /// Changes one user setting, `path` being the nested keys: at once in memory, and merged into the current content of
    /// the user file. `None` removes the key. A value counts for the running session also where the project sets another.
    ///
    /// # Errors
    /// The file could not be written, or holds something that is not a JSON object. The value in memory stays changed.
    pub fn set_user(&self, path: &[&str], value: Option<Value>) -> Result<(), SettingsError> {
        let mut sources = self.sources.lock();
        let written = sources.set_user(path, value);
        self.refresh(&sources, &mut Vec::new());
        written
    }

    /// The user file, if there is one.
    pub fn user_file(&self) -> Option<PathBuf> {
        self.sources.lock().user_file().map(Path::to_path_buf)
    }

    fn refresh(&self, sources: &file::Sources, warnings: &mut Vec<String>) {
        *self.current.write() = Arc::new(Settings::from_merged(sources.merged(), warnings));
    }
}
