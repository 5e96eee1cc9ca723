//! Binding: from here on extensions act on a session, in a mode, with or without a user interface.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::{Map, Value, json};

use super::{ExtensionHost, Shared};
use crate::registry::flags::{self, DeclaredFlag, GivenFlag};
use crate::session_port::Session;
use crate::ui::{HeadlessUi, UiSink};

/// `ctx.mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Terminal UI.
    Tui,
    /// RPC frontend.
    Rpc,
    /// One-shot with JSON events.
    Json,
    /// One-shot with text.
    #[default]
    Print,
}

impl Mode {
    /// The word that extensions see.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tui => "tui",
            Self::Rpc => "rpc",
            Self::Json => "json",
            Self::Print => "print",
        }
    }
}

/// How extensions reach people.
#[derive(Clone)]
pub struct Binding {
    /// The mode.
    pub mode: Mode,
    /// `ctx.hasUI`.
    pub has_ui: bool,
    /// Where UI calls go.
    pub ui: Arc<dyn UiSink>,
    /// `UiProfile` of `docs/bridge-protocol.md`; `null` = derived from the mode.
    pub ui_profile: Value,
}

impl Default for Binding {
    fn default() -> Self {
        Self {
            mode: Mode::Print,
            has_ui: false,
            ui: Arc::new(HeadlessUi),
            ui_profile: Value::Null,
        }
    }
}

impl ExtensionHost {
    /// Binds all extensions to a session. May be called again when the mode changes its UI.
    pub async fn bind(&self, session: Session, binding: Binding) {
        *self.shared.session.write() = Some(session);
        *self.shared.binding.write() = binding;
        self.shared.bound.store(true, Ordering::Release);
        self.shared.touch();
        self.shared.bind_isolates().await;
    }

    /// Flags that extensions declared, for `--help` and for reading the command line.
    pub fn declared_flags(&self) -> Vec<DeclaredFlag> {
        self.shared.registry.with(flags::declared)
    }

    /// Applies flags from the command line and sends the values to extensions. Errors are ready for people
    /// (`Unknown option: --x`); correct flags are applied all the same.
    pub async fn apply_flags(&self, given: &[GivenFlag]) -> Result<(), Vec<String>> {
        let (values, errors) = flags::evaluate(&self.declared_flags(), given);
        self.shared.flag_values.write().extend(values);
        self.shared.send_flags();
        if errors.is_empty() {
            Ok(())
        } else {
            Err(errors)
        }
    }
}

impl Shared {
    /// Values of all flags: defaults in load order (the last declaration wins), then what was given.
    pub(crate) fn all_flag_values(&self) -> Map<String, Value> {
        let mut values = Map::new();
        for flag in self.registry.with(flags::declared) {
            if let Some(default) = flag.default {
                values.insert(flag.name, default);
            }
        }
        values.extend(self.flag_values.read().clone());
        values
    }

    pub(crate) fn send_flags(&self) {
        self.post_all("flags", &json!({"values": self.all_flag_values()}), None);
    }

    /// Tells every isolate its mode. Isolates that are already bound take the new UI.
    pub(crate) async fn bind_isolates(self: &Arc<Self>) {
        let binding = self.binding.read().clone();
        let mut header = json!({"mode": binding.mode.as_str(), "hasUI": binding.has_ui});
        if !binding.ui_profile.is_null() {
            header["ui"] = binding.ui_profile.clone();
        }
        let slots = self.isolates.lock().clone();
        let header = &header;
        let binds = slots.iter().map(|slot| async move {
            let scope = self.calls.begin(
                0,
                "bind",
                crate::calls::Purpose::Other,
                tokio_util::sync::CancellationToken::new(),
            );
            let deadline = self.limits.read().small;
            if let Err(error) = self
                .invoke(slot, "bind", header, None, &scope, deadline)
                .await
            {
                self.reports
                    .call_failed(&slot.reported_path(None), "bind", &error);
            }
        });
        futures::future::join_all(binds).await;
        self.send_flags();
    }
}
