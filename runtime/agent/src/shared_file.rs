//! Files that other programs of the family change too, such as `settings.json`: their lock, and replacing them as a whole.
//!
//! The lock is the one that pi takes: a directory `<file>.lock`. Who creates it has the lock, touches it while holding it
//! and removes it at the end. One that was not touched for a while was left by a process that died, and is taken over.

use std::fs::{File, Metadata, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Age from which pi takes a lock over, unless it says otherwise for a file.
pub const STALE: Duration = Duration::from_secs(10);
/// How often [`FileLock::acquire`] tries, as pi does.
const TRIES: u32 = 10;
/// Pause between two tries.
const PAUSE: Duration = Duration::from_millis(20);
/// Most links that a name may lead through; the kernel's own limit.
const MAX_LINKS: usize = 40;

/// Why a lock was not had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error(
        "another process holds the lock {}; if no such process runs, remove that directory", .0.display()
    )]
    Held(PathBuf),
    #[error("the lock {} cannot be taken: {source}", .lock.display())]
    Io { lock: PathBuf, source: io::Error },
}

/// The right to change a file, until it is dropped.
#[derive(Debug)]
pub struct FileLock {
    directory: PathBuf,
    /// Time of the directory by which it is known to be still this lock.
    touched: SystemTime,
}

impl FileLock {
    /// Takes the lock of a file if nobody has it. `stale` is the age from which a lock counts as left behind. The folder of
    /// the file must be there.
    ///
    /// # Errors
    /// [`LockError::Held`] when somebody else has it.
    pub fn try_acquire(file: &Path, stale: Duration) -> Result<Self, LockError> {
        let lock = lock_of(file);
        let failed = |source| LockError::Io {
            lock: lock.clone(),
            source,
        };
        let mut made = std::fs::create_dir(&lock);
        if made
            .as_ref()
            .is_err_and(|error| error.kind() == ErrorKind::AlreadyExists)
            && remove_leftover(&lock, stale).map_err(failed)?
        {
            made = std::fs::create_dir(&lock);
        }
        match made.and_then(|()| modified(&lock)) {
            Ok(touched) => Ok(Self {
                directory: lock,
                touched,
            }),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(LockError::Held(lock)),
            Err(error) => Err(failed(error)),
        }
    }

    /// Takes the lock for a short change, trying for a fifth of a second at most. Blocks the thread.
    ///
    /// # Errors
    /// As [`FileLock::try_acquire`].
    pub fn acquire(file: &Path) -> Result<Self, LockError> {
        for _ in 1..TRIES {
            match Self::try_acquire(file, STALE) {
                Err(LockError::Held(_)) => std::thread::sleep(PAUSE),
                done => return done,
            }
        }
        Self::try_acquire(file, STALE)
    }

    /// Says that the holder lives; needed every few seconds while the lock is held for long. False when it was lost:
    /// somebody took it for left behind.
    pub fn touch(&mut self) -> bool {
        self.is_mine() && self.renew().is_ok()
    }

    fn renew(&mut self) -> io::Result<()> {
        File::open(&self.directory)?.set_modified(SystemTime::now())?;
        self.touched = modified(&self.directory)?;
        Ok(())
    }

    fn is_mine(&self) -> bool {
        modified(&self.directory).is_ok_and(|time| time == self.touched)
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        if self.is_mine() {
            // One that stays is taken over by age.
            let _ = std::fs::remove_dir(&self.directory);
        }
    }
}

