//! Lenient coercion of arguments (`spec/agent-loop.md` §4.1): numeric strings to numbers, single values to arrays, `null`
//! of optional members dropped, and the like. Changes only what the schema clearly asks for; validation has the last word.

use std::cell::Cell;
use std::collections::HashSet;

use serde_json::{Map, Number, Value};

/// Schemas passed through on the way to one value at most: an end for references the check below cannot see.
const MAX_DEPTH: usize = 64;

/// Schemas looked at for one call at most. Nested alternatives can multiply; arguments that need more than this are left
/// as they are.
const MAX_STEPS: usize = 200_000;

/// Brings `value` closer to what `schema` asks for.
pub(super) fn coerce(value: &mut Value, schema: &Value) {
    let coercion = Coercion {
        root: schema,
        steps_left: Cell::new(MAX_STEPS),
    };
    coercion.apply(value, schema, 0);
}

struct Coercion<'a> {
    root: &'a Value,
    steps_left: Cell<usize>,
}

impl<'a> Coercion<'a> {
    /// The members of a schema, as long as there is time to look at them.
    fn open(&self, schema: &'a Value, depth: usize) -> Option<&'a Map<String, Value>> {
        let left = self.steps_left.get().checked_sub(1)?;
        self.steps_left.set(left);
        schema.as_object().filter(|_| depth < MAX_DEPTH)
    }

    fn apply(&self, value: &mut Value, schema: &'a Value, depth: usize) {
        let Some(schema) = self.open(schema, depth) else {
            return;
        };
        if let Some(target) = self.referenced(schema) {
            self.apply(value, target, depth + 1);
        }
        for part in list(schema, "allOf") {
            self.apply(value, part, depth + 1);
        }
        for keyword in ["anyOf", "oneOf"] {
            self.alternatives(value, list(schema, keyword), depth);
        }
        to_type(value, &types(schema));
        match value {
            Value::Object(members) => self.members(members, schema, depth),
            Value::Array(items) => self.items(items, schema, depth),
            _ => {}
        }
    }

    fn referenced(&self, schema: &'a Map<String, Value>) -> Option<&'a Value> {
        resolve(self.root, schema.get("$ref")?.as_str()?)
    }

    fn members(
        &self,
        members: &mut Map<String, Value>,
        schema: &'a Map<String, Value>,
        depth: usize,
    ) {
        let known = schema.get("properties").and_then(Value::as_object);
        let required: Vec<&str> = list(schema, "required")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let rest = schema.get("additionalProperties");
        let mut dropped = Vec::new();
        for (name, value) in members.iter_mut() {
            let own = known.and_then(|known| known.get(name));
            let Some(member_schema) = own.or(rest) else {
                continue;
            };
            if value.is_null() && own.is_some() && !required.contains(&name.as_str()) {
                if !self.accepts(&Value::Null, member_schema, 0) {
                    dropped.push(name.clone());
                }
                continue;
            }
            self.apply(value, member_schema, depth + 1);
        }
        for name in dropped {
            // `remove` would move the last member to the gap.
            members.shift_remove(&name);
        }
    }

    fn items(&self, items: &mut [Value], schema: &'a Map<String, Value>, depth: usize) {
        let first = list(schema, "prefixItems");
        for (at, item) in items.iter_mut().enumerate() {
            let item_schema = match first.get(at) {
                Some(own) => Some(own),
                None => match schema.get("items") {
                    Some(Value::Array(by_position)) => by_position.get(at),
                    other => other,
                },
            };
            if let Some(item_schema) = item_schema {
                self.apply(item, item_schema, depth + 1);
            }
        }
    }

    /// A value that fits one form is only refined by that form; otherwise the first form it can be made to fit.
    fn alternatives(&self, value: &mut Value, forms: &'a [Value], depth: usize) {
        if forms.iter().any(|form| self.accepts(value, form, 0)) {
            return;
        }
        for form in forms {
            let mut candidate = value.clone();
            self.apply(&mut candidate, form, depth + 1);
            if self.accepts(&candidate, form, 0) {
                *value = candidate;
                return;
            }
        }
    }

    /// Whether `value` has the types and members that `schema` asks for. Looks at structure only, not at ranges.
    fn accepts(&self, value: &Value, schema: &'a Value, depth: usize) -> bool {
        let Some(schema) = self.open(schema, depth) else {
            return schema.as_bool() != Some(false);
        };
        let deeper = |value: &Value, schema: &'a Value| self.accepts(value, schema, depth + 1);
        if let Some(target) = self.referenced(schema)
            && !deeper(value, target)
        {
            return false;
        }
        if !list(schema, "allOf").iter().all(|part| deeper(value, part)) {
            return false;
        }
        for keyword in ["anyOf", "oneOf"] {
            let forms = list(schema, keyword);
            if !forms.is_empty() && !forms.iter().any(|form| deeper(value, form)) {
                return false;
            }
        }
        if schema
            .get("const")
            .is_some_and(|expected| expected != value)
        {
            return false;
        }
        let options = list(schema, "enum");
        if !options.is_empty() && !options.contains(value) {
            return false;
        }
        let types = types(schema);
        if !types.is_empty() && !types.iter().any(|name| has_type(value, name)) {
            return false;
        }
        match value {
            Value::Object(members) => {
                let known = schema.get("properties").and_then(Value::as_object);
                let required = list(schema, "required").iter().filter_map(Value::as_str);
                required.into_iter().all(|name| members.contains_key(name))
                    && members.iter().all(|(name, value)| {
                        match known.and_then(|known| known.get(name)) {
                            Some(member) => deeper(value, member),
                            None => schema
                                .get("additionalProperties")
                                .is_none_or(|rest| deeper(value, rest)),
                        }
                    })
            }
            Value::Array(items) => match schema.get("items") {
                Some(each @ Value::Object(_)) => items.iter().all(|item| deeper(item, each)),
                _ => true,
            },
            _ => true,
        }
    }
}

fn list<'a>(schema: &'a Map<String, Value>, keyword: &str) -> &'a [Value] {
    schema
        .get(keyword)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn types(schema: &Map<String, Value>) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn has_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0)
        }
        _ => false,
    }
}

