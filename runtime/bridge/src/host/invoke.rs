//! One call into an isolate, with everything that every call needs: deadline, abort, revocation, and noticing that the
//! isolate ended.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use serde::Serialize;
use serde_json::{Value, json};

use super::Shared;
use super::slot::IsolateSlot;
use crate::calls::{Call, CallScope};
use crate::isolate::{CallError, CallOptions};

/// Serialises a header. Headers are built from plain data, so a failure is a defect worth a clear error.
pub(crate) fn header(value: &impl Serialize) -> Result<String, CallError> {
    serde_json::to_string(value)
        .map_err(|error| CallError::Protocol(format!("cannot write a call header: {error}")))
}

/// How long the caller of an aborted call waits for its result. Code that listens to its signal settles at once; for
/// anything else the abort is answered without it.
const ABORT_SETTLE: Duration = Duration::from_millis(250);
/// How long code may keep the processor busy without a break after its call was aborted. A loop never notices a signal.
const ABORT_BUSY: Duration = Duration::from_secs(1);

type Outcome = Result<Option<String>, CallError>;

impl Shared {
    /// Calls an isolate on behalf of `scope`. When the scope's token fires, the code is told through its
    /// `AbortSignal`; a caller waits a moment for its result and then goes on without it ([`CallError::Aborted`]). The
    /// code itself gets `abort_grace` to settle; after that, and after the deadline, the call is revoked.
    pub(crate) async fn invoke(
        self: &Arc<Self>,
        slot: &Arc<IsolateSlot>,
        kind: &str,
        header: &impl Serialize,
        payload: Option<Arc<str>>,
        scope: &CallScope<'_>,
        deadline: Option<Duration>,
    ) -> Outcome {
        let api = slot.api()?.clone();
        let options = CallOptions {
            deadline,
            clock: Some(scope.call.clock.clone()),
        };
        let mut call: BoxFuture<'static, Outcome> = {
            let (api, kind, header) = (api.clone(), kind.to_owned(), self::header(header)?);
            Box::pin(async move { api.call(&kind, header, payload, options).await })
        };
        let cancel = scope.call.cancel.clone();
        let outcome = tokio::select! {
            outcome = &mut call => outcome,
            () = cancel.cancelled() => {
                api.post("abort", json!({"callId": scope.id()}).to_string(), None);
                let grace = self.limits.read().abort_grace;
                match tokio::time::timeout(ABORT_SETTLE.min(grace), &mut call).await {
                    Ok(outcome) => outcome,
                    Err(_) => {
                        self.outlive(slot, call, scope.call.clone(), grace);
                        return Err(CallError::Aborted);
                    }
                }
            }
        };
        match &outcome {
            Err(CallError::Timeout { .. }) => {
                scope.revoke();
                // Late code should at least see its signal; what it does then has no effect.
                api.post(
                    "abort",
                    json!({"callId": scope.id(), "reason": "deadline"}).to_string(),
                    None,
                );
            }
            Err(CallError::Stopped(cause)) => {
                scope.revoke();
                self.isolate_ended(slot, cause);
            }
            _ => {}
        }
        outcome
    }

    /// Sees an aborted call to its end although nobody waits for it: code that holds its thread is stopped, code that
    /// just never settles loses the right to act.
    fn outlive(
        self: &Arc<Self>,
        slot: &Arc<IsolateSlot>,
        call: BoxFuture<'static, Outcome>,
        aborted: Arc<Call>,
        grace: Duration,
    ) {
        let (shared, slot) = (self.clone(), slot.clone());
        self.runtime.spawn(async move {
            let Ok(api) = slot.api().cloned() else { return };
            let looping = async {
                let Some((mark, then)) = api.stretch() else {
                    return;
                };
                let (began, busy) = (Instant::now(), ABORT_BUSY.min(grace));
                loop {
                    tokio::time::sleep(busy).await;
                    match api.stretch() {
                        Some((same, now)) if same == mark => {
                            if now.saturating_sub(then) >= busy / 4 {
                                break;
                            }
                        }
                        _ => return,
                    }
                    // Code that waits in a blocking call uses no processor time and is left alone. A loop on a busy machine
                    // gets there later.
                    if began.elapsed() >= grace {
                        return;
                    }
                }
                let options = CallOptions {
                    deadline: Some(Duration::from_millis(1)),
                    ..CallOptions::default()
                };
                // Only an isolate whose code lets go of its thread answers in time; the engine stops the other.
                let nothing = json!({"handles": []}).to_string();
                if let Err(CallError::Stopped(cause)) =
                    api.call("release", nothing, None, options).await
                {
                    shared.isolate_ended(&slot, &cause);
                }
            };
            let settled = async {
                let rest = grace.saturating_sub(ABORT_SETTLE);
                match tokio::time::timeout(rest, call).await {
                    Err(_) => {
                        shared.calls.revoke(aborted.id);
                        aborted.gone.cancel();
                    }
                    Ok(Err(CallError::Stopped(cause))) => shared.isolate_ended(&slot, &cause),
                    Ok(_) => {}
                }
            };
            tokio::join!(looping, settled);
        });
    }

    /// The same with a JSON answer.
    pub(crate) async fn invoke_json(
        self: &Arc<Self>,
        slot: &Arc<IsolateSlot>,
        kind: &str,
        header: &impl Serialize,
        payload: Option<Arc<str>>,
        scope: &CallScope<'_>,
        deadline: Option<Duration>,
    ) -> Result<Value, CallError> {
        match self
            .invoke(slot, kind, header, payload, scope, deadline)
            .await?
        {
            None => Ok(Value::Null),
            Some(text) => serde_json::from_str(&text).map_err(|error| {
                CallError::Protocol(format!("the answer to \"{kind}\" is not JSON: {error}"))
            }),
        }
    }

    /// A message without an answer to every running isolate.
    pub(crate) fn post_all(&self, kind: &str, header: &Value, payload: Option<Arc<str>>) {
        let slots = self.isolates.lock().clone();
        for slot in slots {
            if slot.is_running()
                && let Ok(api) = slot.api()
            {
                api.post(kind, header.to_string(), payload.clone());
            }
        }
    }
}
