//! Arguments of a host call, read with errors that name the method and the member.

use serde_json::{Map, Value};

use crate::isolate::HostCallError;

/// Parsed arguments.
pub(crate) struct Args<'a> {
    method: &'a str,
    map: Map<String, Value>,
}

impl<'a> Args<'a> {
    /// Parses the text that the isolate sent.
    pub(crate) fn parse(method: &'a str, text: &str) -> Result<Self, HostCallError> {
        let value: Value = if text.is_empty() {
            Value::Null
        } else {
            serde_json::from_str(text).map_err(|error| {
                HostCallError::arguments(format!(
                    "host call \"{method}\": arguments are not JSON: {error}"
                ))
            })?
        };
        match value {
            Value::Null => Ok(Self {
                method,
                map: Map::new(),
            }),
            Value::Object(map) => Ok(Self { method, map }),
            _ => Err(HostCallError::arguments(format!(
                "host call \"{method}\": arguments must be an object"
            ))),
        }
    }

    fn wrong(&self, name: &str, expected: &str) -> HostCallError {
        HostCallError::arguments(format!(
            "host call \"{}\": \"{name}\" must be {expected}",
            self.method
        ))
    }

    fn given(&self, name: &str) -> Option<&Value> {
        self.map.get(name).filter(|value| !value.is_null())
    }

    /// A member that must be a string.
    pub(crate) fn text(&self, name: &str) -> Result<&str, HostCallError> {
        self.map
            .get(name)
            .and_then(Value::as_str)
            .ok_or_else(|| self.wrong(name, "a string"))
    }

    /// A string, or nothing when absent or null.
    pub(crate) fn optional_text(&self, name: &str) -> Result<Option<&str>, HostCallError> {
        self.given(name)
            .map(|value| value.as_str().ok_or_else(|| self.wrong(name, "a string")))
            .transpose()
    }

    /// A whole, non-negative number.
    pub(crate) fn number(&self, name: &str) -> Result<u64, HostCallError> {
        self.optional_number(name)?
            .ok_or_else(|| self.wrong(name, "a whole number"))
    }

    /// As [`number`](Self::number), or nothing.
    pub(crate) fn optional_number(&self, name: &str) -> Result<Option<u64>, HostCallError> {
        self.given(name)
            .map(|value| {
                let whole = value
                    .as_f64()
                    .filter(|number| *number >= 0.0 && number.fract() == 0.0);
                value
                    .as_u64()
                    .or(whole.map(|number| number as u64))
                    .ok_or_else(|| self.wrong(name, "a whole number"))
            })
            .transpose()
    }

    /// True or false; absent is false.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, HostCallError> {
        self.given(name).map_or(Ok(false), |value| {
            value
                .as_bool()
                .ok_or_else(|| self.wrong(name, "true or false"))
        })
    }

    /// An array of strings.
    pub(crate) fn texts(&self, name: &str) -> Result<Vec<String>, HostCallError> {
        let list = self
            .map
            .get(name)
            .and_then(Value::as_array)
            .ok_or_else(|| self.wrong(name, "an array of strings"))?;
        list.iter()
            .map(|item| {
                item.as_str()
                    .map(str::to_string)
                    .ok_or_else(|| self.wrong(name, "an array of strings"))
            })
            .collect()
    }

    /// Takes any value; `null` when absent.
    pub(crate) fn take(&mut self, name: &str) -> Value {
        self.map.remove(name).unwrap_or(Value::Null)
    }

    /// Takes a value, telling absent from `null`.
    pub(crate) fn take_optional(&mut self, name: &str) -> Option<Value> {
        self.map.remove(name)
    }

    /// Takes an object; empty when absent.
    pub(crate) fn take_object(&mut self, name: &str) -> Result<Map<String, Value>, HostCallError> {
        match self.map.remove(name) {
            None | Some(Value::Null) => Ok(Map::new()),
            Some(Value::Object(map)) => Ok(map),
            Some(_) => Err(self.wrong(name, "an object")),
        }
    }

    /// Takes an array; empty when absent.
    pub(crate) fn take_array(&mut self, name: &str) -> Result<Vec<Value>, HostCallError> {
        match self.map.remove(name) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(list)) => Ok(list),
            Some(_) => Err(self.wrong(name, "an array")),
        }
    }

    /// Everything that was not read by name.
    pub(crate) fn into_rest(self, without: &[&str]) -> Map<String, Value> {
        let mut map = self.map;
        map.retain(|name, _| !without.contains(&name.as_str()));
        map
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_method_and_the_member() {
        let args = Args::parse(
            "exec",
            r#"{"command": 5, "timeout": 1.5, "args": ["a", 1], "n": 3.0}"#,
        )
        .unwrap();
        assert_eq!(
            args.text("command").unwrap_err().message,
            "host call \"exec\": \"command\" must be a string"
        );
        assert!(args.optional_number("timeout").is_err());
        assert!(args.texts("args").is_err());
        assert_eq!(args.number("n"), Ok(3));
        assert_eq!(args.optional_text("missing"), Ok(None));
        assert!(Args::parse("x", "[]").is_err());
        assert!(Args::parse("x", "{").is_err());
        assert!(Args::parse("x", "").is_ok());
    }
}
