//! Finds the texts to replace and replaces them (`spec/agent-loop.md` §10, "edit"). Works on strings; reads no file.
//!
//! Every edit is matched against the original text. An exact match is used as it is. Where only the tolerant form
//! matches, the lines the match touches are taken over in that form, and all other lines stay byte for byte.

use std::ops::Range;

use super::text::{SourceText, fuzzy, fuzzy_column, to_lf};

/// One replacement as given by the caller.
#[derive(Debug, Clone, serde::Deserialize)]
pub(super) struct Replacement {
    #[serde(rename = "oldText")]
    pub old: String,
    #[serde(rename = "newText")]
    pub new: String,
}

/// Text before and after, with LF line endings, and what goes into the file.
#[derive(Debug)]
pub(super) struct Edited {
    pub before: String,
    pub after: String,
    pub file: String,
}

/// Applies all `edits` to `text`, or explains which one cannot be applied. `path` is for messages.
pub(super) fn apply(text: &str, edits: &[Replacement], path: &str) -> Result<Edited, String> {
    let source = SourceText::new(text);
    let tolerant = fuzzy(&source.lf);
    let names = Names {
        path,
        many: edits.len() > 1,
    };
    let mut found = Vec::with_capacity(edits.len());
    for (index, edit) in edits.iter().enumerate() {
        found.push(locate(index, edit, &source.lf, &tolerant, &names)?);
    }
    let file = rebuild(&source, &tolerant, found, &names)?;
    let after = SourceText::new(&file).lf;
    if after == source.lf {
        return Err(names.unchanged());
    }
    let file = if source.has_bom {
        format!("\u{FEFF}{file}")
    } else {
        file
    };
    Ok(Edited {
        before: source.lf,
        after,
        file,
    })
}

/// Where an edit applies.
#[derive(Debug, Clone)]
struct Match {
    index: usize,
    /// In the LF text, if it matches exactly.
    exact: Option<Range<usize>>,
    /// In the tolerant text; `None` where an exact match begins or ends inside of what composes to one character there.
    tolerant: Option<Range<usize>>,
    /// First and last line touched; the same in both texts.
    lines: (usize, usize),
    new: String,
}

fn locate(
    index: usize,
    edit: &Replacement,
    lf: &str,
    tolerant: &str,
    names: &Names,
) -> Result<Match, String> {
    let old = to_lf(&edit.old);
    if old.is_empty() {
        return Err(names.empty(index));
    }
    let old_tolerant = fuzzy(&old);
    let exact = lf.find(&old).map(|at| at..at + old.len());
    let (lines, tolerant_range) = match &exact {
        // Looked up by its place: its tolerant form lacks blanks at the end that may be inside of a line in the text.
        Some(range) => (lines_of(lf, range), carried(lf, tolerant, range)),
        // Text that is nothing but blanks has no tolerant form to look for.
        None => match tolerant.find(&old_tolerant) {
            Some(at) if !old_tolerant.is_empty() => {
                let range = at..at + old_tolerant.len();
                (lines_of(tolerant, &range), Some(range))
            }
            _ => return Err(names.missing(index)),
        },
    };
    let occurrences = if old_tolerant.is_empty() {
        lf.matches(&old).count()
    } else {
        // Composition can hide an exact match from the tolerant text, but there is at least the one found.
        tolerant.matches(&old_tolerant).count().max(1)
    };
    if occurrences > 1 {
        return Err(names.ambiguous(index, occurrences));
    }
    Ok(Match {
        index,
        exact,
        tolerant: tolerant_range,
        lines,
        new: to_lf(&edit.new),
    })
}

/// The place of an exact match in the tolerant text, which has the same lines.
fn carried(lf: &str, tolerant: &str, range: &Range<usize>) -> Option<Range<usize>> {
    let place = |at: usize| {
        let start = lf[..at].rfind('\n').map_or(0, |feed| feed + 1);
        let end = lf[at..].find('\n').map_or(lf.len(), |feed| at + feed);
        let column = fuzzy_column(&lf[start..end], at - start)?;
        let line = lf[..start].matches('\n').count();
        let line_start = match line.checked_sub(1) {
            Some(before) => tolerant.match_indices('\n').nth(before)?.0 + 1,
            None => 0,
        };
        Some(line_start + column)
    };
    Some(place(range.start)?..place(range.end)?)
}

fn lines_of(text: &str, range: &Range<usize>) -> (usize, usize) {
    let breaks = |part: &str| part.bytes().filter(|b| *b == b'\n').count();
    let first = breaks(&text[..range.start]);
    // A match that ends with a line break touches that line, not the next one.
    let inner = text[range.clone()]
        .strip_suffix('\n')
        .unwrap_or(&text[range.clone()]);
    (first, first + breaks(inner))
}

