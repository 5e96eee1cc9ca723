//! A session in a temporary directory with tools, hooks and a log of its events.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use pier_agent::agent_session::{Disposition, PromptRequest, SessionError};
use pier_agent::events::{EventListener, Subscription};
use pier_agent::hooks::*;
use pier_agent::host::HostActions;
use pier_agent::prompt::PromptConfig;
use pier_agent::provider::scripted::ScriptedProvider;
use pier_agent::provider::{ModelProvider, ProviderRegistry};
use pier_agent::session::{NewSession, SessionDirs, SessionManager, SessionOptions};
use pier_agent::settings::SettingsStore;
use pier_agent::tool::{
    ExecutionMode, Tool, ToolCall, ToolError, ToolFilter, ToolOutput, ToolRegistry, ToolSpec,
};
use pier_agent::{AgentConfig, AgentSession};
use pier_protocol::event::AgentEvent;
use pier_protocol::extension::{ExtensionErrorReport, SourceInfo};
use pier_protocol::message::{Block, Message, joined_text};
use pier_protocol::model::Model;
use serde_json::{Value, json};

/// Longest wait of a test for anything.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Events as short lines.
#[derive(Default)]
pub struct Log {
    lines: Mutex<Vec<String>>,
    events: Mutex<Vec<Arc<AgentEvent>>>,
    updates: AtomicUsize,
    changed: tokio::sync::Notify,
}

impl Log {
    /// The lines so far, which are removed.
    pub fn take(&self) -> Vec<String> {
        self.events.lock().clear();
        std::mem::take(&mut *self.lines.lock())
    }

    pub fn lines(&self) -> Vec<String> {
        self.lines.lock().clone()
    }

    pub fn events(&self) -> Vec<Arc<AgentEvent>> {
        self.events.lock().clone()
    }

    pub fn updates(&self) -> usize {
        self.updates.load(Ordering::SeqCst)
    }

    /// Waits for a line that starts with `prefix`.
    pub async fn wait_for(&self, prefix: &str) {
        let found = async {
            loop {
                let changed = self.changed.notified();
                if self
                    .lines
                    .lock()
                    .iter()
                    .any(|line| line.starts_with(prefix))
                {
                    return;
                }
                changed.await;
            }
        };
        if tokio::time::timeout(PATIENCE, found).await.is_err() {
            panic!("no event \"{prefix}\" in {:#?}", self.lines());
        }
    }

    pub async fn wait_for_updates(&self, count: usize) {
        let found = async {
            loop {
                let changed = self.changed.notified();
                if self.updates() >= count {
                    return;
                }
                changed.await;
            }
        };
        assert!(
            tokio::time::timeout(PATIENCE, found).await.is_ok(),
            "{} updates",
            self.updates()
        );
    }
}

#[async_trait]
impl EventListener for Log {
    async fn on_event(&self, event: &Arc<AgentEvent>) {
        if matches!(**event, AgentEvent::MessageUpdate { .. }) {
            self.updates.fetch_add(1, Ordering::SeqCst);
        } else {
            self.lines.lock().push(line(event));
            self.events.lock().push(event.clone());
        }
        self.changed.notify_waiters();
    }
}

fn describe(message: &Message) -> String {
    match message {
        Message::Assistant(answer) => {
            let parts: Vec<String> = answer
                .content
                .iter()
                .map(|block| match block {
                    Block::ToolCall(call) => format!("<{} {}>", call.name, call.id),
                    Block::Thinking(thinking) => format!("({})", thinking.thinking),
                    other => other.as_text().unwrap_or("?").to_owned(),
                })
                .collect();
            let error = answer
                .error_message
                .as_deref()
                .map(|text| format!(" !{text}"))
                .unwrap_or_default();
            format!(
                "assistant {} [{}]{error}",
                answer.stop_reason.as_str(),
                parts.join(" ")
            )
        }
        Message::ToolResult(result) => {
            let error = if result.is_error { " ERR" } else { "" };
            format!(
                "toolResult {} [{}]{error}",
                result.tool_call_id,
                joined_text(&result.content)
            )
        }
        Message::System(_) => "system".to_owned(),
        other => format!("{} [{}]", other.role(), other.text()),
    }
}

