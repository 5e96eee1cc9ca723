//! One request to the model and the answer to it: context, hooks, provider, stream events (spec/agent-loop.md §4.4).

use std::sync::Arc;
use std::time::Instant;

use pier_protocol::event::AgentEvent;
use pier_protocol::message::{AssistantMessage, Message, StopReason, SystemMessage};
use pier_protocol::model::Model;
use tokio_util::sync::CancellationToken;

use super::Run;
use crate::agent_session::inner::Inner;
use crate::clock::now_ms;
use crate::convert::{to_provider_messages, without_images};
use crate::hooks::{ExtensionHooks, HookEvent};
use crate::prompt::PromptState;
use crate::provider::source::{self, Source, skeleton};
use crate::provider::stream::{Assembler, Step};
use crate::provider::{ModelProvider, ModelRequest, RequestKind, RequestObserver};
use crate::session::{EntryRef, SessionContext, SessionError as StorageError};

/// Text of an answer that was aborted before its request.
const ABORTED_TEXT: &str = "This operation was aborted";

impl Inner {
    /// Sends the request for the next answer, announces the stream, stores the answer.
    pub(crate) async fn answer(
        self: &Arc<Self>,
        run: &Run,
    ) -> Result<(Arc<Message>, EntryRef), StorageError> {
        let began = Instant::now();
        let level = self.thinking_level();
        let Some(model) = self.model() else {
            let failed = failure(&Model::default(), StopReason::Error, "No model selected.");
            return self.announce_answer(failed, began).await;
        };
        let cancel = run.active.cancel.clone();
        let request = self.request(&model).await;
        if cancel.is_cancelled() {
            return self
                .announce_answer(failure(&model, StopReason::Aborted, ABORTED_TEXT), began)
                .await;
        }
        let Some(entry) = self.providers.get(&model.provider) else {
            let text = format!("Provider \"{}\" is not available.", model.provider);
            return self
                .announce_answer(failure(&model, StopReason::Error, text), began)
                .await;
        };
        if !entry.provider.has_credentials(&model) {
            let text = format!("No API key found for provider \"{}\".", model.provider);
            return self
                .announce_answer(failure(&model, StopReason::Error, text), began)
                .await;
        }
        let (mut answer, started) = self.stream(entry.provider, request, cancel).await;
        self.complete(&mut answer, began, level.as_str());
        let message = Arc::new(Message::Assistant(answer));
        if !started {
            // Nothing was streamed, so both events carry the final message.
            self.emit(AgentEvent::MessageStart {
                message: message.clone(),
            })
            .await;
        }
        self.finish_message(message).await
    }

    async fn announce_answer(
        &self,
        mut answer: AssistantMessage,
        began: Instant,
    ) -> Result<(Arc<Message>, EntryRef), StorageError> {
        self.complete(&mut answer, began, self.thinking_level().as_str());
        self.announce(Arc::new(Message::Assistant(answer))).await
    }

    fn complete(&self, answer: &mut AssistantMessage, began: Instant, level: &str) {
        answer.duration_ms = Some(u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX));
        answer.thinking_level = Some(level.to_owned());
    }

    /// Builds the request from the session as it is now.
    async fn request(&self, model: &Arc<Model>) -> ModelRequest {
        let hooks = self.hooks();
        let context = self.session.context();
        let (mut messages, prompt) = match rewritten(&*hooks, &context).await {
            Some(changed) => (
                Arc::new(to_provider_messages(&changed)),
                PromptState::replay(&changed),
            ),
            None => (
                context.provider_messages.clone(),
                PromptState::replay(&context.system_messages),
            ),
        };
        let mut system_prompt = prompt.text();
        if let Some(forced) = self.forced_prompt() {
            let head = SystemMessage {
                content: forced.clone(),
                tools_added: Some(prompt.declarations()).filter(|tools| !tools.is_empty()),
                timestamp: now_ms(),
                ..SystemMessage::default()
            };
            let others = messages.iter().filter(|message| !message.is_system());
            messages = Arc::new(
                std::iter::once(Arc::new(Message::System(head)))
                    .chain(others.cloned())
                    .collect(),
            );
            system_prompt = forced;
        }
        if self.settings().block_images {
            messages = Arc::new(messages.iter().map(without_images).collect());
        }
        ModelRequest {
            model: model.clone(),
            kind: RequestKind::Turn,
            system_prompt,
            messages,
            tools: prompt.declarations(),
            thinking_level: self.thinking_level(),
            session_id: self.session.session_id(),
            options: serde_json::Map::new(),
            observer: RequestObserver::new(hooks),
        }
    }

    /// Reads one stream to its end. Returns the final message, and whether its start was announced.
    async fn stream(
        &self,
        provider: Arc<dyn ModelProvider>,
        request: ModelRequest,
        cancel: CancellationToken,
    ) -> (AssistantMessage, bool) {
        let mut assembler = Assembler::new(skeleton(&request.model));
        let trace = self.providers.trace(&request, self.hooks());
        let mut source = Source::open(provider, request, &cancel, self.idle_limit(), trace);
        let message = self.read(&mut source, &mut assembler).await;
        source.traced(&message).await;
        (message, assembler.has_started())
    }

    /// The stream's final message, announcing everything on the way.
    async fn read(&self, source: &mut Source, assembler: &mut Assembler) -> AssistantMessage {
        loop {
            let event = match source.next().await {
                Ok(Some(event)) => event,
                Ok(None) => {
                    let text = match source.outcome().await {
                        Some(text) => text,
                        None => match assembler.ended() {
                            Some(fault) => fault.to_string(),
                            None => String::new(),
                        },
                    };
                    return assembler.fail(source.end_reason(), text);
                }
                Err(stalled) => return stalled.message(assembler),
            };
            match assembler.accept(event) {
                Ok(Step::Started) => {
                    let message = Arc::new(Message::Assistant(assembler.partial().snapshot()));
                    self.emit(AgentEvent::MessageStart { message }).await;
                }
                Ok(Step::Update(update)) => {
                    let usage = assembler.partial().peek(|message| message.usage.clone());
                    self.emit_update(AgentEvent::MessageUpdate {
                        usage,
                        assistant_message_event: update,
                        partial: assembler.partial().clone(),
                    })
                    .await;
                }
                Ok(Step::Quiet) => {}
                Ok(Step::Finished(message)) => {
                    let message = match source.extra_event().await {
                        true => assembler.fail(
                            StopReason::Error,
                            "Provider stream is invalid: an event came after the end",
                        ),
                        false => *message,
                    };
                    return message;
                }
                Err(fault) => {
                    return assembler.fail(StopReason::Error, fault.to_string());
                }
            }
        }
    }

    /// Longest silence of a provider.
    pub(crate) fn idle_limit(&self) -> std::time::Duration {
        source::idle_limit(&self.settings().raw)
    }
}

