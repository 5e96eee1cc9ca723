//! The parts of the page.

use pier_protocol::entry::{EntryBody, SessionHeader};
use pier_protocol::message::{Block, Message};

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}\
    section{border-left:4px solid #bbb;margin:1rem 0;padding:.2rem 1rem}h2{font-size:.85rem;margin:.3rem 0;color:#666}\
    .user{border-color:#2a6fdb}.assistant{border-color:#2a9d57}.tool{border-color:#b58900}.failed{border-color:#c0392b}\
    pre{white-space:pre-wrap;overflow-wrap:anywhere;font:13px/1.45 ui-monospace,monospace;margin:.4rem 0}\
    .thinking{color:#777;font-style:italic}img{max-width:100%}\
    @media(prefers-color-scheme:dark){body{color:#ddd;background:#1b1b1b}h2,.thinking{color:#999}}";

/// Text with everything that HTML would interpret made harmless.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

pub(super) fn document(header: &SessionHeader, body: &str) -> String {
    let title = escape(&format!("Session {}", header.id));
    let when = escape(&header.timestamp);
    let cwd = escape(header.cwd.as_deref().unwrap_or_default());
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">\
         <title>{title}</title><style>{STYLE}</style></head><body>\n<h1>{title}</h1>\n<p>{when} in <code>{cwd}</code></p>\n\
         {body}</body></html>\n"
    )
}

pub(super) fn message(page: &mut String, message: &Message) {
    match message {
        Message::User(user) | Message::Developer(user) => {
            section(page, "user", "User", &blocks(&user.content.to_blocks()));
        }
        Message::Assistant(assistant) => {
            let mut content = blocks(&assistant.content);
            if let Some(error) = &assistant.error_message {
                content.push_str(&pre(error));
            }
            let class = if assistant.stop_reason.is_failure() {
                "assistant failed"
            } else {
                "assistant"
            };
            section(
                page,
                class,
                &format!("Assistant, {}", assistant.model),
                &content,
            );
        }
        Message::ToolResult(result) => {
            let class = if result.is_error {
                "tool failed"
            } else {
                "tool"
            };
            section(
                page,
                class,
                &format!("Result of {}", result.tool_name),
                &blocks(&result.content),
            );
        }
        Message::Custom(custom) if custom.display => {
            section(
                page,
                "custom",
                &custom.custom_type,
                &blocks(&custom.content.to_blocks()),
            );
        }
        Message::BashExecution(bash) => {
            section(
                page,
                "tool",
                &format!("$ {}", bash.command),
                &pre(&bash.output),
            );
        }
        _ => {}
    }
}

pub(super) fn entry(page: &mut String, body: &EntryBody) {
    match body {
        EntryBody::Compaction(compaction) => {
            section(
                page,
                "summary",
                "Earlier conversation, summarised",
                &pre(&compaction.summary),
            );
        }
        EntryBody::BranchSummary(branch) if !branch.summary.is_empty() => {
            section(
                page,
                "summary",
                "Other branch, summarised",
                &pre(&branch.summary),
            );
        }
        EntryBody::CustomMessage(custom) if custom.display => {
            section(
                page,
                "custom",
                &custom.custom_type,
                &blocks(&custom.content.to_blocks()),
            );
        }
        _ => {}
    }
}

fn section(page: &mut String, class: &str, heading: &str, content: &str) {
    let heading = escape(heading);
    page.push_str(&format!(
        "<section class=\"{class}\"><h2>{heading}</h2>{content}</section>\n"
    ));
}

fn pre(text: &str) -> String {
    format!("<pre>{}</pre>", escape(text))
}

fn blocks(blocks: &[Block]) -> String {
    blocks.iter().map(block).collect()
}

fn block(block: &Block) -> String {
    match block {
        Block::Text(text) => pre(&text.text),
        Block::Thinking(thinking) => format!(
            "<pre class=\"thinking\">{}</pre>",
            escape(&thinking.thinking)
        ),
        Block::Image(image) => format!(
            "<img alt=\"\" src=\"data:{};base64,{}\">",
            escape(&image.mime_type),
            escape(&image.data)
        ),
        Block::ToolCall(call) => {
            let arguments = serde_json::to_string_pretty(&call.arguments).unwrap_or_default();
            pre(&format!("{} {arguments}", call.name))
        }
        Block::Other(members) => pre(&serde_json::to_string(members).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use pier_protocol::entry::SessionHeader;
    use pier_protocol::message::{AssistantMessage, Block, Message};

    use super::{document, escape, message};

    #[test]
    fn nothing_of_a_session_can_act_in_the_page() {
        assert_eq!(
            escape("<a href='x'>&\""),
            "&lt;a href=&#39;x&#39;&gt;&amp;&quot;"
        );
        let mut page = String::new();
        message(
            &mut page,
            &Message::Assistant(AssistantMessage {
                content: vec![
                    Block::text("<script>alert(1)</script>"),
                    Block::image("\"><script>", "image/png"),
                ],
                model: "<m>".into(),
                ..AssistantMessage::default()
            }),
        );
        assert!(
            !page.contains("<script>") && !page.contains("<m>"),
            "{page}"
        );
        let header = SessionHeader::new("<id>", "now", "/cwd");
        assert!(!document(&header, &page).contains("<id>"));
    }
}