fn line(event: &AgentEvent) -> String {
    let name = event.name();
    match event {
        AgentEvent::MessageStart { message } | AgentEvent::MessageEnd { message } => {
            format!("{name} {}", describe(message))
        }
        AgentEvent::TurnEnd {
            message,
            tool_results,
            ..
        } => {
            let stop = message
                .as_assistant()
                .map_or("?", |answer| answer.stop_reason.as_str());
            format!("{name} {stop} {}", tool_results.len())
        }
        AgentEvent::AgentEnd {
            messages,
            will_retry,
        } => format!("{name} {} {will_retry}", messages.len()),
        AgentEvent::AgentSettled { aborted } => format!("{name} {aborted}"),
        AgentEvent::ToolExecutionStart { tool_call_id, .. } => format!("{name} {tool_call_id}"),
        AgentEvent::ToolExecutionUpdate {
            tool_call_id,
            partial_result,
            ..
        } => {
            format!(
                "{name} {tool_call_id} [{}]",
                joined_text(&partial_result.content)
            )
        }
        AgentEvent::ToolExecutionEnd {
            tool_call_id,
            result,
            is_error,
            duration_ms,
            ..
        } => {
            let error = if *is_error { " ERR" } else { "" };
            let ran = if duration_ms.is_some() {
                ""
            } else {
                " never ran"
            };
            format!(
                "{name} {tool_call_id} [{}]{error}{ran}",
                joined_text(&result.content)
            )
        }
        AgentEvent::QueueUpdate {
            steering,
            follow_up,
        } => format!("{name} {steering:?} {follow_up:?}"),
        AgentEvent::EntryAppended { entry } => format!("{name} {}", entry.entry_type()),
        AgentEvent::CompactionStart { reason } => format!("{name} {}", reason.as_str()),
        AgentEvent::CompactionEnd {
            reason,
            result,
            aborted,
            will_retry,
            error_message,
        } => {
            let result = if result.is_some() { "done" } else { "none" };
            let error = error_message
                .as_deref()
                .map(|text| format!(" !{text}"))
                .unwrap_or_default();
            format!(
                "{name} {} {result} aborted={aborted} retry={will_retry}{error}",
                reason.as_str()
            )
        }
        AgentEvent::AutoRetryStart {
            attempt,
            max_attempts,
            delay_ms,
            error_message,
        } => {
            format!("{name} {attempt}/{max_attempts} {delay_ms} {error_message}")
        }
        AgentEvent::AutoRetryEnd {
            success,
            attempt,
            final_error,
        } => {
            format!(
                "{name} {success} {attempt} {}",
                final_error.as_deref().unwrap_or("-")
            )
        }
        AgentEvent::ThinkingLevelChanged { level } => format!("{name} {level}"),
        AgentEvent::SessionInfoChanged { name: session } => format!("{name} {session:?}"),
        AgentEvent::BashExecutionUpdate { delta, .. } => format!("{name} {delta:?}"),
        _ => name.to_owned(),
    }
}

type Hook<I, O> = Mutex<Option<Box<dyn Fn(I) -> O + Send + Sync>>>;

/// Hooks whose behaviour a test sets member by member. A member that is not set is not subscribed.
#[derive(Default)]
pub struct TestHooks {
    pub input: Hook<InputEvent, InputOutcome>,
    pub command: Hook<(String, String), Option<()>>,
    pub before_agent_start: Hook<BeforeAgentStart, BeforeAgentStartOutcome>,
    pub context: Hook<Vec<Arc<Message>>, Option<Vec<Arc<Message>>>>,
    pub tool_call: Hook<ToolCallEvent, ToolCallOutcome>,
    pub tool_result: Hook<ToolResultEvent, ToolResultPatch>,
    pub message_end: Hook<Arc<Message>, Option<Message>>,
    pub turn_end: Hook<TurnEndEvent, BoundaryOutcome>,
    pub before_settle: Hook<BeforeSettleEvent, BoundaryOutcome>,
    pub before_compact: Hook<BeforeCompactEvent, BeforeCompactOutcome>,
    pub compacting: Hook<CompactingEvent, CompactingOutcome>,
    pub before_switch: Hook<BeforeSwitchEvent, bool>,
    pub before_fork: Hook<BeforeForkEvent, bool>,
    pub before_tree: Hook<BeforeTreeEvent, BeforeTreeOutcome>,
    pub user_bash: Hook<UserBashEvent, Result<UserBashOutcome, HookFailure>>,
    pub notify: Hook<Notification, ()>,
    /// Holds up every notification for a moment; proves that the loop waits.
    pub slow: Mutex<Option<Duration>>,
}

impl TestHooks {
    fn call<I, O>(hook: &Hook<I, O>, input: I) -> Option<O> {
        hook.lock().as_ref().map(|hook| hook(input))
    }
}

