//! Normalises what tools and `tool_result` handlers return (`spec/extension-api.md` §6.3, §6.4). Pure.

use pier_agent::hooks::ToolResultPatch;
use pier_agent::tool::ToolOutput;
use pier_protocol::message::Block;
use serde_json::{Map, Value, json};

/// A tool's return value as an output. Untyped tools return strings, nothing, or results without `content`; all of
/// these mean something.
pub(crate) fn output(value: Value) -> Result<ToolOutput, String> {
    let mut map = match value {
        Value::Null => Map::new(),
        Value::String(text) => return Ok(ToolOutput::text(text)),
        Value::Object(map) => map,
        other => {
            return Err(format!(
                "the tool returned {}, expected {{content, details?}}",
                crate::dispatch::combine::kind(&other)
            ));
        }
    };
    let content = blocks(map.remove("content").unwrap_or(Value::Null))?;
    map.insert("content".into(), content);
    for name in ["isError", "terminate"] {
        if let Some(value) = map.get(name) {
            let flag = json!(crate::wire::truthy(value));
            map.insert(name.into(), flag);
        }
    }
    serde_json::from_value(Value::Object(map))
        .map_err(|error| format!("the tool's result has the wrong shape: {error}"))
}

/// `content` as an array of blocks: `null` is none, a string is one text block, strings inside become text blocks.
fn blocks(content: Value) -> Result<Value, String> {
    match content {
        Value::Null => Ok(json!([])),
        Value::String(text) => Ok(json!([{"type": "text", "text": text}])),
        Value::Array(items) => items
            .into_iter()
            .map(|item| match item {
                Value::String(text) => Ok(json!({"type": "text", "text": text})),
                block @ Value::Object(_) => Ok(block),
                other => Err(format!(
                    "\"content\" holds {}",
                    crate::dispatch::combine::kind(&other)
                )),
            })
            .collect::<Result<Vec<_>, _>>()
            .map(Value::Array),
        other => Err(format!(
            "\"content\" is {}, expected an array of blocks",
            crate::dispatch::combine::kind(&other)
        )),
    }
}

/// The changes that `tool_result` handlers made.
pub(crate) fn patch(mut changed: Map<String, Value>) -> Result<ToolResultPatch, String> {
    let mut patch = ToolResultPatch::default();
    if let Some(content) = changed.remove("content") {
        let parsed: Vec<Block> = serde_json::from_value(blocks(content)?)
            .map_err(|error| format!("\"content\": {error}"))?;
        patch.content = Some(parsed);
    }
    let optional = |value: Value| if value.is_null() { None } else { Some(value) };
    patch.details = changed.remove("details").map(optional);
    patch.is_error = changed
        .remove("isError")
        .map(|value| crate::wire::truthy(&value));
    patch.structured_content = changed.remove("structuredContent").map(optional);
    patch.usage = match changed.remove("usage").map(optional) {
        None => None,
        Some(None) => Some(None),
        Some(Some(usage)) => Some(Some(
            serde_json::from_value(usage).map_err(|error| format!("\"usage\": {error}"))?,
        )),
    };
    Ok(patch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untyped_results_are_understood() {
        let text = |value: Value| serde_json::to_value(output(value).unwrap().content).unwrap();
        assert_eq!(text(json!("hi")), json!([{"type": "text", "text": "hi"}]));
        assert_eq!(
            text(json!({"content": "hi"})),
            json!([{"type": "text", "text": "hi"}])
        );
        assert_eq!(
            text(json!({"content": ["a"]})),
            json!([{"type": "text", "text": "a"}])
        );
        assert_eq!(text(Value::Null), json!([]));
        assert_eq!(text(json!({"details": 1})), json!([]));
        assert_eq!(
            output(json!({"content": [], "isError": true}))
                .unwrap()
                .is_error,
            Some(true)
        );
        assert!(output(json!(5)).is_err());
        assert!(
            output(json!({"content": 5}))
                .unwrap_err()
                .contains("content")
        );
    }

    #[test]
    fn null_details_are_removed_by_a_patch() {
        let parsed = patch(super::super::super::dispatch::combine::event(
            json!({"details": null, "isError": 0}),
        ))
        .unwrap();
        assert_eq!(parsed.details, Some(None));
        assert_eq!(parsed.is_error, Some(false));
        assert!(parsed.content.is_none());
    }
}
