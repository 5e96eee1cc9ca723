//! What text mode prints at the end, and what its exit code says (`spec/cli.md` §4.3).

use pier_protocol::message::{Block, Message, StopReason};

/// Output of text mode.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// For standard output.
    pub(crate) text: String,
    /// For standard error.
    pub(crate) complaint: Option<String>,
}

impl Answer {
    /// Reads the answer off the last message of the context; anything but an assistant message is none.
    pub(crate) fn of(last: Option<&Message>) -> Self {
        let Some(message) = last.and_then(Message::as_assistant) else {
            return Self::default();
        };
        let failed = |standard: &str| Self {
            text: String::new(),
            complaint: Some(
                message
                    .error_message
                    .clone()
                    .unwrap_or_else(|| standard.to_owned()),
            ),
        };
        match message.stop_reason {
            StopReason::Error => failed("Request error"),
            StopReason::Aborted => failed("Request aborted"),
            _ => {
                let mut text = String::new();
                for part in message.content.iter().filter_map(Block::as_text) {
                    text.push_str(part);
                    text.push('\n');
                }
                let complaint = (message.stop_reason == StopReason::Length).then(|| {
                    "Response was truncated: the model reached its output token limit.".to_owned()
                });
                Self { text, complaint }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pier_protocol::message::{AssistantMessage, Block, Message, StopReason, ToolResultMessage};

    use super::Answer;

    fn answer(stop_reason: StopReason, error_message: Option<&str>) -> Answer {
        Answer::of(Some(&Message::Assistant(AssistantMessage {
            content: vec![
                Block::text("one"),
                Block::Thinking(Default::default()),
                Block::text("two"),
            ],
            stop_reason,
            error_message: error_message.map(str::to_owned),
            ..AssistantMessage::default()
        })))
    }

    #[test]
    fn text_blocks_are_printed_one_a_line() {
        assert_eq!(
            answer(StopReason::Stop, None),
            Answer {
                text: "one\ntwo\n".into(),
                complaint: None
            }
        );
    }

    #[test]
    fn a_failed_answer_prints_no_partial_text() {
        assert_eq!(
            answer(StopReason::Error, Some("bad key"))
                .complaint
                .as_deref(),
            Some("bad key")
        );
        assert_eq!(
            answer(StopReason::Aborted, None).complaint.as_deref(),
            Some("Request aborted")
        );
        assert!(answer(StopReason::Error, None).text.is_empty());
    }

    #[test]
    fn a_cut_answer_is_printed_with_a_complaint() {
        let cut = answer(StopReason::Length, None);
        assert_eq!(cut.text, "one\ntwo\n");
        assert!(
            cut.complaint
                .is_some_and(|complaint| complaint.contains("truncated"))
        );
    }

    #[test]
    fn any_other_last_message_prints_nothing() {
        assert_eq!(Answer::of(None), Answer::default());
        assert_eq!(
            Answer::of(Some(&Message::ToolResult(ToolResultMessage::default()))),
            Answer::default()
        );
    }
}
