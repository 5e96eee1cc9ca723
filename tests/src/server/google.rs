//! The stream of Google's generative language API (`alt=sse`).

use super::reply::{Block, Reply, data, halves};
use serde_json::{Value, json};

/// The events of an answer.
pub(super) fn pieces(reply: &Reply) -> Vec<String> {
    let mut pieces = Vec::new();
    for block in &reply.blocks {
        match block {
            Block::Thinking { thinking } => {
                pieces.extend(
                    halves(thinking).map(|text| part(json!({"text": text, "thought": true}))),
                );
            }
            Block::Text { text } => {
                pieces.extend(halves(text).map(|text| part(json!({"text": text}))))
            }
            Block::Tool {
                tool,
                id,
                arguments,
            } => pieces.push(part(
                json!({"functionCall": {"id": id, "name": tool, "args": arguments}}),
            )),
        }
    }
    let reason = if reply.is_cut_short() {
        "MAX_TOKENS"
    } else {
        "STOP"
    };
    let (input, output) = reply.usage;
    pieces.push(data(&json!({
        "candidates": [{"content": {"role": "model", "parts": []}, "finishReason": reason, "index": 0}],
        "usageMetadata": {"promptTokenCount": input, "candidatesTokenCount": output, "totalTokenCount": input + output},
        "modelVersion": "served",
    })));
    pieces
}

fn part(part: Value) -> String {
    data(
        &json!({"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}], "modelVersion": "served"}),
    )
}
