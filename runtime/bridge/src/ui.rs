//! The user interface as the bridge sees it: modes implement [`UiSink`], the bridge turns `ctx.ui` calls into
//! [`UiRequest`]s. Never draws and never writes a wire record.

use async_trait::async_trait;
use pier_protocol::ui::{UiRequest, UiResponse};
use serde_json::Value;

/// Why a dialog ends before it was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DialogEnd {
    /// The extension's timer fired.
    Timeout,
    /// The extension's `AbortSignal` fired.
    Signal,
    /// The component of a `custom` dialog called `done`.
    Done,
    /// The call that opened it was given up, or the extension was stopped.
    Gone,
}

/// Where UI requests go.
#[async_trait]
pub trait UiSink: Send + Sync + 'static {
    /// A fire-and-forget call. Must not block.
    fn show(&self, request: UiRequest);

    /// A dialog. The future may be dropped at any time; [`cancel`](Self::cancel) was called then.
    async fn dialog(&self, request: UiRequest) -> UiResponse;

    /// The dialog `id` ended early.
    fn cancel(&self, _id: &str, _end: DialogEnd) {}

    /// An extension used a part of the UI that this mode cannot show. Once per extension and feature.
    fn unsupported(&self, _extension_path: &str, _feature: &str) {}

    /// `ui overlay`: hides, shows or moves the focus of an open component. Members: `component`, `hidden?`, `focused?`.
    fn overlay(&self, _extension_path: &str, _change: &Value) {}

    /// The drawing of a tool call is out of date.
    fn redraw_tool(&self, _tool_call_id: &str) {}

    /// Synchronous state of a terminal UI: `editorText`, `toolsExpanded`, `themes`, `theme`. `null` when unknown.
    fn state(&self, _what: &str, _name: Option<&str>) -> Value {
        Value::Null
    }

    /// `setTheme(name)`: an error text when it cannot be done.
    fn set_theme(&self, _name: &str) -> Result<(), String> {
        Err("UI not available".into())
    }
}

/// No user interface: the defaults of `spec/extension-api.md` §8.2.
#[derive(Debug, Clone, Copy, Default)]
pub struct HeadlessUi;

#[async_trait]
impl UiSink for HeadlessUi {
    fn show(&self, _: UiRequest) {}

    async fn dialog(&self, _: UiRequest) -> UiResponse {
        UiResponse::Cancelled { timed_out: false }
    }
}
