//! Replaces `\uD800`–`\uDFFF` escapes that are not part of a pair.
//!
//! JavaScript strings may be cut inside a character, and `JSON.stringify` then writes half of it.
//! Everything else in the text stays as it is.

/// The text with every lone half replaced by U+FFFD, or `None` when there is none.
pub(crate) fn repair(text: &str) -> Option<String> {
    let mut repaired = String::with_capacity(text.len());
    let mut rest = text;
    let mut changed = false;
    while let Some(start) = rest.find('\\') {
        repaired.push_str(&rest[..start]);
        rest = &rest[start..];
        let (keep, replacement) = match (unit(rest), rest.get(6..).and_then(unit)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => (12, None),
            (Some(0xd800..=0xdfff), _) => (6, Some("\\ufffd")),
            (Some(_), _) => (6, None),
            // An escape of one character, which may itself be a backslash.
            (None, _) => (1 + rest[1..].chars().next().map_or(0, char::len_utf8), None),
        };
        changed |= replacement.is_some();
        repaired.push_str(replacement.unwrap_or(&rest[..keep]));
        rest = &rest[keep..];
    }
    repaired.push_str(rest);
    changed.then_some(repaired)
}

/// The UTF-16 unit of a `\uXXXX` at the start of the text.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::repair;

    #[test]
    fn only_lone_halves_change() {
        assert_eq!(repair(r#""\ud83d\ude00 \n \\ud83d é""#), None);
        assert_eq!(repair(r#""\ud83d""#).as_deref(), Some(r#""\ufffd""#));
        assert_eq!(
            repair(r#""\ude00\ud83d\ud83d\ude00""#).as_deref(),
            Some(r#""\ufffd\ufffd\ud83d\ude00""#)
        );
        assert_eq!(repair(r#""\\\ud83dx""#).as_deref(), Some(r#""\\\ufffdx""#));
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text: String) {
            repair(&text);
            repair(&format!("\\{text}\\ud800{text}\\"));
        }
    }
}
