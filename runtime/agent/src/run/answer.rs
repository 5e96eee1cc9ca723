//! One request to the model and the answer to it: context, hooks, provider, stream events (spec/agent-loop.md §4.4).

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use pier_protocol::event::AgentEvent;
use pier_protocol::message::{AssistantMessage, Message, StopReason, SystemMessage};
use pier_protocol::model::Model;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Run;
use crate::agent_session::inner::Inner;
use crate::clock::now_ms;
use crate::convert::to_provider_messages;
use crate::hooks::{ExtensionHooks, HookEvent};
use crate::prompt::PromptState;
use crate::provider::stream::{Assembler, Step};
use crate::provider::{AssistantEvent, ModelProvider, ModelRequest, RequestKind, RequestObserver};
use crate::session::{EntryRef, SessionError as StorageError};

/// Events of a provider that may wait for the session.
const STREAM_DEPTH: usize = 64;
/// How long an aborted provider may take to say its last word.
const ABORT_GRACE: Duration = Duration::from_secs(3);
/// How long a provider may go on after its final event.
const END_GRACE: Duration = Duration::from_secs(2);
/// Longest silence of a provider, unless the setting `httpIdleTimeoutMs` says otherwise.
const IDLE_LIMIT: Duration = Duration::from_secs(300);
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
        let mut messages = self.session.build_context().into_messages();
        if hooks.subscribed(HookEvent::Context) {
            messages = with_context_hook(&*hooks, messages).await;
        }
        if hooks.subscribed(HookEvent::ContextWithSystem)
            && let Some(changed) = hooks.context_with_system(&messages).await
        {
            messages = changed;
        }
        let prompt = PromptState::replay(&messages);
        let mut system_prompt = prompt.text();
        if let Some(forced) = self.forced_prompt() {
            messages.retain(|message| !message.is_system());
            let head = SystemMessage {
                content: forced.clone(),
                tools_added: Some(prompt.declarations()).filter(|tools| !tools.is_empty()),
                timestamp: now_ms(),
                ..SystemMessage::default()
            };
            messages.insert(0, Arc::new(Message::System(head)));
            system_prompt = forced;
        }
        ModelRequest {
            model: model.clone(),
            kind: RequestKind::Turn,
            system_prompt,
            messages: to_provider_messages(&messages, self.settings().block_images),
            tools: prompt.declarations(),
            thinking_level: self.thinking_level(),
            session_id: self.session.session_id(),
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
        let mut source = Source::open(provider, request, &cancel, self.idle_limit());
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
                    let reason = if cancel.is_cancelled() {
                        StopReason::Aborted
                    } else {
                        StopReason::Error
                    };
                    return (assembler.fail(reason, text), assembler.has_started());
                }
                Err(Stalled::Aborted) => {
                    return (
                        assembler.fail(StopReason::Aborted, "Request was aborted"),
                        assembler.has_started(),
                    );
                }
                Err(Stalled::Idle(limit)) => {
                    let text = format!(
                        "The provider sent nothing for {} s: timed out",
                        limit.as_secs()
                    );
                    return (
                        assembler.fail(StopReason::Error, text),
                        assembler.has_started(),
                    );
                }
            };
            match assembler.accept(event) {
                Ok(Step::Started) => {
                    let message = Arc::new(Message::Assistant(assembler.partial().snapshot()));
                    self.emit(AgentEvent::MessageStart { message }).await;
                }
                Ok(Step::Update(update)) => {
                    let usage = assembler.partial().with(|message| message.usage.clone());
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
                    return (message, assembler.has_started());
                }
                Err(fault) => {
                    return (
                        assembler.fail(StopReason::Error, fault.to_string()),
                        assembler.has_started(),
                    );
                }
            }
        }
    }

    /// Longest silence of a provider.
    pub(crate) fn idle_limit(&self) -> Duration {
        self.settings()
            .raw
            .get("httpIdleTimeoutMs")
            .and_then(serde_json::Value::as_u64)
            .filter(|ms| *ms > 0)
            .map_or(IDLE_LIMIT, Duration::from_millis)
    }
}

