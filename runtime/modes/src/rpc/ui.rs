//! Extension dialogs and frames over the wire (`spec/rpc.md` §6).
//!
//! Dialogs wait here for the client's answer; any order, first answer wins. A dialog never outlives
//! what it belongs to: its own time limit, the extension's signal, an abort, a session change and
//! shutdown all settle it with its cancel value. Nothing here may block an isolate.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use pier_protocol::ui::{SelectOption, UiCall, UiRequest, UiResponse};
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::response::line;
use crate::dialect::Rules;
use crate::output::{OutputQueue, PushError};

/// Environment variable with which xcsh clients ask for `setTitle` frames.
const TITLE_VARIABLE: &str = "PI_RPC_EMIT_TITLE";

struct Pending {
    call: UiCall,
    answer: oneshot::Sender<UiResponse>,
}

#[derive(Default)]
struct Table {
    open: HashMap<String, Pending>,
    /// While positive, dialogs end as soon as they begin.
    refusals: usize,
}

/// Takes requests from extensions to the client and answers back.
pub(crate) struct UiProxy {
    output: OutputQueue,
    rules: &'static Rules,
    titles: bool,
    table: Mutex<Table>,
    /// Tells an operator what was ignored.
    notice: Box<dyn Fn(&str) + Send + Sync>,
}

#[derive(Serialize)]
struct Frame<'a> {
    r#type: &'static str,
    #[serde(flatten)]
    request: &'a UiRequest,
}

impl UiProxy {
    pub(crate) fn new(
        output: OutputQueue,
        rules: &'static Rules,
        notice: impl Fn(&str) + Send + Sync + 'static,
    ) -> Arc<Self> {
        let titles = !rules.title_is_opt_in
            || std::env::var(TITLE_VARIABLE).is_ok_and(|value| {
                ["1", "true", "yes", "on"].contains(&value.to_ascii_lowercase().as_str())
            });
        Arc::new(Self {
            output,
            rules,
            titles,
            table: Mutex::default(),
            notice: Box::new(notice),
        })
    }

    /// Writes a frame that nobody answers. Calls that have no wire form are dropped, as pi does.
    ///
    /// # Errors
    /// When the client stopped reading or went away.
    pub(crate) fn frame(&self, request: UiRequest) -> Result<(), PushError> {
        match self.wire_form(request) {
            Some(request) => self.output.try_push(frame_line(&request)),
            None => Ok(()),
        }
    }

