//! Sessions that extensions start beside the program's own (`createAgentSession`): the same parts, put together for what
//! the extension asked. They have no user interface and end with the isolate that asked for them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use pier_agent::AgentSession;
use pier_agent::agent_session::{AgentConfig, ScopedModel};
use pier_agent::hooks::DiscoveredResources;
use pier_agent::prompt::{PromptConfig, PromptTemplate};
use pier_agent::provider::ProviderRegistry;
use pier_agent::session::{NewSession, SessionManager, SessionOptions};
use pier_agent::settings::SettingsStore;
use pier_agent::tool::{ToolFilter, ToolRegistry};
use pier_bridge::isolate::IsolateFactory;
use pier_bridge::{
    AgentPort, Binding, ChildPrompt, ChildRequest, ChildResources, ChildScoped, ChildSession,
    ExtensionHost, HostOptions, Inherited, Limits, MadeSession, SessionMaker, SessionPort,
};
use pier_protocol::entry::{EntryBody, SessionEntry};
use pier_protocol::model::Model;
use serde_json::{Value, json};

use super::options::{StartOptions, ToolChoice};
use super::prompt_files::PromptFiles;
use super::{extensions, json_commands, tools};
use crate::extensions::Extensions;
use crate::host::ModeHost;

/// Makes sessions from what the program was started with.
pub(super) struct Maker {
    options: StartOptions,
    isolates: Arc<dyn IsolateFactory>,
    /// Of the program's own session.
    settings: Arc<SettingsStore>,
}

impl Maker {
    pub(super) fn new(
        options: StartOptions,
        isolates: Arc<dyn IsolateFactory>,
        settings: Arc<SettingsStore>,
    ) -> Arc<Self> {
        Arc::new(Self {
            options,
            isolates,
            settings,
        })
    }

    /// The start that would make such a session the program's own.
    fn options_for(&self, cwd: PathBuf, resources: &ChildResources) -> StartOptions {
        let mut options = self.options.clone();
        options.cwd = cwd;
        let choice = &mut options.resources;
        for (flag, given) in [
            (&mut choice.no_extensions, resources.no_extensions),
            (&mut choice.no_skills, resources.no_skills),
            (
                &mut choice.no_prompt_templates,
                resources.no_prompt_templates,
            ),
            (&mut choice.no_context_files, resources.no_context_files),
        ] {
            *flag = given.unwrap_or(*flag);
        }
        if resources.no_extensions == Some(true) {
            choice.extensions.clear();
        }
        choice.extensions.extend(resources.extension_paths.clone());
        choice.skills.extend(resources.skill_paths.clone());
        choice
            .prompt_templates
            .extend(resources.prompt_template_paths.clone());
        if resources.system_prompt.is_some() {
            options.system_prompt.clone_from(&resources.system_prompt);
        }
        if !resources.append_system_prompt.is_empty() {
            options
                .append_system_prompt
                .clone_from(&resources.append_system_prompt);
        }
        options
    }

    fn settings(&self, request: &mut ChildRequest, cwd: &Path, trusted: bool) -> SettingsStore {
        let overrides = std::mem::take(&mut request.setting_overrides);
        let store = match request.settings.take() {
            Some(values) => SettingsStore::in_memory(values),
            None => {
                let agent_dir = request
                    .agent_dir
                    .as_ref()
                    .unwrap_or(&self.options.agent_dir);
                let project = trusted.then(|| cwd.join(".pi/settings.json"));
                // What is wrong with these files was said when the program started.
                SettingsStore::load(agent_dir.join("settings.json"), project).0
            }
        };
        if !overrides.is_empty() {
            store.set_overrides(overrides);
        }
        store
    }
}

