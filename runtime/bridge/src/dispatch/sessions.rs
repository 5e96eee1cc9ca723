//! Names and order of session events for both families (`spec/extension-api.md` §11.1): pi extensions see
//! `session_start` with a reason, xcsh ones `session_switch`, `session_branch` and so on; plus `onSession` of tools.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use pier_agent::hooks::{SessionStartReason, ShutdownReason};
use serde_json::{Map, Value, json};

use super::combine::{Fixed, event};
use super::{Circumstances, payload};
use crate::calls::Purpose;
use crate::discovery::Profile;
use crate::host::Shared;

impl Shared {
    pub(crate) async fn session_started(
        self: &Arc<Self>,
        reason: SessionStartReason,
        previous: Option<&Path>,
    ) {
        let previous = previous.map(|path| path.to_string_lossy().into_owned());
        let start =
            payload::object(json!({"reason": reason.as_str(), "previousSessionFile": previous}));
        let bare = payload::object(json!({"previousSessionFile": previous}));
        let on_session =
            |word: &str| payload::object(json!({"reason": word, "previousSessionFile": previous}));
        match reason {
            // xcsh extensions expect it once per process, without a reason; the extra member does no harm.
            SessionStartReason::Startup | SessionStartReason::Reload => {
                self.tell("session_start", start, None).await;
                self.tools_on_session(on_session("start"), None).await;
            }
            SessionStartReason::New | SessionStartReason::Resume => {
                self.tell("session_start", start.clone(), Some(Profile::Pi))
                    .await;
                self.tell("session_switch", start, None).await;
                self.tools_on_session(on_session("switch"), None).await;
            }
            SessionStartReason::Fork => {
                self.tell("session_start", start.clone(), Some(Profile::Pi))
                    .await;
                if self.last_fork_at.load(Ordering::Acquire) {
                    self.tell("session_switch", start, None).await;
                    self.tools_on_session(on_session("switch"), None).await;
                } else {
                    self.tell("session_branch", bare.clone(), None).await;
                    self.tools_on_session(on_session("branch"), None).await;
                }
                self.tell("session_fork", bare, None).await;
            }
        }
    }

    /// xcsh never replaces an extension, so only the end of the process and a reload are a shutdown for its extensions.
    pub(crate) async fn session_ending(
        self: &Arc<Self>,
        reason: ShutdownReason,
        target: Option<&Path>,
    ) {
        let target = target.map(|path| path.to_string_lossy().into_owned());
        let map = payload::object(json!({"reason": reason.as_str(), "targetSessionFile": target}));
        let only = match reason {
            ShutdownReason::Quit | ShutdownReason::Reload => None,
            ShutdownReason::New | ShutdownReason::Resume | ShutdownReason::Fork => {
                Some(Profile::Pi)
            }
        };
        let mut shutdown = Fixed::new(map);
        let circumstances = Circumstances {
            only,
            in_run: true,
            ..Circumstances::default()
        };
        // Never refuses: the row of this event continues on failure.
        let _ = self
            .dispatch(&["session_shutdown"], &mut shutdown, circumstances)
            .await;
        self.tools_on_session(event(json!({"reason": "shutdown"})), only)
            .await;
    }

    pub(crate) async fn tell(
        self: &Arc<Self>,
        name: &str,
        map: Map<String, Value>,
        only: Option<Profile>,
    ) {
        if !self.registry.subscribed(&[name]) {
            return;
        }
        let circumstances = Circumstances {
            only,
            ..Circumstances::default()
        };
        let _ = self
            .dispatch(&[name], &mut Fixed::new(map), circumstances)
            .await;
    }

    /// `onSession` of registered tools, after the handlers of the matching event (`spec/extension-api.md` §6.6).
    pub(crate) async fn tools_on_session(
        self: &Arc<Self>,
        map: Map<String, Value>,
        only: Option<Profile>,
    ) {
        let tools = self.registry.with(|extensions| {
            let mut found = Vec::new();
            for loaded in extensions {
                if only.is_some_and(|profile| profile != loaded.info.profile) {
                    continue;
                }
                let names = loaded
                    .registered
                    .tools
                    .iter()
                    .filter(|tool| tool.has_on_session)
                    .map(|tool| tool.name.clone());
                found.extend(names.map(|name| (loaded.info.clone(), name)));
            }
            found
        });
        if tools.is_empty() {
            return;
        }
        let text: Arc<str> = Value::Object(map).to_string().into();
        let deadline = self.limits.read().handler;
        for (info, tool) in tools {
            if info.isolate.has_ended() {
                continue;
            }
            let scope = self.calls.begin(
                info.id,
                &tool,
                Purpose::Event { in_run: true },
                tokio_util::sync::CancellationToken::new(),
            );
            let header = json!({"ext": info.id, "tool": tool, "callId": scope.id()});
            let outcome = self
                .invoke(
                    &info.isolate,
                    "toolSession",
                    &header,
                    Some(text.clone()),
                    &scope,
                    deadline,
                )
                .await;
            if let Err(error) = outcome {
                self.reports
                    .call_failed(&info.path, &format!("tool:{tool}:onSession"), &error);
            }
        }
    }
}
