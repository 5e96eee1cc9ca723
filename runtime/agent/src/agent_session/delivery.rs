//! Messages that extensions send: the delivery matrix of spec/extension-api.md §3.
//!
//! The calls are synchronous and never fail; what goes wrong later is reported. Whatever may start a run waits in a list of
//! triggers that is worked off in order.

use std::sync::Arc;
use std::time::Duration;

use pier_protocol::message::{Block, Content, CustomMessage, Extra, ImageBlock, Message};
use serde_json::Value;
use tokio::sync::MutexGuard;

use super::emit::Job;
use super::inner::Inner;
use super::{
    CustomMessageRequest, DeliverAs, DeliveryOptions, PromptRequest, SessionError,
    UserMessageOptions,
};
use crate::clock::now_ms;
use crate::hooks::InputSource;
use crate::queue::Lane;
use crate::run::RunStart;
use crate::settings::DeliveryRules;

/// How long a trigger waits for the command that caused it, so that the command's response comes first.
const COMMAND_GRACE: Duration = Duration::from_millis(25);

/// Something that may start a run.
pub(crate) enum Trigger {
    Custom {
        message: CustomMessage,
        pipeline: bool,
        sender: Option<String>,
        /// Where it goes when another run has begun meanwhile.
        lane: Lane,
    },
    User {
        content: Content,
        options: UserMessageOptions,
    },
    /// The messages held for the next turn, under xcsh's exact rules.
    NextTurn,
}

/// Where a custom message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Destination {
    /// Stored now; no run.
    Store,
    /// Starts a run.
    Run,
    Queue(Lane),
    /// Held for the next user prompt.
    NextTurn,
    /// Held, and consumed in a turn of its own when the run ends.
    NextTurnAndContinue,
    /// Stored at the end of the current turn; causes no request.
    TurnEnd,
}

fn lane(options: DeliveryOptions) -> Lane {
    match options.deliver_as {
        Some(DeliverAs::FollowUp) => Lane::FollowUp,
        _ => Lane::Steering,
    }
}

/// The matrix.
pub(crate) fn destination(
    rules: DeliveryRules,
    busy: bool,
    options: DeliveryOptions,
) -> Destination {
    let triggers = options.trigger_turn == Some(true);
    let lane = lane(options);
    if options.deliver_as == Some(DeliverAs::NextTurn) {
        return match (rules, busy, triggers) {
            (DeliveryRules::Xcsh, true, true) => Destination::NextTurnAndContinue,
            (DeliveryRules::Xcsh, false, true) => Destination::Run,
            (DeliveryRules::Xcsh, false, false) => Destination::Store,
            _ => Destination::NextTurn,
        };
    }
    match (busy, rules) {
        (false, _) if triggers => Destination::Run,
        (false, _) => Destination::Store,
        // Only xcsh queues a message that says it must not cause a turn; elsewhere saying so counts.
        (true, DeliveryRules::Host | DeliveryRules::Pi) if options.trigger_turn == Some(false) => {
            Destination::TurnEnd
        }
        (true, _) => Destination::Queue(lane),
    }
}

impl Inner {
    pub(crate) fn send_custom_message(
        self: &Arc<Self>,
        request: CustomMessageRequest,
        options: DeliveryOptions,
    ) {
        let rules = self.settings().delivery;
        let sender = request.sender.clone();
        let message = custom_message(request, rules);
        match destination(rules, !self.is_idle(), options) {
            Destination::Store => self.store_custom(message, sender.as_deref()),
            Destination::Run => {
                self.push_trigger(Trigger::Custom {
                    message,
                    pipeline: rules == DeliveryRules::Pi,
                    sender,
                    lane: lane(options),
                });
            }
            Destination::Queue(lane) => {
                self.state
                    .lock()
                    .queues
                    .push(lane, Arc::new(Message::Custom(message)), None);
                self.touch();
            }
            Destination::NextTurn => {
                self.state.lock().next_turn.push(message);
                self.touch();
            }
            Destination::NextTurnAndContinue => {
                let mut state = self.state.lock();
                state.next_turn.push(message);
                state.continue_with_next_turn = true;
                drop(state);
                self.touch();
            }
            Destination::TurnEnd => self.state.lock().turn_end.push(message),
        }
    }

    /// Stores a message while idle: in the session at once, announced in order.
    fn store_custom(self: &Arc<Self>, message: CustomMessage, sender: Option<&str>) {
        let message = Arc::new(Message::Custom(message));
        match self.session.append_message(message.clone()) {
            Ok(_) => self.post(Job::Stored(message)),
            Err(error) => self.report(name(sender), "send_message", error.to_string()),
        }
    }

