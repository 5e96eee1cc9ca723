//! The bridge's door to the dialog proxy.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use pier_bridge::ui::UiSink;
use pier_protocol::ui::{NotifyType, UiCall, UiRequest, UiResponse};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::screen::Screen;
use super::ui::UiProxy;
use crate::diagnostics;

/// Sends what extensions ask of a user interface to the RPC client.
pub(crate) struct RpcUi {
    proxy: Arc<UiProxy>,
    screen: Arc<Screen>,
    /// Extensions whose client knows that something of theirs cannot be shown.
    noticed: Mutex<HashSet<String>>,
}

impl RpcUi {
    pub(crate) fn new(proxy: Arc<UiProxy>, screen: Arc<Screen>) -> Self {
        Self {
            proxy,
            screen,
            noticed: Mutex::default(),
        }
    }
}

#[async_trait]
impl UiSink for RpcUi {
    fn show(&self, request: UiRequest) {
        let extension = request.extension_path.clone();
        let Some(request) = self.screen.show(request) else {
            return;
        };
        if let Err(error) = self.proxy.frame(request) {
            diagnostics::warning(&format!("A UI frame of {extension} was refused: {error}"));
        }
    }

    async fn dialog(&self, request: UiRequest) -> UiResponse {
        // The bridge drops this future when the dialog ends early; the proxy notices.
        if matches!(request.call, UiCall::Custom { .. }) {
            return self.screen.custom(&self.proxy, request).await;
        }
        self.proxy.dialog(request, CancellationToken::new()).await
    }

    fn unsupported(&self, extension_path: &str, feature: &str) {
        let message = format!("{extension_path} uses {feature}, which this client cannot show");
        diagnostics::warning(&message);
        // One notice tells the person; a list of methods would only tell the author.
        if !self.noticed.lock().insert(extension_path.to_owned()) {
            return;
        }
        self.show(UiRequest {
            id: super::next_id("notice"),
            call: UiCall::Notify {
                message,
                notify_type: Some(NotifyType::Warning),
            },
            extension_path: extension_path.to_owned(),
        });
    }

    fn state(&self, what: &str, _name: Option<&str>) -> Value {
        match what {
            "editorText" => Value::from(""),
            "toolsExpanded" => Value::Bool(false),
            "themes" => Value::Array(Vec::new()),
            _ => Value::Null,
        }
    }

    fn set_theme(&self, _name: &str) -> Result<(), String> {
        Err("Theme switching not supported in RPC mode".to_owned())
    }
}
