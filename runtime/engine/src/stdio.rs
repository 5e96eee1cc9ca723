//! What an isolate prints: one pipe for its stdout and stderr, read line by line outside its thread.
//!
//! The reader must not share the isolate's thread: code that prints in a tight loop would fill the pipe and wait for itself.

use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::unix::pipe;

/// Longest line that is kept together, in bytes; a longer one is delivered in pieces of this size.
const MAX_LINE: u64 = 64 * 1024;

/// Receives the lines that extension code prints, without their line end.
pub trait OutputSink: Send + Sync + 'static {
    fn line(&self, name: &str, line: &str);
}

/// Writes `[name] line` to the process's stderr.
#[derive(Debug, Default)]
pub struct StderrSink;

impl OutputSink for StderrSink {
    fn line(&self, name: &str, line: &str) {
        use io::Write;
        // A closed stderr is no reason to fail: there is nobody left to tell.
        let _ = writeln!(io::stderr().lock(), "[{name}] {line}");
    }
}

/// Written by the isolate's thread after the last thing its code printed.
const END: &[u8] = b"\0pier: end of output\n";

/// Where the lines of a warm isolate go once it has an owner.
pub(crate) type OutputTarget = Arc<Mutex<Option<(String, Arc<dyn OutputSink>)>>>;

/// Tells the reader of `pipe` that its isolate prints no more; processes that it started still may.
pub(crate) fn end_output(mut pipe: &File) {
    use io::Write;
    // Fails only when the reader is gone, and then nobody waits.
    let _ = pipe.write_all(END);
}

/// The write end for the isolate, and a task on `runtime` that reads the other end while anybody holds the first. `ended` is called once all
/// that came before `end_output` has been delivered.
pub(crate) fn output_pipe(
    runtime: &tokio::runtime::Handle,
    target: OutputTarget,
    ended: impl Fn() + Send + 'static,
) -> io::Result<File> {
    let (read, write) = pipe_pair()?;
    let _guard = runtime.enter();
    let receiver = pipe::Receiver::from_owned_fd(read)?;
    runtime.spawn(async move {
        let mut reader = BufReader::new(receiver);
        let mut line = Vec::new();
        loop {
            line.clear();
            match (&mut reader)
                .take(MAX_LINE)
                .read_until(b'\n', &mut line)
                .await
            {
                Ok(0) | Err(_) => return ended(),
                Ok(_) => {}
            }
            let at_end = line.ends_with(END);
            if at_end {
                line.truncate(line.len() - END.len());
            }
            while line
                .last()
                .is_some_and(|byte| matches!(byte, b'\n' | b'\r'))
            {
                line.pop();
            }
            let owner = target.lock().clone();
            if let Some((name, sink)) = owner.filter(|_| !at_end || !line.is_empty()) {
                sink.line(&name, &String::from_utf8_lossy(&line));
            }
            if at_end {
                ended();
            }
        }
    });
    Ok(File::from(write))
}

fn pipe_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [0; 2];
    // SAFETY: `fds` has room for the two descriptors that pipe2 writes.
    if unsafe { libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: both descriptors were just created and nobody else owns them. Only the read end is non-blocking: the
    // isolate's writes must block, not fail, while the reader is behind.
    unsafe {
        let flags = libc::fcntl(fds[0], libc::F_GETFL);
        libc::fcntl(fds[0], libc::F_SETFL, flags | libc::O_NONBLOCK);
        Ok((OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])))
    }
}
