//! Takes file descriptor 1 away from the rest of the process.
//!
//! Must run before any extension is loaded and before any child process is started.

use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

/// Pause before a write is tried again when the descriptor is non-blocking and full
/// (`spec/rpc.md` §1.4).
const RETRY_PAUSE: Duration = Duration::from_millis(10);

/// The real standard output, kept for protocol records or the final answer.
///
/// Writing blocks the calling thread while the reader does not read, so only the writer thread of
/// an [`super::OutputQueue`] or a program that has nothing else left to do may use it.
#[derive(Debug)]
pub struct ProtocolStdout {
    file: std::fs::File,
}

impl ProtocolStdout {
    /// Keeps a private copy of descriptor 1 and points descriptor 1 at standard error.
    ///
    /// # Errors
    /// When a descriptor cannot be duplicated (standard output closed by the parent).
    pub fn take_over() -> io::Result<Self> {
        io::stdout().flush()?;
        let private: OwnedFd = io::stdout().as_fd().try_clone_to_owned()?;
        rustix::stdio::dup2_stdout(io::stderr().as_fd())?;
        Ok(Self {
            file: private.into(),
        })
    }
}

/// Writes a text that is the whole purpose of the run: `--help`, `--version`, a list.
///
/// # Errors
/// When the reader is gone.
pub fn print_plain(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

impl Write for ProtocolStdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.file.write(bytes) {
                Err(error) if is_full(&error) => std::thread::sleep(RETRY_PAUSE),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn is_full(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
        || error.raw_os_error() == Some(rustix::io::Errno::NOBUFS.raw_os_error())
}
