//! A file's text as `edit` sees it: LF lines for matching, and beside them what must survive the edit untouched (byte
//! order mark, the ending of every line) plus the tolerant form used for fuzzy matching.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

const BOM: char = '\u{FEFF}';

/// Text taken apart so that it can be put together again byte for byte.
#[derive(Debug)]
pub(super) struct SourceText {
    pub has_bom: bool,
    /// Text without BOM, all line endings LF.
    pub lf: String,
    /// The ending of each line, the last one possibly empty.
    pub endings: Vec<&'static str>,
}

impl SourceText {
    pub(super) fn new(text: &str) -> Self {
        let (has_bom, text) = match text.strip_prefix(BOM) {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let mut lf = String::with_capacity(text.len());
        let mut endings = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find(['\n', '\r']) {
            let ending = if rest[at..].starts_with("\r\n") {
                "\r\n"
            } else if rest[at..].starts_with('\n') {
                "\n"
            } else {
                "\r"
            };
            lf.push_str(&rest[..at]);
            lf.push('\n');
            endings.push(ending);
            rest = &rest[at + ending.len()..];
        }
        lf.push_str(rest);
        endings.push("");
        Self {
            has_bom,
            lf,
            endings,
        }
    }

    /// Ending for a line break that an edit adds, near the line `line` of the original.
    pub(super) fn ending_near(&self, line: usize) -> &'static str {
        let known = |at: usize| {
            self.endings
                .get(at)
                .copied()
                .filter(|ending| !ending.is_empty())
        };
        known(line)
            .or_else(|| line.checked_sub(1).and_then(known))
            .or_else(|| known(0))
            .unwrap_or("\n")
    }
}

/// LF for every line ending.
pub(super) fn to_lf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// The tolerant form: compatibility characters composed, blanks at line ends gone, quotes, dashes and spaces plain. Has
/// exactly as many lines as `lf`.
pub(super) fn fuzzy(lf: &str) -> String {
    let mut out = String::with_capacity(lf.len());
    for (at, line) in lf.split('\n').enumerate() {
        if at > 0 {
            out.push('\n');
        }
        out.push_str(plain_line(line).trim_end());
    }
    out
}

/// One line in the tolerant form, blanks at its end included.
fn plain_line(line: &str) -> Cow<'_, str> {
    if line.is_ascii() {
        Cow::Borrowed(line)
    } else {
        // A line break cannot come out of nothing here: no character decomposes to one.
        Cow::Owned(line.nfkc().map(plain).collect())
    }
}

/// Where the position `at` of the line `line` is in the tolerant form of the line; `None` inside of what composes to one character.
pub(super) fn fuzzy_column(line: &str, at: usize) -> Option<usize> {
    let (left, right) = line.split_at_checked(at)?;
    let (whole, left, right) = (plain_line(line), plain_line(left), plain_line(right));
    let splits = whole.len() == left.len() + right.len()
        && whole.starts_with(left.as_ref())
        && whole.ends_with(right.as_ref());
    splits.then(|| left.len().min(whole.trim_end().len()))
}

fn plain(c: char) -> char {
    match c {
        '\u{2018}'..='\u{201B}' => '\'',
        '\u{201C}'..='\u{201F}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{00A0}' | '\u{2002}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => ' ',
        other => other,
    }
}
