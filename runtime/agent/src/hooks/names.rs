//! Names of the events that extensions can subscribe to (spec/extension-api.md §5).

use pier_protocol::event::{AgentEvent, CompactionReason};

macro_rules! hook_events {
    ($($variant:ident = $name:literal),* $(,)?) => {
        /// Every event that an extension can subscribe to, by its wire name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum HookEvent { $($variant),* }

        impl HookEvent {
            pub const ALL: &[HookEvent] = &[$(HookEvent::$variant),*];

            /// The name in `pi.on(name, …)`.
            pub fn as_str(self) -> &'static str {
                match self { $(HookEvent::$variant => $name),* }
            }

            /// `None` for a name that never fires.
            pub fn parse(name: &str) -> Option<Self> {
                match name { $($name => Some(HookEvent::$variant),)* _ => None }
            }
        }
    };
}

hook_events! {
    ProjectTrust = "project_trust",
    ResourcesDiscover = "resources_discover",
    SessionStart = "session_start",
    SessionInfoChanged = "session_info_changed",
    SessionBeforeSwitch = "session_before_switch",
    SessionSwitch = "session_switch",
    SessionBeforeBranch = "session_before_branch",
    SessionBranch = "session_branch",
    SessionBeforeFork = "session_before_fork",
    SessionFork = "session_fork",
    SessionBeforeCompact = "session_before_compact",
    SessionCompacting = "session.compacting",
    SessionCompact = "session_compact",
    SessionCompactFailed = "session_compact_failed",
    SessionBeforeTree = "session_before_tree",
    SessionTree = "session_tree",
    SessionShutdown = "session_shutdown",
    Input = "input",
    BeforeAgentStart = "before_agent_start",
    Context = "context",
    ContextWithSystem = "context_with_system",
    BeforeProviderRequest = "before_provider_request",
    BeforeProviderHeaders = "before_provider_headers",
    AfterProviderResponse = "after_provider_response",
    ProviderStreamEvent = "provider_stream_event",
    LlmTrace = "llm_trace",
    AgentStart = "agent_start",
    AgentEnd = "agent_end",
    AgentBeforeSettle = "agent_before_settle",
    AgentSettled = "agent_settled",
    TurnStart = "turn_start",
    TurnEnd = "turn_end",
    MessageStart = "message_start",
    MessageUpdate = "message_update",
    MessageEnd = "message_end",
    ToolCall = "tool_call",
    ToolResult = "tool_result",
    ToolExecutionStart = "tool_execution_start",
    ToolExecutionUpdate = "tool_execution_update",
    ToolExecutionEnd = "tool_execution_end",
    AutoCompactionStart = "auto_compaction_start",
    AutoCompactionEnd = "auto_compaction_end",
    AutoRetryStart = "auto_retry_start",
    AutoRetryEnd = "auto_retry_end",
    ModelSelect = "model_select",
    ThinkingLevelSelect = "thinking_level_select",
    UiPromptStart = "ui_prompt_start",
    UiPromptEnd = "ui_prompt_end",
    UserBash = "user_bash",
    UserPython = "user_python",
    McpServersChange = "mcp_servers_change",
    CacheWarmingDecision = "cache_warming_decision",
    TtsrTriggered = "ttsr_triggered",
    TodoReminder = "todo_reminder",
    SessionDirectory = "session_directory",
}

impl HookEvent {
    /// The extension event that announces a session event. `None` for events that extensions do not get, or get through
    /// a method of their own ([`super::ExtensionHooks::message_update`], `message_end`, `turn_end`).
    pub fn of(event: &AgentEvent) -> Option<Self> {
        match event {
            // Extensions of xcsh know only automatic compactions, under another name.
            AgentEvent::CompactionStart { reason } => {
                (*reason != CompactionReason::Manual).then_some(HookEvent::AutoCompactionStart)
            }
            AgentEvent::CompactionEnd { reason, .. } => {
                (*reason != CompactionReason::Manual).then_some(HookEvent::AutoCompactionEnd)
            }
            AgentEvent::MessageUpdate { .. }
            | AgentEvent::MessageEnd { .. }
            | AgentEvent::TurnEnd { .. } => None,
            other => HookEvent::parse(other.name()),
        }
    }
}
