//! What can be read of JSON text that is still arriving: the arguments of a tool call while it streams. Pure.

use serde_json::{Map, Value};

/// Where the text stands inside one open container.
struct Open {
    close: char,
    /// An object that waits for a key.
    at_key: bool,
}

/// The object that the text begins, as far as it goes; empty for one that is no object.
pub(crate) fn partial_object(text: &str) -> Map<String, Value> {
    match serde_json::from_str(&completed(text)) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

/// The text with an end: open strings and containers closed, members without a value left out.
fn completed(text: &str) -> String {
    let mut open: Vec<Open> = Vec::new();
    // Everything up to here can be closed with `ending`.
    let mut safe = 0;
    let mut ending = String::new();
    let bytes = text.as_bytes();
    let mut index = 0;
    while let Some(byte) = bytes.get(index) {
        match byte {
            b'"' => {
                let is_key = open
                    .last()
                    .is_some_and(|top| top.close == '}' && top.at_key);
                match string_end(bytes, index) {
                    Some(end) => {
                        index = end;
                        if is_key {
                            continue;
                        }
                    }
                    None if is_key => break,
                    None => return format!("{}\"{}", without_open_escape(text), closers(&open)),
                }
                safe = index;
                ending = closers(&open);
            }
            b'{' | b'[' => {
                let close = if *byte == b'{' { '}' } else { ']' };
                open.push(Open {
                    close,
                    at_key: close == '}',
                });
                index += 1;
                safe = index;
                ending = closers(&open);
            }
            b'}' | b']' => {
                open.pop();
                index += 1;
                safe = index;
                ending = closers(&open);
                if open.is_empty() {
                    break;
                }
            }
            b':' | b',' => {
                if let Some(top) = open.last_mut() {
                    top.at_key = *byte == b',' && top.close == '}';
                }
                index += 1;
            }
            byte if byte.is_ascii_whitespace() => index += 1,
            _ => {
                let rest = &text[index..];
                let end = rest.find(|c: char| c.is_whitespace() || matches!(c, ',' | ']' | '}'));
                let Some(end) = end else {
                    return match finished_scalar(rest) {
                        Some(scalar) => format!("{}{scalar}{}", &text[..index], closers(&open)),
                        None => format!("{}{ending}", &text[..safe]),
                    };
                };
                index += end;
                safe = index;
                ending = closers(&open);
            }
        }
    }
    format!("{}{ending}", &text[..safe])
}

fn closers(open: &[Open]) -> String {
    open.iter().rev().map(|top| top.close).collect()
}

/// Position behind the string that begins at `start`; `None` when it is not closed.
fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut index = start + 1;
    loop {
        match bytes.get(index)? {
            b'"' => return Some(index + 1),
            b'\\' => index += 2,
            _ => index += 1,
        }
    }
}

/// The text without a broken escape at its end.
fn without_open_escape(text: &str) -> &str {
    let Some(at) = text.rfind('\\') else {
        return text;
    };
    let before = &text[..at];
    let slashes = before.len() - before.trim_end_matches('\\').len();
    let tail = &text[at + 1..];
    let hex = tail.strip_prefix('u');
    let is_open = tail.is_empty()
        || hex.is_some_and(|hex| hex.len() < 4 && hex.bytes().all(|b| b.is_ascii_hexdigit()));
    if slashes.is_multiple_of(2) && is_open {
        before
    } else {
        text
    }
}

/// A number or literal that may be unfinished, as one that is complete.
fn finished_scalar(text: &str) -> Option<&str> {
    let literal = ["true", "false", "null"]
        .into_iter()
        .find(|known| known.starts_with(text));
    let is_number =
        |part: &&str| part.parse::<f64>().is_ok() && serde_json::from_str::<f64>(part).is_ok();
    literal.or_else(|| {
        let mut ends = text
            .char_indices()
            .map(|(at, _)| at)
            .skip(1)
            .collect::<Vec<_>>();
        ends.push(text.len());
        ends.into_iter()
            .rev()
            .map(|end| &text[..end])
            .find(is_number)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_has_arrived_is_there_and_what_has_not_begun_is_not() {
        for (text, value) in [
            ("", json!({})),
            ("{", json!({})),
            (r#"{"path":"#, json!({})),
            (r#"{"path": "no"#, json!({"path": "no"})),
            (r#"{"path": "a\"#, json!({"path": "a"})),
            (r#"{"path": "a\\"#, json!({"path": "a\\"})),
            (r#"{"path": "a\u00"#, json!({"path": "a"})),
            (r#"{"path": "note.txt", "li"#, json!({"path": "note.txt"})),
            (r#"{"n": 12."#, json!({"n": 12})),
            (r#"{"n": -"#, json!({})),
            (r#"{"ok": tr"#, json!({"ok": true})),
            (r#"{"list": [1, {"a": "b"#, json!({"list": [1, {"a": "b"}]})),
            (r#"{"a": {"b": 1}, "c"#, json!({"a": {"b": 1}})),
            (r#"{"a": "}]\""#, json!({"a": "}]\""})),
            (r#"{"a": 1} and more"#, json!({"a": 1})),
            ("[1, 2]", json!({})),
            ("nonsense", json!({})),
        ] {
            assert_eq!(Value::Object(partial_object(text)), value, "{text}");
        }
    }

    #[test]
    fn no_beginning_of_a_text_makes_trouble() {
        let value = json!({"path": "a \"q\" \\ ü🙂", "edits": [{"old": "x\n"}], "n": -1.5e-3, "t": true, "z": null});
        let text = value.to_string();
        for (end, _) in text.char_indices() {
            partial_object(&text[..end]);
        }
        assert_eq!(Value::Object(partial_object(&text)), value);
    }
}
