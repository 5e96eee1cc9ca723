//! Expected text and expected JSON with wildcards.
//!
//! In text: `<<any>>` stands for anything, `<<line>>` for the rest of a line or a part of it, `<<number>>` for
//! digits, `<<id>>` for letters, digits, `-` and `_`. In JSON the same work inside strings; a string that is only a wildcard
//! also matches values that are no strings. Objects match when every expected member does; `"<<absent>>"` demands
//! that a member is missing; arrays match element by element unless they end with `"<<rest>>"`;
//! `{"<<has>>": X}` matches an array with an element like X; `"<<save:NAME>>"` keeps a value for later steps.

use anyhow::{Context, Result};
use regex::Regex;
use serde_json::Value;
use std::collections::BTreeMap;

/// Values kept by `<<save:NAME>>`.
pub type Saved = BTreeMap<String, Value>;

/// Whether the whole text fits the pattern.
///
/// # Errors
/// When the pattern cannot be compiled, which is a fault of this file.
pub fn text_matches(pattern: &str, text: &str) -> Result<bool> {
    Ok(compile(pattern)?.is_match(text))
}

fn compile(pattern: &str) -> Result<Regex> {
    let mut source = String::from("(?s)\\A");
    let mut rest = pattern;
    while let Some(start) = rest.find("<<") {
        let Some(length) = rest[start..].find(">>") else {
            break;
        };
        let wildcard = match &rest[start + 2..start + length] {
            "any" => ".*",
            "line" => "[^\n]*",
            "number" => "[0-9]+",
            "id" => "[A-Za-z0-9_-]+",
            _ => {
                // A placeholder such as <<cwd>>: it stands for itself.
                source.push_str(&regex::escape(&rest[..start + length + 2]));
                rest = &rest[start + length + 2..];
                continue;
            }
        };
        source.push_str(&regex::escape(&rest[..start]));
        source.push_str(wildcard);
        rest = &rest[start + length + 2..];
    }
    source.push_str(&regex::escape(rest));
    source.push_str("\\z");
    Regex::new(&source).with_context(|| format!("cannot compile the pattern `{pattern}`"))
}

/// Compares a JSON value with an expected one.
///
/// # Errors
/// The difference, as a path into the value and both sides.
pub fn json_matches(expected: &Value, actual: &Value, saved: &mut Saved) -> Result<(), String> {
    at("$", expected, actual, saved)
}

fn at(path: &str, expected: &Value, actual: &Value, saved: &mut Saved) -> Result<(), String> {
    match expected {
        Value::String(pattern) => string(path, pattern, actual, saved),
        Value::Object(members) => {
            if let Some(element) = members.get("<<has>>") {
                return has(path, element, actual, saved);
            }
            let Value::Object(object) = actual else {
                return Err(format!("{path}: expected an object, found {actual}"));
            };
            for (name, wanted) in members {
                let place = format!("{path}.{name}");
                match object.get(name) {
                    Some(found) if is_absent(wanted) => {
                        return Err(format!("{place}: expected to be absent, found {found}"));
                    }
                    Some(found) => at(&place, wanted, found, saved)?,
                    None if is_absent(wanted) => {}
                    None => return Err(format!("{place}: missing, expected {wanted}")),
                }
            }
            Ok(())
        }
        Value::Array(elements) => array(path, elements, actual, saved),
        Value::Number(number) => {
            // 1 and 1.0 are one number to JavaScript.
            if number.as_f64() == actual.as_f64() && actual.is_number() {
                return Ok(());
            }
            Err(format!("{path}: expected {expected}, found {actual}"))
        }
        _ if expected == actual => Ok(()),
        _ => Err(format!("{path}: expected {expected}, found {actual}")),
    }
}

fn is_absent(expected: &Value) -> bool {
    expected.as_str() == Some("<<absent>>")
}

fn has(path: &str, element: &Value, actual: &Value, saved: &mut Saved) -> Result<(), String> {
    let Value::Array(found) = actual else {
        return Err(format!("{path}: expected an array, found {actual}"));
    };
    for value in found {
        let mut attempt = saved.clone();
        if at(path, element, value, &mut attempt).is_ok() {
            *saved = attempt;
            return Ok(());
        }
    }
    Err(format!("{path}: no element like {element} in {actual}"))
}

fn array(path: &str, expected: &[Value], actual: &Value, saved: &mut Saved) -> Result<(), String> {
    let Value::Array(found) = actual else {
        return Err(format!("{path}: expected an array, found {actual}"));
    };
    let open = expected.last().and_then(Value::as_str) == Some("<<rest>>");
    let expected = if open {
        &expected[..expected.len() - 1]
    } else {
        expected
    };
    let fits = if open {
        found.len() >= expected.len()
    } else {
        found.len() == expected.len()
    };
    if !fits {
        return Err(format!(
            "{path}: expected {} elements, found {actual}",
            expected.len()
        ));
    }
    for (index, (wanted, value)) in expected.iter().zip(found).enumerate() {
        at(&format!("{path}[{index}]"), wanted, value, saved)?;
    }
    Ok(())
}

