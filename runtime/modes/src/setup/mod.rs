//! Puts a session together: settings, trust, session file, tools, providers, extensions.
//!
//! A mode hands in its surroundings and gets a session that has not started yet. Nothing here
//! writes to standard output, and nothing here knows a wire form.

mod children;
mod choice;
mod context;
mod extensions;
mod model;
mod options;
mod prompt_files;
mod providers;
mod resources;
mod sessions;
mod startup_trace;
mod themes;
mod tools;
mod trace_file;

use std::sync::Arc;

use pier_agent::AgentSession;
use pier_agent::agent_session::AgentConfig;
use pier_agent::hooks::DiscoveredResources;
use pier_agent::prompt::PromptConfig;
use pier_agent::provider::ProviderRegistry;
use pier_agent::provider::scripted::{PROVIDER, ScriptedProvider};
use pier_agent::session::{SessionDirs, SessionOptions, SyncPolicy};
use pier_agent::settings::SettingsStore;
use pier_agent::tool::{ToolFilter, ToolRegistry};
use pier_bridge::isolate::IsolateFactory;
use pier_bridge::ui::{HeadlessUi, UiSink};
use pier_bridge::{AgentPort, Binding, ExtensionHost, HostOptions, Limits, Mode};
use pier_protocol::extension::ExtensionErrorReport;
use serde_json::Value;

use crate::diagnostics;
use crate::extensions::Extensions;
use crate::host::ModeHost;

use prompt_files::PromptFiles;

pub use pier_bridge::{DeclaredFlag, GivenFlag};
pub use pier_protocol::extension::FlagType;

pub use options::{
    ExtensionFlags, FlagOutcome, ModelChoice, ResourceChoice, SessionChoice, StartOptions,
    ToolChoice,
};
pub use sessions::SessionChoiceError;

/// Why the program cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The session could not be chosen or opened.
    #[error(transparent)]
    Session(#[from] SessionChoiceError),
    /// The flags about the model.
    #[error("{0}")]
    Model(String),
    /// A script file.
    #[error("{0}")]
    Script(String),
    /// The file of `--trace`.
    #[error("{0}")]
    Trace(String),
    /// Flags that no extension knows, or that lack a value.
    #[error("{0}")]
    Flags(String),
    /// A file that was named as a system prompt.
    #[error("{0}")]
    Prompt(String),
}

impl StartError {
    /// The part of the start that failed, as one word.
    #[must_use]
    pub fn phase(&self) -> &'static str {
        match self {
            Self::Session(_) => "session",
            Self::Model(_) => "model",
            Self::Script(_) => "script",
            Self::Trace(_) => "trace",
            Self::Flags(_) | Self::Prompt(_) => "flags",
        }
    }
}

/// What a mode brings along.
pub(crate) struct Surroundings {
    pub(crate) mode: Mode,
    pub(crate) host: Arc<ModeHost>,
    /// Where UI calls go; none means that there is nobody to ask.
    pub(crate) ui: Option<Arc<dyn UiSink>>,
    /// What that place can show (`docs/bridge-protocol.md`, `UiProfile`); null for the mode's default.
    pub(crate) ui_profile: Value,
}

/// A session that is ready to start.
pub(crate) struct Started {
    pub(crate) session: AgentSession,
    pub(crate) extensions: Arc<dyn Extensions>,
    /// Messages of the command line.
    pub(crate) messages: Vec<String>,
}

/// A session whose file is open and that has neither extensions nor a model yet. It can be asked
/// about what the file holds.
pub(crate) struct Opened {
    pub(crate) session: AgentSession,
    pub(crate) extensions: Arc<dyn Extensions>,
    pub(crate) loading: Loading,
}

/// What is left to do for an [`Opened`] session: everything that may take long.
pub(crate) struct Loading {
    options: StartOptions,
    flags: ExtensionFlags,
    surroundings: Surroundings,
    session: AgentSession,
    host: ExtensionHost,
    files: Arc<PromptFiles>,
    trace: startup_trace::StartupTrace,
}

/// A start that waits for its mode.
pub struct Boot {
    options: StartOptions,
    flags: ExtensionFlags,
    isolates: Arc<dyn IsolateFactory>,
}

impl Boot {
    /// Prepares a start. Isolates come from `isolates`.
    #[must_use]
    pub fn new(
        options: StartOptions,
        flags: ExtensionFlags,
        isolates: Arc<dyn IsolateFactory>,
    ) -> Self {
        Self {
            options,
            flags,
            isolates,
        }
    }

    /// Working directory of the session.
    pub(crate) fn cwd(&self) -> &std::path::Path {
        &self.options.cwd
    }

    /// Opens the session and loads everything that belongs to it. Diagnostics go to standard error.
    pub(crate) async fn start(self, surroundings: Surroundings) -> Result<Started, StartError> {
        let opened = self.open(surroundings).await?;
        let messages = opened.loading.load(|_| {}).await?;
        Ok(Started {
            session: opened.session,
            extensions: opened.extensions,
            messages,
        })
    }

