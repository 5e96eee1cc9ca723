//! `--trace FILE`: one JSON line for every model request.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::Mutex;

use pier_agent::provider::{TraceRecord, TraceSink};

use crate::diagnostics;

/// An open trace file. Lines are appended whole, so that several processes may share one.
pub(super) struct TraceFile {
    /// `None` after a write failed: that is said once.
    file: Mutex<Option<File>>,
    name: String,
}

impl TraceFile {
    /// Opens the file for appending.
    ///
    /// # Errors
    /// A sentence that names the flag and the file.
    pub(super) fn open(path: &Path) -> Result<Self, String> {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let name = path.display().to_string();
        let file =
            file.map_err(|error| format!("--trace: {name} cannot be opened for writing: {error}"))?;
        Ok(Self {
            file: Mutex::new(Some(file)),
            name,
        })
    }
}

impl TraceSink for TraceFile {
    fn record(&self, record: &TraceRecord) {
        let Ok(mut line) = serde_json::to_string(record) else {
            return;
        };
        line.push('\n');
        let Ok(mut slot) = self.file.lock() else {
            return;
        };
        if let Some(file) = slot.as_mut()
            && let Err(error) = file.write_all(line.as_bytes())
        {
            diagnostics::warning(&format!(
                "--trace: {} cannot be written any more: {error}",
                self.name
            ));
            *slot = None;
        }
    }
}
