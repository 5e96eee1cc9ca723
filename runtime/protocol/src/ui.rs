//! User interface calls of extensions as typed values (spec/extension-api.md §8, spec/rpc.md §6).
//!
//! The bridge makes them, a mode draws or refuses them. They serialise to the members of an
//! `extension_ui_request` record without `type`. Data only: no timers, no pending table.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One request. `id` is unique in the process; dialogs are answered under it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UiRequest {
    pub id: String,
    #[serde(flatten)]
    pub call: UiCall,
    /// Extension that asked: path as reported.
    #[serde(skip)]
    pub extension_path: String,
}

/// A selectable entry: its text, and a description where the extension gave one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SelectOption {
    Text(String),
    Described {
        label: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<String>,
    },
}

impl SelectOption {
    pub fn label(&self) -> &str {
        match self {
            SelectOption::Text(text) => text,
            SelectOption::Described { label, .. } => label,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NotifyType {
    Info,
    Warning,
    Error,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WidgetPlacement {
    AboveEditor,
    BelowEditor,
}

/// A component that lives in an isolate and is drawn through its handle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ComponentHandle {
    /// Extension index (docs/bridge-protocol.md `ext`).
    pub ext: u64,
    pub handle: u64,
}

/// Every method of `ctx.ui` that reaches a user interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "method",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum UiCall {
    // --- dialogs: answered -------------------------------------------------------------------
    Select {
        title: String,
        options: Vec<SelectOption>,
        /// Milliseconds from the moment the request is written; zero and absent mean none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        initial_index: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        help_text: Option<String>,
    },
    Confirm {
        title: String,
        message: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout: Option<u64>,
    },
    Input {
        title: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        placeholder: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout: Option<u64>,
    },
    Editor {
        title: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prefill: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt_style: Option<bool>,
    },
    /// A component with keyboard focus; answered by `done(value)` in the isolate or by the host closing it.
    Custom {
        component: ComponentHandle,
        #[serde(default)]
        overlay: bool,
        /// Remaining options of the call, as given.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        options: Value,
    },
    // --- fire and forget -----------------------------------------------------------------------
    Notify {
        message: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        notify_type: Option<NotifyType>,
    },
    SetStatus {
        status_key: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status_text: Option<String>,
    },
    SetWidget {
        widget_key: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        widget_lines: Option<Vec<String>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        widget_placement: Option<WidgetPlacement>,
        /// A component instead of lines.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        component: Option<ComponentHandle>,
    },
    SetTitle {
        title: String,
    },
    #[serde(rename = "set_editor_text")]
    SetEditorText {
        text: String,
    },
    /// RPC clients get it as `set_editor_text`.
    PasteToEditor {
        text: String,
    },
    SetWorkingMessage {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    SetWorkingVisible {
        visible: bool,
    },
    SetWorkingIndicator {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        frames: Option<Vec<String>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        interval_ms: Option<u64>,
    },
    SetHiddenThinkingLabel {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
    SetHeader {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        component: Option<ComponentHandle>,
    },
    SetFooter {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        component: Option<ComponentHandle>,
    },
    SetEditorComponent {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        component: Option<ComponentHandle>,
    },
    AddAutocompleteProvider {
        provider: ComponentHandle,
    },
    /// Registers for raw terminal input; released through the handle.
    OnTerminalInput {
        listener: ComponentHandle,
    },
    SetTheme {
        name: String,
    },
    SetToolsExpanded {
        expanded: bool,
    },
    /// A component asks to be drawn again.
    Invalidate {
        component: ComponentHandle,
    },
    /// The request `target_id` ended early; close its dialog (xcsh).
    Cancel {
        target_id: String,
    },
}

impl UiCall {
    /// True for calls that wait for a [`UiResponse`].
    pub fn is_dialog(&self) -> bool {
        matches!(
            self,
            UiCall::Select { .. }
                | UiCall::Confirm { .. }
                | UiCall::Input { .. }
                | UiCall::Editor { .. }
                | UiCall::Custom { .. }
        )
    }

    /// The dialog's time limit in milliseconds; zero counts as none.
    pub fn timeout_ms(&self) -> Option<u64> {
        match self {
            UiCall::Select { timeout, .. }
            | UiCall::Confirm { timeout, .. }
            | UiCall::Input { timeout, .. } => timeout.filter(|ms| *ms > 0),
            _ => None,
        }
    }
}

/// Answer to a dialog.
#[derive(Debug, Clone, PartialEq)]
pub enum UiResponse {
    /// `select`, `input`, `editor`: a string; `custom`: any value.
    Value(Value),
    Confirmed(bool),
    Cancelled {
        /// The client's own timer closed the dialog; `onTimeout` is called.
        timed_out: bool,
    },
}

impl UiResponse {
    /// Reads the members of an `extension_ui_response` by their precedence (spec/rpc.md §6): a truthy
    /// `cancelled`, then the member the dialog expects, else cancelled.
    pub fn from_record(record: &serde_json::Map<String, Value>, call: &UiCall) -> Self {
        let truthy = |name: &str| match record.get(name) {
            None | Some(Value::Null | Value::Bool(false)) => false,
            Some(Value::Number(number)) => number.as_f64() != Some(0.0),
            Some(Value::String(text)) => !text.is_empty(),
            Some(_) => true,
        };
        if truthy("cancelled") {
            return UiResponse::Cancelled {
                timed_out: truthy("timedOut"),
            };
        }
        match call {
            UiCall::Confirm { .. } => record
                .get("confirmed")
                .and_then(Value::as_bool)
                .map(UiResponse::Confirmed),
            UiCall::Custom { .. } => record.get("value").cloned().map(UiResponse::Value),
            _ => record
                .get("value")
                .filter(|value| value.is_string())
                .cloned()
                .map(UiResponse::Value),
        }
        .unwrap_or(UiResponse::Cancelled { timed_out: false })
    }
}
