//! `edit`: matching, what is preserved, what is refused, and how the change is shown.

mod tools_support;

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use pier_agent::tool::{Tool, ToolError};
use pier_agent::tools::operations::EditOperations;
use pier_agent::tools::{EditTool, OpError};
use proptest::prelude::*;
use serde_json::{Value, json};
use tools_support::{Lab, text, within};

fn one(old: &str, new: &str) -> Value {
    json!({"path": "f", "edits": [{"oldText": old, "newText": new}]})
}

fn two(a: (&str, &str), b: (&str, &str)) -> Value {
    json!({"path": "f", "edits": [{"oldText": a.0, "newText": a.1}, {"oldText": b.0, "newText": b.1}]})
}

/// Edits `before` and returns the file's new content.
async fn edited(before: &str, args: Value) -> String {
    let lab = Lab::new();
    lab.file("f", before);
    lab.ok(&EditTool::new(None), args).await;
    lab.content("f")
}

/// The error of an edit, which must leave the file alone.
async fn refused(before: &str, args: Value) -> String {
    let lab = Lab::new();
    lab.file("f", before);
    let error = lab.err(&EditTool::new(None), args).await;
    assert_eq!(lab.content("f"), before);
    error
}

#[tokio::test]
async fn replaces_and_reports() {
    let lab = Lab::new();
    lab.file("f", "one\ntwo\nthree\n");
    let output = lab
        .run(
            &EditTool::new(None),
            two(("three", "3"), ("one\n", "1\n1b\n")),
        )
        .await
        .unwrap();
    assert_eq!(text(&output), "Successfully replaced 2 block(s) in f.");
    assert_eq!(lab.content("f"), "1\n1b\ntwo\n3\n");
    let details = output.details.unwrap();
    assert_eq!(details["firstChangedLine"], 1);
    assert_eq!(
        details["diff"],
        "-1 one\n+1 1\n+2 1b\n 2 two\n-3 three\n+4 3"
    );
    assert_eq!(
        details["patch"],
        "--- f\n+++ f\n@@ -1,3 +1,4 @@\n-one\n+1\n+1b\n two\n-three\n+3\n"
    );
}

#[tokio::test]
async fn the_diff_shows_four_lines_of_context_and_gaps() {
    let lab = Lab::new();
    let before: String = (1..=30).map(|n| format!("line {n}\n")).collect();
    lab.file("f", &before);
    let output = lab
        .run(
            &EditTool::new(None),
            two(("line 10\n", "ten\n"), ("line 25\n", "")),
        )
        .await
        .unwrap();
    let details = output.details.unwrap();
    assert_eq!(
        details["diff"]
            .as_str()
            .unwrap()
            .lines()
            .collect::<Vec<_>>(),
        [
            "    ...",
            "  6 line 6",
            "  7 line 7",
            "  8 line 8",
            "  9 line 9",
            "-10 line 10",
            "+10 ten",
            " 11 line 11",
            " 12 line 12",
            " 13 line 13",
            " 14 line 14",
            "    ...",
            " 21 line 21",
            " 22 line 22",
            " 23 line 23",
            " 24 line 24",
            "-25 line 25",
            " 26 line 26",
            " 27 line 27",
            " 28 line 28",
            " 29 line 29",
            "    ...",
        ]
    );
    assert_eq!(details["firstChangedLine"], 10);
    let patch = details["patch"].as_str().unwrap();
    assert!(
        patch.contains("@@ -6,9 +6,9 @@") && patch.contains("@@ -21,9 +21,8 @@"),
        "{patch}"
    );
}