    /// Opens the session. Quick: no extension's code runs.
    pub(crate) async fn open(self, surroundings: Surroundings) -> Result<Opened, StartError> {
        let Self {
            options,
            flags,
            isolates,
        } = self;
        let trace = startup_trace::StartupTrace::begin();
        let user_file = options.agent_dir.join("settings.json");
        let (settings, warnings) = SettingsStore::load(user_file, None);
        warn_all(&warnings);
        let settings = Arc::new(settings);
        let opened =
            sessions::open_soon(&options.session, &session_options(&options, &settings)).await?;
        warn_all(&opened.warnings);

        let registry = Arc::new(ToolRegistry::new(ToolFilter::default()));
        tools::register_builtin(&registry, &options.tools);
        let providers = Arc::new(ProviderRegistry::new());
        scripted(&options)?.register(&providers);
        if let Some(path) = &options.trace {
            let file = trace_file::TraceFile::open(path).map_err(StartError::Trace)?;
            providers.add_trace_sink(Arc::new(file));
        }

        let raw = Value::Object(settings.get().raw.clone());
        let (limits, warnings) = Limits::from_settings(&raw);
        warn_all(&warnings);
        let host = ExtensionHost::new(
            HostOptions {
                app_name: options.app_name.clone(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                cwd: options.cwd.clone(),
                agent_dir: options.agent_dir.clone(),
                config_dir_name: ".pi".to_owned(),
                limits,
                tools: Arc::clone(&registry),
                providers: Arc::clone(&providers),
                settings: raw,
            },
            Arc::clone(&isolates),
        );
        let maker = children::Maker::new(options.clone(), isolates, Arc::clone(&settings));
        host.set_session_maker(maker, 0);
        let files = Arc::new(PromptFiles::new(&options, Arc::clone(&settings)));
        let session = AgentSession::without_model(AgentConfig {
            session: opened.manager,
            settings,
            providers,
            tools: registry,
            hooks: host.hooks(),
            host: surroundings.host.clone(),
            prompt: PromptConfig::default(),
            model: None,
            thinking_level: None,
            scoped_models: Vec::new(),
        });
        if let Some(name) = &options.session.name
            && let Err(error) = session.set_session_name(name).await
        {
            diagnostics::warning(&format!("The session was not named: {error}"));
        }
        let loaded: Arc<dyn Extensions> = Arc::new(extensions::Loaded {
            host: host.clone(),
            files: Arc::clone(&files),
        });
        surroundings.host.attach(Arc::clone(&loaded));
        Ok(Opened {
            session: session.clone(),
            extensions: loaded,
            loading: Loading {
                options,
                flags,
                surroundings,
                session,
                host,
                files,
                trace,
            },
        })
    }
}

impl Loading {
    /// Loads extensions, chooses the model, and binds both to the session. `failed` hears of each
    /// extension that could not be loaded; the others run. Returns the messages of the command line.
    pub(crate) async fn load(
        self,
        failed: impl Fn(&ExtensionErrorReport),
    ) -> Result<Vec<String>, StartError> {
        let Self {
            options,
            flags,
            surroundings,
            session,
            host,
            files,
            trace,
        } = self;
        let (settings, providers, registry) =
            (session.settings(), session.providers(), session.tools());
        let places = extensions::Places {
            cwd: options.cwd.clone(),
            agent_dir: options.agent_dir.clone(),
            choice: options.resources.clone(),
            inline: Vec::new(),
        };
        warn_all(&host.load_models_file());
        if host.models_file_needs_others()
            || providers::needed_at_once(&options.model, &options.agent_dir)
        {
            load_builtin_providers(&host).await;
        }
        let user_settings = Value::Object(settings.get().raw.clone());
        let (outcome, trusted) =
            extensions::load(&host, &places, options.trust, &user_settings).await;
        trace.loaded(outcome.loaded.len());
        if trusted {
            warn_all(&settings.set_project_file(Some(options.cwd.join(".pi/settings.json"))));
            let (limits, warnings) =
                Limits::from_settings(&Value::Object(settings.get().raw.clone()));
            warn_all(&warnings);
            host.set_limits(limits);
        }
        warn_all(&outcome.warnings);
        for failure in &outcome.errors {
            diagnostics::error(&load_sentence(failure));
            failed(failure);
        }
        let flags = flags(&host.declared_flags()).map_err(StartError::Flags)?;
        warn_all(&flags.warnings);
        host.apply_flags(&flags.given)
            .await
            .map_err(|errors| StartError::Flags(errors.join("\n")))?;

        if providers::needed_after_all(
            &options.model,
            &settings.get(),
            &session.session(),
            &providers,
        ) {
            load_builtin_providers(&host).await;
        }
        warn_all(&host.models_file_leftovers());
        hide_scripted(&providers, &options);
        warn_all(&tools::apply(
            &registry,
            &options.tools,
            &default_tools(&settings),
        ));
        let choice = choice::models(&options.model, &providers, &settings)?;
        if let Some(key) = options.model.api_key.clone() {
            let model = choice.model.as_ref().ok_or_else(|| {
                StartError::Model("--api-key requires --model, to know whose key it is".to_owned())
            })?;
            host.set_runtime_key(&model.provider, key);
        }
        files.set_trusted(trusted);
        let reading = files
            .read(&DiscoveredResources::default())
            .map_err(StartError::Prompt)?;
        warn_all(&reading.warnings);
        session.update_prompt(|prompt| prompt.renew(reading.prompt));
        session.choose_models(choice.model, choice.thinking_level, choice.scoped);

        let reporter = Arc::clone(&surroundings.host);
        host.set_error_sink(Arc::new(move |report| {
            pier_agent::host::HostActions::report_error(&*reporter, report);
        }));
        let has_ui = surroundings.ui.is_some();
        let ui = surroundings.ui.unwrap_or_else(|| Arc::new(HeadlessUi));
        let port = Arc::new(AgentPort::new(
            session.clone(),
            Arc::new(move || json_commands(&files)),
        ));
        host.bind(
            port,
            Binding {
                mode: surroundings.mode,
                has_ui,
                ui,
                ui_profile: surroundings.ui_profile,
            },
        )
        .await;
        Ok(flags.messages)
    }
}

/// What cannot be loaded is said; models of other providers still work.
async fn load_builtin_providers(host: &ExtensionHost) {
    let outcome = host.load_builtin_providers().await;
    warn_all(&outcome.warnings);
    for failure in &outcome.errors {
        diagnostics::error(&load_sentence(failure));
    }
}

fn warn_all(warnings: &[String]) {
    for warning in warnings {
        diagnostics::warning(warning);
    }
}

/// How people are told that an extension could not be loaded.
fn load_sentence(failure: &ExtensionErrorReport) -> String {
    if failure.event != "load" {
        // The extension is loaded; one thing that it asked for was refused.
        return format!(
            "Extension \"{}\", {}: {}",
            failure.extension_path, failure.event, failure.error
        );
    }
    // The reason begins with the same words, for records, which have no sentence around it.
    let reason = failure
        .error
        .strip_prefix("Failed to load extension: ")
        .unwrap_or(&failure.error);
    let reason = diagnostics::with_place(reason, failure.location.as_ref());
    format!(
        "Failed to load extension \"{}\": {reason}",
        failure.extension_path
    )
}

fn session_options(options: &StartOptions, settings: &SettingsStore) -> SessionOptions {
    let settings = settings.get();
    let setting = settings
        .raw
        .get("sessionDir")
        .and_then(Value::as_str)
        .map(str::to_owned);
    let custom = SessionDirs::choose_custom(
        options.session.dir.as_deref().map(AsRef::as_ref),
        options.session_dir_variable.as_deref().map(AsRef::as_ref),
        setting.as_deref().map(AsRef::as_ref),
        &options.cwd,
        crate::paths::home().as_deref(),
    );
    let dirs = SessionDirs::new(&options.cwd, &options.agent_dir).with_custom(custom);
    SessionOptions {
        sync: settings
            .session_sync_ms
            .map_or_else(SyncPolicy::default, SyncPolicy::every_ms),
        ..SessionOptions::new(dirs)
    }
}

fn scripted(options: &StartOptions) -> Result<ScriptedProvider, StartError> {
    match &options.script {
        Some(path) => {
            ScriptedProvider::from_file(path).map_err(|error| StartError::Script(error.to_string()))
        }
        None => Ok(ScriptedProvider::new()),
    }
}

/// Templates and skills as `SlashCommandInfo`.
fn json_commands(files: &PromptFiles) -> Vec<Value> {
    let commands = files.commands();
    let values = commands.iter().map(serde_json::to_value);
    values.filter_map(Result::ok).collect()
}

/// Takes the scripted provider away once another one can answer, unless it was asked for: it is there
/// so that something answers, not to be cycled to.
fn hide_scripted(providers: &ProviderRegistry, options: &StartOptions) {
    let asked_for = options.script.is_some()
        || options.model.provider.as_deref() == Some(PROVIDER)
        || options
            .model
            .pattern
            .as_deref()
            .is_some_and(|pattern| pattern.contains(PROVIDER))
        || options
            .model
            .scope
            .iter()
            .any(|pattern| pattern.contains(PROVIDER));
    if !asked_for
        && providers
            .available_models()
            .iter()
            .any(|model| model.provider != PROVIDER)
    {
        providers.unregister("builtin", PROVIDER);
    }
}

fn default_tools(settings: &SettingsStore) -> Vec<String> {
    let list = settings.get();
    let list = list.raw.get("defaultTools").and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}
