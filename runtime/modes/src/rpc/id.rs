//! The id of a request: kept as the client wrote it, and found even in a record that is broken.
//!
//! A client connects answers to requests by the id, so it must come back exactly: a number of thirty
//! digits has no value in Rust, but it has a text. For the same reason an error about a record names
//! the record's id whenever that part of it can be read.

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// Longest id that is picked out of a broken record, in bytes.
const MAX_SALVAGED: usize = 64 * 1024;

/// An id in the JSON form in which it came.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub(crate) struct Id(Box<RawValue>);

impl Id {
    /// The id of a record whose other members are known. `record` is the record's text.
    pub(crate) fn of(value: &Value, record: &str) -> Self {
        match value {
            // What may hold a number is taken as it was written.
            Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                Self::salvage(record.as_bytes()).unwrap_or_else(|| Self::from(value))
            }
            _ => Self::from(value),
        }
    }

    /// The id of a record that cannot be read as a whole.
    pub(crate) fn salvage(record: &[u8]) -> Option<Self> {
        let text = member(record, b"id")?;
        if text.len() > MAX_SALVAGED {
            return None;
        }
        let text = compact(std::str::from_utf8(text).ok()?);
        let repaired = super::surrogates::repair(&text);
        serde_json::from_str(repaired.as_deref().unwrap_or(&text))
            .ok()
            .map(Self)
    }

    pub(crate) fn is_null(&self) -> bool {
        self.0.get() == "null"
    }

    /// The JSON text.
    pub(crate) fn text(&self) -> &str {
        self.0.get()
    }

    /// The id as a value, for events that carry it. A number that no value can hold becomes the
    /// string of its digits.
    pub(crate) fn to_value(&self) -> Value {
        let exact = serde_json::from_str::<Value>(self.text());
        exact
            .ok()
            .filter(|value| {
                value
                    .as_number()
                    .is_none_or(|number| number.to_string() == self.text())
            })
            .unwrap_or_else(|| Value::from(self.text()))
    }
}

impl From<&Value> for Id {
    fn from(value: &Value) -> Self {
        // A JSON value always has a JSON text.
        Self(serde_json::value::to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned()))
    }
}

impl PartialEq for Id {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

/// Without white space between tokens: a CR among it must not get into an answer.
fn compact(text: &str) -> String {
    let (mut quoted, mut escaped) = (false, false);
    text.chars()
        .filter(|letter| {
            let blank = !quoted && letter.is_ascii_whitespace();
            match letter {
                _ if escaped => escaped = false,
                '\\' if quoted => escaped = true,
                '"' => quoted = !quoted,
                _ => {}
            }
            !blank
        })
        .collect()
}

/// The text of a member of the outermost object; of the last one when there are several, as in every
/// JSON reader. Looks no deeper, trusts nothing, and stops where the record makes no sense.
fn member<'a>(record: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let mut scan = Scan { record, at: 0 };
    scan.expect(b'{')?;
    let mut found = None;
    loop {
        let Some(key) = scan.string() else {
            return found;
        };
        let value = scan.expect(b':').and_then(|()| scan.value());
        let Some(value) = value else { return found };
        if key == name {
            found = Some(value);
        }
        if scan.expect(b',').is_none() {
            return found;
        }
    }
}

struct Scan<'a> {
    record: &'a [u8],
    at: usize,
}

