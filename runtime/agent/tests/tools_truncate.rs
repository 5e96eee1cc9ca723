//! Truncation, sizes, decoding and stripping of terminal sequences.

use pier_agent::tools::sanitize::{Sanitizer, sanitize};
use pier_agent::tools::truncate::{
    HeadCapture, Limits, TruncatedBy, count_lines, format_size, truncate_head, truncate_line,
    truncate_tail,
};
use pier_agent::tools::utf8::Utf8Decoder;
use proptest::prelude::*;
use serde_json::json;

fn limits(max_lines: usize, max_bytes: usize) -> Limits {
    Limits {
        max_lines,
        max_bytes,
    }
}

#[test]
fn sizes_print_as_in_javascript() {
    for (bytes, text) in [
        (0, "0B"),
        (1023, "1023B"),
        (1024, "1.0KB"),
        (1536, "1.5KB"),
        // 1.25 and 1.35 are where rounding half to even would differ.
        (1280, "1.3KB"),
        (51200, "50.0KB"),
        (1024 * 1024 - 1, "1024.0KB"),
        (1024 * 1024, "1.0MB"),
        (2 * 1024 * 1024 + 524_288, "2.5MB"),
    ] {
        assert_eq!(format_size(bytes), text, "{bytes}");
    }
}

#[test]
fn a_text_within_the_limits_is_untouched() {
    let text = "a\nb\n";
    for result in [
        truncate_head(text, limits(2, 4)),
        truncate_tail(text, limits(2, 4)),
    ] {
        assert_eq!(result.content, text);
        assert!(!result.truncated);
        assert_eq!(result.truncated_by, None);
        assert_eq!((result.total_lines, result.output_lines), (2, 2));
        assert_eq!((result.total_bytes, result.output_bytes), (4, 4));
    }
}

#[test]
fn the_object_has_the_documented_form() {
    let value = serde_json::to_value(truncate_head("a\nb\nc\n", limits(2, 100))).unwrap();
    assert_eq!(
        value,
        json!({
            "content": "a\nb", "truncated": true, "truncatedBy": "lines", "totalLines": 3, "totalBytes": 6,
            "outputLines": 2, "outputBytes": 3, "lastLinePartial": false, "firstLineExceedsLimit": false,
            "maxLines": 2, "maxBytes": 100,
        })
    );
    assert_eq!(
        serde_json::to_value(truncate_head("", limits(1, 1))).unwrap()["truncatedBy"],
        json!(null)
    );
}

#[test]
fn head_keeps_whole_lines() {
    let result = truncate_head("aaaa\nbbbb\ncccc", limits(10, 9));
    assert_eq!(
        (result.content.as_str(), result.truncated_by),
        ("aaaa\nbbbb", Some(TruncatedBy::Bytes))
    );
    let result = truncate_head("aaaa\nbbbb\ncccc", limits(10, 8));
    assert_eq!((result.content.as_str(), result.output_lines), ("aaaa", 1));
    let result = truncate_head("aaaaa\nb", limits(10, 4));
    assert!(result.first_line_exceeds_limit && result.truncated);
    assert_eq!((result.content.as_str(), result.output_lines), ("", 0));
}

#[test]
fn tail_keeps_the_end_and_cuts_only_a_lonely_line() {
    let result = truncate_tail("a\nb\nc\n", limits(2, 100));
    assert_eq!(
        (result.content.as_str(), result.truncated_by),
        ("b\nc", Some(TruncatedBy::Lines))
    );
    let result = truncate_tail("aaaa\nbbbb\ncccc", limits(10, 10));
    assert_eq!(
        (result.content.as_str(), result.last_line_partial),
        ("bbbb\ncccc", false)
    );
    // "é" is two bytes, and the cut would fall between them.
    let result = truncate_tail("x\né123", limits(10, 4));
    assert_eq!(
        (result.content.as_str(), result.last_line_partial),
        ("123", true)
    );
    assert_eq!(
        (result.output_lines, result.output_bytes, result.total_lines),
        (1, 3, 2)
    );
}

#[test]
fn a_final_line_feed_that_does_not_fit_is_a_cut_by_lines_as_in_pi() {
    let text = format!("{}\n", "0123456789\n".repeat(5).trim_end());
    let limits = limits(10, text.len() - 1);
    for result in [truncate_head(&text, limits), truncate_tail(&text, limits)] {
        assert_eq!(result.content, text.trim_end());
        assert_eq!(result.truncated_by, Some(TruncatedBy::Lines));
        assert_eq!((result.output_lines, result.total_lines), (5, 5));
    }
}

