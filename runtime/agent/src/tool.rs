//! The tool interface and the registry of tools (spec/agent-loop.md §4.1, spec/extension-api.md §6).
//!
//! Built-in tools, extension tools and tools of an RPC host all implement [`Tool`]. The interception pipeline
//! (validation, hooks, events) lives in the loop, so a tool only runs.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::RwLock;
use pier_protocol::message::ToolCallBlock;
pub use pier_protocol::tool::{
    ExecutionMode, Exposure, IS_WARNING, ToolDeclaration, ToolOutput, ToolSpec,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub use crate::updates::ToolUpdates;

/// Why a call failed. The text becomes the content of the error result.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ToolError {
    #[error("{0}")]
    Failed(String),
    #[error("Operation aborted")]
    Aborted,
}

impl ToolError {
    pub fn failed(text: impl Into<String>) -> Self {
        ToolError::Failed(text.into())
    }
}

/// Something the model can call.
#[async_trait]
pub trait Tool: Send + Sync {
    fn spec(&self) -> &ToolSpec;

    /// Fixes raw arguments up before they are validated. The default changes nothing.
    async fn prepare(&self, args: Value) -> Result<Value, ToolError> {
        Ok(args)
    }

    /// Runs one call. The loop waits until it settles, so it must end soon after `call.cancel` fires.
    /// An error is the same as a tool that threw: an error result with the text and empty details.
    async fn execute(&self, call: ToolCall) -> Result<ToolOutput, ToolError>;
}

/// One call of a tool.
#[derive(Clone)]
pub struct ToolCall {
    pub id: String,
    /// Prepared, validated arguments after `tool_call` hooks.
    pub args: Value,
    /// Fires when the run is aborted or the call is skipped for a steering message.
    pub cancel: CancellationToken,
    /// Progress; deliveries are finished before the end event.
    pub updates: ToolUpdates,
    pub context: ToolContext,
}

/// What a call may know about its session.
#[derive(Clone)]
pub struct ToolContext {
    /// Working directory of the session.
    pub cwd: PathBuf,
    /// Variables for child processes: `PI_SESSION_ID`, `PI_SESSION_FILE`, `PI_PROVIDER`, `PI_MODEL`, `PI_REASONING_LEVEL`.
    /// Inherited values of these names are removed first.
    pub env: Vec<(String, String)>,
    pub shell: ShellSettings,
    /// Whether the current model takes images.
    pub accepts_images: bool,
    /// Setting `images.autoResize`.
    pub resize_images: bool,
    /// Set when another tool made this call.
    pub parent_tool_call_id: Option<String>,
    /// Calls other tools on behalf of this one; `None` outside a session.
    pub nested: Option<Arc<dyn NestedTools>>,
}

/// Settings `shellPath` and `shellCommandPrefix`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShellSettings {
    pub path: Option<PathBuf>,
    /// Put on a line before every command.
    pub command_prefix: Option<String>,
}

impl ToolContext {
    /// A context for calls outside a session.
    pub fn detached(cwd: PathBuf) -> Self {
        ToolContext {
            cwd,
            env: Vec::new(),
            shell: ShellSettings::default(),
            accepts_images: true,
            resize_images: true,
            parent_tool_call_id: None,
            nested: None,
        }
    }
}

/// `ctx.executeTool` of one running call (spec/extension-api.md §4.2).
#[async_trait]
pub trait NestedTools: Send + Sync {
    /// Runs another tool through the whole interception pipeline. Never fails: failures are error results.
    async fn execute(
        &self,
        name: &str,
        args: Value,
        cancel: CancellationToken,
        updates: Option<ToolUpdates>,
    ) -> NestedOutcome;
}

#[derive(Debug, Clone)]
pub struct NestedOutcome {
    pub tool_call: ToolCallBlock,
    pub result: ToolOutput,
    pub is_error: bool,
    /// Absent when the tool never ran.
    pub duration_ms: Option<u64>,
}

/// Which tools may be offered at all (`--tools`, `--exclude-tools`, `--no-tools`).
#[derive(Debug, Clone, Default)]
pub struct ToolFilter {
    /// Only these; also the way to name a hidden or inactive tool.
    pub allow: Option<HashSet<String>>,
    pub exclude: HashSet<String>,
}

impl ToolFilter {
    fn permits(&self, name: &str) -> bool {
        !self.exclude.contains(name) && self.allow.as_ref().is_none_or(|allow| allow.contains(name))
    }

    fn names(&self, name: &str) -> bool {
        self.allow
            .as_ref()
            .is_some_and(|allow| allow.contains(name))
    }
}

/// Tools by name, and which of them the model is offered.
///
/// A name can be registered by several owners; the newest registration is effective, and removing it brings the
/// one below back. So an extension that replaces `bash` gives it back when it goes.
#[derive(Default)]
pub struct ToolRegistry(RwLock<RegistryState>);

#[derive(Default)]
struct RegistryState {
    filter: ToolFilter,
    /// In order of first registration.
    order: Vec<String>,
    tools: HashMap<String, Vec<Registered>>,
    active: Vec<String>,
    version: u64,
}