/// Sets a hook.
pub fn set<I, O>(hook: &Hook<I, O>, f: impl Fn(I) -> O + Send + Sync + 'static) {
    *hook.lock() = Some(Box::new(f));
}

#[async_trait]
impl ExtensionHooks for TestHooks {
    fn subscribed(&self, event: HookEvent) -> bool {
        match event {
            HookEvent::Input => self.input.lock().is_some(),
            HookEvent::BeforeAgentStart => self.before_agent_start.lock().is_some(),
            HookEvent::Context => self.context.lock().is_some(),
            HookEvent::ToolCall => self.tool_call.lock().is_some(),
            HookEvent::ToolResult => self.tool_result.lock().is_some(),
            HookEvent::MessageEnd => self.message_end.lock().is_some(),
            HookEvent::TurnEnd => self.turn_end.lock().is_some(),
            HookEvent::AgentBeforeSettle => self.before_settle.lock().is_some(),
            HookEvent::SessionBeforeCompact => self.before_compact.lock().is_some(),
            HookEvent::SessionCompacting => self.compacting.lock().is_some(),
            HookEvent::SessionBeforeSwitch => self.before_switch.lock().is_some(),
            HookEvent::SessionBeforeFork => self.before_fork.lock().is_some(),
            HookEvent::SessionBeforeTree => self.before_tree.lock().is_some(),
            HookEvent::UserBash => self.user_bash.lock().is_some(),
            HookEvent::ContextWithSystem
            | HookEvent::BeforeProviderRequest
            | HookEvent::BeforeProviderHeaders
            | HookEvent::MessageUpdate
            | HookEvent::ResourcesDiscover => false,
            _ => self.notify.lock().is_some(),
        }
    }

    /// Takes its time for a text that begins with "slow".
    async fn input(&self, event: InputEvent) -> InputOutcome {
        if event.text.starts_with("slow") {
            tokio::time::sleep(Duration::from_millis(60)).await;
        }
        Self::call(&self.input, event).unwrap_or_default()
    }

    async fn run_command(&self, name: &str, args: &str) -> Option<()> {
        Self::call(&self.command, (name.to_owned(), args.to_owned())).flatten()
    }

    fn is_command(&self, name: &str) -> bool {
        self.command.lock().is_some() && name == "cmd"
    }

    async fn before_agent_start(&self, event: BeforeAgentStart) -> BeforeAgentStartOutcome {
        Self::call(&self.before_agent_start, event).unwrap_or_default()
    }

    async fn context(&self, messages: &[Arc<Message>]) -> Option<Vec<Arc<Message>>> {
        Self::call(&self.context, messages.to_vec()).flatten()
    }

    async fn tool_call(&self, event: ToolCallEvent) -> ToolCallOutcome {
        Self::call(&self.tool_call, event).unwrap_or_default()
    }

    async fn tool_result(&self, event: ToolResultEvent) -> ToolResultPatch {
        Self::call(&self.tool_result, event).unwrap_or_default()
    }

    async fn message_end(&self, message: &Arc<Message>) -> Option<Message> {
        Self::call(&self.message_end, message.clone()).flatten()
    }

    async fn turn_end(&self, event: TurnEndEvent) -> BoundaryOutcome {
        Self::call(&self.turn_end, event).unwrap_or_default()
    }

    async fn agent_before_settle(&self, event: BeforeSettleEvent) -> BoundaryOutcome {
        Self::call(&self.before_settle, event).unwrap_or_default()
    }

    async fn user_bash(&self, event: UserBashEvent) -> Result<UserBashOutcome, HookFailure> {
        Self::call(&self.user_bash, event).unwrap_or(Ok(UserBashOutcome::Run))
    }

    async fn session_before_switch(&self, event: BeforeSwitchEvent) -> bool {
        Self::call(&self.before_switch, event).unwrap_or(false)
    }

    async fn session_before_fork(&self, event: BeforeForkEvent) -> bool {
        Self::call(&self.before_fork, event).unwrap_or_default()
    }

    async fn session_before_compact(&self, event: BeforeCompactEvent) -> BeforeCompactOutcome {
        Self::call(&self.before_compact, event).unwrap_or_default()
    }

    async fn session_compacting(&self, event: CompactingEvent) -> CompactingOutcome {
        Self::call(&self.compacting, event).unwrap_or_default()
    }

    async fn session_before_tree(&self, event: BeforeTreeEvent) -> BeforeTreeOutcome {
        Self::call(&self.before_tree, event).unwrap_or_default()
    }