    /// Opens a dialog and waits for its end. A token that is already cancelled, or a proxy that
    /// refuses dialogs, gives the cancel value without a frame.
    pub(crate) async fn dialog(&self, request: UiRequest, cancel: CancellationToken) -> UiResponse {
        let cancelled = UiResponse::Cancelled { timed_out: false };
        if cancel.is_cancelled() {
            return cancelled;
        }
        let Some(request) = self.wire_form(request) else {
            return cancelled;
        };
        let timeout = request.call.timeout_ms().map(Duration::from_millis);
        let limit = async {
            match timeout {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            response = self.wait(&request, frame_line(&request)) => response,
            () = limit => UiResponse::Cancelled { timed_out: true },
            () = cancel.cancelled() => cancelled,
        }
    }

    /// Writes the frame of a dialog and waits for its answer, or for the proxy to settle it. Dropping
    /// the future takes the dialog back.
    pub(super) async fn wait(&self, request: &UiRequest, frame: String) -> UiResponse {
        let cancelled = UiResponse::Cancelled { timed_out: false };
        let (answer, answered) = oneshot::channel();
        {
            let mut table = self.table.lock();
            if table.refusals > 0 {
                return cancelled;
            }
            // Entered before the frame is written: an answer can follow at once.
            table.open.insert(
                request.id.clone(),
                Pending {
                    call: request.call.clone(),
                    answer,
                },
            );
        }
        let _open = ForgetOnDrop {
            proxy: self,
            id: &request.id,
        };
        if self.output.try_push(frame).is_err() {
            return cancelled;
        }
        answered.await.unwrap_or(cancelled)
    }

    /// Takes an `extension_ui_response` record. Late and unknown answers are noted and ignored.
    pub(crate) fn answer(&self, record: &Map<String, Value>) {
        let id = record.get("id").and_then(Value::as_str).unwrap_or_default();
        let Some(pending) = self.table.lock().open.remove(id) else {
            (self.notice)(&format!(
                "Ignored the answer to dialog \"{id}\": no such dialog is open"
            ));
            return;
        };
        // The receiver is gone when the dialog ended in the same instant; then this answer is late.
        if pending
            .answer
            .send(UiResponse::from_record(record, &pending.call))
            .is_err()
        {
            (self.notice)(&format!(
                "Ignored the answer to dialog \"{id}\": it came too late"
            ));
        }
    }

    /// Settles every open dialog with its cancel value.
    pub(crate) fn cancel_all(&self) {
        let open = std::mem::take(&mut self.table.lock().open);
        for (id, pending) in open {
            if pending
                .answer
                .send(UiResponse::Cancelled { timed_out: false })
                .is_ok()
            {
                self.tell_closed(&id);
            }
        }
    }

    /// Nobody can answer any more: settles every open dialog and, from now on, every new one.
    pub(crate) fn client_left(&self) {
        self.table.lock().refusals += 1;
        self.cancel_all();
    }

    /// Settles every open dialog, and every one that is opened while the guard lives.
    pub(crate) fn refuse(self: &Arc<Self>) -> Refusal {
        self.table.lock().refusals += 1;
        self.cancel_all();
        Refusal(Arc::clone(self))
    }

    fn forget(&self, id: &str) {
        if self.table.lock().open.remove(id).is_some() {
            self.tell_closed(id);
        }
    }

    /// Lets the client close a dialog that nobody waits for any more.
    fn tell_closed(&self, id: &str) {
        if self.rules.cancel_notices {
            let notice = UiRequest {
                id: format!("{id}-cancel"),
                call: UiCall::Cancel {
                    target_id: id.to_owned(),
                },
                extension_path: String::new(),
            };
            // A client that is gone has closed its dialogs.
            let _ = self.output.try_push(frame_line(&notice));
        }
    }

    /// The request as clients know it, or nothing when they cannot.
    fn wire_form(&self, mut request: UiRequest) -> Option<UiRequest> {
        request.call = match request.call {
            UiCall::Select {
                title,
                options,
                timeout,
                initial_index,
                help_text,
            } => UiCall::Select {
                title,
                options: options
                    .into_iter()
                    .map(|option| SelectOption::Text(option.label().to_owned()))
                    .collect(),
                timeout,
                initial_index,
                help_text,
            },
            UiCall::PasteToEditor { text } => UiCall::SetEditorText { text },
            UiCall::SetTitle { .. } if !self.titles => return None,
            UiCall::SetWidget {
                component: Some(_), ..
            } => return None,
            call @ (UiCall::Confirm { .. }
            | UiCall::Input { .. }
            | UiCall::Editor { .. }
            | UiCall::Notify { .. }
            | UiCall::SetStatus { .. }
            | UiCall::SetWidget { .. }
            | UiCall::SetTitle { .. }
            | UiCall::SetEditorText { .. }) => call,
            _ => return None,
        };
        Some(request)
    }
}

/// See [`UiProxy::refuse`].
pub(crate) struct Refusal(Arc<UiProxy>);

impl Drop for Refusal {
    fn drop(&mut self) {
        self.0.table.lock().refusals -= 1;
    }
}

struct ForgetOnDrop<'a> {
    proxy: &'a UiProxy,
    id: &'a str,
}

impl Drop for ForgetOnDrop<'_> {
    fn drop(&mut self) {
        self.proxy.forget(self.id);
    }
}

fn frame_line(request: &UiRequest) -> String {
    line(&Frame {
        r#type: "extension_ui_request",
        request,
    })
}

#[cfg(test)]
#[path = "ui_tests.rs"]
mod tests;
