//! Admission of prompts and the queues as clients use them (spec/rpc.md §3.1).
//!
//! The check whether a run is active and the start of a run are one step, so of two prompts at once the first starts a run and
//! the second is queued or refused; none is lost. What came first is admitted first, however long handlers take.

use std::sync::Arc;

use pier_protocol::event::AgentEvent;
use pier_protocol::message::{ImageBlock, Message};
use pier_protocol::model::Model;

use super::inner::{BusyGuard, Inner};
use super::{Disposition, PromptRequest, QueuedTexts, SessionError};
use crate::clock::now_ms;
use crate::hooks::{
    BeforeAgentStart, HookEvent, InputEvent, InputOutcome, InputSource, StreamingBehavior,
};
use crate::prompt::PromptOptions;
use crate::prompt::expand::expand;
use crate::queue::Lane;
use crate::run::RunStart;
use crate::tools::image_fit::fit_prompt;

/// Counts an extension command while it runs.
struct CommandGuard<'a>(&'a Inner);

impl<'a> CommandGuard<'a> {
    fn new(inner: &'a Inner) -> Self {
        inner.commands.send_modify(|commands| *commands += 1);
        CommandGuard(inner)
    }
}

impl Drop for CommandGuard<'_> {
    fn drop(&mut self) {
        self.0
            .commands
            .send_modify(|commands| *commands = commands.saturating_sub(1));
    }
}

/// Name and arguments of `/name arguments`; the name ends at the first space only.
fn split_command(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix('/')?;
    Some(rest.split_once(' ').unwrap_or((rest, "")))
}

/// What an input became after hooks and expansion.
enum Input {
    Handled,
    Text {
        text: String,
        images: Vec<ImageBlock>,
    },
}

impl Inner {
    pub(crate) async fn prompt(
        self: &Arc<Self>,
        request: PromptRequest,
    ) -> Result<Disposition, SessionError> {
        let aborts = self.state.lock().aborts;
        if request.expand
            && let Some((name, args)) = split_command(&request.text)
        {
            let hooks = self.hooks();
            if hooks.is_command(name) {
                self.not_settling().await;
                let running = CommandGuard::new(self);
                let found = hooks.run_command(name, args).await.is_some();
                drop(running);
                if found {
                    // What the command did comes before its response.
                    self.flush().await;
                    return Ok(Disposition::Handled);
                }
            }
        }
        let turn = self.admission.lock().await;
        self.not_settling().await;
        if self.state.lock().summary.is_some() {
            return Err(SessionError::Compacting);
        }
        let busy = !self.is_idle();
        let behavior = request.streaming_behavior.filter(|_| busy);
        let input = self
            .input(
                request.text,
                request.images,
                request.source,
                behavior,
                request.expand,
            )
            .await?;
        let Input::Text { text, images } = input else {
            return Ok(Disposition::Handled);
        };
        loop {
            self.not_settling().await;
            if let Some(guard) = self.try_begin_run() {
                // An error gives the session back as it was.
                let model = self.usable_model()?;
                self.triggers_join_run();
                drop(turn);
                if self.state.lock().aborts != aborts {
                    guard.run.cancel.cancel();
                }
                self.begin_user_run(guard, &model, text, images).await;
                return Ok(Disposition::Started);
            }
            if self.state.lock().closed {
                return Err(SessionError::Failed(
                    "The session was shut down.".to_owned(),
                ));
            }
            if self.is_idle() {
                // The run settled in between; its `agent_settled` is still being delivered.
                continue;
            }
            let lane = match request.streaming_behavior {
                Some(StreamingBehavior::Steer) => Lane::Steering,
                Some(StreamingBehavior::FollowUp) => Lane::FollowUp,
                None if self.decided().await => continue,
                None => return Err(SessionError::Busy),
            };
            self.enqueue_user(lane, text, images).await;
            return Ok(Disposition::Queued);
        }
    }

    /// `steer` and `follow_up` of a client.
    pub(crate) async fn queue_input(
        self: &Arc<Self>,
        lane: Lane,
        text: &str,
        images: Vec<ImageBlock>,
    ) -> Result<Disposition, SessionError> {
        if let Some((name, _)) = split_command(text)
            && self.hooks().is_command(name)
        {
            return Err(SessionError::CommandNotQueueable {
                name: name.to_owned(),
            });
        }
        let _turn = self.admission.lock().await;
        let behavior = match lane {
            Lane::Steering => StreamingBehavior::Steer,
            Lane::FollowUp => StreamingBehavior::FollowUp,
        };
        let behavior = Some(behavior).filter(|_| !self.is_idle());
        match self
            .input(text.to_owned(), images, InputSource::Rpc, behavior, true)
            .await?
        {
            Input::Handled => Ok(Disposition::Handled),
            Input::Text { text, images } => {
                self.enqueue_user(lane, text, images).await;
                Ok(Disposition::Queued)
            }
        }
    }

