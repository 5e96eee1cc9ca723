//! Sends events to handlers: one at a time, in load order across packages, with the combination rule, deadline and
//! failure rule of the event's row in `rules.rs`. JavaScript only ever runs one handler.

pub(crate) mod combine;
pub(crate) mod hooks;
pub(crate) mod notify;
pub(crate) mod payload;
pub(crate) mod rules;
pub(crate) mod sessions;
pub(crate) mod strikes;
pub(crate) mod updates;

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::calls::Purpose;
use crate::discovery::Profile;
use crate::host::Shared;
use crate::isolate::{CallError, PermissionProfile};
use crate::limits::Budget;
use crate::registry::{ExtensionInfo, Subscriber};
use crate::report::describe;
use crate::wire::{DispatchAnswer, DispatchHeader};
use combine::{Answerer, Combiner, Flow};
use rules::EventRule;

/// Why a guarded action must not happen.
#[derive(Debug, Clone)]
pub(crate) struct Refusal {
    /// Text for the model or the person, by the extension's profile (`spec/extension-api.md` §5.1 rule 3).
    pub(crate) message: String,
}

/// Circumstances of one dispatch.
#[derive(Clone, Default)]
pub(crate) struct Circumstances {
    /// The agent loop waits for the handlers.
    pub(crate) in_run: bool,
    /// Fires the `signal` member of the event.
    pub(crate) cancel: Option<CancellationToken>,
    /// Only extensions of this profile.
    pub(crate) only: Option<Profile>,
    /// Only extensions with full rights: the event carries secrets.
    pub(crate) trusted_only: bool,
    /// Extensions that are left out (they timed out on this kind before).
    pub(crate) muted: Vec<u32>,
}

impl Circumstances {
    /// A dispatch that the agent loop waits for.
    pub(crate) fn in_run() -> Self {
        Self {
            in_run: true,
            ..Self::default()
        }
    }
}

/// What a dispatch left to tell besides its combiner.
#[derive(Default)]
pub(crate) struct Dispatched {
    /// Extensions whose handler ran out of time.
    pub(crate) timed_out: Vec<u32>,
}

impl Shared {
    /// Runs all handlers of `names` (alternatives of one event, the first is the canonical one).
    ///
    /// # Errors
    /// Only for events whose failure refuses the guarded action.
    pub(crate) async fn dispatch<C: Combiner>(
        self: &Arc<Self>,
        names: &[&str],
        combiner: &mut C,
        circumstances: Circumstances,
    ) -> Result<Dispatched, Refusal> {
        let rule = rules::rule(names.first().copied().unwrap_or_default());
        debug_assert!(
            C::RULE == rule.combine,
            "{names:?} is combined by another rule than its row says"
        );
        let subscribers = self.registry.subscribers(names);
        let mut done = Dispatched::default();
        if subscribers.is_empty() {
            return Ok(done);
        }
        let mut payloads = Payloads::default();
        // All handlers of `session_shutdown` share one budget: a hung extension must not delay the exit of every other.
        let started = Instant::now();
        for subscriber in subscribers {
            let info = &subscriber.info;
            if circumstances
                .only
                .is_some_and(|profile| profile != info.profile)
                || circumstances.muted.contains(&info.id)
                || circumstances.trusted_only
                    && info.isolate.permissions != PermissionProfile::Trusted
                || info.isolate.has_ended()
            {
                continue;
            }
            let mut deadline = self.limits.read().deadline(rule.budget);
            if rule.budget == Budget::Shutdown {
                deadline = deadline
                    .map(|budget| budget.saturating_sub(started.elapsed()).max(MIN_SHUTDOWN));
            }
            let refuses = rule.on_failure.refuses(info.profile);
            let payload = payloads.text(&subscriber.event, combiner);
            let answer = if self.strikes.is_out(&subscriber) {
                // Only a guard is still here then: what it guards stays refused, without the wait.
                return Err(Refusal {
                    message: strikes::refusal(&subscriber),
                });
            } else {
                self.run_handler(&subscriber, &rule, payload, deadline, &circumstances)
                    .await
            };
            self.count_strike(&subscriber, &rule, answer.as_ref().err());
            let answer = match answer {
                Ok(answer) => answer,
                // The abort is known to whoever asked for it.
                Err(CallError::Aborted) if !refuses => continue,
                Err(error) => {
                    self.reports
                        .call_failed(&info.path, &subscriber.event, &error);
                    if matches!(error, CallError::Timeout { .. }) {
                        done.timed_out.push(info.id);
                    }
                    if refuses {
                        return Err(Refusal {
                            message: refusal_text(info, &subscriber.event, &error),
                        });
                    }
                    continue;
                }
            };
            let by = Answerer {
                path: &info.path,
                directory: &info.directory,
                profile: info.profile,
            };
            match combiner.absorb(by, answer) {
                Ok(Flow::Continue) => {}
                Ok(Flow::Stop) => break,
                Err(complaint) => self.reports.text(&info.path, &subscriber.event, complaint),
            }
        }
        Ok(done)
    }

