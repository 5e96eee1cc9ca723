//! [`SessionPort`] over the real session.

use std::path::PathBuf;

use async_trait::async_trait;
use pier_agent::AgentSession;
use pier_agent::agent_session::{
    CustomMessageRequest, DeliveryOptions, ForkRequest, NavigateOptions, SessionError,
    UserMessageOptions,
};
use pier_agent::hooks::ForkPosition;
use pier_agent::tool::ToolContext;
use pier_protocol::entry::{EntryBody, SessionEntry, UnknownEntry};
use pier_protocol::message::Content;
use pier_protocol::model::ThinkingLevel;
use serde_json::{Map, Value, json};

use crate::session_port::{RunHandle, SessionPort};

/// Gives templates and skills in the form of `SlashCommandInfo`; the program that loaded them supplies it.
pub type PromptCommands = std::sync::Arc<dyn Fn() -> Vec<Value> + Send + Sync>;

/// The port of an [`AgentSession`].
pub struct AgentPort {
    session: AgentSession,
    prompt_commands: PromptCommands,
}

impl AgentPort {
    /// Wraps a session.
    pub fn new(session: AgentSession, prompt_commands: PromptCommands) -> Self {
        Self {
            session,
            prompt_commands,
        }
    }
}

fn text(error: SessionError) -> String {
    error.to_string()
}

fn json_of(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap_or(Value::Null)
}

#[async_trait]
impl SessionPort for AgentPort {
    fn session_id(&self) -> String {
        self.session.session().session_id()
    }

    fn state(&self) -> Map<String, Value> {
        let session = &self.session;
        let mut state = Map::new();
        if let Some(model) = session.model() {
            state.insert("model".into(), json_of(&*model));
        }
        state.insert(
            "thinkingLevel".into(),
            json!(session.thinking_level().as_str()),
        );
        state.insert("idle".into(), json!(session.is_idle()));
        state.insert(
            "pendingMessages".into(),
            json!(session.has_pending_messages()),
        );
        state.insert("activeTools".into(), json!(session.active_tools()));
        if let Some(usage) = session.context_usage() {
            state.insert("contextUsage".into(), json_of(&usage));
        }
        state.insert("systemPrompt".into(), json!(session.system_prompt()));
        let scoped: Vec<Value> = session
            .scoped_models()
            .iter()
            .map(|scoped| {
                let mut entry = json!({"model": json_of(&*scoped.model)});
                if let Some(level) = scoped.thinking_level {
                    entry["thinkingLevel"] = json!(level.as_str());
                }
                entry
            })
            .collect();
        state.insert("scopedModels".into(), Value::Array(scoped));
        let (epoch, version) = session.with_session(|manager| (manager.epoch(), manager.version()));
        state.insert("sessionEpoch".into(), json!(epoch));
        state.insert("sessionVersion".into(), json!(version));
        state
    }

    fn state_version(&self) -> u64 {
        // Both only grow within an epoch, and epochs grow: the sum changes whenever a part does.
        let (epoch, version) = self
            .session
            .with_session(|manager| (manager.epoch(), manager.version()));
        self.session
            .state_version()
            .wrapping_add(epoch << 32)
            .wrapping_add(version)
    }

    fn changes_since(&self, epoch: u64, version: u64) -> Result<String, String> {
        let changes = self
            .session
            .with_session(|manager| manager.changes_since(epoch, version));
        serde_json::to_string(&changes).map_err(|error| error.to_string())
    }

    fn cwd(&self) -> PathBuf {
        self.session.cwd()
    }

    fn settings(&self) -> Value {
        Value::Object(self.session.settings().get().raw.clone())
    }

    fn tool_context(&self) -> ToolContext {
        self.session.tool_context()
    }

    fn prompt_commands(&self) -> Vec<Value> {
        (self.prompt_commands)()
    }

    fn system_prompt_options(&self) -> Value {
        self.session.prompt_options().to_value()
    }

    fn artifacts_dir(&self) -> Option<PathBuf> {
        self.session
            .with_session(|manager| manager.session_file())
            .map(|file| file.with_extension(""))
    }

    fn run(&self) -> Option<RunHandle> {
        self.session
            .current_run()
            .map(|(id, cancel)| RunHandle { id, cancel })
    }

    fn send_message(&self, message: CustomMessageRequest, options: DeliveryOptions) {
        self.session.send_custom_message(message, options);
    }