    async fn input(
        &self,
        text: String,
        images: Vec<ImageBlock>,
        source: InputSource,
        streaming_behavior: Option<StreamingBehavior>,
        expansion: bool,
    ) -> Result<Input, SessionError> {
        let hooks = self.hooks();
        let (mut text, mut images) = (text, images);
        if hooks.subscribed(HookEvent::Input) {
            let event = InputEvent {
                text: text.clone(),
                images: images.clone(),
                source,
                streaming_behavior,
            };
            match hooks.input(event).await {
                InputOutcome::Continue => {}
                InputOutcome::Handled => return Ok(Input::Handled),
                InputOutcome::Transform {
                    text: new_text,
                    images: new_images,
                } => {
                    text = new_text;
                    images = new_images;
                }
            }
        }
        if expansion {
            let config = self.prompt.read().clone();
            text =
                expand(&text, &config).map_err(|error| SessionError::Failed(error.to_string()))?;
        }
        Ok(Input::Text { text, images })
    }

    /// The selected model, if a request could be authorised.
    pub(crate) fn usable_model(&self) -> Result<Arc<Model>, SessionError> {
        let model = self.model().ok_or(SessionError::NoModel)?;
        if self.providers.has_credentials(&model) {
            Ok(model)
        } else {
            Err(SessionError::NoCredentials {
                provider: model.provider.clone(),
            })
        }
    }

    /// From acceptance to the start of the run, which then goes on in the background.
    async fn begin_user_run(
        self: &Arc<Self>,
        guard: BusyGuard,
        model: &Model,
        text: String,
        images: Vec<ImageBlock>,
    ) {
        self.compact_before_prompt(&guard.run.cancel, model).await;
        let message = Arc::new(Message::user(&text, images.clone(), now_ms()));
        let mut messages = vec![self.fitted(message).await];
        let held: Vec<_> = std::mem::take(&mut self.state.lock().next_turn);
        messages.extend(
            held.into_iter()
                .map(|message| Arc::new(Message::Custom(message))),
        );
        let start = self.before_agent_start(text, images, None, messages).await;
        self.spawn_run(guard, start);
    }

    /// Asks the `before_agent_start` handlers and adds what they return.
    pub(crate) async fn before_agent_start(
        &self,
        prompt: String,
        images: Vec<ImageBlock>,
        message: Option<Arc<Message>>,
        mut messages: Vec<Arc<Message>>,
    ) -> RunStart {
        let hooks = self.hooks();
        if hooks.subscribed(HookEvent::BeforeAgentStart) {
            let options = self.base_prompt_options();
            let selected = options.selected_tools.clone();
            let outcome = hooks
                .before_agent_start(BeforeAgentStart {
                    prompt,
                    images,
                    message,
                    system_prompt_options: options,
                })
                .await;
            messages.extend(outcome.messages.into_iter().map(|mut message| {
                if message.timestamp == 0 {
                    message.timestamp = now_ms();
                }
                Arc::new(Message::Custom(message))
            }));
            self.take_prompt_options(outcome.system_prompt_options, &selected);
        }
        RunStart { messages }
    }

    /// Puts edited inputs of the prompt into force for this run. An edited list of tools becomes the active one; otherwise
    /// what a handler activated with `setActiveTools` stays.
    fn take_prompt_options(&self, edited: Option<PromptOptions>, selected: &[String]) {
        if let Some(edited) = &edited
            && edited.selected_tools != selected
        {
            self.tools.set_active(&edited.selected_tools);
        }
        self.state.lock().run_prompt = edited;
        self.touch_prompt();
    }

    /// A user message with images that can be sent; what was done to them is said behind the text.
    pub(crate) async fn fitted(&self, message: Arc<Message>) -> Arc<Message> {
        let Message::User(body) = &*message else {
            return message;
        };
        let images: Vec<ImageBlock> = body.content.images().cloned().collect();
        if images.is_empty() {
            return message;
        }
        let (images, hints) = fit_prompt(images, self.settings().resize_images).await;
        let text = match hints.as_slice() {
            [] => message.text(),
            hints => format!("{}\n\n{}", message.text(), hints.join("\n")),
        };
        Arc::new(Message::user(text, images, body.timestamp))
    }

    pub(crate) async fn enqueue_user(&self, lane: Lane, text: String, images: Vec<ImageBlock>) {
        // Images are looked at when it is delivered (spec/agent-loop.md §4.2).
        let message = Arc::new(Message::user(&text, images, now_ms()));
        self.state.lock().queues.push(lane, message, Some(text));
        self.emit_queue().await;
    }

    pub(crate) async fn emit_queue(&self) {
        self.touch();
        let texts = self.state.lock().queues.texts().clone();
        self.emit(AgentEvent::QueueUpdate {
            steering: texts.steering,
            follow_up: texts.follow_up,
        })
        .await;
    }

    pub(crate) async fn clear_queue(&self) -> QueuedTexts {
        let texts = self.state.lock().queues.clear();
        self.emit_queue().await;
        texts
    }
}