#[tokio::test]
async fn line_endings_and_byte_order_mark_survive() {
    assert_eq!(
        edited("\u{FEFF}a\r\nb\r\nc\r\n", one("b", "B")).await,
        "\u{FEFF}a\r\nB\r\nc\r\n"
    );
    // LF in the texts stands for whatever the file has, and the other way round.
    assert_eq!(
        edited("a\r\nb\r\nc\r\n", one("a\nb\n", "x\ny\nz\n")).await,
        "x\r\ny\r\nz\r\nc\r\n"
    );
    assert_eq!(edited("a\nb\n", one("a\r\nb", "x\r\ny")).await, "x\ny\n");
    // Each line keeps its own ending.
    assert_eq!(
        edited("a\nb\r\nc\rd\ne", one("d", "D")).await,
        "a\nb\r\nc\rD\ne"
    );
    assert_eq!(
        edited("a\nb\r\nc\n", one("b\nc", "B\nC")).await,
        "a\nB\r\nC\n"
    );
    assert_eq!(
        edited("a\r\nlast", one("last", "x\ny")).await,
        "a\r\nx\r\ny"
    );
    assert_eq!(edited("only", one("only", "x\ny")).await, "x\ny");
    assert_eq!(edited("a\r\nb\r\n", one("a\n", "")).await, "b\r\n");
    assert_eq!(edited("a\r\nb\r\n", one("a\nb", "ab")).await, "ab\r\n");
}

#[tokio::test]
async fn fuzzy_matches_change_only_the_lines_they_touch() {
    let before =
        "\u{201C}keep\u{201D}   \nsay \u{201C}hi\u{201D} \u{2014} now  \nalso\u{00A0}keep\t\n";
    assert_eq!(
        edited(before, one("say \"hi\" - now", "say \"bye\" - now")).await,
        "\u{201C}keep\u{201D}   \nsay \"bye\" - now\nalso\u{00A0}keep\t\n"
    );
    // Blanks at line ends inside a match.
    assert_eq!(
        edited("a  \r\nb\t\r\nc\r\n", one("a\nb\n", "x\n")).await,
        "x\r\nc\r\n"
    );
    // Compatibility forms.
    assert_eq!(edited("ﬁle\n", one("file", "dir")).await, "dir\n");
    assert_eq!(
        edited("e\u{0301}tude here\n", one("étude here", "x")).await,
        "x\n"
    );
}

#[tokio::test]
async fn exact_and_fuzzy_edits_may_share_a_line() {
    let before = "it\u{2019}s one\u{00A0}two  three\nnext  \n";
    assert_eq!(
        edited(before, two(("it's", "IT'S"), ("three", "3"))).await,
        "IT'S one two  3\nnext  \n"
    );
}

#[tokio::test]
async fn an_exact_match_keeps_the_rest_of_its_line() {
    let before = "\u{201C}a\u{201D} b  \n";
    assert_eq!(
        edited(before, one("b", "c")).await,
        "\u{201C}a\u{201D} c  \n"
    );
}

#[tokio::test]
async fn all_edits_match_the_original_text() {
    assert_eq!(edited("a b\n", two(("a", "b"), ("b", "c"))).await, "b c\n");
    assert_eq!(edited("ab\n", two(("a", "1"), ("b", "2"))).await, "12\n");
    assert_eq!(
        edited("x\ny\nz\n", two(("x\n", ""), ("y\n", "Y\n"))).await,
        "Y\nz\n"
    );
}

#[tokio::test]
async fn refusals_have_the_documented_texts() {
    let rule = "The old text must match exactly including all whitespace and newlines.";
    assert_eq!(
        refused("a\n", one("b", "c")).await,
        format!("Could not find the exact text in f. {rule}")
    );
    assert_eq!(
        refused("a\n", two(("a", "x"), ("b", "c"))).await,
        format!("Could not find edits[1] in f. {rule}")
    );
    assert_eq!(
        refused("a a a\n", one("a", "b")).await,
        "Found 3 occurrences of the text in f. The text must be unique. Please provide more context to make it unique."
    );
    assert!(
        refused("a a b\n", two(("b", "x"), ("a", "y")))
            .await
            .starts_with("Found 2 occurrences of edits[1] in f. ")
    );
    // Counted on the fuzzy text.
    assert!(
        refused("\"x\"\n\u{201C}x\u{201D}\n", one("\"x\"", "y"))
            .await
            .starts_with("Found 2 occurrences")
    );
    assert!(
        refused("abcd\n", two(("abc", "x"), ("bcd", "y")))
            .await
            .starts_with("edits[0] and edits[1] overlap in f. ")
    );
    assert!(
        refused("a\nb\nc\n", two(("b\nc", "x"), ("a\nb", "y")))
            .await
            .starts_with("edits[1] and edits[0] overlap in f. ")
    );
    assert_eq!(
        refused("a\n", one("", "b")).await,
        "oldText must not be empty in f."
    );
    assert_eq!(
        refused("a\n", two(("a", "b"), ("", "b"))).await,
        "edits[1].oldText must not be empty in f."
    );
    assert!(
        refused("a\n", one("a", "a"))
            .await
            .starts_with("No changes made to f. ")
    );
    assert_eq!(
        refused("a\n", json!({"path": "f", "edits": []})).await,
        "Edit tool input is invalid. edits must contain at least one replacement."
    );
    // Nothing but blanks has no fuzzy form.
    assert!(
        refused("a b c\n", one(" ", "_"))
            .await
            .starts_with("Found 2 occurrences")
    );
    assert_eq!(edited("a b\n", one(" ", "_")).await, "a_b\n");
}