    pub(crate) fn send_user_message(
        self: &Arc<Self>,
        content: Content,
        options: UserMessageOptions,
    ) {
        self.push_trigger(Trigger::User { content, options });
    }

    pub(crate) fn push_trigger(self: &Arc<Self>, trigger: Trigger) {
        self.state.lock().triggers.push_back(trigger);
        self.count_triggers();
        let inner = self.clone();
        self.runtime
            .spawn(async move { inner.work_triggers().await });
    }

    async fn work_triggers(self: Arc<Self>) {
        let _one_at_a_time = self.trigger_lock.lock().await;
        loop {
            // Counted after the one before has begun its run, so that there is no moment without either.
            self.count_triggers();
            if self.state.lock().triggers.is_empty() {
                return;
            }
            let mut commands = self.commands.subscribe();
            // A command that goes on for longer does not hold the run back.
            let _ =
                tokio::time::timeout(COMMAND_GRACE, commands.wait_for(|commands| *commands == 0))
                    .await;
            // A prompt that is being prepared comes first, and what waits here joins its run.
            let turn = self.admission.lock().await;
            let Some(trigger) = self.state.lock().triggers.pop_front() else {
                continue;
            };
            match trigger {
                Trigger::Custom {
                    message,
                    pipeline,
                    sender,
                    lane,
                } => {
                    self.start_custom(turn, message, pipeline, sender.as_deref(), lane)
                        .await;
                }
                Trigger::User { content, options } => {
                    drop(turn);
                    self.start_user(content, options).await;
                }
                Trigger::NextTurn => self.start_next_turn(turn).await,
            }
        }
    }

    /// Custom messages that wait for a run of their own become part of the one that has just begun.
    pub(crate) fn triggers_join_run(&self) {
        let mut state = self.state.lock();
        if state.triggers.is_empty() {
            return;
        }
        for trigger in std::mem::take(&mut state.triggers) {
            match trigger {
                Trigger::Custom { message, lane, .. } => {
                    let message = Arc::new(Message::Custom(message));
                    state.queues.push(lane, message, None);
                }
                other => state.triggers.push_back(other),
            }
        }
        drop(state);
        self.count_triggers();
        self.touch();
    }

    fn count_triggers(&self) {
        self.waiting_triggers
            .send_replace(self.state.lock().triggers.len());
    }

    async fn start_custom(
        self: &Arc<Self>,
        turn: MutexGuard<'_, ()>,
        message: CustomMessage,
        pipeline: bool,
        sender: Option<&str>,
        lane: Lane,
    ) {
        if self.state.lock().summary.is_some() {
            self.report(
                name(sender),
                "send_message",
                SessionError::Compacting.to_string(),
            );
            return;
        }
        if pipeline && let Err(error) = self.usable_model() {
            self.report(name(sender), "send_message", error.to_string());
            return;
        }
        let text = message.content.text();
        let message = Arc::new(Message::Custom(message));
        self.not_settling().await;
        let Some(guard) = self.try_begin_run() else {
            // Somebody else was faster: the message joins that run.
            self.state.lock().queues.push(lane, message, None);
            self.touch();
            return;
        };
        drop(turn);
        let start = if pipeline {
            if let Some(model) = self.model() {
                self.compact_before_prompt(&guard.run.cancel, &model).await;
            }
            self.before_agent_start(text, Vec::new(), Some(message.clone()), vec![message])
                .await
        } else {
            RunStart {
                messages: vec![message],
            }
        };
        self.spawn_run(guard, start);
    }

    async fn start_user(self: &Arc<Self>, content: Content, options: UserMessageOptions) {
        let (text, images) = split_content(content);
        let request = PromptRequest {
            text,
            images,
            source: InputSource::Extension,
            streaming_behavior: options.deliver_as,
            expand: options.expand_prompt_templates,
        };
        if let Err(error) = self.prompt(request).await {
            let sender = name(options.sender.as_deref());
            self.report(sender, "send_user_message", error.to_string());
        }
    }

    async fn start_next_turn(self: &Arc<Self>, turn: MutexGuard<'_, ()>) {
        self.not_settling().await;
        let Some(guard) = self.try_begin_run() else {
            return;
        };
        drop(turn);
        let held = std::mem::take(&mut self.state.lock().next_turn);
        if held.is_empty() {
            return;
        }
        let text = held
            .iter()
            .map(|message| message.content.text())
            .collect::<Vec<_>>()
            .join("\n");
        let messages = held
            .into_iter()
            .map(|message| Arc::new(Message::Custom(message)))
            .collect();
        let start = self
            .before_agent_start(text, Vec::new(), None, messages)
            .await;
        self.spawn_run(guard, start);
    }
}

