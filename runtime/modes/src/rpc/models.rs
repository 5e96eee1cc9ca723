//! Models as clients see them (`spec/rpc.md` §4.1).

use pier_protocol::model::Model;
use serde_json::{Value, json};

/// A model without its request headers, which may hold secrets.
pub(crate) fn wire_model(model: &Model) -> Value {
    let mut value = serde_json::to_value(model).unwrap_or_default();
    if let Value::Object(members) = &mut value {
        members.shift_remove("headers");
    }
    value
}

/// What pi sends when no model can be used.
pub(crate) fn placeholder() -> Value {
    json!({
        "id": "unknown", "name": "unknown", "api": "unknown", "provider": "unknown", "baseUrl": "", "reasoning": false,
        "input": [], "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
        "contextWindow": 0, "maxTokens": 0,
    })
}

#[cfg(test)]
mod tests {
    use pier_protocol::model::Model;

    use super::{placeholder, wire_model};

    #[test]
    fn headers_stay_here() {
        let mut model = Model {
            id: "m".into(),
            provider: "p".into(),
            ..Model::default()
        };
        model.extra.insert(
            "headers".into(),
            serde_json::json!({"authorization": "secret"}),
        );
        model.extra.insert("type".into(), "chat".into());
        let wire = wire_model(&model);
        assert!(wire.get("headers").is_none());
        assert_eq!(wire["type"], "chat");
    }

    #[test]
    fn the_stand_in_reads_as_a_model() {
        let model: Model = serde_json::from_value(placeholder()).expect("a model");
        assert_eq!(
            (model.provider.as_str(), model.context_window),
            ("unknown", 0)
        );
    }
}