#[tokio::test]
async fn files_that_cannot_be_edited() {
    let lab = Lab::new();
    let edit = EditTool::new(None);
    assert_eq!(
        lab.err(&edit, one("a", "b")).await,
        "Could not edit file: f. Error code: ENOENT."
    );
    std::fs::create_dir(lab.path("f")).unwrap();
    assert_eq!(
        lab.err(&edit, one("a", "b")).await,
        "Could not edit file: f. Error code: EISDIR."
    );
    let bytes = b"latin \xe9 a\n";
    let path = lab.file("g", bytes);
    let error = lab
        .err(
            &edit,
            json!({"path": "g", "edits": [{"oldText": "a", "newText": "b"}]}),
        )
        .await;
    assert!(
        error.starts_with("Could not edit file: g. It is not UTF-8"),
        "{error}"
    );
    assert_eq!(std::fs::read(path).unwrap(), bytes);
    let mut call = lab.call(one("a", "b"));
    call.cancel.cancel();
    assert!(matches!(
        within(edit.execute(call.clone())).await,
        Err(ToolError::Aborted)
    ));
    call.args = json!(null);
}

#[tokio::test]
async fn accepts_other_forms_of_the_arguments() {
    for args in [
        json!({"path": "f", "edits": "[{\"oldText\":\"a\",\"newText\":\"b\"}]"}),
        json!({"path": "f", "edits": "{\"oldText\":\"a\",\"newText\":\"b\"}"}),
        json!({"path": "f", "edits": {"oldText": "a", "newText": "b"}}),
        json!({"path": "f", "oldText": "a", "newText": "b"}),
        json!({"path": "f", "oldText": "a", "newText": "b", "edits": null}),
    ] {
        let prepared = EditTool::new(None).prepare(args.clone()).await.unwrap();
        assert_eq!(prepared, one("a", "b"), "{args}");
        assert_eq!(edited("a\n", args).await, "b\n");
    }
    let both = json!({"path": "f", "oldText": "a", "newText": "b", "edits": [{"oldText": "c", "newText": "d"}]});
    assert_eq!(edited("a c\n", both).await, "b d\n");
    for odd in [
        json!([1]),
        json!({"edits": "no json"}),
        json!({"edits": 7, "oldText": "a", "newText": "b"}),
    ] {
        assert_eq!(EditTool::new(None).prepare(odd.clone()).await.unwrap(), odd);
    }
}

#[tokio::test]
async fn edits_of_one_file_in_parallel_do_not_lose_each_other() {
    let lab = Lab::new();
    let before: String = (0..20).map(|n| format!("<{n}>\n")).collect();
    lab.file("f", before);
    let edit = EditTool::new(None);
    let calls = (0..20).map(|n| edit.execute(lab.call(one(&format!("<{n}>"), &format!("[{n}]")))));
    let results = within(futures::future::join_all(calls)).await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert_eq!(
        lab.content("f"),
        (0..20).map(|n| format!("[{n}]\n")).collect::<String>()
    );
}

#[tokio::test]
async fn permissions_and_other_modes_survive() {
    use std::os::unix::fs::PermissionsExt;
    let lab = Lab::new();
    let path = lab.file("f", "a\n");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o751)).unwrap();
    lab.ok(&EditTool::new(None), one("a", "b")).await;
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o751);
}

