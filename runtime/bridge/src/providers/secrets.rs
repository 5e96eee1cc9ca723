//! What of a request must not appear in the texts of its errors: some servers repeat the key that they refuse.

use serde_json::{Map, Value};

/// Shortest text that counts as a secret, in bytes: replacing short words would garble texts and hide nothing.
const SHORTEST: usize = 8;

/// Parts of the names of headers that carry secrets.
const TELLING: [&str; 6] = ["auth", "key", "token", "secret", "cookie", "password"];

/// The secrets of a request with these options, longest first, in every form in which they may come back. `hidden` are values
/// of headers that came from the environment or a command.
pub(super) fn of(options: &Map<String, Value>, hidden: Vec<String>) -> Vec<String> {
    let headers = options.get("headers").and_then(Value::as_object);
    let told = headers.into_iter().flatten().filter(|(name, _)| {
        let name = name.to_ascii_lowercase();
        TELLING.iter().any(|part| name.contains(part))
    });
    let values = told
        .map(|(_, value)| value)
        .chain(options.get("apiKey"))
        .filter_map(Value::as_str);
    let mut found = Vec::new();
    for text in values.chain(hidden.iter().map(String::as_str)) {
        for part in parts(text) {
            let quoted = Value::from(part).to_string();
            let escaped = quoted[1..quoted.len() - 1].to_owned();
            found.extend([part.to_owned(), escaped]);
        }
    }
    found.retain(|text| text.len() >= SHORTEST);
    found.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    found.dedup();
    found
}

/// The text, what follows a scheme such as `Bearer`, and the values of cookies.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let trimmed = text.trim();
    let behind = trimmed.split_once(' ').map(|(_, rest)| rest.trim());
    let cookies = trimmed
        .split(';')
        .filter_map(|pair| pair.split_once('='))
        .map(|(_, value)| value.trim());
    [text, trimmed].into_iter().chain(behind).chain(cookies)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn hides(options: Value, hidden: &[&str], said: &str) -> bool {
        let Value::Object(options) = options else {
            panic!("no object")
        };
        let hidden = hidden.iter().map(|&text| text.to_owned()).collect();
        of(&options, hidden).iter().any(|secret| secret == said)
    }

    #[test]
    fn every_form_of_a_secret_is_known() {
        for (options, said) in [
            (json!({"apiKey": "sk-12345678\n"}), "sk-12345678"),
            (json!({"apiKey": "sk-\"12345678"}), "sk-\\\"12345678"),
            (
                json!({"headers": {"x-api-key": "sk-12345678"}}),
                "sk-12345678",
            ),
            (
                json!({"headers": {"authorization": "bearer sk-12345678"}}),
                "sk-12345678",
            ),
            (
                json!({"headers": {"Cookie": "a=b; session=12345678"}}),
                "12345678",
            ),
        ] {
            assert!(hides(options.clone(), &[], said), "{options}");
        }
        let plain = json!({"headers": {"user-agent": "something long"}});
        assert!(!hides(plain.clone(), &[], "something long"));
        assert!(hides(
            plain,
            &["from the environment"],
            "from the environment"
        ));
        assert!(!hides(json!({"apiKey": "unused"}), &[], "unused"));
    }
}
