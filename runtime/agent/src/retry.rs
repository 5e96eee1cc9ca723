//! Which provider errors are worth another attempt, which mean that the context is too long, and how long to wait
//! (spec/agent-loop.md §5, §7.1). Pure functions over error texts.

use std::sync::LazyLock;

use pier_protocol::message::{AssistantMessage, StopReason};
use pier_protocol::model::Model;
use regex::RegexSet;

use crate::settings::RetrySettings;

fn set(patterns: &[&str]) -> RegexSet {
    // The patterns are constants of this file, compiled by its tests; a bad one would match nothing.
    let folded = patterns.iter().map(|pattern| format!("(?i){pattern}"));
    RegexSet::new(folded).unwrap_or_else(|_| RegexSet::empty())
}

/// Errors that go away by themselves.
static TRANSIENT: LazyLock<RegexSet> = LazyLock::new(|| set(TRANSIENT_PATTERNS));
const TRANSIENT_PATTERNS: &[&str] = &[
    "overloaded",
    r"server[_ ]busy",
    "high demand",
    "at capacity",
    r"rate[ _-]?limit",
    "too many requests",
    r"\b(429|500|502|503|504|520|521|522|523|524|529)\b",
    r"service[ _]?unavailable",
    r"server[ _]error",
    r"internal[ _](server )?error",
    "provider returned error",
    r"(network|connection)[ _]?(error|refused|lost|closed|reset)",
    "fetch failed",
    // How the engine's fetch says that a connection broke or never came to be.
    "error reading a body from connection",
    "error sending request",
    "connection closed before message completed",
    "socket hang up",
    r"\b(ECONNRESET|ECONNREFUSED|ECONNABORTED|ETIMEDOUT|EPIPE|ENOTFOUND|EAI_AGAIN)\b",
    r"time(d)?[ -]?out",
    r"\bterminated\b",
    r"stream ended (without|before)",
    r"websocket (closed|error)",
    r"upstream (connect|request failed)",
    r"retry delay",
    r"resource[ _]?exhausted",
    r"try your request again",
];

/// Limits of an account: waiting does not help.
static ACCOUNT_LIMIT: LazyLock<RegexSet> = LazyLock::new(|| set(ACCOUNT_PATTERNS));
const ACCOUNT_PATTERNS: &[&str] = &[
    r"insufficient[_ ]quota",
    r"quota exceeded",
    r"exceeded your current quota",
    r"\bbilling\b",
    "out of budget",
    r"(free|monthly)[ -]?(tier )?usage limit",
    r"usage limit (reached|exceeded)",
];

/// The prompt does not fit.
static OVERFLOW: LazyLock<RegexSet> = LazyLock::new(|| set(OVERFLOW_PATTERNS));
const OVERFLOW_PATTERNS: &[&str] = &[
    "prompt is too long",
    r"exceeds? (the|this model's|the model's) (maximum )?context (window|length)",
    "maximum context length",
    r"input token count.*exceeds",
    r"context[_ ]length[_ ]exceeded",
    r"context window exceeded",
    r"\b413\b",
    r"request (entity )?too large",
    r"too many (input )?tokens",
    r"reduce the length of the (messages|prompt)",
    r"input is too long",
];

/// Texts that mention tokens but mean throttling.
static THROTTLING: LazyLock<RegexSet> = LazyLock::new(|| set(THROTTLING_PATTERNS));
const THROTTLING_PATTERNS: &[&str] = &[
    r"rate[ _-]?limit",
    "too many requests",
    r"tokens per (minute|day|hour)",
    r"throttl",
    r"\b429\b",
];

/// Whether an error text means that the context is too long.
pub fn is_overflow_text(text: &str) -> bool {
    OVERFLOW.is_match(text) && !THROTTLING.is_match(text)
}

/// Milliseconds that the provider asked to wait before the next attempt, rounded up.
fn asked_to_wait(message: &AssistantMessage) -> Option<u64> {
    let ms = message.extra.get("retryAfterMs")?.as_f64()?;
    // Saturates: a negative pause is none, an endless one too long for anybody.
    Some(ms.ceil() as u64)
}

/// Whether a failed answer should be asked for again.
pub fn is_retryable(message: &AssistantMessage, settings: &RetrySettings) -> bool {
    let text = message.error_message.as_deref().unwrap_or_default();
    // A provider that wants a longer pause than people would wait for is a failure, not a reason to hang.
    let pause_is_bearable =
        asked_to_wait(message).is_none_or(|ms| ms <= settings.max_agent_delay_ms);
    message.stop_reason == StopReason::Error
        && pause_is_bearable
        && TRANSIENT.is_match(text)
        && !ACCOUNT_LIMIT.is_match(text)
        && !is_overflow_text(text)
}

/// How an answer shows that the context is too long or the answer was cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// The request failed; compaction may be followed by one more attempt.
    Failed,
    /// The answer stopped at `length` though the model could have written more; treated like a failure.
    CutShort,
    /// The answer is good but the window is full; compaction only.
    Succeeded,
}

