//! What an edit changed, for people (numbered lines) and for tools (a unified patch). Pure functions of two texts.

use std::borrow::Cow;
use std::time::Duration;

use similar::{Algorithm, ChangeTag, TextDiff};

/// Unchanged lines shown around a change.
const CONTEXT_LINES: usize = 4;
/// After this the diff is allowed to be coarser than the smallest one.
const TIME_LIMIT: Duration = Duration::from_secs(2);

/// A change in two forms.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Change {
    /// Lines `+NN text`, `-NN text`, ` NN text`; gaps as ` ...`.
    pub display: String,
    /// Unified diff with file headers.
    pub patch: String,
    /// In the new text, counted from 1.
    pub first_changed_line: Option<usize>,
}

/// Compares two LF texts. Takes time on large, very different texts, up to a few seconds: not for async threads.
pub(super) fn compare(path: &str, before: &str, after: &str) -> Change {
    let diff = TextDiff::configure()
        .algorithm(Algorithm::Myers)
        .timeout(TIME_LIMIT)
        .diff_lines(before, after);
    let lines: Vec<Line> = diff
        .iter_all_changes()
        .map(|change| Line {
            tag: change.tag(),
            number: match change.tag() {
                ChangeTag::Insert => change.new_index(),
                ChangeTag::Delete | ChangeTag::Equal => change.old_index(),
            }
            .map_or(0, |at| at + 1),
            text: change.value().trim_end_matches('\n'),
        })
        .collect();
    Change {
        display: display(&lines, width(before, after)),
        patch: with_counts(
            &diff
                .unified_diff()
                .context_radius(CONTEXT_LINES)
                .header(path, path)
                .to_string(),
        ),
        first_changed_line: first_changed(&lines),
    }
}

/// Says the number of lines in every header of a hunk, as pi's patches do; the library leaves a 1 out.
fn with_counts(patch: &str) -> String {
    let counted = |range: &str| match range.contains(',') {
        true => range.to_owned(),
        false => format!("{range},1"),
    };
    patch
        .split_inclusive('\n')
        .map(|line| {
            // A line of content begins with a sign.
            let header = line
                .strip_prefix("@@ ")
                .and_then(|rest| rest.strip_suffix(" @@\n"));
            match header.and_then(|ranges| ranges.split_once(' ')) {
                Some((old, new)) => format!("@@ {} {} @@\n", counted(old), counted(new)).into(),
                None => Cow::Borrowed(line),
            }
        })
        .collect()
}

struct Line<'a> {
    tag: ChangeTag,
    number: usize,
    text: &'a str,
}

fn width(before: &str, after: &str) -> usize {
    let lines = |text: &str| text.split('\n').count();
    lines(before).max(lines(after)).to_string().len()
}

fn first_changed(lines: &[Line]) -> Option<usize> {
    let at = lines.iter().position(|line| line.tag != ChangeTag::Equal)?;
    // Up to here both texts are the same, so the position is also the one in the new text.
    Some(at + 1)
}

fn display(lines: &[Line], width: usize) -> String {
    let mut out: Vec<String> = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let run = run_length(&lines[at..]);
        let block = &lines[at..at + run];
        let gap = || format!(" {:width$} ...", "");
        if block
            .first()
            .is_none_or(|line| line.tag != ChangeTag::Equal)
        {
            out.extend(block.iter().map(|line| numbered(line, width)));
        } else {
            let before = if at == 0 { 0 } else { CONTEXT_LINES };
            let after = if at + run == lines.len() {
                0
            } else {
                CONTEXT_LINES
            };
            if before + after >= run {
                out.extend(block.iter().map(|line| numbered(line, width)));
            } else {
                out.extend(block[..before].iter().map(|line| numbered(line, width)));
                out.push(gap());
                out.extend(
                    block[run - after..]
                        .iter()
                        .map(|line| numbered(line, width)),
                );
            }
        }
        at += run;
    }
    out.join("\n")
}

fn run_length(lines: &[Line]) -> usize {
    let equal = lines
        .first()
        .is_some_and(|line| line.tag == ChangeTag::Equal);
    lines
        .iter()
        .take_while(|line| (line.tag == ChangeTag::Equal) == equal)
        .count()
}

fn numbered(line: &Line, width: usize) -> String {
    let sign = match line.tag {
        ChangeTag::Insert => '+',
        ChangeTag::Delete => '-',
        ChangeTag::Equal => ' ',
    };
    format!("{sign}{:>width$} {}", line.number, line.text)
}
