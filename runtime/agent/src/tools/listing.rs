//! What `grep`, `find` and `ls` share: where they look, and how a list of lines ends that has limits (`spec/agent-loop.md` §10).

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::truncate::{HeadCapture, Limits, format_size};
use super::{exists_locally, paths};
use crate::tool::ToolOutput;

/// The executor and the path that a call means: the working directory when it names none. Paths of another machine are taken as
/// they are; here a variant of the name that exists counts, too.
pub(super) fn place<'a, O: ?Sized>(
    given: Option<&str>,
    cwd: &Path,
    elsewhere: Option<&'a O>,
    here: &'a O,
) -> (&'a O, PathBuf) {
    let given = given.filter(|path| !path.is_empty()).unwrap_or(".");
    match elsewhere {
        Some(operations) => (operations, paths::resolve(given, cwd)),
        None => (here, paths::resolve_existing(given, cwd, &exists_locally)),
    }
}

/// Lines of a result, as many as fit, and what there is to say about those that do not.
pub(super) struct Listing {
    text: HeadCapture,
    empty: bool,
    notices: Vec<String>,
    details: Map<String, Value>,
}

impl Listing {
    pub(super) fn new() -> Self {
        Self {
            text: HeadCapture::new(Limits::bytes_only()),
            empty: true,
            notices: Vec::new(),
            details: Map::new(),
        }
    }

    pub(super) fn push(&mut self, line: &str) {
        let start = if self.empty { "" } else { "\n" };
        self.text.push(&format!("{start}{line}"));
        self.empty = false;
    }

    /// The call's own limit ended the list. `things` are counted, `advice` ends the notice.
    pub(super) fn limit_reached(&mut self, detail: &str, things: &str, limit: usize, advice: &str) {
        let more = limit.saturating_mul(2);
        self.notices.push(format!(
            "{limit} {things} limit reached. Use limit={more} for more{advice}"
        ));
        self.details.insert(detail.to_owned(), json!(limit));
    }

    /// `last` is one more notice with the detail that says the same.
    pub(super) fn finish(mut self, last: Option<(&str, String)>) -> ToolOutput {
        let shown = self.text.finish();
        if shown.truncated {
            self.notices
                .push(format!("{} limit reached", format_size(shown.max_bytes)));
            self.details.insert("truncation".to_owned(), json!(shown));
        }
        if let Some((detail, notice)) = last {
            self.notices.push(notice);
            self.details.insert(detail.to_owned(), json!(true));
        }
        let mut output = ToolOutput::text(super::with_notices(shown.content, &self.notices));
        output.details = (!self.details.is_empty()).then_some(Value::Object(self.details));
        output
    }
}
