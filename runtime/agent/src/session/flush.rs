//! When written entries are forced to disk.
//!
//! An append only hands its line to the system, which survives the end of this process but not a loss
//! of power. Forcing costs milliseconds, so it happens at a settable interval, on request and on close,
//! on descriptors of its own and never while a lock of the session is held.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::error::SessionWarning;

/// When to force data to disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyncPolicy {
    /// At most this long after an append; `None` leaves it to [`super::SessionManager::sync`] and close.
    pub interval: Option<Duration>,
    /// When the session is closed.
    pub on_close: bool,
}

impl Default for SyncPolicy {
    fn default() -> Self {
        SyncPolicy {
            interval: Some(Duration::from_secs(5)),
            on_close: true,
        }
    }
}

impl SyncPolicy {
    /// Never: for tests and throw-away sessions.
    pub const OFF: SyncPolicy = SyncPolicy {
        interval: None,
        on_close: false,
    };
}

/// Tracks what one open file has written but not forced.
#[derive(Debug, Clone)]
pub(super) struct Flusher {
    path: PathBuf,
    file: Arc<File>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    dirty: AtomicBool,
    /// The file's name is not yet safe in its directory.
    new_name: AtomicBool,
    /// A thread is waiting to flush.
    scheduled: AtomicBool,
    warnings: Mutex<Vec<SessionWarning>>,
}

impl Flusher {
    pub(super) fn new(path: &Path, file: Arc<File>) -> Self {
        Flusher {
            path: path.to_owned(),
            file,
            shared: Arc::default(),
        }
    }

    /// Notes a write, and sees to it that it is forced in time.
    pub(super) fn written(&self, policy: SyncPolicy) {
        self.shared.dirty.store(true, Ordering::Release);
        let Some(interval) = policy.interval else {
            return;
        };
        if self.shared.scheduled.swap(true, Ordering::AcqRel) {
            return;
        }
        // The thread must not keep the file open: closing has to release it.
        let (shared, file, path) = (
            self.shared.clone(),
            Arc::downgrade(&self.file),
            self.path.clone(),
        );
        let spawned = std::thread::Builder::new()
            .name("session-flush".to_owned())
            .spawn(move || {
                std::thread::sleep(interval);
                shared.scheduled.store(false, Ordering::Release);
                if let Some(file) = file.upgrade() {
                    flush(&shared, &file, &path);
                }
            });
        if spawned.is_err() {
            // No thread to be had: force it here rather than not at all.
            self.shared.scheduled.store(false, Ordering::Release);
            self.flush_now();
        }
    }

    /// Notes that the file was just created.
    pub(super) fn created(&self) {
        self.shared.new_name.store(true, Ordering::Release);
    }

    /// Forces what was written so far. Problems end up in [`Flusher::take_warnings`].
    pub(super) fn flush_now(&self) {
        flush(&self.shared, &self.file, &self.path);
    }

    pub(super) fn take_warnings(&self) -> Vec<SessionWarning> {
        std::mem::take(&mut *self.shared.warnings.lock())
    }
}

fn flush(shared: &Shared, file: &File, path: &Path) {
    if !shared.dirty.swap(false, Ordering::AcqRel) {
        return;
    }
    if shared.new_name.swap(false, Ordering::AcqRel) {
        sync_directory(path);
    }
    if let Err(error) = file.sync_data() {
        shared.dirty.store(true, Ordering::Release);
        let warning = SessionWarning::SyncFailed {
            path: path.to_owned(),
            reason: error.to_string(),
        };
        let mut warnings = shared.warnings.lock();
        // One report is enough: the next attempts will fail the same way.
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
}

/// Makes a new name in a directory survive a loss of power. Not every system can; the file's own data
/// does not depend on it.
pub(super) fn sync_directory(path: &Path) {
    if let Some(Ok(directory)) = path.parent().map(File::open) {
        let _ = directory.sync_all();
    }
}
