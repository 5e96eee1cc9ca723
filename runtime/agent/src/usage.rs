//! Token counts and cost (spec/agent-loop.md §6). Pure functions.

use pier_protocol::message::{Block, Content, Cost, Message, PerKind, Usage};
use pier_protocol::model::Model;

/// Characters that an image counts for.
const IMAGE_CHARS: usize = 4800;

/// Cost of a response in US dollars, by the model's rates per million tokens.
pub fn cost(model: &Model, usage: &Usage) -> Cost {
    let rates = &model.cost;
    let prompt = usage
        .input
        .saturating_add(usage.cache_read)
        .saturating_add(usage.cache_write);
    let tier = rates
        .tiers
        .iter()
        .flatten()
        .filter(|tier| prompt > tier.input_tokens_above)
        .max_by_key(|tier| tier.input_tokens_above);
    let rates = tier.map_or(&rates.rates, |tier| &tier.rates);
    let price = |rate: f64, tokens: u64| rate / 1e6 * tokens as f64;
    let long_lived = usage.cache_write_1h.unwrap_or(0).min(usage.cache_write);
    let parts = PerKind {
        input: price(rates.input, usage.input),
        output: price(rates.output, usage.output),
        cache_read: price(rates.cache_read, usage.cache_read),
        // Entries that live an hour cost twice the input rate.
        cache_write: price(rates.cache_write, usage.cache_write - long_lived)
            + price(rates.input * 2.0, long_lived),
    };
    Cost {
        parts,
        total: parts.sum(),
        total_from_provider: None,
    }
}

/// Tokens in the context after a response.
pub fn context_tokens(usage: &Usage) -> u64 {
    if usage.total_tokens > 0 {
        usage.total_tokens
    } else {
        [usage.output, usage.cache_read, usage.cache_write]
            .into_iter()
            .fold(usage.input, u64::saturating_add)
    }
}

/// The usage of an assistant message if it says something about the context: the response did not fail and counted something.
pub fn usable_usage(message: &Message) -> Option<u64> {
    let assistant = message.as_assistant()?;
    if assistant.stop_reason.is_failure() {
        return None;
    }
    Some(context_tokens(&assistant.usage)).filter(|tokens| *tokens > 0)
}

/// Tokens that a list of messages takes up: what the last response reported plus an estimate of everything after it, else an
/// estimate of all. Grows with the list, so that nothing is counted twice.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContextGauge {
    /// Estimate of all messages.
    all: u64,
    reported: Option<u64>,
    /// Estimate of what came after the report.
    since_report: u64,
}

impl ContextGauge {
    /// Counts the next message.
    pub fn add(&mut self, message: &Message) {
        let estimated = estimate(message);
        self.all += estimated;
        match usable_usage(message) {
            Some(tokens) => {
                self.reported = Some(tokens);
                self.since_report = 0;
            }
            None => self.since_report += estimated,
        }
    }

    /// What responses reported so far is no longer true: the messages they saw have changed.
    pub fn forget_reports(&mut self) {
        self.reported = None;
    }

    /// Whether a response reported a count that holds.
    pub fn is_reported(&self) -> bool {
        self.reported.is_some()
    }

    pub fn tokens(&self) -> u64 {
        match self.reported {
            Some(tokens) => tokens.saturating_add(self.since_report),
            None => self.all,
        }
    }
}

/// Estimated tokens of one message: a quarter of its UTF-16 length, rounded up.
pub fn estimate(message: &Message) -> u64 {
    let chars = match message {
        Message::User(message) | Message::Developer(message) => content_chars(&message.content),
        Message::Custom(message) => content_chars(&message.content),
        Message::Assistant(message) => blocks_chars(&message.content),
        Message::ToolResult(message) => blocks_chars(&message.content),
        Message::BashExecution(message) => utf16(&message.command) + utf16(&message.output),
        Message::BranchSummary(message) => utf16(&message.summary),
        Message::CompactionSummary(message) => utf16(&message.summary),
        Message::System(message) => {
            let sections: usize = message
                .sections
                .iter()
                .flatten()
                .filter_map(|(_, text)| text.as_deref())
                .map(utf16)
                .sum();
            let tools = message
                .tools_added
                .as_ref()
                .and_then(|tools| serde_json::to_string(tools).ok())
                .map_or(0, |json| utf16(&json));
            utf16(&message.content) + sections + tools
        }
        Message::Other(_) => 0,
    };
    chars.div_ceil(4) as u64
}

