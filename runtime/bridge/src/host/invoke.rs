//! One call into an isolate, with everything that every call needs: deadline, abort, revocation, and noticing that the
//! isolate ended.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use super::Shared;
use super::slot::IsolateSlot;
use crate::calls::CallScope;
use crate::isolate::{CallError, CallOptions};

/// Serialises a header. Headers are built from plain data, so a failure is a defect worth a clear error.
pub(crate) fn header(value: &impl Serialize) -> Result<String, CallError> {
    serde_json::to_string(value)
        .map_err(|error| CallError::Protocol(format!("cannot write a call header: {error}")))
}

impl Shared {
    /// Calls an isolate on behalf of `scope`. When the scope's token fires, the code is told through its
    /// `AbortSignal` and gets `abort_grace` to settle; after that, and after the deadline, the call is revoked.
    pub(crate) async fn invoke(
        self: &Arc<Self>,
        slot: &Arc<IsolateSlot>,
        kind: &str,
        header: &impl Serialize,
        payload: Option<Arc<str>>,
        scope: &CallScope<'_>,
        deadline: Option<Duration>,
    ) -> Result<Option<String>, CallError> {
        let api = slot.api()?.clone();
        let options = CallOptions {
            deadline,
            clock: Some(scope.call.clock.clone()),
        };
        let call = api.call(kind, self::header(header)?, payload, options);
        tokio::pin!(call);
        let cancel = scope.call.cancel.clone();
        let outcome = tokio::select! {
            outcome = &mut call => outcome,
            () = cancel.cancelled() => {
                api.post("abort", json!({"callId": scope.id()}).to_string(), None);
                let grace = self.limits.read().abort_grace;
                match tokio::time::timeout(grace, &mut call).await {
                    Ok(outcome) => outcome,
                    Err(_) => Err(CallError::Timeout { after: grace }),
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
