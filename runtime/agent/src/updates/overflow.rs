//! A queue of partial results in a temporary file without a name, which is gone with the process.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};

use crate::tool::ToolOutput;

/// Most bytes that wait in the file of one call.
const CAPACITY: u64 = 1 << 30;

pub(super) struct Overflow {
    /// Made when it is needed first.
    file: Option<File>,
    /// Lengths of the records that wait, oldest first.
    lengths: VecDeque<u64>,
    /// Where the first of them begins, and where the next one goes.
    start: u64,
    end: u64,
    capacity: u64,
}

impl Default for Overflow {
    fn default() -> Self {
        Self::with_capacity(CAPACITY)
    }
}

impl Overflow {
    pub(super) fn with_capacity(capacity: u64) -> Self {
        Overflow {
            file: None,
            lengths: VecDeque::new(),
            start: 0,
            end: 0,
            capacity,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// # Errors
    /// The file cannot be made, is full, or the disk is. Nothing has changed then.
    pub(super) fn push(&mut self, partial: &ToolOutput) -> io::Result<()> {
        let record = serde_json::to_vec(partial)?;
        let length = record.len() as u64;
        if self.end + length > self.capacity {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(tempfile::tempfile()?),
        };
        file.seek(SeekFrom::Start(self.end))?;
        file.write_all(&record)?;
        self.end += length;
        self.lengths.push_back(length);
        Ok(())
    }

    /// The oldest. A file that cannot be read back is given up.
    pub(super) fn pop(&mut self) -> Option<ToolOutput> {
        let length = self.lengths.pop_front()?;
        let partial = self.read(length);
        self.start += length;
        if partial.is_none() || self.lengths.is_empty() {
            // Gives the space back.
            *self = Self::with_capacity(self.capacity);
        }
        partial
    }

    fn read(&mut self, length: u64) -> Option<ToolOutput> {
        let file = self.file.as_mut()?;
        file.seek(SeekFrom::Start(self.start)).ok()?;
        let mut record = vec![0; usize::try_from(length).ok()?];
        file.read_exact(&mut record).ok()?;
        serde_json::from_slice(&record).ok()
    }
}
