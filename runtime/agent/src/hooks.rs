//! The one door through which extensions take part in a session (design: "`agent` has one hook trait").
//!
//! The bridge implements [`ExtensionHooks`] for isolates, tests implement it in memory. Every method returns one
//! combined outcome: the order of handlers, chaining, short circuits and deadlines are the implementer's
//! (spec/extension-api.md §5). The agent never learns what language an extension is written in, and an
//! implementation must return within its own bounds: the loop waits for it.

mod events;
mod names;

use std::sync::Arc;

use async_trait::async_trait;
use pier_protocol::event::AgentEvent;
use pier_protocol::message::Message;
use serde_json::Value;

pub use events::*;
pub use names::HookEvent;

/// Extensions as the agent sees them. All defaults do nothing.
///
/// The loop calls a method only after [`ExtensionHooks::subscribed`] said that someone listens, except
/// [`ExtensionHooks::notify`] for session lifecycle events, which is always called.
#[async_trait]
pub trait ExtensionHooks: Send + Sync {
    /// Whether any handler listens to `event`. Asked before anything is copied or serialised, so it must be cheap.
    fn subscribed(&self, event: HookEvent) -> bool;

    async fn input(&self, _event: InputEvent) -> InputOutcome {
        InputOutcome::Continue
    }

    /// Runs the extension command `name` when one is registered; `None` when the text is no extension command.
    /// `args` is the rest of the line after the first space, untouched. Errors were reported by the implementer.
    async fn run_command(&self, _name: &str, _args: &str) -> Option<()> {
        None
    }

    /// Whether `name` is an extension command, without running it.
    fn is_command(&self, _name: &str) -> bool {
        false
    }

    async fn before_agent_start(&self, _event: BeforeAgentStart) -> BeforeAgentStartOutcome {
        BeforeAgentStartOutcome::default()
    }

    /// System messages are not in the list. `None` = unchanged.
    async fn context(&self, _messages: &[Arc<Message>]) -> Option<Vec<Arc<Message>>> {
        None
    }

    /// As `context`, with system messages.
    async fn context_with_system(&self, _messages: &[Arc<Message>]) -> Option<Vec<Arc<Message>>> {
        None
    }

    /// `None` = unchanged.
    async fn before_provider_request(&self, _payload: &Value) -> Option<Value> {
        None
    }

    /// Headers as an object; a `null` member deletes one. `None` = unchanged.
    async fn before_provider_headers(&self, _headers: &Value) -> Option<Value> {
        None
    }

    async fn tool_call(&self, _event: ToolCallEvent) -> ToolCallOutcome {
        ToolCallOutcome::default()
    }

    async fn tool_result(&self, _event: ToolResultEvent) -> ToolResultPatch {
        ToolResultPatch::default()
    }

    /// A replacement of the same role, or `None`. Called for every message, before the `message_end` event is written.
    async fn message_end(&self, _message: &Arc<Message>) -> Option<Message> {
        None
    }

    /// Called before the `turn_end` event is written.
    async fn turn_end(&self, _event: TurnEndEvent) -> BoundaryOutcome {
        BoundaryOutcome::default()
    }

    async fn agent_before_settle(&self, _event: BeforeSettleEvent) -> BoundaryOutcome {
        BoundaryOutcome::default()
    }

    /// An error prevents the command from running.
    async fn user_bash(&self, _event: UserBashEvent) -> Result<UserBashOutcome, HookFailure> {
        Ok(UserBashOutcome::Run)
    }

    /// True = cancelled.
    async fn session_before_switch(&self, _event: BeforeSwitchEvent) -> bool {
        false
    }

    /// True when a handler cancelled it. Asked also when nobody subscribed: what follows is named by the position.
    async fn session_before_fork(&self, _event: BeforeForkEvent) -> bool {
        false
    }

    async fn session_before_compact(&self, _event: BeforeCompactEvent) -> BeforeCompactOutcome {
        BeforeCompactOutcome::Continue
    }

    async fn session_compacting(&self, _event: CompactingEvent) -> CompactingOutcome {
        CompactingOutcome::default()
    }

    async fn session_before_tree(&self, _event: BeforeTreeEvent) -> BeforeTreeOutcome {
        BeforeTreeOutcome::default()
    }

    async fn resources_discover(
        &self,
        _cwd: &std::path::Path,
        _reason: SessionStartReason,
    ) -> DiscoveredResources {
        DiscoveredResources::default()
    }

    /// The loop waits until every handler returned.
    async fn notify(&self, _notification: Notification) {}

    /// Queues a `message_update`. Returns once it is queued, not once handlers ran; may wait for room in a bounded
    /// queue. The implementer keeps updates before the `message_end` of the same message.
    async fn message_update(&self, _event: &Arc<AgentEvent>) {}
}

/// No extensions.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHooks;

#[async_trait]
impl ExtensionHooks for NoHooks {
    fn subscribed(&self, _event: HookEvent) -> bool {
        false
    }
}
