//! Takes file descriptor 0 away from the rest of the process.
//!
//! A child process that inherits standard input would otherwise eat the client's records.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// Keeps a private copy of descriptor 0 and points descriptor 0 at nothing. Call it once, before any extension is loaded.
///
/// # Errors
/// When a descriptor cannot be duplicated.
pub(crate) fn take_stdin() -> io::Result<File> {
    let private: OwnedFd = io::stdin().as_fd().try_clone_to_owned()?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?.as_fd())?;
    Ok(private.into())
}