fn utf16(text: &str) -> usize {
    text.encode_utf16().count()
}

fn content_chars(content: &Content) -> usize {
    match content {
        Content::Text(text) => utf16(text),
        Content::Blocks(blocks) => blocks_chars(blocks),
    }
}

fn blocks_chars(blocks: &[Block]) -> usize {
    blocks
        .iter()
        .map(|block| match block {
            Block::Text(block) => utf16(&block.text),
            Block::Thinking(block) => utf16(&block.thinking),
            Block::Image(_) => IMAGE_CHARS,
            Block::ToolCall(call) => {
                utf16(&call.name)
                    + serde_json::to_string(&call.arguments).map_or(0, |json| utf16(&json))
            }
            Block::Other(_) => 0,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pier_protocol::message::{AssistantMessage, StopReason};
    use pier_protocol::model::{CostTier, ModelCost};

    fn tier(input_tokens_above: u64, input: f64, output: f64) -> CostTier {
        CostTier {
            input_tokens_above,
            rates: PerKind {
                input,
                output,
                ..PerKind::default()
            },
        }
    }

    fn model() -> Model {
        Model {
            cost: ModelCost {
                rates: PerKind {
                    input: 1.0,
                    output: 2.0,
                    cache_read: 0.1,
                    cache_write: 1.25,
                },
                tiers: Some(vec![tier(1_000, 10.0, 20.0), tier(5_000, 100.0, 200.0)]),
                ..ModelCost::default()
            },
            ..Model::default()
        }
    }

    #[test]
    fn rates_apply_per_million_and_the_total_is_the_sum() {
        let usage = Usage {
            input: 500,
            output: 200,
            cache_read: 50,
            cache_write: 20,
            ..Usage::default()
        };
        let cost = cost(&model(), &usage);
        assert!((cost.parts.input - 0.0005).abs() < 1e-12);
        assert!((cost.total - (0.0005 + 0.0004 + 0.000_005 + 0.000_025)).abs() < 1e-12);
    }

    #[test]
    fn the_highest_matching_tier_wins() {
        let at = |input| {
            cost(
                &model(),
                &Usage {
                    input,
                    ..Usage::default()
                },
            )
            .parts
            .input
                / input as f64
                * 1e6
        };
        assert!(
            (at(1_000) - 1.0).abs() < 1e-9,
            "the limit itself is not above"
        );
        assert!((at(1_001) - 10.0).abs() < 1e-9);
        assert!((at(6_000) - 100.0).abs() < 1e-9);
    }

    #[test]
    fn hour_long_cache_writes_cost_twice_the_input_rate() {
        let usage = Usage {
            cache_write: 100,
            cache_write_1h: Some(40),
            ..Usage::default()
        };
        let expected = (60.0 * 1.25 + 40.0 * 2.0) / 1e6;
        assert!((cost(&model(), &usage).parts.cache_write - expected).abs() < 1e-12);
    }

    fn assistant(total: u64, stop: StopReason) -> Message {
        Message::Assistant(AssistantMessage {
            usage: Usage {
                total_tokens: total,
                ..Usage::default()
            },
            stop_reason: stop,
            ..AssistantMessage::default()
        })
    }

    #[test]
    fn a_gauge_starts_from_the_last_usable_report() {
        let user = Message::user("12345", Vec::new(), 0);
        let mut gauge = ContextGauge::default();
        gauge.add(&user);
        assert_eq!((gauge.tokens(), gauge.is_reported()), (2, false));
        gauge.add(&assistant(100, StopReason::Stop));
        gauge.add(&assistant(900, StopReason::Aborted));
        gauge.add(&user);
        assert_eq!((gauge.tokens(), gauge.is_reported()), (102, true));
        gauge.forget_reports();
        assert_eq!((gauge.tokens(), gauge.is_reported()), (4, false));
        gauge.add(&user);
        assert_eq!(gauge.tokens(), 6);
    }

    #[test]
    fn lengths_are_utf16() {
        assert_eq!(
            estimate(&Message::user("\u{1F600}\u{1F600}\u{1F600}", Vec::new(), 0)),
            2
        );
    }
}
