//! From the conversation to what the scripted provider will say.
//!
//! A line of the last user message that starts with `@` is a directive: `@text T`, `@think T`, `@tool NAME JSON`, `@delay MS`
//! (before every piece), `@chunk N` (characters a piece, 6), `@usage IN OUT [CACHE_READ] [CACHE_WRITE]`, `@stop REASON`,
//! `@error TEXT` (before the start), `@midError TEXT` (after the content), `@failTimes N TEXT` (the first N requests of
//! this very text). Other text comes back as `echo: …`. When tool results follow the message, the answer lists them;
//! a request for a summary gets `SUMMARY(n chars)`.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use pier_protocol::message::{Block, Message, StopReason, ToolCallBlock, Usage};
use serde_json::Value;

const DEFAULT_PIECE: usize = 6;
/// Characters of a tool result that an answer repeats.
const RESULT_CHARS: usize = 80;

#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "a plan has a handful of blocks")]
pub(super) enum PlannedBlock {
    Text(String),
    Thinking(String),
    ToolCall(ToolCallBlock),
}

/// One answer.
#[derive(Debug, Clone, Default)]
pub(super) struct Plan {
    pub(super) blocks: Vec<PlannedBlock>,
    pub(super) delay: Duration,
    pub(super) piece: usize,
    pub(super) usage: Option<Vec<u64>>,
    pub(super) stop: Option<String>,
    pub(super) error: Option<String>,
    pub(super) mid_error: Option<String>,
}

impl Plan {
    /// `text` in pieces; one empty piece for an empty text.
    pub(super) fn pieces(&self, text: &str) -> Vec<String> {
        if text.is_empty() {
            return vec![String::new()];
        }
        let size = if self.piece == 0 {
            DEFAULT_PIECE
        } else {
            self.piece
        };
        let chars: Vec<char> = text.chars().collect();
        chars
            .chunks(size)
            .map(|piece| piece.iter().collect())
            .collect()
    }

    pub(super) fn stop_reason(&self) -> StopReason {
        match &self.stop {
            Some(word) => StopReason::from(word.as_str()),
            None if self
                .blocks
                .iter()
                .any(|block| matches!(block, PlannedBlock::ToolCall(_))) =>
            {
                StopReason::ToolUse
            }
            None => StopReason::Stop,
        }
    }

    /// What the script reports, or a quarter of the characters.
    pub(super) fn usage(&self, input_chars: usize) -> Usage {
        let estimate = || {
            vec![
                input_chars.div_ceil(4) as u64,
                self.output_chars().div_ceil(4) as u64,
            ]
        };
        let counts = self.usage.clone().unwrap_or_else(estimate);
        let count = |index: usize| counts.get(index).copied().unwrap_or(0);
        let mut usage = Usage {
            input: count(0),
            output: count(1),
            cache_read: count(2),
            cache_write: count(3),
            ..Usage::default()
        };
        usage.total_tokens = usage.input + usage.output + usage.cache_read + usage.cache_write;
        usage
    }

    fn output_chars(&self) -> usize {
        let blocks: Vec<Value> = self
            .blocks
            .iter()
            .map(|block| match block {
                PlannedBlock::Text(text) => serde_json::json!({"type": "text", "text": text}),
                PlannedBlock::Thinking(text) => {
                    serde_json::json!({"type": "thinking", "thinking": text})
                }
                PlannedBlock::ToolCall(call) => {
                    serde_json::to_value(Block::ToolCall(call.clone())).unwrap_or_default()
                }
            })
            .collect();
        serde_json::to_string(&blocks).map_or(0, |json| json.encode_utf16().count())
    }
}

/// Characters of a request: texts and prompt sections.
pub(super) fn input_chars(messages: &[Arc<Message>]) -> usize {
    messages
        .iter()
        .map(|message| {
            let sections: usize = match &**message {
                Message::System(system) => system
                    .sections
                    .iter()
                    .flatten()
                    .filter_map(|(_, text)| text.as_deref())
                    .map(|text| text.encode_utf16().count())
                    .sum(),
                _ => 0,
            };
            message.text().encode_utf16().count() + sections
        })
        .sum()
}

/// Numbers tool calls and remembers failures, over the life of the provider.
#[derive(Debug, Default)]
pub(super) struct Planner {
    calls: u64,
    failures: HashMap<String, u64>,
    scripts: Vec<String>,
}

impl Planner {
    pub(super) fn set_scripts(&mut self, text: &str) {
        self.scripts = text
            .split('\n')
            .collect::<Vec<_>>()
            .split(|line| line.trim_end() == "---")
            .map(|lines| lines.join("\n").trim().to_owned())
            .collect();
    }

