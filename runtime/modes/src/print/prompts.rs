//! Builds the prompts of a one-shot run from standard input, files and messages
//! (`spec/cli.md` §4.1).

use pier_protocol::block::ImageBlock;

use super::files::Attachments;

/// One prompt, to be answered before the next one is sent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Prompt {
    pub(crate) text: String,
    pub(crate) images: Vec<ImageBlock>,
}

/// The first prompt is standard input, file text and first message without separators between
/// them; each further message is a prompt of its own. Nothing to say gives no prompt.
pub(crate) fn build(stdin: Option<&str>, files: Attachments, messages: Vec<String>) -> Vec<Prompt> {
    let mut messages = messages.into_iter();
    let mut first = stdin.map(str::trim).unwrap_or_default().to_owned();
    first.push_str(&files.text);
    let message = messages.next();
    let nothing = first.is_empty() && files.images.is_empty() && message.is_none();
    first.push_str(&message.unwrap_or_default());
    let first = (!nothing).then_some(Prompt {
        text: first,
        images: files.images,
    });
    first
        .into_iter()
        .chain(messages.map(|text| Prompt {
            text,
            images: Vec::new(),
        }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Attachments, build};

    fn texts(stdin: Option<&str>, files: &str, messages: &[&str]) -> Vec<String> {
        let files = Attachments {
            text: files.into(),
            images: Vec::new(),
        };
        let messages = messages
            .iter()
            .map(|message| (*message).to_owned())
            .collect();
        build(stdin, files, messages)
            .into_iter()
            .map(|prompt| prompt.text)
            .collect()
    }

    #[test]
    fn the_parts_of_the_first_prompt_are_joined_without_separators() {
        assert_eq!(
            texts(Some("from stdin\n"), "", &["then this"]),
            ["from stdinthen this"]
        );
        assert_eq!(
            texts(Some("in"), "<file/>\n", &["m", "n"]),
            ["in<file/>\nm", "n"]
        );
    }

    #[test]
    fn nothing_to_say_is_no_prompt() {
        assert!(texts(None, "", &[]).is_empty());
        assert!(texts(Some(" \n"), "", &[]).is_empty());
    }

    #[test]
    fn an_empty_message_is_a_prompt() {
        assert_eq!(texts(None, "", &[""]), [""]);
    }
}