impl<'a> Scan<'a> {
    /// The next byte that is not white space, not consumed.
    fn peek(&mut self) -> Option<u8> {
        while let Some(byte) = self.record.get(self.at) {
            if !matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
                return Some(*byte);
            }
            self.at += 1;
        }
        None
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    /// A string; gives what is between its quotes, escapes untouched.
    fn string(&mut self) -> Option<&'a [u8]> {
        self.expect(b'"')?;
        let start = self.at;
        loop {
            match self.record.get(self.at)? {
                b'"' => {
                    self.at += 1;
                    return self.record.get(start..self.at - 1);
                }
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
    }

    /// A whole value. Without recursion: a client may nest as deep as it likes.
    fn value(&mut self) -> Option<&'a [u8]> {
        let first = self.peek()?;
        let start = self.at;
        match first {
            b'"' => {
                self.string()?;
            }
            b'{' | b'[' => {
                let mut depth = 0usize;
                loop {
                    match self.peek()? {
                        b'"' => {
                            self.string()?;
                            continue;
                        }
                        b'{' | b'[' => depth += 1,
                        b'}' | b']' => depth -= 1,
                        _ => {}
                    }
                    self.at += 1;
                    if depth == 0 {
                        break;
                    }
                }
            }
            _ => {
                while self.record.get(self.at).is_some_and(|byte| {
                    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
                }) {
                    self.at += 1;
                }
                // A number that the end cut off may have been a longer one.
                self.record.get(self.at)?;
            }
        }
        self.record
            .get(start..self.at)
            .filter(|text| !text.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Id;

    fn salvaged(record: &str) -> Option<String> {
        Id::salvage(record.as_bytes()).map(|id| id.text().to_owned())
    }

    #[test]
    fn an_id_is_found_in_a_record_that_is_broken_elsewhere() {
        let deep = format!("{{\"x\":{},\"id\":\"d\"", "[".repeat(9));
        let cases = [
            (r#"{"id":"a","type":"prompt","n":1e999}"#, Some(r#""a""#)),
            (r#"{"type":"prompt","n":[1e999],"id":7}"#, Some("7")),
            (r#"{"id":"a","message":"never ends"#, Some(r#""a""#)),
            (r#"{"id" : "a" , bad}"#, Some(r#""a""#)),
            (r#"{"id":"a\"b\\","type":}"#, Some(r#""a\"b\\""#)),
            (
                r#"{"id":{"k": [1, "] \" "]},,}"#,
                Some(r#"{"k":[1,"] \" "]}"#),
            ),
            (r#"{"id":12"#, None),
            (r#"{"id":nonsense,"#, None),
            (r#"{"id":"cut"#, None),
            (r#"{"x":{"id":"inner"},oops"#, None),
            (
                r#"{"x":{"id":"inner"},"id":"outer" oops"#,
                Some(r#""outer""#),
            ),
            ("not json", None),
            (deep.as_str(), None),
        ];
        for (record, id) in cases {
            assert_eq!(salvaged(record).as_deref(), id, "{record}");
        }
    }

    #[test]
    fn depth_does_not_matter_for_finding_an_id() {
        let depth = 200_000;
        let record = format!(
            "{{\"x\":{}{},\"id\":\"d\"}}",
            "[".repeat(depth),
            "]".repeat(depth)
        );
        assert_eq!(salvaged(&record).as_deref(), Some(r#""d""#));
    }

    #[test]
    fn a_number_stays_as_it_was_written() {
        for digits in ["123456789012345678901234567890", "1.0", "1e2", "-0"] {
            let record = format!(r#"{{"id":{digits},"type":"abort"}}"#);
            let value: Value = serde_json::from_str(&record).expect("json");
            assert_eq!(Id::of(&value["id"], &record).text(), digits);
        }
    }

    #[test]
    fn events_get_the_value_or_else_the_digits() {
        assert_eq!(Id::from(&json!(7)).to_value(), json!(7));
        assert_eq!(Id::from(&json!("a")).to_value(), json!("a"));
        let digits = "123456789012345678901234567890";
        let record = format!(r#"{{"id":{digits}}}"#);
        let id = Id::salvage(record.as_bytes()).expect("an id");
        assert_eq!(id.to_value(), json!(digits));
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_panic(record: Vec<u8>) {
            let mut object = b"{\"id\":".to_vec();
            object.extend(&record);
            let _ = Id::salvage(&object);
        }
    }
}
