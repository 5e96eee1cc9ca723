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
    /// The usual policy with another interval; zero milliseconds is none.
    pub fn every_ms(interval: u64) -> Self {
        SyncPolicy {
            interval: (interval > 0).then(|| Duration::from_millis(interval)),
            ..SyncPolicy::default()
        }
    }

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

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn written(policy: SyncPolicy) -> (Flusher, tempfile::NamedTempFile) {
        let file = tempfile::NamedTempFile::new().unwrap();
        let flusher = Flusher::new(file.path(), Arc::new(file.reopen().unwrap()));
        flusher.written(policy);
        (flusher, file)
    }

    fn is_dirty(flusher: &Flusher) -> bool {
        flusher.shared.dirty.load(Ordering::Acquire)
    }

    #[test]
    fn a_write_is_forced_at_the_interval() {
        let (flusher, _file) = written(SyncPolicy::every_ms(1));
        let deadline = Instant::now() + Duration::from_secs(20);
        while is_dirty(&flusher) {
            assert!(Instant::now() < deadline, "nobody forced it");
            std::thread::yield_now();
        }
    }

    #[test]
    fn without_an_interval_it_waits_until_it_is_asked() {
        assert_eq!(SyncPolicy::every_ms(0).interval, None);
        let (flusher, _file) = written(SyncPolicy::every_ms(0));
        assert!(!flusher.shared.scheduled.load(Ordering::Acquire));
        assert!(is_dirty(&flusher));
        flusher.flush_now();
        assert!(!is_dirty(&flusher));
        assert!(flusher.take_warnings().is_empty());
    }
}