/// Puts the file together: groups of edits that share lines, and untouched lines between them.
fn rebuild(
    source: &SourceText,
    tolerant: &str,
    mut found: Vec<Match>,
    names: &Names,
) -> Result<String, String> {
    found.sort_by_key(|m| {
        (
            m.lines.0,
            m.exact
                .as_ref()
                .or(m.tolerant.as_ref())
                .map_or(0, |r| r.start),
        )
    });
    let exact_starts = line_starts(&source.lf);
    let tolerant_starts = line_starts(tolerant);
    let mut out = String::with_capacity(source.lf.len());
    let mut next_line = 0;
    let mut rest = found.as_slice();
    while let Some(first) = rest.first() {
        let mut last_line = first.lines.1;
        let mut size = 1;
        while let Some(next) = rest.get(size).filter(|next| next.lines.0 <= last_line) {
            last_line = last_line.max(next.lines.1);
            size += 1;
        }
        let (group, later) = rest.split_at(size);
        rest = later;
        copy_lines(source, &exact_starts, next_line..first.lines.0, &mut out);
        // One tolerant match makes its whole group tolerant, so that all ranges are in the same text.
        let all_exact = group.iter().all(|m| m.exact.is_some());
        let (base, starts) = if all_exact {
            (source.lf.as_str(), &exact_starts)
        } else {
            (tolerant, &tolerant_starts)
        };
        let mut ranges = Vec::with_capacity(group.len());
        for m in group {
            let range = if all_exact { &m.exact } else { &m.tolerant };
            let range = range.clone().ok_or_else(|| names.inseparable(m.index))?;
            ranges.push((range, m));
        }
        ranges.sort_by_key(|(range, _)| range.start);
        for pair in ranges.windows(2) {
            if let [(left, a), (right, b)] = pair
                && left.end > right.start
            {
                return Err(names.overlap(a.index, b.index));
            }
        }
        replace_group(
            source,
            base,
            starts,
            first.lines.0..last_line + 1,
            &ranges,
            &mut out,
        );
        next_line = last_line + 1;
    }
    copy_lines(
        source,
        &exact_starts,
        next_line..source.endings.len(),
        &mut out,
    );
    Ok(out)
}

fn line_starts(text: &str) -> Vec<usize> {
    std::iter::once(0)
        .chain(text.match_indices('\n').map(|(at, _)| at + 1))
        .collect()
}

/// Byte range of a line without its break.
fn line_range(text: &str, starts: &[usize], line: usize) -> Range<usize> {
    let start = starts.get(line).copied().unwrap_or(text.len());
    let end = starts.get(line + 1).map_or(text.len(), |next| next - 1);
    start..end
}

/// Untouched lines with their own endings.
fn copy_lines(source: &SourceText, starts: &[usize], lines: Range<usize>, out: &mut String) {
    for line in lines {
        out.push_str(&source.lf[line_range(&source.lf, starts, line)]);
        out.push_str(source.endings.get(line).copied().unwrap_or_default());
    }
}

/// The lines `lines` of `base` with the replacements made in them.
fn replace_group(
    source: &SourceText,
    base: &str,
    starts: &[usize],
    lines: Range<usize>,
    ranges: &[(Range<usize>, &Match)],
    out: &mut String,
) {
    let mut writer = Writer {
        source,
        line: lines.start,
        out,
    };
    let mut at = starts.get(lines.start).copied().unwrap_or(base.len());
    let end = starts.get(lines.end).copied().unwrap_or(base.len());
    for (range, m) in ranges {
        writer.keep(&base[at..range.start]);
        writer.replace(&base[range.clone()], &m.new);
        at = range.end;
    }
    writer.keep(&base[at..end.max(at)]);
}

/// Writes LF text with the line endings of the original.
struct Writer<'a> {
    source: &'a SourceText,
    /// Line of the original that the next kept character is in.
    line: usize,
    out: &'a mut String,
}

impl Writer<'_> {
    fn keep(&mut self, text: &str) {
        for (at, part) in text.split('\n').enumerate() {
            if at > 0 {
                self.out
                    .push_str(self.source.endings.get(self.line).copied().unwrap_or("\n"));
                self.line += 1;
            }
            self.out.push_str(part);
        }
    }

    /// Breaks of the new text take over the endings of the breaks they replace; further ones follow the last of them.
    fn replace(&mut self, old: &str, new: &str) {
        let replaced = old.bytes().filter(|b| *b == b'\n').count();
        for (at, part) in new.split('\n').enumerate() {
            if at > 0 {
                let like = self.line + (at - 1).min(replaced.saturating_sub(1));
                self.out.push_str(self.source.ending_near(like));
            }
            self.out.push_str(part);
        }
        self.line += replaced;
    }
}

/// Wording of failures; names single edits by index when there are several.
struct Names<'a> {
    path: &'a str,
    many: bool,
}

impl Names<'_> {
    fn empty(&self, index: usize) -> String {
        let path = self.path;
        if self.many {
            format!("edits[{index}].oldText must not be empty in {path}.")
        } else {
            format!("oldText must not be empty in {path}.")
        }
    }

    fn missing(&self, index: usize) -> String {
        let path = self.path;
        let rule = "The old text must match exactly including all whitespace and newlines.";
        if self.many {
            format!("Could not find edits[{index}] in {path}. {rule}")
        } else {
            format!("Could not find the exact text in {path}. {rule}")
        }
    }

    fn ambiguous(&self, index: usize, count: usize) -> String {
        let path = self.path;
        if self.many {
            format!(
                "Found {count} occurrences of edits[{index}] in {path}. Each oldText must be unique. Please provide more \
                 context to make it unique."
            )
        } else {
            format!(
                "Found {count} occurrences of the text in {path}. The text must be unique. Please provide more context \
                 to make it unique."
            )
        }
    }

    fn overlap(&self, first: usize, second: usize) -> String {
        let path = self.path;
        format!(
            "edits[{first}] and edits[{second}] overlap in {path}. Combine them into one edit, or choose texts that do \
             not share lines."
        )
    }

    fn inseparable(&self, index: usize) -> String {
        let path = self.path;
        format!(
            "edits[{index}] begins or ends inside a combined character of a line of {path} in which another edit matches only \
             with plain quotes, dashes or blanks. Combine the two, or give the oldText of the other as it is in the file."
        )
    }

    fn unchanged(&self) -> String {
        let path = self.path;
        format!("No changes made to {path}. The new text is the same as the old text.")
    }
}