fn failure(model: &Model, stop_reason: StopReason, text: impl Into<String>) -> AssistantMessage {
    AssistantMessage {
        stop_reason,
        error_message: Some(text.into()),
        ..skeleton(model)
    }
}

/// The messages after the handlers of both `context` events; `None` when nobody subscribed.
async fn rewritten(
    hooks: &dyn ExtensionHooks,
    context: &SessionContext,
) -> Option<Vec<Arc<Message>>> {
    let mut changed = None;
    if hooks.subscribed(HookEvent::Context) {
        changed = Some(with_context_hook(hooks, context.to_messages()).await);
    }
    if hooks.subscribed(HookEvent::ContextWithSystem) {
        let messages = changed.unwrap_or_else(|| context.to_messages());
        changed = Some(
            hooks
                .context_with_system(&messages)
                .await
                .unwrap_or(messages),
        );
    }
    changed
}

/// Hides system messages from the handlers and puts them back where they were: before the message they preceded, or the next one that is left.
async fn with_context_hook(
    hooks: &dyn ExtensionHooks,
    messages: Vec<Arc<Message>>,
) -> Vec<Arc<Message>> {
    let visible: Vec<Arc<Message>> = messages
        .iter()
        .filter(|message| !message.is_system())
        .cloned()
        .collect();
    let Some(changed) = hooks.context(&visible).await else {
        return messages;
    };
    let changed: Vec<Arc<Message>> = changed
        .into_iter()
        .filter(|message| !message.is_system())
        .collect();
    // For each system message: how many visible messages came before it, and itself.
    let mut anchors: Vec<(usize, Arc<Message>)> = Vec::new();
    let mut before = 0;
    for message in &messages {
        if message.is_system() {
            anchors.push((before, message.clone()));
        } else {
            before += 1;
        }
    }
    let mut result: Vec<Arc<Message>> = Vec::with_capacity(messages.len());
    let mut anchors = anchors.into_iter().peekable();
    let kept = |message: &Arc<Message>| {
        changed
            .iter()
            .position(|other| Arc::ptr_eq(other, message))
            .or_else(|| changed.iter().position(|other| **other == **message))
    };
    // Before the first message behind it that the handlers left there.
    let position = |count: usize| {
        let behind = &visible[count..];
        match behind.iter().find_map(kept) {
            Some(at) => at,
            None if behind.is_empty() => changed.len(),
            None => count.min(changed.len()),
        }
    };
    for (at, message) in changed.iter().enumerate() {
        while let Some((count, system)) = anchors.peek() {
            if position(*count) > at {
                break;
            }
            result.push(system.clone());
            anchors.next();
        }
        result.push(message.clone());
    }
    result.extend(anchors.map(|(_, system)| system));
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_trait::async_trait;

    struct Drop2(Vec<Arc<Message>>);

    #[async_trait]
    impl ExtensionHooks for Drop2 {
        fn subscribed(&self, _event: HookEvent) -> bool {
            true
        }

        async fn context(&self, _messages: &[Arc<Message>]) -> Option<Vec<Arc<Message>>> {
            Some(self.0.clone())
        }
    }

    fn user(text: &str) -> Arc<Message> {
        Arc::new(Message::user(text, Vec::new(), 0))
    }

    fn system(text: &str) -> Arc<Message> {
        Arc::new(Message::System(SystemMessage {
            content: text.into(),
            ..SystemMessage::default()
        }))
    }

    #[tokio::test]
    async fn system_messages_return_to_their_places() {
        let (a, b, c) = (user("a"), user("b"), user("c"));
        let messages = vec![
            system("1"),
            a.clone(),
            system("2"),
            b,
            system("3"),
            c.clone(),
        ];
        let hooks = Drop2(vec![user("new"), a, c]);
        let texts: Vec<String> = with_context_hook(&hooks, messages)
            .await
            .iter()
            .map(|message| message.text())
            .collect();
        assert_eq!(texts, ["new", "1", "a", "2", "3", "c"]);
    }
}
