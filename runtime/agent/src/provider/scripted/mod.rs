//! The embedded `scripted` provider: deterministic answers without a network.
//!
//! It answers when nothing else is configured, and it drives the tests. The last user message is the script; see
//! [`plan`] for the directives. With a script file the file's text takes the place of the user's.

mod plan;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use pier_protocol::message::{
    AssistantMessage, Block, PerKind, StopReason, TextBlock, ThinkingBlock, ToolCallBlock, Usage,
};
use pier_protocol::model::{Model, ModelCost};
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{AssistantEvent, ModelProvider, ModelRequest, ProviderError, ProviderRegistry};
use crate::clock::now_ms;
use crate::regular_file;
use plan::{Plan, PlannedBlock, Planner};

/// Name of the provider.
pub const PROVIDER: &str = "scripted";
/// The model that answers when nothing else is configured.
pub const DEFAULT_MODEL: &str = "scripted-1";

/// Deterministic answers.
pub struct ScriptedProvider {
    planner: Mutex<Planner>,
    /// Wait before each piece of a summary, for tests that abort one.
    summary_delay: Duration,
}

/// A script file could not be read.
#[derive(Debug, thiserror::Error)]
#[error("Script file {path}: {source}")]
pub struct ScriptError {
    path: std::path::PathBuf,
    source: std::io::Error,
}

impl Default for ScriptedProvider {
    fn default() -> Self {
        Self::new()
    }
}

impl ScriptedProvider {
    /// Answers by the directives in user messages.
    pub fn new() -> Self {
        ScriptedProvider {
            planner: Mutex::new(Planner::default()),
            summary_delay: Duration::ZERO,
        }
    }

    /// Answers by the scripts in a file, one for each user message, separated by lines `---`; the last one repeats.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn from_file(path: &Path) -> Result<Self, ScriptError> {
        let text = regular_file::read_to_string(path).map_err(|source| ScriptError {
            path: path.to_path_buf(),
            source,
        })?;
        Ok(Self::with_scripts(&text))
    }

    /// As [`ScriptedProvider::from_file`], with the text itself.
    pub fn with_scripts(text: &str) -> Self {
        let provider = Self::new();
        provider.planner.lock().set_scripts(text);
        provider
    }

    /// Waits before each piece of a summary.
    pub fn with_summary_delay(mut self, delay: Duration) -> Self {
        self.summary_delay = delay;
        self
    }

    /// The models of the provider.
    pub fn models() -> Vec<Model> {
        let model = |id: &str, name: &str, reasoning: bool, context_window: u64| Model {
            id: id.into(),
            name: name.into(),
            api: "scripted".into(),
            provider: PROVIDER.into(),
            reasoning,
            input: vec!["text".into(), "image".into()],
            cost: ModelCost {
                rates: PerKind {
                    input: 1.0,
                    output: 2.0,
                    cache_read: 0.1,
                    cache_write: 1.25,
                },
                ..ModelCost::default()
            },
            context_window,
            max_tokens: 4_096,
            ..Model::default()
        };
        vec![
            model(DEFAULT_MODEL, "Scripted One", false, 128_000),
            model("scripted-think", "Scripted Thinking", true, 128_000),
            model("scripted-small", "Scripted Small", false, 20_000),
        ]
    }

    /// Registers the provider under its name.
    pub fn register(self, registry: &ProviderRegistry) {
        registry.register("builtin", PROVIDER, Arc::new(self), Self::models());
    }
}

/// One answer being sent.
struct Answer<'a> {
    output: AssistantMessage,
    events: &'a mpsc::Sender<AssistantEvent>,
    cancel: &'a CancellationToken,
}

/// The consumer went away or the request was cancelled.
struct Stopped;

