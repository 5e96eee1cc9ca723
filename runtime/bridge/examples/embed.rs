//! Hosts an extension in a program of your own: `cargo run -p pier-bridge --example embed -- EXTENSION.ts PROMPT`.
//!
//! Loads the extension into an isolate, binds it to a session in memory, runs the prompt with the scripted model and prints the answer.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use pier_agent::agent_session::{AgentConfig, AgentSession, PromptRequest};
use pier_agent::hooks::{InputSource, SessionStartReason, ShutdownReason};
use pier_agent::host::NoHost;
use pier_agent::prompt::PromptConfig;
use pier_agent::provider::ProviderRegistry;
use pier_agent::provider::scripted::ScriptedProvider;
use pier_agent::session::{NewSession, SessionDirs, SessionManager, SessionOptions};
use pier_agent::settings::SettingsStore;
use pier_agent::tool::{ToolFilter, ToolRegistry};
use pier_bridge::discovery::DiscoveryOptions;
use pier_bridge::isolate::engine::EngineFactory;
use pier_bridge::{AgentPort, Binding, ExtensionHost, HostOptions, Limits};
use pier_engine::{Engine, EngineOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(extension), Some(prompt)) = (words.next(), words.next()) else {
        return Err("usage: embed EXTENSION.ts PROMPT".into());
    };
    // V8 must be initialised before the process has threads; a runtime without threads carries that first step.
    let threadless = tokio::runtime::Builder::new_current_thread().build()?;
    drop(Engine::init(
        EngineOptions::default(),
        threadless.handle().clone(),
    ));
    let runtime = tokio::runtime::Runtime::new()?;
    let engine = Engine::init(EngineOptions::default(), runtime.handle().clone());
    let answer = runtime.block_on(run(engine, extension, prompt))?;
    println!("{answer}");
    // Isolates have threads of their own; leaving at once is the way not to wait for any of them.
    std::process::exit(0)
}

async fn run(engine: Engine, extension: String, prompt: String) -> Result<String, Box<dyn Error>> {
    let cwd = std::env::current_dir()?;
    let agent_dir = PathBuf::from(".embed-agent");
    let tools = Arc::new(ToolRegistry::new(ToolFilter::default()));
    let providers = Arc::new(ProviderRegistry::new());
    ScriptedProvider::new().register(&providers);
    let (settings, _) = SettingsStore::load(agent_dir.join("settings.json"), None);

    let host = ExtensionHost::new(
        HostOptions {
            app_name: "embed".into(),
            version: "1.0.0".into(),
            cwd: cwd.clone(),
            agent_dir: agent_dir.clone(),
            config_dir_name: ".pi".into(),
            limits: Limits::default(),
            tools: Arc::clone(&tools),
            providers: Arc::clone(&providers),
            settings: serde_json::json!({}),
        },
        Arc::new(EngineFactory::new(Arc::new(engine))),
    );
    host.set_error_sink(Arc::new(|report| {
        eprintln!("{}: {}", report.extension_path, report.error)
    }));
    let mut options = DiscoveryOptions::standard(cwd.clone(), agent_dir.clone(), None);
    options.explicit.push(extension);
    options.no_discovery = true;
    let found = ExtensionHost::discover(options).await;
    let outcome = host.load(&found, |_| true).await;
    if let Some(error) = outcome.errors.first() {
        return Err(format!("{}: {}", error.extension_path, error.error).into());
    }

    let in_memory = SessionOptions::new(SessionDirs::new(&cwd, &agent_dir));
    let session = AgentSession::new(AgentConfig {
        session: SessionManager::in_memory(&in_memory, NewSession::default())?,
        settings: Arc::new(settings),
        providers,
        tools,
        hooks: host.hooks(),
        host: Arc::new(NoHost),
        prompt: PromptConfig::default(),
        model: None,
        thinking_level: None,
        scoped_models: Vec::new(),
    });
    host.bind(
        Arc::new(AgentPort::new(session.clone(), Arc::new(Vec::new))),
        Binding::default(),
    )
    .await;
    session.start(SessionStartReason::Startup).await;
    session
        .prompt(PromptRequest::new(prompt, InputSource::Rpc))
        .await?;
    session.run_settled().await;
    let answer = session.last_assistant_text().unwrap_or_default();
    session.shutdown(ShutdownReason::Quit).await;
    host.shutdown().await;
    Ok(answer)
}
