//! From session messages to what a provider gets (spec/agent-loop.md §1.4, §4.4). Pure functions.

use std::sync::Arc;

use pier_protocol::message::{BashExecutionMessage, Block, Content, Extra, Message, UserMessage};

/// Replaces images when `images.blockImages` is set.
const BLOCKED_IMAGE: &str = "Image reading is disabled.";
const COMPACTION_INTRODUCTION: &str =
    "Earlier parts of this conversation were condensed. This is what they contained:";
const BRANCH_INTRODUCTION: &str = "The user left another line of this conversation and returned here. This is what happened on it:";

/// Converts the projection of a session to provider messages: roles user, assistant, toolResult and system remain.
pub fn to_provider_messages(messages: &[Arc<Message>]) -> Vec<Arc<Message>> {
    messages.iter().filter_map(to_provider_message).collect()
}

/// One message as the model sees it; `None` when it contributes nothing.
pub fn to_provider_message(message: &Arc<Message>) -> Option<Arc<Message>> {
    let (content, timestamp) = match &**message {
        Message::User(_) | Message::Assistant(_) | Message::ToolResult(_) | Message::System(_) => {
            return Some(message.clone());
        }
        Message::Developer(body) => (body.content.clone(), body.timestamp),
        Message::Custom(body) => (Content::Blocks(body.content.to_blocks()), body.timestamp),
        Message::BashExecution(body) if body.exclude_from_context == Some(true) => return None,
        Message::BashExecution(body) => (text(bash_text(body)), body.timestamp),
        Message::CompactionSummary(body) => (
            text(format!(
                "{COMPACTION_INTRODUCTION}\n\n<summary>\n{}\n</summary>",
                body.summary
            )),
            body.timestamp,
        ),
        Message::BranchSummary(body) => (
            text(format!(
                "{BRANCH_INTRODUCTION}\n\n<summary>\n{}</summary>",
                body.summary
            )),
            body.timestamp,
        ),
        Message::Other(map) => {
            // A role of another product: what reads as text still reaches the model as the user's.
            let content: Content = serde_json::from_value(map.get("content")?.clone()).ok()?;
            let timestamp = map
                .get("timestamp")
                .and_then(serde_json::Value::as_i64)
                .unwrap_or(0);
            (Content::Blocks(content.into_blocks()), timestamp)
        }
    };
    Some(Arc::new(Message::User(UserMessage {
        content,
        timestamp,
        extra: Extra::new(),
    })))
}

fn text(text: String) -> Content {
    Content::Blocks(vec![Block::text(text)])
}

/// Text of a user's shell command (exact form: spec/agent-loop.md §1.4).
pub fn bash_text(message: &BashExecutionMessage) -> String {
    let mut text = format!("Ran `{}`\n", message.command);
    if message.output.is_empty() {
        text.push_str("(no output)");
    } else {
        text.push_str("```\n");
        text.push_str(&message.output);
        text.push_str("\n```");
    }
    if message.cancelled {
        text.push_str("\n\n(command cancelled)");
    } else if let Some(code) = message.exit_code.filter(|code| *code != 0) {
        text.push_str(&format!("\n\nCommand exited with code {code}"));
    }
    if let (true, Some(path)) = (message.truncated, &message.full_output_path) {
        text.push_str(&format!("\n\n[Output truncated. Full output: {path}]"));
    }
    text
}

/// The message with every run of images replaced by one text block (setting `images.blockImages`).
pub fn without_images(message: &Arc<Message>) -> Arc<Message> {
    let blocks = match &**message {
        Message::User(UserMessage {
            content: Content::Blocks(blocks),
            ..
        }) => blocks,
        Message::ToolResult(body) => &body.content,
        _ => return message.clone(),
    };
    if !blocks.iter().any(|block| matches!(block, Block::Image(_))) {
        return message.clone();
    }
    let mut kept: Vec<Block> = Vec::with_capacity(blocks.len());
    let mut in_images = false;
    for block in blocks {
        let is_image = matches!(block, Block::Image(_));
        match (is_image, in_images) {
            (true, false) => kept.push(Block::text(BLOCKED_IMAGE)),
            (true, true) => {}
            (false, _) => kept.push(block.clone()),
        }
        in_images = is_image;
    }
    let mut changed = Message::clone(message);
    match &mut changed {
        Message::User(body) => body.content = Content::Blocks(kept),
        Message::ToolResult(body) => body.content = kept,
        _ => {}
    }
    Arc::new(changed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pier_protocol::message::{BranchSummaryMessage, CompactionSummaryMessage, CustomMessage};

    fn bash(output: &str) -> BashExecutionMessage {
        BashExecutionMessage {
            command: "ls".into(),
            output: output.into(),
            ..BashExecutionMessage::default()
        }
    }

    #[test]
    fn bash_texts() {
        assert_eq!(bash_text(&bash("")), "Ran `ls`\n(no output)");
        let failed = BashExecutionMessage {
            exit_code: Some(3),
            ..bash("a\n")
        };
        assert_eq!(
            bash_text(&failed),
            "Ran `ls`\n```\na\n\n```\n\nCommand exited with code 3"
        );
        let cancelled = BashExecutionMessage {
            cancelled: true,
            exit_code: Some(3),
            ..bash("")
        };
        assert_eq!(
            bash_text(&cancelled),
            "Ran `ls`\n(no output)\n\n(command cancelled)"
        );
        let cut = BashExecutionMessage {
            truncated: true,
            full_output_path: Some("/tmp/x".into()),
            ..bash("o")
        };
        assert_eq!(
            bash_text(&cut),
            "Ran `ls`\n```\no\n```\n\n[Output truncated. Full output: /tmp/x]"
        );
    }

    #[test]
    fn summaries_keep_their_tags() {
        let compaction: Arc<Message> = Arc::new(
            CompactionSummaryMessage {
                summary: "S".into(),
                ..Default::default()
            }
            .into(),
        );
        let branch: Arc<Message> = Arc::new(
            BranchSummaryMessage {
                summary: "S".into(),
                ..Default::default()
            }
            .into(),
        );
        assert!(
            to_provider_message(&compaction)
                .unwrap()
                .text()
                .ends_with("\n\n<summary>\nS\n</summary>")
        );
        assert!(
            to_provider_message(&branch)
                .unwrap()
                .text()
                .ends_with("\n\n<summary>\nS</summary>")
        );
    }

    #[test]
    fn excluded_bash_is_not_sent_and_custom_text_becomes_a_user_block() {
        let excluded: Arc<Message> = Arc::new(
            BashExecutionMessage {
                exclude_from_context: Some(true),
                ..bash("x")
            }
            .into(),
        );
        let custom: Arc<Message> = Arc::new(
            CustomMessage {
                content: Content::Text("c".into()),
                ..CustomMessage::default()
            }
            .into(),
        );
        let sent = to_provider_messages(&[excluded, custom]);
        assert_eq!(sent.len(), 1);
        assert_eq!(
            sent[0].as_user().unwrap().content,
            Content::Blocks(vec![Block::text("c")])
        );
    }

    #[test]
    fn blocked_images_in_a_row_become_one_text() {
        let user: Arc<Message> = Arc::new(Message::User(UserMessage {
            content: Content::Blocks(vec![
                Block::text("t"),
                Block::image("AA", "image/png"),
                Block::image("AA", "image/png"),
                Block::text("u"),
            ]),
            ..UserMessage::default()
        }));
        assert_eq!(
            without_images(&user).text(),
            format!("t\n{BLOCKED_IMAGE}\nu")
        );
    }
}