    async fn notify(&self, notification: Notification) {
        let delay = *self.slow.lock();
        if let Some(delay) = delay {
            tokio::time::sleep(delay).await;
        }
        Self::call(&self.notify, notification);
    }
}

/// Collects what the session tells its host.
#[derive(Default)]
pub struct TestHost {
    pub errors: Mutex<Vec<ExtensionErrorReport>>,
    pub warnings: Mutex<Vec<String>>,
    pub reloads: Mutex<Vec<String>>,
    changed: tokio::sync::Notify,
}

impl TestHost {
    pub async fn wait_for_error(&self) -> ExtensionErrorReport {
        let found = async {
            loop {
                let changed = self.changed.notified();
                if let Some(report) = self.errors.lock().first().cloned() {
                    return report;
                }
                changed.await;
            }
        };
        tokio::time::timeout(PATIENCE, found)
            .await
            .expect("an error report")
    }
}

#[async_trait]
impl HostActions for TestHost {
    fn report_error(&self, report: ExtensionErrorReport) {
        self.errors.lock().push(report);
        self.changed.notify_waiters();
    }

    fn warn(&self, message: &str) {
        self.warnings.lock().push(message.to_owned());
    }

    async fn reload_runtime(
        &self,
        ended: ShutdownReason,
        starting: SessionStartReason,
    ) -> Result<(), String> {
        self.reloads
            .lock()
            .push(format!("{} {}", ended.as_str(), starting.as_str()));
        Ok(())
    }
}

type Body = Arc<
    dyn Fn(ToolCall) -> futures::future::BoxFuture<'static, Result<ToolOutput, ToolError>>
        + Send
        + Sync,
>;

/// A tool made of a closure.
pub struct TestTool {
    spec: ToolSpec,
    body: Body,
}

#[async_trait]
impl Tool for TestTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn execute(&self, call: ToolCall) -> Result<ToolOutput, ToolError> {
        (self.body)(call).await
    }
}

pub fn tool<F, R>(name: &str, parameters: Value, mode: ExecutionMode, body: F) -> Arc<dyn Tool>
where
    F: Fn(ToolCall) -> R + Send + Sync + 'static,
    R: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
{
    let mut spec = ToolSpec::new(name, name, parameters, SourceInfo::builtin("test"));
    spec.execution_mode = mode;
    Arc::new(TestTool {
        spec,
        body: Arc::new(move |call| Box::pin(body(call))),
    })
}

fn object(properties: Value, required: Value) -> Value {
    json!({"type": "object", "properties": properties, "required": required})
}

/// `echo slow seq boom finish`, as the recorded demo extension has them.
pub fn demo_tools() -> Vec<Arc<dyn Tool>> {
    use ExecutionMode::{Parallel, Sequential};
    let text = |call: &ToolCall, name: &str| call.args[name].as_str().unwrap_or("?").to_owned();
    vec![
        tool(
            "echo",
            object(
                json!({"text": {"type": "string"}, "n": {"type": "number"}}),
                json!(["text"]),
            ),
            Parallel,
            move |call| async move {
                let said = text(&call, "text");
                call.updates
                    .send(ToolOutput::text(format!("partial {said}")));
                Ok(ToolOutput {
                    details: Some(json!({"length": said.len(), "n": call.args["n"]})),
                    ..ToolOutput::text(format!("echoed {said}"))
                })
            },
        ),
        tool(
            "slow",
            object(
                json!({"ms": {"type": "number"}, "tag": {"type": "string"}}),
                json!(["ms", "tag"]),
            ),
            Parallel,
            move |call| async move {
                let ms = call.args["ms"].as_u64().unwrap_or(0);
                tokio::select! {
                    () = tokio::time::sleep(Duration::from_millis(ms)) => {}
                    () = call.cancel.cancelled() => return Err(ToolError::failed("slow aborted")),
                }
                Ok(ToolOutput::text(format!(
                    "slept {ms} {}",
                    text(&call, "tag")
                )))
            },
        ),
        tool(
            "seq",
            object(json!({"tag": {"type": "string"}}), json!(["tag"])),
            Sequential,
            move |call| async move { Ok(ToolOutput::text(format!("seq {}", text(&call, "tag")))) },
        ),
        tool("boom", object(json!({}), json!([])), Parallel, |_| async {
            Err(ToolError::failed("boom failed"))
        }),
        tool(
            "finish",
            object(json!({}), json!([])),
            Parallel,
            |_| async {
                Ok(ToolOutput {
                    terminate: Some(true),
                    ..ToolOutput::text("finished")
                })
            },
        ),
    ]
}