    fn send_user_message(&self, content: Content, options: UserMessageOptions) {
        self.session.send_user_message(content, options);
    }

    fn append_entry(&self, custom_type: &str, data: Option<Value>) -> Result<String, String> {
        self.session
            .append_custom_entry(custom_type, data)
            .map_err(text)
    }

    fn append_raw(&self, entry: Value) -> Result<String, String> {
        let Value::Object(mut members) = entry else {
            return Err("an entry must be an object".into());
        };
        if members.get("type").and_then(Value::as_str) == Some("leaf") {
            let target = members
                .get("targetId")
                .and_then(Value::as_str)
                .map(str::to_string);
            return self.session.with_session(|manager| match &target {
                Some(id) => manager
                    .branch(id)
                    .map(|()| id.clone())
                    .map_err(|error| error.to_string()),
                None => {
                    manager.reset_leaf();
                    Ok(String::new())
                }
            });
        }
        // The id is a placeholder: appending gives the entry its own, with parent and time.
        members.insert("id".into(), json!("new"));
        let entry: SessionEntry =
            serde_json::from_value(Value::Object(members)).map_err(|error| error.to_string())?;
        if let EntryBody::Unknown(UnknownEntry {
            entry_type,
            problem,
            ..
        }) = &entry.body
        {
            let problem = problem.clone().unwrap_or_else(|| "unknown type".into());
            return Err(format!("entry of type \"{entry_type}\": {problem}"));
        }
        let appended = self
            .session
            .with_session(|manager| manager.append(entry.body));
        appended
            .map(|entry| entry.id().to_string())
            .map_err(|error| error.to_string())
    }

    fn set_label(&self, entry_id: &str, label: Option<&str>) -> Result<(), String> {
        self.session.set_label(entry_id, label).map_err(text)
    }

    fn set_active_tools(&self, names: &[String]) {
        self.session.set_active_tools(names);
    }

    fn request_abort(&self) {
        self.session.request_abort();
    }

    fn request_shutdown(&self) {
        self.session.host().request_shutdown();
    }

    async fn set_thinking_level(&self, level: &str) -> Result<(), String> {
        // An unknown word means the lowest level of the model (spec/agent-loop.md §8).
        let level = ThinkingLevel::parse(level).unwrap_or_default();
        self.session.set_thinking_level(level).await;
        Ok(())
    }

    async fn set_session_name(&self, name: &str) -> Result<(), String> {
        self.session.set_session_name(name).await.map_err(text)
    }

    async fn set_model(&self, provider: &str, id: &str) -> Result<bool, String> {
        match self.session.set_model(provider, id).await {
            Ok(_) => Ok(true),
            Err(SessionError::ModelNotFound { .. } | SessionError::NoCredentials { .. }) => {
                Ok(false)
            }
            Err(error) => Err(text(error)),
        }
    }

    async fn wait_for_idle(&self) {
        self.session.run_settled().await;
    }

    async fn compact(&self, instructions: Option<String>) -> Result<Value, String> {
        self.session
            .compact(instructions)
            .await
            .map(|result| json_of(&result))
            .map_err(text)
    }

    async fn new_session(&self, parent: Option<String>) -> Result<bool, String> {
        self.session.new_session(parent).await.map_err(text)
    }

    async fn switch_session(&self, path: PathBuf) -> Result<bool, String> {
        self.session.switch_session(path).await.map_err(text)
    }

    async fn fork(&self, entry_id: String, position: ForkPosition) -> Result<bool, String> {
        self.session
            .fork(ForkRequest { entry_id, position })
            .await
            .map(|outcome| outcome.cancelled)
            .map_err(text)
    }

    async fn navigate(&self, target_id: &str, options: NavigateOptions) -> Result<bool, String> {
        self.session
            .navigate(target_id, options)
            .await
            .map(|outcome| outcome.cancelled)
            .map_err(text)
    }

    async fn reload(&self) -> Result<(), String> {
        self.session.reload().await.map_err(text)
    }

    async fn reopen(&self) -> Result<(), String> {
        let file = self.session.with_session(|manager| manager.session_file());
        match file {
            Some(file) => self
                .session
                .switch_session(file)
                .await
                .map(|_| ())
                .map_err(text),
            None => Ok(()),
        }
    }
}
