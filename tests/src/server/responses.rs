//! The stream of OpenAI's responses.

use super::reply::{Block, Reply, halves, named};
use serde_json::{Value, json};

/// The events of an answer.
pub(super) fn pieces(reply: &Reply) -> Vec<String> {
    let mut stream = Stream::default();
    stream.push(
        "response.created",
        json!({"response": {"id": "resp_1", "status": "in_progress"}}),
    );
    for (index, block) in reply.blocks.iter().enumerate() {
        match block {
            Block::Thinking { thinking } => {
                stream.added(
                    index,
                    json!({"type": "reasoning", "id": format!("rs_{index}"), "summary": []}),
                );
                for part in halves(thinking) {
                    stream.push(
                        "response.reasoning_summary_text.delta",
                        json!({"item_id": format!("rs_{index}"),
                        "output_index": index, "summary_index": 0, "delta": part}),
                    );
                }
                stream.done(
                    index,
                    json!({"type": "reasoning", "id": format!("rs_{index}"),
                    "summary": [{"type": "summary_text", "text": thinking}]}),
                );
            }
            Block::Text { text } => {
                stream.added(
                    index,
                    json!({"type": "message", "id": format!("msg_{index}"), "role": "assistant",
                    "status": "in_progress", "content": []}),
                );
                for part in halves(text) {
                    stream.push(
                        "response.output_text.delta",
                        json!({"item_id": format!("msg_{index}"),
                        "output_index": index, "content_index": 0, "delta": part}),
                    );
                }
                stream.done(index, json!({"type": "message", "id": format!("msg_{index}"), "role": "assistant",
                    "status": "completed", "content": [{"type": "output_text", "text": text, "annotations": []}]}));
            }
            Block::Tool {
                tool,
                id,
                arguments,
            } => {
                let text = Value::Object(arguments.clone()).to_string();
                let item = |text: &str| {
                    json!({"type": "function_call", "id": format!("fc_{index}"), "call_id": id,
                    "name": tool, "arguments": text})
                };
                stream.added(index, item(""));
                for part in halves(&text) {
                    stream.push(
                        "response.function_call_arguments.delta",
                        json!({"item_id": format!("fc_{index}"),
                        "output_index": index, "delta": part}),
                    );
                }
                stream.push(
                    "response.function_call_arguments.done",
                    json!({"item_id": format!("fc_{index}"),
                    "output_index": index, "arguments": text}),
                );
                stream.done(index, item(&text));
            }
        }
    }
    let (input, output) = reply.usage;
    let usage =
        json!({"input_tokens": input, "output_tokens": output, "total_tokens": input + output});
    if reply.is_cut_short() {
        stream.push(
            "response.incomplete",
            json!({"response": {"id": "resp_1", "status": "incomplete",
            "incomplete_details": {"reason": "max_output_tokens"}, "usage": usage}}),
        );
    } else {
        stream.push(
            "response.completed",
            json!({"response": {"id": "resp_1", "status": "completed", "usage": usage}}),
        );
    }
    stream.pieces
}

#[derive(Default)]
struct Stream {
    pieces: Vec<String>,
}

impl Stream {
    fn push(&mut self, name: &str, mut event: Value) {
        event["type"] = json!(name);
        event["sequence_number"] = json!(self.pieces.len());
        self.pieces.push(named(name, &event));
    }

    fn added(&mut self, index: usize, item: Value) {
        self.push(
            "response.output_item.added",
            json!({"output_index": index, "item": item}),
        );
    }

    fn done(&mut self, index: usize, item: Value) {
        self.push(
            "response.output_item.done",
            json!({"output_index": index, "item": item}),
        );
    }
}