fn string(path: &str, pattern: &str, actual: &Value, saved: &mut Saved) -> Result<(), String> {
    if let Some(name) = pattern
        .strip_prefix("<<save:")
        .and_then(|rest| rest.strip_suffix(">>"))
    {
        saved.insert(name.to_owned(), actual.clone());
        return Ok(());
    }
    let fits = match (pattern, actual) {
        ("<<any>>", _) => true,
        ("<<number>>", Value::Number(_)) => true,
        (_, Value::String(text)) if pattern.contains("<<") => {
            text_matches(pattern, text).map_err(|error| error.to_string())?
        }
        (_, Value::String(text)) => pattern == text,
        _ => false,
    };
    if fits {
        Ok(())
    } else {
        Err(format!("{path}: expected \"{pattern}\", found {actual}"))
    }
}

/// Puts saved values into a value that is about to be sent: `"<<NAME>>"` becomes the value itself.
pub fn fill(value: &Value, saved: &Saved) -> Value {
    match value {
        Value::String(text) => {
            let name = text
                .strip_prefix("<<")
                .and_then(|rest| rest.strip_suffix(">>"));
            name.and_then(|name| saved.get(name))
                .cloned()
                .unwrap_or_else(|| value.clone())
        }
        Value::Array(elements) => elements
            .iter()
            .map(|element| fill(element, saved))
            .collect(),
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| (name.clone(), fill(member, saved)))
            .collect(),
        _ => value.clone(),
    }
}

/// Matches expected records against actual ones as a subsequence: each expected record must come, in this
/// order; others may come between.
///
/// # Errors
/// Names the first expected record that did not come and the nearest miss.
pub fn records_match(expected: &[Value], actual: &[Value]) -> Result<(), String> {
    let mut saved = Saved::new();
    let mut position = 0;
    for wanted in expected {
        let wanted = fill(wanted, &saved);
        let mut misses = Vec::new();
        let found = actual
            .iter()
            .enumerate()
            .skip(position)
            .find_map(|(index, record)| {
                let mut attempt = saved.clone();
                match json_matches(&wanted, record, &mut attempt) {
                    Ok(()) => Some((index, attempt)),
                    Err(why) => {
                        if record.get("type") == wanted.get("type") {
                            misses.push(why);
                        }
                        None
                    }
                }
            });
        let Some((index, attempt)) = found else {
            let near = if misses.is_empty() {
                "none of that type".to_owned()
            } else {
                misses.join("\n  ")
            };
            return Err(format!(
                "no record like {wanted} after record {position}; nearest:\n  {near}"
            ));
        };
        saved = attempt;
        position = index + 1;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn wildcards_in_text() {
        let fits = |pattern, text| text_matches(pattern, text).unwrap();
        assert!(fits("a<<line>>c\n", "abbc\n"));
        assert!(!fits("a<<line>>c\n", "a\nc\n"));
        assert!(fits("a<<any>>c", "a\n\nc"));
        assert!(fits("x:<<number>>:", "x:12:"));
        assert!(!fits("x:<<number>>:", "x::"));
        assert!(fits("<<cwd>>/a.ts", "<<cwd>>/a.ts"));
        assert!(!fits("a.c", "abc"), "a dot is a dot");
    }

    #[test]
    fn json_is_partial_but_strict_about_what_it_names() {
        let check = |expected, actual| json_matches(&expected, &actual, &mut Saved::new()).is_ok();
        assert!(check(json!({"a": 1}), json!({"a": 1.0, "b": 2})));
        assert!(!check(json!({"a": 1}), json!({"b": 2})));
        assert!(!check(json!({"a": "1"}), json!({"a": 1})));
        assert!(check(json!({"a": "<<number>>"}), json!({"a": 7})));
        assert!(check(json!({"a": "<<absent>>"}), json!({})));
        assert!(!check(json!({"a": "<<absent>>"}), json!({"a": null})));
        assert!(!check(json!([1]), json!([1, 2])));
        assert!(check(json!([1, "<<rest>>"]), json!([1, 2])));
        assert!(check(
            json!({"<<has>>": {"n": 2}}),
            json!([{"n": 1}, {"n": 2}])
        ));
    }

    #[test]
    fn saved_values_come_back() {
        let mut saved = Saved::new();
        json_matches(
            &json!({"id": "<<save:dialog>>"}),
            &json!({"id": "x1"}),
            &mut saved,
        )
        .unwrap();
        assert_eq!(
            fill(&json!({"id": "<<dialog>>"}), &saved),
            json!({"id": "x1"})
        );
    }

    #[test]
    fn records_must_come_in_order() {
        let actual = [
            json!({"type": "a"}),
            json!({"type": "b"}),
            json!({"type": "c"}),
        ];
        assert!(records_match(&[json!({"type": "a"}), json!({"type": "c"})], &actual).is_ok());
        assert!(records_match(&[json!({"type": "c"}), json!({"type": "a"})], &actual).is_err());
    }
}