#[async_trait]
impl SessionMaker for Maker {
    async fn make(
        self: Arc<Self>,
        mut request: ChildRequest,
        inherited: Inherited,
    ) -> Result<MadeSession, String> {
        let cwd = inherited.cwd.join(request.cwd.take().unwrap_or_default());
        if !cwd.is_dir() {
            return Err(format!(
                "createAgentSession: cwd {} is not a directory",
                cwd.display()
            ));
        }
        let trusted = inherited.trusted;
        let mut options = self.options_for(cwd.clone(), &request.resources);
        if let Some(agent_dir) = &request.agent_dir {
            options.agent_dir.clone_from(agent_dir);
        }
        let settings = Arc::new(self.settings(&mut request, &cwd, trusted));
        let manager = open(
            &request.session,
            &super::session_options(&options, &settings),
        )?;
        let providers = inherited.providers;
        let model = request
            .model
            .take()
            .map(|model| known_model(&providers, model))
            .transpose()?;
        let scoped = std::mem::take(&mut request.scoped_models);
        let scoped = scoped
            .into_iter()
            .map(|scoped| scoped_model(&providers, scoped))
            .collect::<Result<_, _>>()?;

        let choice = tool_choice(&request)?;
        let registry = Arc::new(ToolRegistry::new(ToolFilter::default()));
        tools::register_builtin(&registry, &choice);
        let (limits, _) = Limits::from_settings(&Value::Object(settings.get().raw.clone()));
        let host = ExtensionHost::new(
            HostOptions {
                app_name: options.app_name.clone(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                cwd: cwd.clone(),
                agent_dir: options.agent_dir.clone(),
                config_dir_name: ".pi".to_owned(),
                limits,
                tools: Arc::clone(&registry),
                providers: Arc::clone(&providers),
                settings: Value::Object(settings.get().raw.clone()),
            },
            Arc::clone(&self.isolates),
        );
        host.set_trusted(trusted);
        host.set_flag_values(inherited.flags);
        host.set_session_maker(self.clone(), inherited.depth);
        host.set_error_sink(inherited.reports.clone());
        let inline = inherited.inline.map(|inline| {
            host.set_inline_place(inline.place);
            inline.extensions
        });
        let places = extensions::Places {
            cwd,
            agent_dir: options.agent_dir.clone(),
            choice: options.resources.clone(),
            inline: inline.unwrap_or_default(),
        };
        let outcome = places.load_all(&host, trusted).await;
        for tool in inherited.custom_tools {
            registry.register("custom", tool);
        }
        let unknown_tools = tools::apply(&registry, &choice, &super::default_tools(&settings));

        let files = Arc::new(match request.prompt.take() {
            Some(prompt) => PromptFiles::given(config(prompt), &options, settings.clone()),
            None => PromptFiles::new(&options, settings.clone()),
        });
        files.set_trusted(trusted);
        let reading = files.read(&DiscoveredResources::default())?;
        let loaded: Arc<dyn Extensions> = Arc::new(extensions::Loaded {
            host: host.clone(),
            files: Arc::clone(&files),
        });
        let reports = inherited.reports;
        let mode_host = ModeHost::new(move |report| reports(report), || Box::new(()));
        mode_host.attach(loaded);
        let session = AgentSession::new(AgentConfig {
            session: manager,
            settings,
            providers,
            tools: registry,
            hooks: host.hooks(),
            host: mode_host,
            prompt: reading.prompt,
            model,
            thinking_level: request.thinking_level,
            scoped_models: scoped,
        });
        let port: Arc<dyn SessionPort> = Arc::new(AgentPort::new(
            session.clone(),
            Arc::new(move || json_commands(&files)),
        ));
        host.bind(Arc::clone(&port), Binding::default()).await;
        Ok(MadeSession {
            session,
            port,
            host,
            loaded: outcome.loaded,
            failures: outcome.errors,
            warnings: outcome.warnings.into_iter().chain(unknown_tools).collect(),
        })
    }

    fn read_resources(&self, cwd: PathBuf, trusted: bool, resources: &ChildResources) -> Value {
        let options = self.options_for(cwd, resources);
        let files = PromptFiles::new(&options, self.settings.clone());
        files.set_trusted(trusted);
        let reading = match files.read(&DiscoveredResources::default()) {
            Ok(reading) => reading,
            Err(problem) => {
                return json!({
                    "appendSystemPrompt": [], "agentsFiles": [], "skills": [], "prompts": [],
                    "diagnostics": [{"type": "error", "message": problem}],
                });
            }
        };
        let diagnostics: Vec<Value> = reading
            .warnings
            .iter()
            .map(|message| json!({"type": "warning", "message": message}))
            .collect();
        let prompts: Vec<Value> = reading
            .prompt
            .templates
            .iter()
            .map(|template| {
                json!({
                    "name": template.name,
                    "description": template.description.clone().unwrap_or_default(),
                    "content": template.content,
                    "filePath": template.path,
                })
            })
            .collect();
        json!({
            "systemPrompt": reading.prompt.custom,
            "appendSystemPrompt": reading.prompt.append.into_iter().collect::<Vec<_>>(),
            "agentsFiles": reading.prompt.context_files,
            "skills": reading.prompt.skills,
            "prompts": prompts,
            "diagnostics": diagnostics,
        })
    }
}

/// A model as the extension has it, if its provider can be asked.
fn known_model(providers: &ProviderRegistry, model: Model) -> Result<Arc<Model>, String> {
    match providers.find(&model.provider, &model.id) {
        // The extension may have changed a member, such as the length of answers.
        Some(known) if *known == model || model.api.is_empty() => Ok(known),
        Some(_) => Ok(Arc::new(model)),
        None if providers.get(&model.provider).is_some() => Ok(Arc::new(model)),
        None => Err(format!(
            "createAgentSession: no provider \"{}\" for model \"{}\"",
            model.provider, model.id
        )),
    }
}

fn scoped_model(providers: &ProviderRegistry, scoped: ChildScoped) -> Result<ScopedModel, String> {
    Ok(ScopedModel {
        model: known_model(providers, scoped.model)?,
        thinking_level: scoped.thinking_level,
    })
}

fn tool_choice(request: &ChildRequest) -> Result<ToolChoice, String> {
    let none = match request.no_tools.as_deref() {
        None | Some("builtin") => false,
        Some("all") => true,
        Some(other) => {
            return Err(format!(
                "createAgentSession: noTools is \"{other}\", expected \"all\" or \"builtin\""
            ));
        }
    };
    let empty = request.tools.as_ref().is_some_and(Vec::is_empty);
    Ok(ToolChoice {
        allow: request.tools.clone().filter(|tools| !tools.is_empty()),
        exclude: request.exclude_tools.clone(),
        none: none && request.tools.is_none() || empty,
        no_builtin: request.no_tools.is_some() && request.tools.is_none(),
    })
}

fn config(prompt: ChildPrompt) -> PromptConfig {
    let append = prompt.append_system_prompt.join("\n\n");
    PromptConfig {
        custom: prompt.system_prompt.filter(|text| !text.is_empty()),
        append: Some(append).filter(|text| !text.is_empty()),
        context_files: prompt.agents_files,
        skills: prompt.skills,
        templates: prompt
            .prompts
            .into_iter()
            .map(|template| PromptTemplate {
                name: template.name,
                description: template.description,
                path: template.file_path,
                content: template.content,
            })
            .collect(),
        ..PromptConfig::default()
    }
}

fn open(session: &ChildSession, options: &SessionOptions) -> Result<SessionManager, String> {
    let text = |error: pier_agent::session::SessionError| error.to_string();
    match session {
        ChildSession::New => SessionManager::create(options, NewSession::default()).map_err(text),
        ChildSession::File { path } => SessionManager::open(path, options).map_err(text),
        ChildSession::Memory { id, entries } => {
            let new = NewSession {
                id: id.clone(),
                ..NewSession::default()
            };
            let manager = SessionManager::in_memory(options, new).map_err(text)?;
            for entry in entries {
                manager.append(body(entry)?).map_err(text)?;
            }
            Ok(manager)
        }
    }
}

/// An entry of the caller's manager; ids and parents are made anew.
fn body(entry: &Value) -> Result<EntryBody, String> {
    let entry: SessionEntry = serde_json::from_value(entry.clone())
        .map_err(|error| format!("createAgentSession: an entry of the session: {error}"))?;
    Ok(entry.body)
}