    async fn run_handler(
        self: &Arc<Self>,
        subscriber: &Subscriber,
        rule: &EventRule,
        payload: Arc<str>,
        deadline: Option<std::time::Duration>,
        circumstances: &Circumstances,
    ) -> Result<DispatchAnswer, CallError> {
        let cancel = circumstances
            .cancel
            .as_ref()
            .map_or_else(CancellationToken::new, CancellationToken::child_token);
        let purpose = Purpose::Event {
            in_run: circumstances.in_run,
        };
        let scope = self
            .calls
            .begin(subscriber.info.id, &subscriber.event, purpose, cancel);
        let header = DispatchHeader {
            ext: subscriber.info.id,
            handler: subscriber.handler,
            call_id: scope.id(),
            returns: rule.returns,
        };
        match self
            .invoke(
                &subscriber.info.isolate,
                "dispatch",
                &header,
                Some(payload),
                &scope,
                deadline,
            )
            .await?
        {
            None => Ok(DispatchAnswer::default()),
            Some(text) => serde_json::from_str(&text).map_err(|error| {
                CallError::Protocol(format!(
                    "the answer of a handler has the wrong shape: {error}"
                ))
            }),
        }
    }
}

/// Even when the shared budget is spent, each shutdown handler gets its synchronous part.
const MIN_SHUTDOWN: std::time::Duration = std::time::Duration::from_millis(100);

fn refusal_text(info: &ExtensionInfo, event: &str, error: &CallError) -> String {
    let message = describe(event, error);
    match info.profile {
        Profile::Pi if matches!(error, CallError::Js(_)) => message,
        _ => format!("Extension {} failed: {message}", info.path),
    }
}

/// The event as JSON text, made once per name for as long as no handler changes it.
#[derive(Default)]
struct Payloads {
    made: Vec<(Arc<str>, u64, Arc<str>)>,
}

impl Payloads {
    fn text<C: Combiner>(&mut self, name: &Arc<str>, combiner: &C) -> Arc<str> {
        let revision = combiner.revision();
        if let Some((_, _, text)) = self
            .made
            .iter()
            .find(|(known, at, _)| known == name && *at == revision)
        {
            return text.clone();
        }
        let text: Arc<str> = with_type(name, combiner.event()).into();
        self.made.retain(|(known, ..)| known != name);
        self.made.push((name.clone(), revision, text.clone()));
        text
    }
}

fn with_type(name: &str, event: &Map<String, Value>) -> String {
    #[derive(serde::Serialize)]
    struct Typed<'a> {
        r#type: &'a str,
        #[serde(flatten)]
        event: &'a Map<String, Value>,
    }
    // A map of JSON values always serialises.
    serde_json::to_string(&Typed {
        r#type: name,
        event,
    })
    .unwrap_or_else(|_| format!("{{\"type\":\"{name}\"}}"))
}