    /// The answer to a conversation.
    ///
    /// # Errors
    /// A directive that cannot be understood; the text says which.
    pub(super) fn plan(
        &mut self,
        messages: &[Arc<Message>],
        summary_delay: Duration,
    ) -> Result<Plan, String> {
        let last = messages
            .iter()
            .rposition(|message| message.as_user().is_some());
        // Custom messages reach a provider as user messages too, so the whole block of them counts.
        let first = last.map(|last| {
            let mut first = last;
            while first > 0
                && messages
                    .get(first - 1)
                    .is_some_and(|message| message.as_user().is_some() || message.is_system())
            {
                first -= 1;
            }
            first
        });
        let said = match (first, last) {
            (Some(first), Some(last)) => texts(messages.get(first..=last).unwrap_or_default()),
            _ => String::new(),
        };
        let mut plan = Plan::default();
        if said.contains("<conversation>") || said.starts_with("# Conversation") {
            plan.blocks.push(PlannedBlock::Text(format!(
                "SUMMARY({} chars)",
                said.encode_utf16().count()
            )));
            plan.delay = summary_delay;
            return Ok(plan);
        }
        let text = self.script(messages).unwrap_or(said);
        let after = messages
            .get(last.map_or(0, |last| last + 1)..)
            .unwrap_or_default();
        let results: Vec<_> = after
            .iter()
            .filter_map(|message| message.as_tool_result())
            .collect();
        let mut plain: Vec<&str> = Vec::new();
        for line in text.split('\n') {
            match directive(line) {
                Some((name, argument)) => {
                    self.direct(&mut plan, &text, name, argument, results.is_empty())?
                }
                None if !line.trim().is_empty() => plain.push(line),
                None => {}
            }
        }
        if !results.is_empty() {
            let list: Vec<String> = results
                .iter()
                .map(|result| {
                    let text: String = pier_protocol::message::joined_text(&result.content)
                        .chars()
                        .take(RESULT_CHARS)
                        .collect();
                    format!(
                        "{}={}{text}",
                        result.tool_name,
                        if result.is_error { "ERR:" } else { "" }
                    )
                })
                .collect();
            plan.blocks
                .push(PlannedBlock::Text(format!("results: {}", list.join(" | "))));
        } else if plan.blocks.is_empty() {
            plan.blocks
                .push(PlannedBlock::Text(format!("echo: {}", plain.join(" "))));
        }
        Ok(plan)
    }

    /// The script of the current user message, by its number in the conversation.
    fn script(&self, messages: &[Arc<Message>]) -> Option<String> {
        let mut prompts = 0usize;
        let mut in_block = false;
        for message in messages {
            match &**message {
                Message::User(_) if !in_block => {
                    prompts += 1;
                    in_block = true;
                }
                Message::User(_) | Message::System(_) => {}
                _ => in_block = false,
            }
        }
        let index = prompts
            .saturating_sub(1)
            .min(self.scripts.len().saturating_sub(1));
        self.scripts.get(index).cloned()
    }

    fn direct(
        &mut self,
        plan: &mut Plan,
        text: &str,
        name: &str,
        argument: &str,
        fresh: bool,
    ) -> Result<(), String> {
        let number = |word: &str| {
            word.trim()
                .parse::<u64>()
                .map_err(|_| format!("Directive @{name} needs a number, not \"{word}\""))
        };
        match name {
            "delay" => plan.delay = Duration::from_millis(number(argument)?),
            "chunk" => plan.piece = usize::try_from(number(argument)?).unwrap_or(usize::MAX),
            "usage" => {
                plan.usage = Some(
                    argument
                        .split_whitespace()
                        .map(number)
                        .collect::<Result<_, _>>()?,
                );
            }
            "error" => plan.error = Some(argument.to_owned()),
            "midError" => plan.mid_error = Some(argument.to_owned()),
            "failTimes" => {
                let (times, reason) = argument.split_once(' ').unwrap_or((argument, ""));
                let seen = self.failures.entry(text.to_owned()).or_default();
                if *seen < number(times)? {
                    *seen += 1;
                    plan.error = Some(reason.to_owned());
                }
            }
            // The rest describes the first answer to the message only.
            _ if !fresh => {}
            "stop" => plan.stop = Some(argument.trim().to_owned()),
            "think" => plan
                .blocks
                .push(PlannedBlock::Thinking(argument.to_owned())),
            "text" => plan.blocks.push(PlannedBlock::Text(argument.to_owned())),
            "tool" => {
                let (tool, json) = argument.split_once(' ').unwrap_or((argument, "{}"));
                let arguments = match serde_json::from_str(json) {
                    Ok(Value::Object(map)) => map,
                    Ok(_) => {
                        return Err(format!(
                            "Directive @tool {tool}: arguments must be a JSON object"
                        ));
                    }
                    Err(error) => return Err(format!("Directive @tool {tool}: {error}")),
                };
                self.calls += 1;
                plan.blocks.push(PlannedBlock::ToolCall(ToolCallBlock {
                    id: format!("call_{}", self.calls),
                    name: tool.to_owned(),
                    arguments,
                    ..ToolCallBlock::default()
                }));
            }
            _ => {}
        }
        Ok(())
    }
}