fn lock_of(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

fn modified(path: &Path) -> io::Result<SystemTime> {
    std::fs::symlink_metadata(path)?.modified()
}

/// Removes a lock that nobody holds; whether it is gone.
fn remove_leftover(lock: &Path, stale: Duration) -> io::Result<bool> {
    let removed = match std::fs::symlink_metadata(lock) {
        Ok(data) if data.is_dir() => {
            // A time in the future is a clock that was set: such a lock is young.
            let age = SystemTime::now().duration_since(data.modified()?);
            if age.unwrap_or_default() <= stale {
                return Ok(false);
            }
            std::fs::remove_dir(lock)
        }
        // Earlier versions of Pier left a file there, which would keep pi out for ever.
        Ok(data) if data.is_file() => std::fs::remove_file(lock),
        Ok(_) => Err(io::Error::other("it is neither a file nor a directory")),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(true),
    }
}

/// The file that a name leads to, through links, also when it does not exist yet.
///
/// # Errors
/// The links lead in a circle, or cannot be read.
pub fn resolved(file: &Path) -> io::Result<PathBuf> {
    let mut path = file.to_owned();
    for _ in 0..MAX_LINKS {
        match std::fs::symlink_metadata(&path) {
            Ok(data) if data.is_symlink() => {
                let folder = path.parent().unwrap_or(Path::new(""));
                path = folder.join(std::fs::read_link(&path)?);
            }
            Ok(_) => return Ok(path),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(path),
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("its links lead in a circle"))
}

/// Who may read a file after it was replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readers {
    /// Whoever could before; for a new file, what the process gives new files.
    AsBefore,
    /// Its user only.
    UserOnly,
}

/// Replaces the content of a file, or makes it. It is written to a neighbour first, so that a crash leaves the old one. A
/// link stays a link: the file that it leads to is replaced.
///
/// # Errors
/// The disk refuses; the old content is still there.
pub fn replace(file: &Path, content: &[u8], readers: Readers) -> io::Result<()> {
    let target = resolved(file)?;
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".pier-");
    let before = match (readers, std::fs::metadata(&target)) {
        (Readers::AsBefore, Ok(data)) => Some(data),
        (Readers::AsBefore, Err(_)) => {
            if let Some(usual) = usual_permissions() {
                builder.permissions(usual);
            }
            None
        }
        // What the library makes is for its user only.
        (Readers::UserOnly, _) => None,
    };
    let mut written = builder.tempfile_in(folder)?;
    if let Some(permissions) = before.as_ref().map(Metadata::permissions) {
        written.as_file().set_permissions(permissions)?;
    }
    written.write_all(content)?;
    written.as_file().sync_all()?;
    written.persist(&target).map_err(|error| error.error)?;
    Ok(())
}

/// What a new file is asked to have; the system takes away what the process's mask says.
fn usual_permissions() -> Option<Permissions> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        Some(Permissions::from_mode(0o666))
    }
    #[cfg(not(unix))]
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn age(lock: &Path, seconds: u64) {
        let then = SystemTime::now() - Duration::from_secs(seconds);
        File::open(lock).unwrap().set_modified(then).unwrap();
    }

    #[test]
    fn one_holds_the_lock_and_nothing_of_it_stays() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("settings.json");
        let lock = dir.path().join("settings.json.lock");
        let held = FileLock::acquire(&file).unwrap();
        assert!(lock.is_dir());
        let problem = FileLock::acquire(&file).unwrap_err();
        assert!(matches!(problem, LockError::Held(_)), "{problem}");
        assert!(problem.to_string().contains("settings.json.lock"));
        drop(held);
        assert!(!lock.exists());
    }

    #[test]
    fn what_a_crash_left_is_taken_over() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.json");
        let lock = dir.path().join("a.json.lock");
        std::fs::create_dir(&lock).unwrap();
        age(&lock, 9);
        assert!(FileLock::try_acquire(&file, STALE).is_err());
        age(&lock, 11);
        let mut held = FileLock::try_acquire(&file, STALE).unwrap();
        assert!(held.touch());
        // A machine that slept: somebody else took it over meanwhile.
        age(&lock, 11);
        let other = FileLock::try_acquire(&file, STALE).unwrap();
        assert!(!held.touch());
        drop(held);
        assert!(lock.is_dir(), "the other one's lock was removed");
        drop(other);
        assert!(!lock.exists());
    }

    #[test]
    fn a_file_of_an_earlier_version_is_no_lock() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.json");
        std::fs::write(dir.path().join("a.json.lock"), "").unwrap();
        drop(FileLock::acquire(&file).unwrap());
        assert!(!dir.path().join("a.json.lock").exists());
    }

    #[test]
    fn a_lock_that_cannot_be_removed_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let lock = dir.path().join("a.json.lock");
        std::fs::create_dir(&lock).unwrap();
        std::fs::write(lock.join("x"), "").unwrap();
        age(&lock, 11);
        let problem = FileLock::acquire(&dir.path().join("a.json")).unwrap_err();
        assert!(problem.to_string().contains("a.json.lock"), "{problem}");
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_stay() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let dir = tempfile::tempdir().unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let (link, target) = (dir.path().join("link"), dir.path().join("sub/target"));
        std::fs::create_dir(dir.path().join("sub")).unwrap();
        symlink("sub/target", &link).unwrap();
        replace(&link, b"new", Readers::AsBefore).unwrap();
        let usual = dir.path().join("usual");
        std::fs::write(&usual, "").unwrap();
        assert_eq!(mode(&target), mode(&usual), "a new file is like any other");
        std::fs::set_permissions(&target, Permissions::from_mode(0o664)).unwrap();
        replace(&link, b"newer", Readers::AsBefore).unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read(&target).unwrap(), b"newer");
        assert_eq!(mode(&target), 0o664);
        replace(&link, b"secret", Readers::UserOnly).unwrap();
        assert_eq!(mode(&target), 0o600);
        symlink("round", dir.path().join("round")).unwrap();
        assert!(replace(&dir.path().join("round"), b"", Readers::AsBefore).is_err());
    }
}