#[test]
fn lines_are_cut_by_utf16_units_between_characters() {
    assert_eq!(truncate_line("abc", 3), ("abc".to_owned(), false));
    assert_eq!(
        truncate_line("abcd", 3),
        ("abc... [truncated]".to_owned(), true)
    );
    // The emoji takes units 3 and 4, so with a limit of 3 it goes as a whole.
    assert_eq!(
        truncate_line("ab😀c", 3),
        ("ab... [truncated]".to_owned(), true)
    );
    assert_eq!(
        truncate_line("ab😀c", 4),
        ("ab😀... [truncated]".to_owned(), true)
    );
}

/// The rules of the head truncation, written down the slow way.
fn head_by_the_book(text: &str, limits: Limits) -> (String, bool) {
    let fits = count_lines(text) <= limits.max_lines && text.len() <= limits.max_bytes;
    if fits {
        return (text.to_owned(), false);
    }
    let mut kept: Vec<&str> = Vec::new();
    for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        let mut longer = kept.clone();
        longer.push(line);
        if longer.len() > limits.max_lines || longer.join("\n").len() > limits.max_bytes {
            break;
        }
        kept = longer;
    }
    (kept.join("\n"), true)
}

proptest! {
    #[test]
    fn head_capture_in_pieces_equals_the_rules(
        text in "[aé\n]{0,60}", lines in 1usize..8, bytes in 1usize..40, cut in 0usize..60,
    ) {
        let limits = limits(lines, bytes);
        let whole = truncate_head(&text, limits);
        prop_assert_eq!((whole.content.clone(), whole.truncated), head_by_the_book(&text, limits));
        prop_assert_eq!(whole.total_lines, count_lines(&text));
        let at = text.char_indices().map(|(at, _)| at).nth(cut).unwrap_or(text.len());
        let mut pieces = HeadCapture::new(limits);
        pieces.push(&text[..at]);
        pieces.push(&text[at..]);
        prop_assert_eq!(pieces.finish(), whole);
    }

    #[test]
    fn tail_is_a_suffix_within_the_limits(text in "[aé\n]{0,60}", lines in 1usize..8, bytes in 2usize..40) {
        let result = truncate_tail(&text, limits(lines, bytes));
        let body = if result.truncated { text.strip_suffix('\n').unwrap_or(&text) } else { &text };
        prop_assert!(body.ends_with(&result.content));
        prop_assert!(result.output_bytes <= bytes && result.output_lines <= lines);
        prop_assert_eq!(result.output_bytes, result.content.len());
        prop_assert_eq!(result.total_bytes, text.len());
    }

    #[test]
    fn decoding_in_pieces_equals_decoding_at_once(bytes in proptest::collection::vec(any::<u8>(), 0..40), cut in 0usize..40) {
        let at = cut.min(bytes.len());
        let mut decoder = Utf8Decoder::new();
        let mut text = String::new();
        decoder.push(&bytes[..at], &mut text);
        decoder.push(&bytes[at..], &mut text);
        decoder.finish(&mut text);
        prop_assert_eq!(text, String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn stripping_in_pieces_equals_stripping_at_once(text in "[a\u{1b}\\[\\]0;m\u{7}\\\\\n\u{9b}]{0,30}", cut in 0usize..30) {
        let at = text.char_indices().map(|(at, _)| at).nth(cut).unwrap_or(text.len());
        let mut filter = Sanitizer::new();
        let mut out = filter.push(&text[..at]);
        out.push_str(&filter.push(&text[at..]));
        out.push_str(&filter.finish());
        prop_assert_eq!(out, sanitize(&text));
    }
}

#[test]
fn terminal_sequences_and_control_characters_go() {
    for (input, output) in [
        ("\u{1b}[31mred\u{1b}[0m", "red"),
        ("\u{1b}[38;5;12mx\u{1b}[?25l", "x"),
        ("\u{1b}]0;title\u{7}text", "text"),
        ("\u{1b}]8;;http://a/\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
        ("\u{1b}Pq#0~\u{1b}\\x", "x"),
        ("\u{1b}(Bx\u{1b}7y", "xy"),
        ("\u{9b}31mred", "red"),
        ("50%\r100%\r\n", "50%100%\n"),
        ("a\u{0}b\u{8}c\u{7f}d\u{85}e\tf\n", "abcde\tf\n"),
        ("\u{FFF9}a\u{FFFB}", "a"),
        // A sequence that breaks off does not take the next line with it.
        ("\u{1b}[3\nx", "\nx"),
        ("\u{1b}]no end\nx", "no end\nx"),
    ] {
        assert_eq!(sanitize(input), output, "{input:?}");
    }
}

#[test]
fn an_endless_title_does_not_swallow_everything() {
    let text = format!("\u{1b}]{}", "x".repeat(200_000));
    assert_eq!(sanitize(&text).len(), 200_000);
}