struct Registered {
    owner: String,
    tool: Arc<dyn Tool>,
}

impl RegistryState {
    /// The effective tool of a name.
    fn effective(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        let stack = self.tools.get(name)?;
        stack.last().map(|registered| &registered.tool)
    }

    /// What the model is offered. A name can be active while the tool that has it now is out of reach.
    fn offered(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        let tools = self.active.iter().filter_map(|name| self.effective(name));
        tools.filter(|tool| tool.spec().exposure() != Exposure::Hidden)
    }
}

impl ToolRegistry {
    pub fn new(filter: ToolFilter) -> Self {
        ToolRegistry(RwLock::new(RegistryState {
            filter,
            ..RegistryState::default()
        }))
    }

    /// Adds a tool, replacing this owner's earlier one of the same name. A new name becomes active at once when its
    /// specification or the filter says so; a replaced one keeps its state.
    pub fn register(&self, owner: &str, tool: Arc<dyn Tool>) {
        let mut state = self.0.write();
        let spec = tool.spec();
        let name = spec.name.clone();
        let unasked = matches!(spec.exposure(), Exposure::Direct | Exposure::ModelOnly);
        let activate = state.filter.names(&name)
            || (unasked && spec.default_active && !spec.hidden && state.filter.permits(&name));
        let stack = state.tools.entry(name.clone()).or_default();
        let known = !stack.is_empty();
        // In place of a built-in tool that is not offered by default, too.
        let new = !stack.iter().any(|registered| registered.owner == owner);
        stack.retain(|registered| registered.owner != owner);
        stack.push(Registered {
            owner: owner.to_owned(),
            tool,
        });
        if !known {
            state.order.push(name.clone());
        }
        if new && activate && !state.active.contains(&name) {
            state.active.push(name);
        }
        state.version += 1;
    }

    /// Removes this owner's tool of that name; another owner's tool of the same name becomes effective again.
    pub fn unregister(&self, owner: &str, name: &str) {
        let mut state = self.0.write();
        let Some(stack) = state.tools.get_mut(name) else {
            return;
        };
        stack.retain(|registered| registered.owner != owner);
        if stack.is_empty() {
            state.tools.remove(name);
            state.order.retain(|known| known != name);
            state.active.retain(|known| known != name);
        }
        state.version += 1;
    }

    /// Removes everything an owner registered.
    pub fn clear_owner(&self, owner: &str) {
        let names: Vec<String> = self.0.read().order.clone();
        for name in names {
            self.unregister(owner, &name);
        }
    }

    /// Replaces the filter; applies to later registrations and to what [`ToolRegistry::set_active`] accepts.
    pub fn set_filter(&self, filter: ToolFilter) {
        let mut state = self.0.write();
        state.active.retain(|name| filter.permits(name));
        state.filter = filter;
        state.version += 1;
    }

    pub fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.0.read().effective(name).cloned()
    }

    /// As [`ToolRegistry::get`], only if the model is offered the tool.
    pub fn get_active(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let state = self.0.read();
        state
            .offered()
            .find(|tool| tool.spec().name == name)
            .cloned()
    }

    /// As [`ToolRegistry::get`], only if other tools may call the tool, offered to the model or not.
    pub fn get_permitted(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let state = self.0.read();
        let tool = state
            .effective(name)
            .filter(|_| state.filter.permits(name))?;
        let callable = matches!(
            tool.spec().exposure(),
            Exposure::Direct | Exposure::OnRequest
        );
        callable.then(|| tool.clone())
    }

    /// Whether the filter lists what may be used, which wins over what a resumed session had.
    pub fn has_allow_list(&self) -> bool {
        self.0.read().filter.allow.is_some()
    }

    /// Every effective tool, in registration order.
    pub fn all(&self) -> Vec<Arc<dyn Tool>> {
        let state = self.0.read();
        state
            .order
            .iter()
            .filter_map(|name| state.effective(name).cloned())
            .collect()
    }

    /// Names offered to the model.
    pub fn active_names(&self) -> Vec<String> {
        let state = self.0.read();
        state
            .offered()
            .map(|tool| tool.spec().name.clone())
            .collect()
    }

    /// The active tools, in the order of their names in the active set.
    pub fn active(&self) -> Vec<Arc<dyn Tool>> {
        self.0.read().offered().cloned().collect()
    }

    /// Replaces the active set. Unknown, excluded and repeated names are ignored. Takes effect with the next request.
    pub fn set_active(&self, names: &[String]) {
        let mut state = self.0.write();
        let mut active: Vec<String> = Vec::with_capacity(names.len());
        for name in names {
            if state.tools.contains_key(name)
                && state.filter.permits(name)
                && !active.contains(name)
            {
                active.push(name.clone());
            }
        }
        state.active = active;
        state.version += 1;
    }

    /// Changes whenever a tool or the active set changes.
    pub fn version(&self) -> u64 {
        self.0.read().version
    }
}
