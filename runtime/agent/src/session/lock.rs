//! One writer per session file, by advisory lock.
//!
//! On Unix the session file itself is locked: nothing is left behind and readers are not disturbed.
//! Elsewhere locks also keep readers out, so a file beside it is locked instead. The system drops the
//! lock when the process ends, however it ends.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::error::SessionError;

/// Held until dropped.
#[derive(Debug)]
pub(super) struct FileLock {
    file: Arc<File>,
}

/// What came of an attempt to lock.
#[derive(Debug)]
pub(super) enum Locking {
    Held(FileLock),
    /// The file system knows no locks; the reason is its words.
    Unsupported(String),
}

/// Locks the session file `path`, open as `file`. Does not wait.
///
/// # Errors
/// [`SessionError::Locked`] when somebody else holds the lock.
pub(super) fn acquire(path: &Path, file: &Arc<File>) -> Result<Locking, SessionError> {
    let file = match lock_target(path, file) {
        Ok(file) => file,
        Err(error) => return Ok(Locking::Unsupported(error.to_string())),
    };
    match file.try_lock() {
        Ok(()) => Ok(Locking::Held(FileLock { file })),
        Err(TryLockError::WouldBlock) => Err(SessionError::Locked {
            path: path.to_owned(),
            holder: holder(&file),
        }),
        Err(TryLockError::Error(error)) => Ok(Locking::Unsupported(error.to_string())),
    }
}

#[cfg(unix)]
fn lock_target(_path: &Path, file: &Arc<File>) -> io::Result<Arc<File>> {
    Ok(file.clone())
}

#[cfg(not(unix))]
fn lock_target(path: &Path, _file: &Arc<File>) -> io::Result<Arc<File>> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(name)
        .map(Arc::new)
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // The descriptor may live on in a flush that is just running, so closing it is not enough.
        // A failure leaves the lock to the end of the process.
        let _ = self.file.unlock();
    }
}

/// The process that holds the lock, where the system tells.
#[cfg(target_os = "linux")]
fn holder(file: &File) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    let inode = file.metadata().ok()?.ino().to_string();
    let table = std::fs::read_to_string("/proc/locks").ok()?;
    table.lines().find_map(|line| {
        // "1: FLOCK  ADVISORY  WRITE 4711 08:01:123456 0 EOF"
        let fields: Vec<&str> = line.split_whitespace().collect();
        let held = *fields.get(1)? == "FLOCK" && fields.get(5)?.rsplit(':').next()? == inode;
        if held {
            fields.get(4)?.parse().ok()
        } else {
            None
        }
    })
}

#[cfg(not(target_os = "linux"))]
fn holder(_file: &File) -> Option<u32> {
    None
}