fn skeleton(model: &Model) -> AssistantMessage {
    AssistantMessage {
        api: model.api.clone(),
        provider: model.provider.clone(),
        model: model.id.clone(),
        stop_reason: StopReason::Pending,
        timestamp: now_ms(),
        ..AssistantMessage::default()
    }
}

fn failure(model: &Model, stop_reason: StopReason, text: impl Into<String>) -> AssistantMessage {
    AssistantMessage {
        stop_reason,
        error_message: Some(text.into()),
        ..skeleton(model)
    }
}

/// Why nothing comes any more.
enum Stalled {
    Aborted,
    Idle(Duration),
}

/// A provider at work and the events it sends. Dropping it stops the provider.
pub(crate) struct Source {
    events: mpsc::Receiver<AssistantEvent>,
    task: tokio::task::JoinHandle<Option<String>>,
    cancel: CancellationToken,
    idle_limit: Duration,
}

impl Source {
    pub(crate) fn open(
        provider: Arc<dyn ModelProvider>,
        request: ModelRequest,
        cancel: &CancellationToken,
        idle_limit: Duration,
    ) -> Self {
        let (sender, events) = mpsc::channel(STREAM_DEPTH);
        let token = cancel.clone();
        let task = tokio::spawn(async move {
            let work = provider.stream(request, sender, token);
            match std::panic::AssertUnwindSafe(work).catch_unwind().await {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(error.to_string()),
                Err(_) => Some("The provider failed internally".to_owned()),
            }
        });
        Source {
            events,
            task,
            cancel: cancel.clone(),
            idle_limit,
        }
    }

    /// The next event; `None` at the end of the stream.
    async fn next(&mut self) -> Result<Option<AssistantEvent>, Stalled> {
        if self.cancel.is_cancelled() {
            return tokio::time::timeout(ABORT_GRACE, self.events.recv())
                .await
                .map_err(|_| Stalled::Aborted);
        }
        tokio::select! {
            biased;
            event = self.events.recv() => Ok(event),
            () = self.cancel.cancelled() => {
                tokio::time::timeout(ABORT_GRACE, self.events.recv()).await.map_err(|_| Stalled::Aborted)
            }
            () = tokio::time::sleep(self.idle_limit) => Err(Stalled::Idle(self.idle_limit)),
        }
    }

    /// What the provider's task said when its stream was over: an error text.
    async fn outcome(&mut self) -> Option<String> {
        match tokio::time::timeout(END_GRACE, &mut self.task).await {
            Ok(Ok(text)) => text,
            Ok(Err(_)) => Some("The provider was stopped".to_owned()),
            Err(_) => None,
        }
    }

    /// After the final event: whether another one comes. Waits for the provider to end, within limits.
    async fn extra_event(&mut self) -> bool {
        matches!(
            tokio::time::timeout(END_GRACE, self.events.recv()).await,
            Ok(Some(_))
        )
    }

    /// Reads a stream without announcing anything, for summaries.
    pub(crate) async fn collect(&mut self, model: &Model) -> AssistantMessage {
        let mut assembler = Assembler::new(skeleton(model));
        loop {
            match self.next().await {
                Ok(Some(event)) => match assembler.accept(event) {
                    Ok(Step::Finished(message)) => return *message,
                    Ok(_) => {}
                    Err(fault) => return assembler.fail(StopReason::Error, fault.to_string()),
                },
                Ok(None) => {
                    let text = self
                        .outcome()
                        .await
                        .or_else(|| assembler.ended().map(|fault| fault.to_string()));
                    return assembler.fail(StopReason::Error, text.unwrap_or_default());
                }
                Err(Stalled::Aborted) => {
                    return assembler.fail(StopReason::Aborted, "Request was aborted");
                }
                Err(Stalled::Idle(limit)) => {
                    let text = format!(
                        "The provider sent nothing for {} s: timed out",
                        limit.as_secs()
                    );
                    return assembler.fail(StopReason::Error, text);
                }
            }
        }
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        self.task.abort();
    }
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