impl Answer<'_> {
    async fn send(&self, event: AssistantEvent) -> Result<(), Stopped> {
        self.events.send(event).await.map_err(|_| Stopped)
    }

    /// Waits before a piece; an abort ends the answer.
    async fn pause(&mut self, delay: Duration) -> Result<(), Stopped> {
        if delay.is_zero() {
            tokio::task::yield_now().await;
        } else {
            tokio::select! {
                () = tokio::time::sleep(delay) => {}
                () = self.cancel.cancelled() => {}
            }
        }
        if self.cancel.is_cancelled() {
            self.fail(StopReason::Aborted, "Request was aborted")
                .await?;
            return Err(Stopped);
        }
        Ok(())
    }

    async fn fail(&mut self, reason: StopReason, text: &str) -> Result<(), Stopped> {
        let mut error = self.output.clone();
        error.stop_reason = reason;
        error.error_message = Some(text.to_owned());
        self.send(AssistantEvent::Error { error }).await
    }

    async fn run(&mut self, plan: &Plan, model: &Model, input_chars: usize) -> Result<(), Stopped> {
        if let Some(text) = &plan.error {
            return self.fail(StopReason::Error, text).await;
        }
        if self.cancel.is_cancelled() {
            return self.fail(StopReason::Aborted, "Request was aborted").await;
        }
        self.send(AssistantEvent::Start {}).await?;
        tokio::task::yield_now().await;
        for (content_index, block) in plan.blocks.iter().enumerate() {
            match block {
                PlannedBlock::Text(text) => self.text(plan, content_index, text).await?,
                PlannedBlock::Thinking(text) => self.thinking(plan, content_index, text).await?,
                PlannedBlock::ToolCall(call) => self.tool_call(plan, content_index, call).await?,
            }
        }
        self.output.usage = plan.usage(input_chars);
        self.output.usage.cost = crate::usage::cost(model, &self.output.usage);
        if let Some(text) = &plan.mid_error {
            return self.fail(StopReason::Error, text).await;
        }
        self.output.stop_reason = plan.stop_reason();
        let message = self.output.clone();
        self.send(AssistantEvent::Done { message }).await
    }

    async fn text(&mut self, plan: &Plan, content_index: usize, text: &str) -> Result<(), Stopped> {
        self.output.content.push(Block::text(""));
        self.send(AssistantEvent::TextStart { content_index })
            .await?;
        for piece in plan.pieces(text) {
            self.pause(plan.delay).await?;
            if let Some(Block::Text(TextBlock { text, .. })) = self.output.content.last_mut() {
                text.push_str(&piece);
            }
            self.send(AssistantEvent::TextDelta {
                content_index,
                delta: piece,
            })
            .await?;
        }
        self.send(AssistantEvent::TextEnd {
            content_index,
            content: text.to_owned(),
            text_signature: None,
        })
        .await
    }

    async fn thinking(
        &mut self,
        plan: &Plan,
        content_index: usize,
        text: &str,
    ) -> Result<(), Stopped> {
        self.output
            .content
            .push(Block::Thinking(ThinkingBlock::default()));
        self.send(AssistantEvent::ThinkingStart { content_index })
            .await?;
        for piece in plan.pieces(text) {
            self.pause(plan.delay).await?;
            if let Some(Block::Thinking(ThinkingBlock { thinking, .. })) =
                self.output.content.last_mut()
            {
                thinking.push_str(&piece);
            }
            self.send(AssistantEvent::ThinkingDelta {
                content_index,
                delta: piece,
            })
            .await?;
        }
        self.send(AssistantEvent::ThinkingEnd {
            content_index,
            content: text.to_owned(),
            thinking_signature: None,
        })
        .await
    }

    async fn tool_call(
        &mut self,
        plan: &Plan,
        content_index: usize,
        call: &ToolCallBlock,
    ) -> Result<(), Stopped> {
        let announced = ToolCallBlock {
            id: call.id.clone(),
            name: call.name.clone(),
            ..ToolCallBlock::default()
        };
        self.output.content.push(Block::ToolCall(announced));
        let (id, tool_name) = (call.id.clone(), call.name.clone());
        self.send(AssistantEvent::ToolCallStart {
            content_index,
            id,
            tool_name,
        })
        .await?;
        let json = serde_json::to_string(&call.arguments).unwrap_or_default();
        for piece in plan.pieces(&json) {
            self.pause(plan.delay).await?;
            self.send(AssistantEvent::ToolCallDelta {
                content_index,
                delta: piece,
            })
            .await?;
        }
        if let Some(block) = self.output.content.last_mut() {
            *block = Block::ToolCall(call.clone());
        }
        self.send(AssistantEvent::ToolCallEnd {
            content_index,
            tool_call: call.clone(),
        })
        .await
    }
}

#[async_trait]
impl ModelProvider for ScriptedProvider {
    async fn stream(
        &self,
        request: ModelRequest,
        events: mpsc::Sender<AssistantEvent>,
        cancel: CancellationToken,
    ) -> Result<(), ProviderError> {
        let payload = json!({"scripted": true, "messages": request.messages.len()});
        request.observer.payload(&payload).await;
        request
            .observer
            .response(200, json!({"x-scripted": "1"}))
            .await;
        let plan = self
            .planner
            .lock()
            .plan(&request.messages, self.summary_delay);
        let mut answer = Answer {
            output: AssistantMessage {
                api: request.model.api.clone(),
                provider: request.model.provider.clone(),
                model: request.model.id.clone(),
                timestamp: now_ms(),
                usage: Usage::default(),
                ..AssistantMessage::default()
            },
            events: &events,
            cancel: &cancel,
        };
        let plan = match plan {
            Ok(plan) => plan,
            Err(text) => Plan {
                error: Some(text),
                ..Plan::default()
            },
        };
        // A stopped answer has said what there was to say.
        let _ = answer
            .run(&plan, &request.model, plan::input_chars(&request.messages))
            .await;
        Ok(())
    }
}