struct Denied;

#[async_trait]
impl EditOperations for Denied {
    async fn read_file(&self, _path: &Path) -> Result<Vec<u8>, OpError> {
        Ok(b"a\n".to_vec())
    }
    async fn write_file(&self, _path: &Path, _content: &str) -> Result<(), OpError> {
        Err(OpError::other("the container is gone."))
    }
    async fn access(&self, path: &Path) -> Result<(), OpError> {
        let code = path.ends_with("locked").then(|| "EACCES".to_owned());
        code.map_or(Ok(()), |code| {
            Err(OpError {
                code: Some(code),
                message: String::new(),
            })
        })
    }
}

#[tokio::test]
async fn runs_through_other_executors() {
    let lab = Lab::new();
    let edit = EditTool::new(Some(Arc::new(Denied)));
    assert_eq!(
        lab.err(&edit, one("a", "b")).await,
        "Could not edit file: f. the container is gone."
    );
    assert_eq!(
        lab.err(
            &edit,
            json!({"path": "locked", "edits": [{"oldText": "a", "newText": "b"}]})
        )
        .await,
        "Could not edit file: locked. Error code: EACCES."
    );
}

#[tokio::test]
async fn an_exact_edit_beside_a_tolerant_one_replaces_what_it_names() {
    // Blanks at the end of oldText: at the end of the text, and inside of a line.
    assert_eq!(
        edited(
            "foo\u{201C}q\u{201D}\n\u{2014}\n ",
            two(("\u{201D}\n\u{2014}\n ", ""), ("foo\"", "a\t")),
        )
        .await,
        "a\tq"
    );
    assert_eq!(
        edited(
            "foo bar \u{201C}q\u{201D} \n",
            two(("foo ", "X"), ("\"q\"", "Y"))
        )
        .await,
        "Xbar Y\n"
    );
    assert_eq!(
        edited("a\u{2019}b  \nc", two(("  \n", "\n\n"), ("a'", "A"))).await,
        "Ab\n\nc"
    );
    assert_eq!(
        refused("e\u{301}\u{201C}q\u{201D}", two(("e", "E"), ("\"q\"", "Y"))).await,
        "edits[0] begins or ends inside a combined character of a line of f in which another edit matches only with plain quotes, \
         dashes or blanks. Combine the two, or give the oldText of the other as it is in the file."
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// An exact, unique match changes the matched text and nothing else, whatever the line endings.
    #[test]
    fn an_exact_edit_is_a_splice(
        lines in proptest::collection::vec(("[a-c \u{201C}é]{0,4}", prop_oneof!["\n", "\r\n", "\r"]), 1..8),
        new in "[xyz\n]{1,5}",
        at in 0usize..8,
    ) {
        let mut before = String::new();
        for (index, (line, ending)) in lines.iter().enumerate() {
            before.push_str(line);
            if index == at % lines.len() {
                before.push_str("@@");
            }
            before.push_str(ending);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let after = runtime.block_on(edited(&before, one("@@", &new)));
        let (left, right) = before.split_once("@@").unwrap();
        prop_assert!(after.starts_with(left) && after.ends_with(right));
        let middle = &after[left.len()..after.len() - right.len()];
        prop_assert_eq!(middle.replace("\r\n", "\n").replace('\r', "\n"), new);
    }

    /// Matching never panics and never writes a file it reports as unchanged.
    #[test]
    fn any_texts_are_survived(
        before in "[ab \u{2019}'\u{0301}ﬁ\u{00A0}\r\n]{0,20}",
        edits in proptest::collection::vec(("[ab '\u{0301}fi\n]{0,4}", "[ab\n]{0,3}"), 1..4),
    ) {
        let lab = Lab::new();
        lab.file("f", &before);
        let list: Vec<Value> = edits.iter().map(|(old, new)| json!({"oldText": old, "newText": new})).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let result = runtime.block_on(lab.run(&EditTool::new(None), json!({"path": "f", "edits": list})));
        prop_assert_eq!(result.is_ok(), lab.content("f") != before);
    }
}
