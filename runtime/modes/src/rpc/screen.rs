//! Components of extensions, drawn as lines for the client (`docs/rpc.md`, *Components*).
//!
//! An isolate says that something changed, this module asks it for the lines and sends them; the
//! client sends keys back. One component is drawn by one request at a time, so its frames never
//! overtake each other. Nothing here interprets what a component draws.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use pier_protocol::ui::{ComponentHandle, UiCall, UiRequest, UiResponse, WidgetPlacement};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::response::line;
use super::ui::UiProxy;
use crate::extensions::Extensions;
use crate::output::OutputQueue;

/// Width of a client that has not said its own, in columns.
pub(super) const DEFAULT_COLUMNS: u32 = 80;
/// Height of a client that has not said its own, in rows.
pub(super) const DEFAULT_ROWS: u32 = 24;
/// Widest screen that is believed.
const MAX_COLUMNS: u64 = 1000;
/// How long a custom component stays open for a client that shows no sign of knowing components.
const PATIENCE: Duration = if cfg!(test) {
    Duration::from_millis(300)
} else {
    Duration::from_secs(30)
};

/// Where a component is shown.
#[derive(Debug, Clone, PartialEq)]
enum Place {
    Widget {
        key: String,
        placement: Option<WidgetPlacement>,
    },
    Header,
    Footer,
    /// A `custom` call, by the id of its request.
    Dialog {
        id: String,
    },
}

struct Slot {
    place: Place,
    drawing: tokio::sync::Mutex<()>,
}

/// What a component looks like.
#[derive(Debug, Default, PartialEq, Serialize, serde::Deserialize)]
pub(super) struct Drawing {
    #[serde(default)]
    lines: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<Value>,
}

/// The components that are shown.
pub(crate) struct Screen {
    output: OutputQueue,
    runtime: tokio::runtime::Handle,
    columns: AtomicU32,
    /// The client has sent a key or its size.
    attentive: AtomicBool,
    noticed: tokio::sync::Notify,
    slots: Mutex<HashMap<(u64, u64), Arc<Slot>>>,
    source: OnceLock<Arc<dyn Extensions>>,
}

#[derive(Serialize)]
struct Frame<'a> {
    r#type: &'static str,
    id: String,
    method: &'static str,
    #[serde(rename = "targetId", skip_serializing_if = "Option::is_none")]
    target_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    overlay: Option<bool>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    drawing: Option<&'a Drawing>,
}

impl Screen {
    /// Must be called inside a tokio runtime; drawing runs on it.
    pub(crate) fn new(output: OutputQueue) -> Arc<Self> {
        Arc::new(Self {
            output,
            runtime: tokio::runtime::Handle::current(),
            columns: AtomicU32::new(DEFAULT_COLUMNS),
            attentive: AtomicBool::new(false),
            noticed: tokio::sync::Notify::new(),
            slots: Mutex::default(),
            source: OnceLock::new(),
        })
    }

    /// Names the extensions whose components are drawn. Only the first call counts.
    pub(crate) fn attach(&self, source: Arc<dyn Extensions>) {
        let _ = self.source.set(source);
    }

    /// Takes a call that is about components; gives back any other.
    pub(crate) fn show(self: &Arc<Self>, request: UiRequest) -> Option<UiRequest> {
        match &request.call {
            UiCall::SetWidget {
                widget_key,
                widget_placement,
                component: Some(component),
                ..
            } => {
                let place = Place::Widget {
                    key: widget_key.clone(),
                    placement: *widget_placement,
                };
                self.put(key_of(component), place, component);
            }
            UiCall::SetWidget { widget_key, .. } => {
                let key = widget_key.clone();
                self.slots.lock().retain(|_, slot| !matches!(&slot.place, Place::Widget { key: known, .. } if *known == key));
                return Some(request);
            }
            UiCall::SetHeader { component } => self.edge(Place::Header, component.as_ref()),
            UiCall::SetFooter { component } => self.edge(Place::Footer, component.as_ref()),
            UiCall::Invalidate { component } => self.redraw(component),
            _ => return Some(request),
        }
        None
    }

    /// Header and footer: a component takes the place, none clears it.
    fn edge(self: &Arc<Self>, place: Place, component: Option<&ComponentHandle>) {
        let removed = {
            let mut slots = self.slots.lock();
            let before = slots.len();
            slots.retain(|_, slot| slot.place != place);
            before != slots.len()
        };
        match component {
            Some(component) => self.put(key_of(component), place, component),
            None if removed => self.send(&place, None),
            None => {}
        }
    }

    fn put(self: &Arc<Self>, key: (u64, u64), place: Place, component: &ComponentHandle) {
        self.slots.lock().insert(
            key,
            Arc::new(Slot {
                place,
                drawing: tokio::sync::Mutex::new(()),
            }),
        );
        self.redraw(component);
    }

    fn redraw(self: &Arc<Self>, component: &ComponentHandle) {
        let (screen, component) = (Arc::clone(self), component.clone());
        self.runtime.spawn(async move {
            let slot = screen.slots.lock().get(&key_of(&component)).cloned();
            let Some(slot) = slot else { return };
            let _turn = slot.drawing.lock().await;
            if let Some(drawing) = screen.draw(&component).await
                && screen.slots.lock().contains_key(&key_of(&component))
            {
                screen.send(&slot.place, Some(&drawing));
            }
        });
    }