/// What a lab is made of.
pub struct Setup {
    pub settings: Value,
    pub provider: Option<Arc<dyn ModelProvider>>,
    pub model: &'static str,
    pub tools: Vec<Arc<dyn Tool>>,
    pub stored: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Setup {
            settings: json!({}),
            provider: None,
            model: "scripted-1",
            tools: demo_tools(),
            stored: false,
        }
    }
}

/// A session with its surroundings.
pub struct Lab {
    pub session: AgentSession,
    pub log: Arc<Log>,
    pub hooks: Arc<TestHooks>,
    pub host: Arc<TestHost>,
    pub dir: tempfile::TempDir,
    _subscription: Subscription,
}

impl Lab {
    pub async fn new() -> Self {
        Self::with(Setup::default()).await
    }

    pub async fn with_settings(settings: Value) -> Self {
        Self::with(Setup {
            settings,
            ..Setup::default()
        })
        .await
    }

    pub async fn with(setup: Setup) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let options = SessionOptions::new(SessionDirs::new(dir.path(), dir.path().join("agent")));
        let manager = if setup.stored {
            SessionManager::create(&options, NewSession::default())
        } else {
            SessionManager::in_memory(&options, NewSession::default())
        };
        Self::around(manager.unwrap(), setup, dir).await
    }

    pub async fn around(manager: SessionManager, setup: Setup, dir: tempfile::TempDir) -> Self {
        let Value::Object(settings) = setup.settings else {
            panic!("settings must be an object")
        };
        let providers = Arc::new(ProviderRegistry::new());
        let provider = setup
            .provider
            .unwrap_or_else(|| Arc::new(ScriptedProvider::new()));
        providers.register("test", "scripted", provider, ScriptedProvider::models());
        let model: Option<Arc<Model>> = providers.find("scripted", setup.model);
        let tools = Arc::new(ToolRegistry::new(ToolFilter::default()));
        for tool in setup.tools {
            tools.register("test", tool);
        }
        let (hooks, host) = (
            Arc::new(TestHooks::default()),
            Arc::new(TestHost::default()),
        );
        let session = AgentSession::new(AgentConfig {
            session: manager,
            settings: Arc::new(SettingsStore::in_memory(settings)),
            providers,
            tools,
            hooks: hooks.clone(),
            host: host.clone(),
            prompt: PromptConfig::default(),
            model,
            thinking_level: None,
            scoped_models: Vec::new(),
        });
        let log = Arc::new(Log::default());
        let subscription = session.subscribe(log.clone());
        session.start(SessionStartReason::Startup).await;
        Lab {
            session,
            log,
            hooks,
            host,
            dir,
            _subscription: subscription,
        }
    }

    pub async fn submit(&self, request: PromptRequest) -> Result<Disposition, SessionError> {
        tokio::time::timeout(PATIENCE, self.session.prompt(request))
            .await
            .expect("an answer to the prompt")
    }

    /// Starts a run.
    pub async fn start(&self, text: &str) {
        let admitted = self
            .submit(PromptRequest::new(text, InputSource::Rpc))
            .await;
        assert!(matches!(admitted, Ok(Disposition::Started)), "{admitted:?}");
    }

    pub async fn settled(&self) {
        let settled = tokio::time::timeout(PATIENCE, self.session.run_settled()).await;
        assert!(
            settled.is_ok(),
            "the run did not settle: {:#?}",
            self.log.lines()
        );
    }

    /// Runs a prompt to its end and returns its events.
    pub async fn run(&self, text: &str) -> Vec<String> {
        self.log.take();
        self.start(text).await;
        self.settled().await;
        self.log.take()
    }

    /// Runs a first prompt so that later ones need no system message.
    pub async fn warmed(self) -> Self {
        self.run("hello").await;
        self
    }

    /// Types of the entries on the branch.
    pub fn entry_types(&self) -> Vec<String> {
        self.session
            .session()
            .get_branch(None)
            .iter()
            .map(|entry| entry.entry_type().to_owned())
            .collect()
    }

    pub fn file(&self) -> PathBuf {
        self.session
            .session()
            .session_file()
            .expect("a session with a file")
    }
}

/// Short names of a sequence: the first words of each line up to `words`.
pub fn heads(lines: &[String], words: usize) -> Vec<String> {
    lines
        .iter()
        .map(|line| line.split(' ').take(words).collect::<Vec<_>>().join(" "))
        .collect()
}
