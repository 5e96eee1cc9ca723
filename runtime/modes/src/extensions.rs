//! What modes need from loaded extensions besides the hooks that the session calls itself.
//!
//! A trait, so that everything in `rpc` and `print` can be tested without an isolate.

use async_trait::async_trait;
use pier_agent::hooks::{DiscoveredResources, SessionStartReason, ShutdownReason};
use pier_agent::prompt::PromptConfig;
use pier_protocol::extension::{ExtensionErrorReport, SourceInfo};
use serde::Serialize;

/// Something that can be invoked with a slash (`spec/rpc.md` §3.2).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SlashCommand {
    /// Without the slash.
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    /// `extension`, `prompt` or `skill`.
    pub(crate) source: &'static str,
    pub(crate) source_info: SourceInfo,
}

/// Loaded extensions and other resources.
#[async_trait]
pub(crate) trait Extensions: Send + Sync {
    /// Commands of extensions, then prompt templates, then skills.
    fn commands(&self) -> Vec<SlashCommand>;

    /// State of services that extensions report (`spec/rpc.md` §3.7).
    async fn services(&self) -> Vec<serde_json::Value> {
        Vec::new()
    }

    /// Asks a component to draw itself or to take input (`docs/bridge-protocol.md`, *Components*).
    async fn component(
        &self,
        _component: &pier_protocol::ui::ComponentHandle,
        _op: &str,
        _members: serde_json::Value,
    ) -> Option<serde_json::Value> {
        None
    }

    /// The inputs of the system prompt, read anew with the files that extensions named, and reports about those that
    /// cannot be used.
    fn read_prompt(
        &self,
        _discovered: &DiscoveredResources,
    ) -> Option<(PromptConfig, Vec<ExtensionErrorReport>)> {
        None
    }

    /// Loads everything anew between two sessions.
    async fn reload(
        &self,
        ended: ShutdownReason,
        starting: SessionStartReason,
    ) -> Result<(), String>;

    /// Ends all isolates, within the bridge's own bounds.
    async fn dispose(&self);
}

/// No extensions.
#[cfg(test)]
pub(crate) struct NoExtensions;

#[cfg(test)]
#[async_trait]
impl Extensions for NoExtensions {
    fn commands(&self) -> Vec<SlashCommand> {
        Vec::new()
    }

    async fn reload(
        &self,
        _ended: ShutdownReason,
        _starting: SessionStartReason,
    ) -> Result<(), String> {
        Ok(())
    }

    async fn dispose(&self) {}
}
