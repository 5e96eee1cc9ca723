//! A conversation as plain text for a summary request (spec/agent-loop.md §7.3).

use std::sync::Arc;

use pier_protocol::message::{Block, Message, joined_text};

use crate::convert::to_provider_message;

/// UTF-16 units of a tool result that are kept.
const RESULT_LIMIT: usize = 2000;

/// All messages as one text; blocks are separated by blank lines.
pub(crate) fn serialize(messages: &[Arc<Message>]) -> String {
    messages
        .iter()
        .flat_map(blocks)
        .collect::<Vec<_>>()
        .join("\n\n")
}

/// The blocks of one message; thinking and system messages give none.
pub(crate) fn blocks(message: &Arc<Message>) -> Vec<String> {
    match &**message {
        Message::Assistant(answer) => {
            let mut blocks = Vec::new();
            let text = joined_text(&answer.content);
            if !text.is_empty() {
                blocks.push(format!("[Assistant]: {text}"));
            }
            let calls: Vec<String> = answer.content.iter().filter_map(call_text).collect();
            if !calls.is_empty() {
                blocks.push(format!("[Assistant tool calls]: {}", calls.join("; ")));
            }
            blocks
        }
        Message::ToolResult(result) => {
            let text = joined_text(&result.content);
            if text.is_empty() {
                Vec::new()
            } else {
                vec![format!("[Tool result]: {}", cut(&text))]
            }
        }
        Message::System(_) => Vec::new(),
        // Everything else reaches the model as the user's.
        _ => to_provider_message(message)
            .map(|message| message.text())
            .filter(|text| !text.is_empty())
            .map(|text| vec![format!("[User]: {text}")])
            .unwrap_or_default(),
    }
}

fn call_text(block: &Block) -> Option<String> {
    let call = block.as_tool_call()?;
    let arguments: Vec<String> = call
        .arguments
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    Some(format!("{}({})", call.name, arguments.join(", ")))
}

fn cut(text: &str) -> String {
    let total = text.encode_utf16().count();
    if total <= RESULT_LIMIT {
        return text.to_owned();
    }
    let mut units = 0;
    let kept: String = text
        .chars()
        .take_while(|c| {
            units += c.len_utf16();
            units <= RESULT_LIMIT
        })
        .collect();
    let more = total - kept.encode_utf16().count();
    format!("{kept}\n\n[... {more} more characters truncated]")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pier_protocol::message::{AssistantMessage, ToolCallBlock, ToolResultMessage};
    use serde_json::json;

    #[test]
    fn the_roles_in_their_forms() {
        let answer: Arc<Message> = Arc::new(
            AssistantMessage {
                content: vec![
                    Block::Thinking(Default::default()),
                    Block::text("on it"),
                    Block::ToolCall(ToolCallBlock {
                        name: "read".into(),
                        arguments: json!({"path": "a", "limit": 2})
                            .as_object()
                            .unwrap()
                            .clone(),
                        ..ToolCallBlock::default()
                    }),
                ],
                ..AssistantMessage::default()
            }
            .into(),
        );
        let result: Arc<Message> = Arc::new(
            ToolResultMessage {
                content: vec![Block::text("x".repeat(2005))],
                ..Default::default()
            }
            .into(),
        );
        let text = serialize(&[Arc::new(Message::user("go", Vec::new(), 0)), answer, result]);
        let expected = format!(
            "[User]: go\n\n[Assistant]: on it\n\n[Assistant tool calls]: read(path=\"a\", limit=2)\n\n[Tool result]: {}\n\n[... 5 more \
characters truncated]",
            "x".repeat(2000)
        );
        assert_eq!(text, expected);
    }
}
