//! The stream of OpenAI's chat completions.

use super::reply::{Block, Reply, data, halves};
use serde_json::{Value, json};

/// The events of an answer.
pub(super) fn pieces(reply: &Reply) -> Vec<String> {
    let mut pieces = vec![delta(json!({"role": "assistant", "content": ""}))];
    let mut call = 0;
    for block in &reply.blocks {
        match block {
            Block::Thinking { thinking } => pieces
                .extend(halves(thinking).map(|part| delta(json!({"reasoning_content": part})))),
            Block::Text { text } => {
                pieces.extend(halves(text).map(|part| delta(json!({"content": part}))));
            }
            Block::Tool {
                tool,
                id,
                arguments,
            } => {
                pieces.push(delta(
                    json!({"tool_calls": [{"index": call, "id": id, "type": "function",
                    "function": {"name": tool, "arguments": ""}}]}),
                ));
                let text = Value::Object(arguments.clone()).to_string();
                pieces.extend(halves(&text).map(|part| {
                    delta(json!({"tool_calls": [{"index": call, "function": {"arguments": part}}]}))
                }));
                call += 1;
            }
        }
    }
    let reason = match (reply.calls_tool(), reply.is_cut_short()) {
        (_, true) => "length",
        (true, false) => "tool_calls",
        (false, false) => "stop",
    };
    pieces.push(data(&chunk(
        json!([{"index": 0, "delta": {}, "finish_reason": reason}]),
        Value::Null,
    )));
    let (input, output) = reply.usage;
    pieces.push(data(&chunk(
        json!([]),
        json!({"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output}),
    )));
    pieces.push("data: [DONE]\n\n".to_owned());
    pieces
}

fn delta(delta: Value) -> String {
    data(&chunk(
        json!([{"index": 0, "delta": delta, "finish_reason": null}]),
        Value::Null,
    ))
}

fn chunk(choices: Value, usage: Value) -> Value {
    json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "served",
        "choices": choices, "usage": usage})
}
