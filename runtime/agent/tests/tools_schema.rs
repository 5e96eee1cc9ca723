//! Coercion and validation of arguments.

use pier_agent::schema::{ArgumentError, ArgumentSchema, SchemaCache};
use serde_json::{Value, json};

fn check(schema: Value, args: Value) -> Result<Value, String> {
    ArgumentSchema::compile("t", &schema)
        .unwrap()
        .check(args.clone(), &args)
        .map_err(|e| e.to_string())
}

fn echo() -> Value {
    json!({"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}, "n": {"type": "number"}}})
}

#[test]
fn the_failure_text_is_exact() {
    // Recorded from a real session.
    assert_eq!(
        ArgumentSchema::compile("echo", &echo())
            .unwrap()
            .check(json!({"n": 1}), &json!({"n": 1}))
            .unwrap_err()
            .to_string(),
        "Validation failed for tool \"echo\":\n  - text: missing\n\nReceived arguments:\n{\n  \"n\": 1\n}"
    );
}

#[test]
fn the_received_arguments_are_the_raw_ones() {
    let schema = ArgumentSchema::compile("t", &echo()).unwrap();
    let text = schema
        .check(json!({"text": []}), &json!({"as": "sent"}))
        .unwrap_err()
        .to_string();
    assert!(
        text.ends_with("Received arguments:\n{\n  \"as\": \"sent\"\n}"),
        "{text}"
    );
}

#[test]
fn problems_name_the_member_by_dotted_path() {
    let schema = json!({
        "type": "object", "required": ["edits"],
        "properties": {"edits": {"type": "array", "minItems": 1, "items": {
            "type": "object", "required": ["old"], "properties": {"old": {"type": "string"}},
        }}},
    });
    let text = check(
        schema.clone(),
        json!({"edits": [{"old": "a"}, {}, {"old": {}}]}),
    )
    .unwrap_err();
    assert!(text.contains("\n  - edits.1.old: missing\n"), "{text}");
    assert!(
        text.contains("\n  - edits.2.old: must be string\n"),
        "{text}"
    );
    let text = check(schema.clone(), json!("no")).unwrap_err();
    assert!(text.contains("\n  - root: must be object\n"), "{text}");
    let text = check(schema, json!({"edits": []})).unwrap_err();
    assert!(
        text.contains("\n  - edits: must have at least 1 items\n"),
        "{text}"
    );
}

#[test]
fn a_flood_of_problems_is_counted() {
    let schema = json!({"type": "array", "items": {"type": "object"}});
    let text = check(schema, Value::Array(vec![json!(1); 500])).unwrap_err();
    assert!(text.contains("\n  - root: 480 more problems\n"), "{text}");
}

#[test]
fn coercion_is_lenient() {
    let number = json!({"type": "object", "properties": {"v": {"type": "number"}}});
    let integer = json!({"type": "object", "properties": {"v": {"type": "integer"}}});
    let string = json!({"type": "object", "properties": {"v": {"type": "string"}}});
    let boolean = json!({"type": "object", "properties": {"v": {"type": "boolean"}}});
    let strings = json!({"type": "object", "properties": {"v": {"type": "array", "items": {"type": "string"}}}});
    let nullable = json!({"type": "object", "properties": {"v": {"type": ["string", "null"]}}});
    let either = json!({"type": "object", "properties": {"v": {"anyOf": [{"type": "number"}, {"type": "null"}]}}});
    for (schema, given, expected) in [
        (&number, json!({"v": "3"}), json!({"v": 3})),
        (&number, json!({"v": " 2.5 "}), json!({"v": 2.5})),
        (&number, json!({"v": "-1e3"}), json!({"v": -1000.0})),
        (&integer, json!({"v": "7"}), json!({"v": 7})),
        (&integer, json!({"v": 7.0}), json!({"v": 7.0})),
        (&string, json!({"v": 42}), json!({"v": "42"})),
        (&string, json!({"v": 1.0}), json!({"v": "1"})),
        (&string, json!({"v": true}), json!({"v": "true"})),
        (&boolean, json!({"v": "true"}), json!({"v": true})),
        (&strings, json!({"v": "one"}), json!({"v": ["one"]})),
        (&strings, json!({"v": 1}), json!({"v": ["1"]})),
        (&strings, json!({"v": [1, "b"]}), json!({"v": ["1", "b"]})),
        (&number, json!({"v": null, "other": 1}), json!({"other": 1})),
        (&nullable, json!({"v": null}), json!({"v": null})),
        (&either, json!({"v": "5"}), json!({"v": 5})),
        (&either, json!({"v": null}), json!({"v": null})),
    ] {
        assert_eq!(
            check(schema.clone(), given.clone()).unwrap(),
            expected,
            "{given}"
        );
    }
    for (schema, given) in [
        (&number, json!({"v": "three"})),
        (&number, json!({"v": ""})),
        (&number, json!({"v": "inf"})),
        (&number, json!({"v": "NaN"})),
        (&integer, json!({"v": "1.5"})),
        (&boolean, json!({"v": "yes"})),
        (&string, json!({"v": {}})),
    ] {
        assert!(check(schema.clone(), given.clone()).is_err(), "{given}");
    }
}

#[test]
fn null_stays_where_it_is_required_or_unknown() {
    let schema =
        json!({"type": "object", "required": ["v"], "properties": {"v": {"type": "string"}}});
    assert!(
        check(schema.clone(), json!({"v": null}))
            .unwrap_err()
            .contains("  - v: must be string")
    );
    assert_eq!(
        check(schema, json!({"v": "", "x": null})).unwrap(),
        json!({"v": "", "x": null})
    );
}

#[test]
fn coercion_follows_references_and_alternatives() {
    let schema = json!({
        "$defs": {"node": {
            "type": "object",
            "properties": {"n": {"type": "number"}, "next": {"$ref": "#/$defs/node"}},
        }},
        "type": "object",
        "properties": {
            "list": {"$ref": "#/$defs/node"},
            "action": {"oneOf": [
                {"type": "object", "required": ["kind", "n"], "properties": {"kind": {"const": "a"}, "n": {"type": "number"}}},
                {"type": "object", "required": ["kind", "n"], "properties": {"kind": {"const": "b"}, "n": {"type": "string"}}},
            ]},
        },
    });
    assert_eq!(
        check(
            schema.clone(),
            json!({"list": {"n": "1", "next": {"n": "2"}}, "action": {"kind": "a", "n": "3"}})
        )
        .unwrap(),
        json!({"list": {"n": 1, "next": {"n": 2}}, "action": {"kind": "a", "n": 3}})
    );
    assert_eq!(
        check(schema, json!({"action": {"kind": "b", "n": "3"}})).unwrap(),
        json!({"action": {"kind": "b", "n": "3"}})
    );
}

#[test]
fn values_that_are_right_are_never_changed() {
    let schema = json!({"type": "object", "properties": {"v": {"anyOf": [{"type": "number"}, {"type": "string"}]}}});
    assert_eq!(
        check(schema, json!({"v": "5", "extra": ["x", null]})).unwrap(),
        json!({"v": "5", "extra": ["x", null]})
    );
}

#[test]
fn a_schema_that_does_not_compile_names_the_tool() {
    for schema in [
        json!({"type": "objekt"}),
        json!({"properties": {"a": {"type": "string", "pattern": "("}}}),
        json!({"properties": {"a": {"$ref": "#/$defs/none"}}}),
        json!({"$ref": "https://example.com/schema.json"}),
        json!({"$ref": "#"}),
        json!({"$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"anyOf": [{"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"}),
        json!([]),
        json!(null),
    ] {
        let error = ArgumentSchema::compile("broken", &schema)
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("Tool \"broken\" has an invalid parameter schema: "),
            "{error}"
        );
    }
}

#[test]
fn recursive_schemas_that_go_into_the_value_are_fine() {
    let schema =
        json!({"type": "object", "properties": {"child": {"$ref": "#"}, "n": {"type": "number"}}});
    assert_eq!(
        check(schema, json!({"child": {"child": {"n": "1"}}})).unwrap(),
        json!({"child": {"child": {"n": 1}}})
    );
}

#[test]
fn schemas_are_compiled_once_and_again_when_they_change() {
    let cache = SchemaCache::new();
    let first = cache.get("t", &echo()).unwrap();
    assert!(std::sync::Arc::ptr_eq(
        &first,
        &cache.get("t", &echo()).unwrap()
    ));
    let other = cache.get("t", &json!({"type": "object"})).unwrap();
    assert!(!std::sync::Arc::ptr_eq(&first, &other));
    assert!(cache.get("bad", &json!({"type": 1})).is_err());
    assert!(matches!(
        cache.check("bad", &json!({"type": 1}), json!({}), &json!({})),
        Err(ArgumentError::Schema(_))
    ));
    assert_eq!(
        cache
            .check("t", &echo(), json!({"text": 1}), &json!({}))
            .unwrap(),
        json!({"text": "1"})
    );
}

#[test]
fn nested_alternatives_end_in_time() {
    // Two equal forms at every level double the work with each of them.
    let schema = json!({
        "$defs": {"node": {"anyOf": [
            {"type": "object", "required": ["n"], "properties": {"n": {"$ref": "#/$defs/node"}}},
            {"type": "object", "required": ["n"], "properties": {"n": {"$ref": "#/$defs/node"}}},
            {"type": "number"},
        ]}},
        "type": "object",
        "properties": {"root": {"$ref": "#/$defs/node"}},
    });
    let mut args = json!("5");
    for _ in 0..12 {
        args = json!({ "n": args });
    }
    let started = std::time::Instant::now();
    // Whether it was coerced does not matter here, only that there is an answer.
    let _ = check(schema, json!({ "root": args }));
    assert!(started.elapsed() < std::time::Duration::from_secs(20));
}

#[test]
fn an_unknown_draft_is_read_as_the_newest() {
    for draft in [
        "http://json-schema.org/schema#",
        "https://example.com/meta",
        "http://json-schema.org/draft-07/schema#",
        "https://json-schema.org/draft/2020-12/schema",
    ] {
        let mut schema = echo();
        schema["$schema"] = json!(draft);
        assert_eq!(
            check(schema.clone(), json!({"text": 1})).unwrap(),
            json!({"text": "1"}),
            "{draft}"
        );
        assert!(check(schema, json!({})).is_err(), "{draft}");
    }
}
