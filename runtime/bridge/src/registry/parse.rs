//! Reads `Registrations` from an isolate. Checks what the host relies on; a complaint names the member.

use pier_protocol::extension::Registrations;
use serde_json::Value;

/// Parses the JSON text of a `load` answer or a `register` change.
pub(crate) fn registrations(mut value: Value) -> Result<Registrations, String> {
    if value.is_null() {
        return Ok(Registrations::default());
    }
    if let Some(tools) = value.get_mut("tools").and_then(Value::as_array_mut) {
        for tool in tools {
            soften(tool);
        }
    }
    let parsed: Registrations =
        serde_json::from_value(value).map_err(|error| format!("registrations: {error}"))?;
    for tool in &parsed.tools {
        if tool.name.is_empty() {
            return Err("a registered tool has no name".into());
        }
        if !tool.parameters.is_object() {
            return Err(format!(
                "Tool \"{}\": \"parameters\" must be an object",
                tool.name
            ));
        }
    }
    if parsed
        .commands
        .iter()
        .any(|command| command.name.is_empty())
    {
        return Err("a registered command has no name".into());
    }
    if parsed.flags.iter().any(|flag| flag.name.is_empty()) {
        return Err("a registered flag has no name".into());
    }
    if parsed
        .providers
        .iter()
        .any(|provider| provider.name.is_empty())
    {
        return Err("a registered provider has no name".into());
    }
    Ok(parsed)
}

/// Authors without type checks pass a string where a list belongs, or words that no version knows; neither
/// should cost them the tool.
fn soften(tool: &mut Value) {
    let Some(tool) = tool.as_object_mut() else {
        return;
    };
    if let Some(text @ Value::String(_)) = tool.get("promptGuidelines") {
        let list = Value::Array(vec![text.clone()]);
        tool.insert("promptGuidelines".into(), list);
    } else if let Some(list) = tool
        .get_mut("promptGuidelines")
        .and_then(Value::as_array_mut)
    {
        list.retain(Value::is_string);
    } else {
        tool.remove("promptGuidelines");
    }
    if !tool
        .get("executionMode")
        .and_then(Value::as_str)
        .is_some_and(|mode| matches!(mode, "sequential" | "parallel"))
    {
        tool.remove("executionMode");
    }
    for name in ["label", "promptSnippet"] {
        if tool.get(name).is_some_and(|value| !value.is_string()) {
            tool.remove(name);
        }
    }
    if tool
        .get("description")
        .is_some_and(|value| !value.is_string())
    {
        tool.remove("description");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_tool_needs_a_name_and_an_object_of_parameters() {
        assert!(registrations(json!({"tools": [{"parameters": {}}]})).is_err());
        let error = registrations(json!({"tools": [{"name": "t", "parameters": 3}]})).unwrap_err();
        assert!(error.contains("\"t\"") && error.contains("parameters"));
        let good = registrations(json!({"tools": [
            {"name": "t", "description": 7, "parameters": {}, "promptGuidelines": "x", "executionMode": "odd"}
        ]}));
        assert_eq!(good.unwrap().tools[0].prompt_guidelines, ["x"]);
    }
}
