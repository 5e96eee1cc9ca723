//! The stream of Anthropic's messages.

use super::reply::{Block, Reply, halves, named};
use serde_json::{Value, json};

/// The events of an answer.
pub(super) fn pieces(reply: &Reply) -> Vec<String> {
    let (input, output) = reply.usage;
    let mut pieces = vec![event(
        json!({"type": "message_start", "message": {"id": "msg_1", "type": "message",
        "role": "assistant", "content": [], "model": "served", "stop_reason": null,
        "usage": {"input_tokens": input, "output_tokens": 1}}}),
    )];
    for (index, block) in reply.blocks.iter().enumerate() {
        let start = |content: Value| {
            event(json!({"type": "content_block_start", "index": index, "content_block": content}))
        };
        let delta = |delta: Value| {
            event(json!({"type": "content_block_delta", "index": index, "delta": delta}))
        };
        match block {
            Block::Thinking { thinking } => {
                pieces.push(start(
                    json!({"type": "thinking", "thinking": "", "signature": ""}),
                ));
                pieces.extend(
                    halves(thinking)
                        .map(|part| delta(json!({"type": "thinking_delta", "thinking": part}))),
                );
                pieces.push(delta(
                    json!({"type": "signature_delta", "signature": "c2lnbmVk"}),
                ));
            }
            Block::Text { text } => {
                pieces.push(start(json!({"type": "text", "text": ""})));
                pieces.extend(
                    halves(text).map(|part| delta(json!({"type": "text_delta", "text": part}))),
                );
            }
            Block::Tool {
                tool,
                id,
                arguments,
            } => {
                pieces.push(start(
                    json!({"type": "tool_use", "id": id, "name": tool, "input": {}}),
                ));
                let text = Value::Object(arguments.clone()).to_string();
                pieces.extend(
                    halves(&text).map(|part| {
                        delta(json!({"type": "input_json_delta", "partial_json": part}))
                    }),
                );
            }
        }
        pieces.push(event(json!({"type": "content_block_stop", "index": index})));
    }
    let reason = match (reply.calls_tool(), reply.is_cut_short()) {
        (_, true) => "max_tokens",
        (true, false) => "tool_use",
        (false, false) => "end_turn",
    };
    pieces.push(event(
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": output}}),
    ));
    pieces.push(event(json!({"type": "message_stop"})));
    pieces
}

fn event(value: Value) -> String {
    let name = value["type"].as_str().unwrap_or_default().to_owned();
    named(&name, &value)
}
