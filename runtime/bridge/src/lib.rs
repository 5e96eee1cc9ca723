//! The bridge between the agent and extensions: discovery, loading, registries, event dispatch, host calls, UI proxy.
//!
//! The only crate that knows both `pier_agent` and `pier_engine`, and of the latter only in `isolate::engine`.
//! `docs/bridge-protocol.md` fixes what crosses into an isolate. Never writes to stdout.

mod agent_port;
mod artifacts;
mod blobs;
mod calls;
mod children;
pub mod discovery;
mod dispatch;
mod exec;
mod file_turns;
mod host;
mod host_calls;
pub mod isolate;
mod limits;
mod providers;
mod registry;
mod report;
mod session_port;
mod tools;
pub mod trust;
pub mod ui;
mod wire;

pub use agent_port::{AgentPort, PromptCommands};
pub use children::{
    ChildInline, ChildPrompt, ChildRequest, ChildResources, ChildScoped, ChildSession,
    ChildTemplate, Inherited, MadeSession, SessionMaker,
};
pub use dispatch::hooks::BridgeHooks;
pub use host::{
    Binding, CommandInfo, DiscoveryPlan, ExtensionHost, ExtensionSummary, HostOptions, Inline,
    InlinePlace, LoadOutcome, Mode, ShortcutInfo,
};
pub use limits::{Budget, Limits};
pub use providers::credentials::is_credential;
pub use registry::flags::{DeclaredFlag, GivenFlag};
pub use report::{ErrorSink, Reporter};
pub use session_port::{RunHandle, Session, SessionPort};
