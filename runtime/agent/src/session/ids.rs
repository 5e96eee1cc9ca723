//! Identifiers and timestamps of sessions (spec/sessions.md §1, §1.1).

use uuid::Uuid;

/// The time now as ISO-8601 UTC with milliseconds.
pub fn now_iso() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}

/// Milliseconds since the epoch of an ISO-8601 timestamp; `None` when it is not one.
pub fn millis_from_iso(text: &str) -> Option<i64> {
    text.parse::<jiff::Timestamp>()
        .ok()
        .map(|time| time.as_millisecond())
}

/// ISO-8601 UTC with milliseconds of a time in milliseconds since the epoch.
pub(super) fn iso_from_millis(millis: i64) -> Option<String> {
    jiff::Timestamp::from_millisecond(millis)
        .ok()
        .map(|time| format!("{time:.3}"))
}

/// Whether a user may choose `id` as a session id: it becomes part of a file name.
pub fn is_valid_session_id(id: &str) -> bool {
    let bytes = id.as_bytes();
    let inner = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    match (bytes.first(), bytes.last()) {
        (Some(first), Some(last)) => {
            first.is_ascii_alphanumeric() && last.is_ascii_alphanumeric() && bytes.iter().all(inner)
        }
        _ => false,
    }
}

/// A new session id: UUIDv7, so that ids sort by time.
pub(super) fn new_session_id() -> String {
    Uuid::now_v7().to_string()
}

/// A new entry id: eight hex digits that `taken` does not know; a whole UUID when a hundred tries fail.
pub(super) fn new_entry_id(taken: impl Fn(&str) -> bool) -> String {
    for _ in 0..100 {
        let mut id = Uuid::new_v4().simple().to_string();
        id.truncate(8);
        if !taken(&id) {
            return id;
        }
    }
    Uuid::new_v4().to_string()
}

/// `<timestamp>_<id>.jsonl`, with the characters that file systems dislike replaced.
pub(super) fn session_file_name(timestamp: &str, id: &str) -> String {
    let stamp: String = timestamp
        .chars()
        .map(|c| if matches!(c, ':' | '.') { '-' } else { c })
        .collect();
    format!("{stamp}_{id}.jsonl")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_have_milliseconds_and_parse_back() {
        let now = now_iso();
        assert_eq!(now.len(), "2026-01-31T12:34:56.789Z".len(), "{now}");
        assert!(now.ends_with('Z'), "{now}");
        let millis = millis_from_iso(&now).unwrap();
        assert_eq!(iso_from_millis(millis).unwrap(), now);
        assert_eq!(iso_from_millis(0).unwrap(), "1970-01-01T00:00:00.000Z");
        assert_eq!(millis_from_iso("yesterday"), None);
    }

    #[test]
    fn session_ids_become_file_names_safely() {
        for id in ["a", "A1", "my-session_1.2", "0190-x"] {
            assert!(is_valid_session_id(id), "{id}");
        }
        for id in ["", "-a", "a-", ".a", "a b", "a/b", "..", "a\n", "é"] {
            assert!(!is_valid_session_id(id), "{id:?}");
        }
        assert_eq!(
            session_file_name("2026-01-31T12:34:56.789Z", "x"),
            "2026-01-31T12-34-56-789Z_x.jsonl"
        );
    }

    #[test]
    fn entry_ids_avoid_taken_ones_and_end_in_a_uuid() {
        let id = new_entry_id(|_| false);
        assert_eq!(id.len(), 8);
        assert!(
            id.bytes()
                .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        );
        assert_eq!(new_entry_id(|_| true).len(), 36);
    }
}