/// Converts `value` to the first of the types it can become; a value that has one of them stays.
fn to_type(value: &mut Value, types: &[&str]) {
    if types.is_empty() || types.iter().any(|name| has_type(value, name)) {
        return;
    }
    if let Some(converted) = types.iter().find_map(|name| converted(value, name)) {
        *value = converted;
    } else if types.contains(&"array") && !value.is_null() {
        *value = Value::Array(vec![value.take()]);
    }
}

fn converted(value: &Value, name: &str) -> Option<Value> {
    match (value, name) {
        (Value::String(text), "number" | "integer") => {
            let number = number(text.trim())?;
            has_type(&number, name).then_some(number)
        }
        (Value::String(text), "boolean") => match text.trim() {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            _ => None,
        },
        (Value::Number(number), "string") => Some(Value::String(javascript_text(number))),
        (Value::Bool(flag), "string") => Some(Value::String(flag.to_string())),
        _ => None,
    }
}

fn number(text: &str) -> Option<Value> {
    // Rust also reads "inf", "nan" and "infinity".
    if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.')) {
        return None;
    }
    if let Ok(whole) = text.parse::<i64>() {
        return Some(Value::from(whole));
    }
    let number = text.parse::<f64>().ok()?;
    Number::from_f64(number).map(Value::Number)
}

/// A number as JavaScript prints it: no `.0` on whole numbers.
fn javascript_text(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 1e21 => {
            format!("{float:.0}")
        }
        _ => number.to_string(),
    }
}

/// The part of `root` that a reference inside the document names.
fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let pointer = reference.strip_prefix('#')?;
    root.pointer(pointer)
}

/// A reference that leads back to itself without going into the value first. Validating with it would never end.
pub(super) fn endless_reference(root: &Value) -> Option<String> {
    let mut references = Vec::new();
    collect_references(root, &mut references);
    references
        .into_iter()
        .find(|reference| {
            let mut open = vec![*reference];
            let mut seen = HashSet::new();
            while let Some(next) = open.pop() {
                if !seen.insert(next) {
                    continue;
                }
                let Some(target) = resolve(root, next) else {
                    continue;
                };
                let mut in_place = Vec::new();
                same_value_references(target, &mut in_place);
                if in_place.contains(reference) {
                    return true;
                }
                open.extend(in_place);
            }
            false
        })
        .map(str::to_owned)
}

fn collect_references<'a>(schema: &'a Value, out: &mut Vec<&'a str>) {
    match schema {
        Value::Object(members) => {
            out.extend(members.get("$ref").and_then(Value::as_str));
            members
                .values()
                .for_each(|member| collect_references(member, out));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_references(item, out)),
        _ => {}
    }
}

/// References in keywords that apply to the same value as the schema itself.
fn same_value_references<'a>(schema: &'a Value, out: &mut Vec<&'a str>) {
    let Some(schema) = schema.as_object() else {
        return;
    };
    out.extend(schema.get("$ref").and_then(Value::as_str));
    for keyword in ["allOf", "anyOf", "oneOf"] {
        list(schema, keyword)
            .iter()
            .for_each(|part| same_value_references(part, out));
    }
    for keyword in ["not", "if", "then", "else"] {
        if let Some(part) = schema.get(keyword) {
            same_value_references(part, out);
        }
    }
    if let Some(dependent) = schema.get("dependentSchemas").and_then(Value::as_object) {
        dependent
            .values()
            .for_each(|part| same_value_references(part, out));
    }
}