    async fn draw(&self, component: &ComponentHandle) -> Option<Drawing> {
        let width = self.columns.load(Ordering::Relaxed);
        let answer = self
            .source
            .get()?
            .component(component, "render", json!({ "width": width }))
            .await?;
        serde_json::from_value(answer).ok()
    }

    fn send(&self, place: &Place, drawing: Option<&Drawing>) {
        let frame = |method, target_id| Frame {
            r#type: "extension_ui_request",
            id: super::next_id("frame"),
            method,
            target_id,
            overlay: None,
            drawing,
        };
        let text = match place {
            Place::Widget { key, placement } => line(&WidgetFrame {
                r#type: "extension_ui_request",
                id: super::next_id("frame"),
                call: UiCall::SetWidget {
                    widget_key: key.clone(),
                    widget_lines: drawing.map(|drawing| drawing.lines.clone()),
                    widget_placement: *placement,
                    component: None,
                },
            }),
            Place::Header => line(&frame("setHeader", None)),
            Place::Footer => line(&frame("setFooter", None)),
            Place::Dialog { id } => line(&frame("frame", Some(id))),
        };
        // A client that does not read loses pictures, which the next one replaces, and nothing else.
        let _ = self.output.try_push(text);
    }

    /// A `custom` call. A component that draws nothing cannot be shown and ends at once.
    pub(crate) async fn custom(
        self: &Arc<Self>,
        proxy: &UiProxy,
        request: UiRequest,
    ) -> UiResponse {
        let cancelled = UiResponse::Cancelled { timed_out: false };
        let UiCall::Custom {
            component, overlay, ..
        } = &request.call
        else {
            return cancelled;
        };
        let component = component.clone();
        let Some(drawing) = self
            .draw(&component)
            .await
            .filter(|drawing| !drawing.lines.is_empty())
        else {
            return cancelled;
        };
        let open = line(&Frame {
            r#type: "extension_ui_request",
            id: request.id.clone(),
            method: "custom",
            target_id: None,
            overlay: Some(*overlay),
            drawing: Some(&drawing),
        });
        let _shown = Shown::new(self, &component, &request.id);
        let answered = proxy.wait(&request, open);
        let given_up = async {
            let noticed = self.noticed.notified();
            if self.attentive.load(Ordering::Acquire)
                || tokio::time::timeout(PATIENCE, noticed).await.is_ok()
            {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            response = answered => response,
            () = given_up => cancelled,
        }
    }

    /// Takes an `extension_ui_input` or `extension_ui_resize` record.
    pub(crate) fn input(self: &Arc<Self>, record: &Map<String, Value>) {
        self.attentive.store(true, Ordering::Release);
        self.noticed.notify_waiters();
        if let Some(columns) = record.get("columns").and_then(Value::as_u64) {
            self.columns.store(
                u32::try_from(columns.clamp(1, MAX_COLUMNS)).unwrap_or(DEFAULT_COLUMNS),
                Ordering::Relaxed,
            );
            let all: Vec<_> = self.slots.lock().keys().copied().collect();
            for (ext, handle) in all {
                self.redraw(&ComponentHandle { ext, handle });
            }
        }
        let id = record.get("id").and_then(Value::as_str).unwrap_or_default();
        let Some(data) = record
            .get("data")
            .and_then(Value::as_str)
            .map(str::to_owned)
        else {
            return;
        };
        let target = self
            .slots
            .lock()
            .iter()
            .find_map(|((ext, handle), slot)| match &slot.place {
                Place::Dialog { id: known } if known == id => Some(ComponentHandle {
                    ext: *ext,
                    handle: *handle,
                }),
                _ => None,
            });
        let (Some(component), Some(source)) = (target, self.source.get().cloned()) else {
            return;
        };
        self.runtime.spawn(async move {
            source
                .component(&component, "input", json!({ "data": data }))
                .await;
        });
    }
}

#[derive(Serialize)]
struct WidgetFrame {
    r#type: &'static str,
    id: String,
    #[serde(flatten)]
    call: UiCall,
}

/// A component that is on the screen as long as this lives; then the client is told to close it.
struct Shown<'a> {
    screen: &'a Screen,
    key: (u64, u64),
    id: &'a str,
}

impl<'a> Shown<'a> {
    fn new(screen: &'a Screen, component: &ComponentHandle, id: &'a str) -> Self {
        let key = key_of(component);
        let place = Place::Dialog { id: id.to_owned() };
        screen.slots.lock().insert(
            key,
            Arc::new(Slot {
                place,
                drawing: tokio::sync::Mutex::new(()),
            }),
        );
        Self { screen, key, id }
    }
}

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        self.screen.slots.lock().remove(&self.key);
        // A client that is gone has closed it.
        let _ = self.screen.output.try_push(line(&Frame {
            r#type: "extension_ui_request",
            id: super::next_id("frame"),
            method: "close",
            target_id: Some(self.id),
            overlay: None,
            drawing: None,
        }));
    }
}

/// A component's key in the table.
fn key_of(component: &ComponentHandle) -> (u64, u64) {
    (component.ext, component.handle)
}

#[cfg(test)]
#[path = "screen_tests.rs"]
mod tests;
