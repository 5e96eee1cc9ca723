//! What clients ask about the session (`spec/rpc.md` §3.2).

use std::path::PathBuf;
use std::sync::Arc;

use pier_agent::agent_session::SessionStats;
use pier_protocol::message::Message;
use pier_protocol::model::ThinkingLevel;
use pier_protocol::tool::ToolDeclaration;
use serde::Serialize;
use serde_json::{Value, json};

use super::Outcome;
use crate::dialect::without_system;
use crate::extensions::SlashCommand;
use crate::rpc::models::{placeholder, wire_model};
use crate::rpc::server::{Reply, Server};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct State {
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<Value>,
    thinking_level: ThinkingLevel,
    is_streaming: bool,
    is_compacting: bool,
    /// Extensions are still being loaded; the model may not be known yet. Absent afterwards.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_starting: bool,
    steering_mode: &'static str,
    follow_up_mode: &'static str,
    interrupt_mode: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_file: Option<PathBuf>,
    session_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_name: Option<String>,
    auto_compaction_enabled: bool,
    message_count: usize,
    pending_message_count: usize,
    /// The same number under the name of xcsh and omp.
    queued_message_count: usize,
    #[serde(flatten)]
    extras: Option<Extras>,
}

/// Members that only xcsh has.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Extras {
    todo_phases: Vec<Value>,
    system_prompt: String,
    dump_tools: Vec<ToolDeclaration>,
}

#[derive(Serialize)]
struct Messages {
    messages: Vec<Arc<Message>>,
}

#[derive(Serialize)]
struct LastText {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Stats {
    #[serde(flatten)]
    stats: SessionStats,
    #[serde(skip_serializing_if = "Option::is_none")]
    premium_requests: Option<u64>,
}

#[derive(Serialize)]
struct Commands {
    commands: Vec<SlashCommand>,
}

impl Server {
    pub(super) fn state(&self) -> Outcome {
        let session = &self.session;
        let settings = session.settings().get();
        let queued = session.queued_texts();
        let pending = queued.steering.len() + queued.follow_up.len();
        let model = session.model().map(|model| wire_model(&model));
        let (session_file, session_id, session_name) = session
            .with_session(|file| (file.session_file(), file.session_id(), file.session_name()));
        let extras = self.rules.xcsh_extras.then(|| Extras {
            todo_phases: self.client.lock().todo_phases.clone(),
            system_prompt: session.system_prompt(),
            dump_tools: session
                .tools()
                .active()
                .iter()
                .map(|tool| tool.spec().declaration())
                .collect(),
        });
        Reply::data(&State {
            // xcsh leaves the member out, pi sends a stand-in.
            model: if self.rules.xcsh_extras {
                model
            } else {
                Some(model.unwrap_or_else(placeholder))
            },
            thinking_level: session.thinking_level(),
            is_streaming: !session.is_idle(),
            is_compacting: session.is_compacting(),
            is_starting: !self.gate.has_started(),
            steering_mode: settings.steering_mode.as_str(),
            follow_up_mode: settings.follow_up_mode.as_str(),
            interrupt_mode: settings.interrupt_mode.as_str(),
            session_file,
            session_id,
            session_name,
            auto_compaction_enabled: settings.compaction.enabled,
            message_count: self.visible(session.messages()).len(),
            pending_message_count: pending,
            queued_message_count: pending,
            extras,
        })
    }

    pub(super) fn messages(&self) -> Outcome {
        Reply::data(&Messages {
            messages: self.visible(self.session.messages()),
        })
    }

    /// Messages that this dialect shows.
    fn visible(&self, messages: Vec<Arc<Message>>) -> Vec<Arc<Message>> {
        if self.rules.system_messages {
            messages
        } else {
            without_system(&messages)
        }
    }

    pub(super) fn last_assistant_text(&self) -> Outcome {
        Reply::data(&LastText {
            text: self.session.last_assistant_text(),
        })
    }

    pub(super) fn session_stats(&self) -> Outcome {
        let premium_requests = self.rules.xcsh_extras.then_some(0);
        Reply::data(&Stats {
            stats: self.session.stats(),
            premium_requests,
        })
    }

    pub(super) fn commands(&self) -> Outcome {
        Reply::data(&Commands {
            commands: self.extensions.commands(),
        })
    }

    pub(super) async fn integrations(&self) -> Outcome {
        let model = match self.session.model() {
            None => json!({ "state": "no_provider" }),
            Some(model) => {
                let connected = self.session.providers().has_credentials(&model);
                json!({ "state": if connected { "connected" } else { "auth_error" }, "provider": model.provider })
            }
        };
        let services = self.extensions.services().await;
        Reply::data(
            &json!({ "version": env!("CARGO_PKG_VERSION"), "model": model, "services": services }),
        )
    }
}