fn texts(messages: &[Arc<Message>]) -> String {
    messages
        .iter()
        .filter(|message| message.as_user().is_some())
        .map(|message| message.text())
        .collect::<Vec<_>>()
        .join("\n")
}

/// Splits `@name argument`; one blank after the name does not belong to the argument.
fn directive(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix('@')?;
    let end = rest
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .unwrap_or(rest.len());
    let (name, tail) = rest.split_at(end);
    if name.is_empty() {
        return None;
    }
    let argument = tail.strip_prefix(char::is_whitespace).unwrap_or(tail);
    Some((name, argument))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pier_protocol::message::ToolResultMessage;

    fn user(text: &str) -> Arc<Message> {
        Arc::new(Message::user(text, Vec::new(), 0))
    }

    fn plan(planner: &mut Planner, messages: &[Arc<Message>]) -> Plan {
        planner.plan(messages, Duration::ZERO).unwrap()
    }

    fn only_text(plan: &Plan) -> &str {
        match plan.blocks.as_slice() {
            [PlannedBlock::Text(text)] => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn plain_text_is_echoed_and_an_unknown_directive_is_dropped() {
        let mut planner = Planner::default();
        assert_eq!(
            only_text(&plan(&mut planner, &[user("one\n\n@nope x\ntwo")])),
            "echo: one two"
        );
        assert_eq!(only_text(&plan(&mut planner, &[user("")])), "echo: ");
    }

    #[test]
    fn tool_calls_are_numbered_over_the_life_of_the_provider() {
        let mut planner = Planner::default();
        let first = plan(&mut planner, &[user("@tool a {\"x\":1}\n@tool b")]);
        let ids: Vec<_> = first
            .blocks
            .iter()
            .map(|block| match block {
                PlannedBlock::ToolCall(call) => call.id.clone(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(ids, ["call_1", "call_2"]);
        assert_eq!(first.stop_reason(), StopReason::ToolUse);
        assert!(
            planner
                .plan(&[user("@tool a nonsense")], Duration::ZERO)
                .unwrap_err()
                .contains("@tool a")
        );
    }

    #[test]
    fn results_are_listed_and_cut() {
        let result = |name: &str, text: String, is_error| -> Arc<Message> {
            Arc::new(
                ToolResultMessage {
                    tool_name: name.into(),
                    content: vec![Block::text(text)],
                    is_error,
                    ..ToolResultMessage::default()
                }
                .into(),
            )
        };
        let messages = [
            user("@tool a {}\n@stop length"),
            result("a", "x".repeat(100), false),
            result("b", "no".into(), true),
        ];
        let answer = plan(&mut Planner::default(), &messages);
        assert_eq!(
            only_text(&answer),
            format!("results: a={} | b=ERR:no", "x".repeat(80))
        );
        assert_eq!(
            answer.stop_reason(),
            StopReason::Stop,
            "@stop concerns the first answer"
        );
    }

    #[test]
    fn failures_are_counted_by_prompt_text() {
        let mut planner = Planner::default();
        let messages = [user("@failTimes 2 overloaded\n@text ok")];
        assert_eq!(
            plan(&mut planner, &messages).error.as_deref(),
            Some("overloaded")
        );
        assert_eq!(
            plan(&mut planner, &messages).error.as_deref(),
            Some("overloaded")
        );
        assert_eq!(plan(&mut planner, &messages).error, None);
    }

    #[test]
    fn usage_is_reported_or_estimated() {
        let mut planner = Planner::default();
        let told = plan(&mut planner, &[user("@usage 10 20 3 4\n@text x")]).usage(0);
        assert_eq!(
            (
                told.input,
                told.output,
                told.cache_read,
                told.cache_write,
                told.total_tokens
            ),
            (10, 20, 3, 4, 37)
        );
        // [{"type":"text","text":"echo: hello there"}] has 44 characters.
        let guessed = plan(&mut planner, &[user("hello there")]).usage(11);
        assert_eq!((guessed.input, guessed.output), (3, 11));
    }

    #[test]
    fn a_file_holds_one_script_for_each_prompt() {
        let mut planner = Planner::default();
        planner.set_scripts("@text one\n---\n@text two\n");
        let answer: Arc<Message> =
            Arc::new(pier_protocol::message::AssistantMessage::default().into());
        assert_eq!(only_text(&plan(&mut planner, &[user("a")])), "one");
        assert_eq!(
            only_text(&plan(&mut planner, &[user("a"), answer.clone(), user("b")])),
            "two"
        );
        assert_eq!(
            only_text(&plan(
                &mut planner,
                &[user("a"), answer.clone(), user("b"), answer, user("c")]
            )),
            "two"
        );
    }

    #[test]
    fn a_summary_request_is_answered_with_its_length() {
        let text = "<conversation>x</conversation>";
        assert_eq!(
            only_text(&plan(&mut Planner::default(), &[user(text)])),
            format!("SUMMARY({} chars)", text.len())
        );
    }
}