fn custom_message(request: CustomMessageRequest, rules: DeliveryRules) -> CustomMessage {
    let mut extra = Extra::new();
    let attribution = request
        .attribution
        .or_else(|| (rules == DeliveryRules::Xcsh).then(|| "agent".to_owned()));
    if let Some(attribution) = attribution {
        extra.insert("attribution".to_owned(), Value::String(attribution));
    }
    CustomMessage {
        custom_type: request.custom_type,
        content: request.content,
        display: request.display,
        details: request.details,
        timestamp: now_ms(),
        extra,
    }
}

/// Under which name a failure is reported.
fn name(sender: Option<&str>) -> &str {
    sender.unwrap_or("<runtime>")
}

/// Text blocks joined by line feeds, and the images.
fn split_content(content: Content) -> (String, Vec<ImageBlock>) {
    let text = content.text();
    let images = match content {
        Content::Text(_) => Vec::new(),
        Content::Blocks(blocks) => blocks
            .into_iter()
            .filter_map(|block| match block {
                Block::Image(image) => Some(image),
                _ => None,
            })
            .collect(),
    };
    (text, images)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEXT: Option<DeliverAs> = Some(DeliverAs::NextTurn);
    const STEER: Option<DeliverAs> = Some(DeliverAs::Steer);
    const FOLLOW: Option<DeliverAs> = Some(DeliverAs::FollowUp);

    fn to(
        rules: DeliveryRules,
        busy: bool,
        deliver_as: Option<DeliverAs>,
        trigger_turn: Option<bool>,
    ) -> Destination {
        destination(
            rules,
            busy,
            DeliveryOptions {
                deliver_as,
                trigger_turn,
            },
        )
    }

    #[test]
    fn rows_on_which_all_rules_agree() {
        for rules in [DeliveryRules::Host, DeliveryRules::Xcsh, DeliveryRules::Pi] {
            for trigger in [None, Some(true)] {
                assert_eq!(
                    to(rules, true, None, trigger),
                    Destination::Queue(Lane::Steering)
                );
                assert_eq!(
                    to(rules, true, STEER, trigger),
                    Destination::Queue(Lane::Steering)
                );
                assert_eq!(
                    to(rules, true, FOLLOW, trigger),
                    Destination::Queue(Lane::FollowUp)
                );
            }
            assert_eq!(to(rules, true, NEXT, None), Destination::NextTurn);
            for deliver_as in [None, STEER, FOLLOW] {
                assert_eq!(to(rules, false, deliver_as, None), Destination::Store);
                assert_eq!(
                    to(rules, false, deliver_as, Some(false)),
                    Destination::Store
                );
                assert_eq!(to(rules, false, deliver_as, Some(true)), Destination::Run);
            }
        }
    }

    #[test]
    fn next_turn_waits_for_the_user_except_under_exact_xcsh_rules() {
        for rules in [DeliveryRules::Host, DeliveryRules::Pi] {
            for (busy, trigger) in [(false, None), (false, Some(true)), (true, Some(true))] {
                assert_eq!(to(rules, busy, NEXT, trigger), Destination::NextTurn);
            }
        }
        assert_eq!(
            to(DeliveryRules::Xcsh, false, NEXT, None),
            Destination::Store
        );
        assert_eq!(
            to(DeliveryRules::Xcsh, false, NEXT, Some(true)),
            Destination::Run
        );
        assert_eq!(
            to(DeliveryRules::Xcsh, true, NEXT, Some(true)),
            Destination::NextTurnAndContinue
        );
    }

    #[test]
    fn an_explicit_no_waits_for_the_end_of_the_turn() {
        for deliver_as in [None, STEER, FOLLOW] {
            assert_eq!(
                to(DeliveryRules::Pi, true, deliver_as, Some(false)),
                Destination::TurnEnd
            );
            assert_eq!(
                to(DeliveryRules::Host, true, deliver_as, Some(false)),
                Destination::TurnEnd
            );
        }
        assert_eq!(
            to(DeliveryRules::Xcsh, true, STEER, Some(false)),
            Destination::Queue(Lane::Steering)
        );
        assert_eq!(
            to(DeliveryRules::Xcsh, true, FOLLOW, Some(false)),
            Destination::Queue(Lane::FollowUp)
        );
    }
}
