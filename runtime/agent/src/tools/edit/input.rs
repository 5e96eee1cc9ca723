//! The argument forms that `edit` accepts: the documented one, `edits` as JSON text or as a single object, and the old
//! top-level `oldText`/`newText`. Rewrites arguments; never judges them.

use serde_json::{Map, Value};

/// Rewrites `args` to the documented form where it is one of the accepted others. Anything else is left for
/// validation to report.
pub(super) fn normalise(args: Value) -> Value {
    let Value::Object(mut args) = args else {
        return args;
    };
    if let Some(Value::String(text)) = args.get("edits")
        && let Ok(parsed @ (Value::Array(_) | Value::Object(_))) = serde_json::from_str(text)
    {
        args.insert("edits".to_owned(), parsed);
    }
    if let Some(single @ Value::Object(_)) = args.get("edits") {
        let single = single.clone();
        args.insert("edits".to_owned(), Value::Array(vec![single]));
    }
    add_top_level_edit(&mut args);
    Value::Object(args)
}

fn add_top_level_edit(args: &mut Map<String, Value>) {
    let (Some(old @ Value::String(_)), Some(new @ Value::String(_))) =
        (args.get("oldText"), args.get("newText"))
    else {
        return;
    };
    let edit = serde_json::json!({ "oldText": old, "newText": new });
    match args.get_mut("edits") {
        Some(Value::Array(edits)) => edits.push(edit),
        None | Some(Value::Null) => {
            args.insert("edits".to_owned(), Value::Array(vec![edit]));
        }
        // Not a list: validation names it.
        Some(_) => return,
    }
    args.remove("oldText");
    args.remove("newText");
}