/// Whether `message`, answered by `model`, overflowed the context.
pub fn overflow(message: &AssistantMessage, model: &Model) -> Option<Overflow> {
    match message.stop_reason {
        StopReason::Error => is_overflow_text(message.error_message.as_deref().unwrap_or_default())
            .then_some(Overflow::Failed),
        StopReason::Length => {
            let window = model.context_window;
            let filled = message.usage.input.saturating_add(message.usage.cache_read);
            let nearly_full = window > 0 && filled as f64 >= window as f64 * 0.99;
            if message.usage.output == 0 && nearly_full {
                return Some(Overflow::Failed);
            }
            (message.usage.output < model.max_tokens).then_some(Overflow::CutShort)
        }
        StopReason::Aborted | StopReason::Pending => None,
        _ => {
            let filled = message.usage.input.saturating_add(message.usage.cache_read);
            (model.context_window > 0 && filled > model.context_window)
                .then_some(Overflow::Succeeded)
        }
    }
}

/// Milliseconds before retry number `attempt`, counted from 1, of a request that failed with `answer`.
pub fn delay_ms(settings: &RetrySettings, attempt: u32, answer: &AssistantMessage) -> u64 {
    let factor = 1u64
        .checked_shl(attempt.saturating_sub(1))
        .unwrap_or(u64::MAX);
    settings
        .base_delay_ms
        .saturating_mul(factor)
        .min(settings.max_agent_delay_ms)
        .max(asked_to_wait(answer).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pier_protocol::message::Usage;

    fn failed(text: &str) -> AssistantMessage {
        AssistantMessage {
            stop_reason: StopReason::Error,
            error_message: Some(text.to_owned()),
            ..AssistantMessage::default()
        }
    }

    #[test]
    fn every_pattern_compiles() {
        for patterns in [
            TRANSIENT_PATTERNS,
            ACCOUNT_PATTERNS,
            OVERFLOW_PATTERNS,
            THROTTLING_PATTERNS,
        ] {
            assert_eq!(set(patterns).len(), patterns.len());
        }
    }

    #[test]
    fn transient_errors_are_retried_and_account_limits_are_not() {
        let settings = RetrySettings::default();
        for text in [
            "529 overloaded",
            "HTTP 503",
            "fetch failed",
            "error reading a body from connection",
            "Request timed out",
            "read ECONNRESET",
            "RESOURCE_EXHAUSTED",
        ] {
            assert!(is_retryable(&failed(text), &settings), "{text}");
        }
        for text in [
            "invalid api key",
            "something broke",
            "429 insufficient_quota",
            "monthly usage limit reached, too many requests",
            "prompt is too long (500 tokens)",
            "room 15000",
        ] {
            assert!(!is_retryable(&failed(text), &settings), "{text}");
        }
    }

    #[test]
    fn throttling_is_no_overflow() {
        assert!(is_overflow_text(
            "This model's maximum context length is 8192 tokens"
        ));
        assert!(!is_overflow_text(
            "429 rate limit: too many tokens per minute"
        ));
    }

    #[test]
    fn a_length_stop_below_the_models_limit_counts_as_cut_short() {
        let model = Model {
            max_tokens: 100,
            context_window: 1_000,
            ..Model::default()
        };
        let stop = |output, input| AssistantMessage {
            stop_reason: StopReason::Length,
            usage: Usage {
                output,
                input,
                ..Usage::default()
            },
            ..AssistantMessage::default()
        };
        assert_eq!(overflow(&stop(50, 1), &model), Some(Overflow::CutShort));
        assert_eq!(overflow(&stop(100, 1), &model), None);
        assert_eq!(overflow(&stop(0, 995), &model), Some(Overflow::Failed));
    }

    #[test]
    fn delays_double_up_to_the_cap() {
        let settings = RetrySettings {
            base_delay_ms: 2_000,
            max_agent_delay_ms: 60_000,
            ..RetrySettings::default()
        };
        let plain = failed("503");
        let delays: Vec<_> = (1..8)
            .map(|attempt| delay_ms(&settings, attempt, &plain))
            .collect();
        assert_eq!(
            delays,
            [2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]
        );
        assert_eq!(delay_ms(&settings, 200, &plain), 60_000);
    }

    #[test]
    fn a_pause_that_the_provider_asks_for_is_kept_or_refused() {
        let settings = RetrySettings::default();
        let asking = |ms: f64| {
            let mut message = failed("429 rate limit");
            message.extra.insert("retryAfterMs".into(), ms.into());
            message
        };
        assert_eq!(delay_ms(&settings, 1, &asking(29_999.5)), 30_000);
        assert_eq!(delay_ms(&settings, 1, &asking(10.0)), 2_000);
        assert!(is_retryable(&asking(60_000.0), &settings));
        assert!(!is_retryable(&asking(60_000.5), &settings));
    }
}
