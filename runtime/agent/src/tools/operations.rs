//! The executors behind the built-in tools (`spec/sdk-exports.md` §2.1): traits that an extension may implement to
//! run a tool elsewhere (a container, another machine), and nothing else. Local executors are in `local` and `bash`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::io::AsyncRead;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

pub use super::errno::OpError;

/// Byte stream of a file's content.
pub type ByteStream = Box<dyn AsyncRead + Send + Sync + Unpin>;

/// Where `read` gets files from. All paths are absolute.
#[async_trait]
pub trait ReadOperations: Send + Sync {
    /// The whole file.
    async fn read_file(&self, path: &Path) -> Result<Vec<u8>, OpError>;
    /// Fails when the file is missing or unreadable.
    async fn access(&self, path: &Path) -> Result<(), OpError>;
    /// MIME type if the file is an image that models take; `None` in `Some` means "not an image", plain `None`
    /// that the executor leaves detection to the tool.
    async fn detect_image_mime_type(
        &self,
        _path: &Path,
    ) -> Result<Option<Option<String>>, OpError> {
        Ok(None)
    }
    /// The file as a stream, for executors that can; keeps memory bounded on huge files.
    async fn create_read_stream(&self, _path: &Path) -> Result<Option<ByteStream>, OpError> {
        Ok(None)
    }
}

/// Where `write` puts files.
#[async_trait]
pub trait WriteOperations: Send + Sync {
    async fn write_file(&self, path: &Path, content: &str) -> Result<(), OpError>;
    /// Creates the directory and its parents; no error if it exists.
    async fn mkdir(&self, path: &Path) -> Result<(), OpError>;
}

/// Where `edit` works.
#[async_trait]
pub trait EditOperations: Send + Sync {
    async fn read_file(&self, path: &Path) -> Result<Vec<u8>, OpError>;
    async fn write_file(&self, path: &Path, content: &str) -> Result<(), OpError>;
    /// Fails when the file is missing or cannot be read and written.
    async fn access(&self, path: &Path) -> Result<(), OpError>;
}

/// Options of [`FindOperations::glob`].
#[derive(Debug, Clone)]
pub struct GlobOptions {
    /// Globs of paths to leave out, besides ignore files.
    pub ignore: Vec<String>,
    /// Results wanted at most.
    pub limit: usize,
    /// Asks the executor to give up.
    pub cancel: CancellationToken,
}

/// Where `find` looks.
#[async_trait]
pub trait FindOperations: Send + Sync {
    async fn exists(&self, path: &Path) -> Result<bool, OpError>;
    /// Paths below `cwd` that match, absolute or relative to it; directories end in `/` where the executor knows.
    async fn glob(
        &self,
        pattern: &str,
        cwd: &Path,
        options: GlobOptions,
    ) -> Result<Vec<String>, OpError>;
}

/// Where `ls` looks.
#[async_trait]
pub trait LsOperations: Send + Sync {
    async fn exists(&self, path: &Path) -> Result<bool, OpError>;
    /// Whether the path, followed through links, is a directory.
    async fn is_directory(&self, path: &Path) -> Result<bool, OpError>;
    /// Names in the directory, without `.` and `..`.
    async fn readdir(&self, path: &Path) -> Result<Vec<String>, OpError>;
}

/// The part of `grep` that can be swapped; the search itself always runs here.
#[async_trait]
pub trait GrepOperations: Send + Sync {
    /// Fails when the path does not exist.
    async fn is_directory(&self, path: &Path) -> Result<bool, OpError>;
}

/// Complete environment of a command.
pub type Environment = BTreeMap<OsString, OsString>;

/// One command for [`BashOperations::exec`].
#[derive(Debug, Clone)]
pub struct BashExec {
    pub command: String,
    pub cwd: PathBuf,
    /// All variables the command sees.
    pub env: Environment,
    pub timeout: Option<Duration>,
    pub cancel: CancellationToken,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BashExit {
    /// Exit code, 128 + signal number after a signal; `None` when the executor only knows that it failed.
    pub code: Option<i32>,
}

/// Why a command has no exit code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BashExecError {
    #[error("aborted")]
    Aborted,
    /// The time limit passed. The shell itself may be gone while its children kept the output open.
    #[error("timed out")]
    TimedOut { shell_exited: bool },
    /// The executor's own time limit passed: seconds, as it says them.
    #[error("Command timed out after {0} seconds")]
    TimedOutAfter(String),
    #[error("Working directory does not exist: {}\nCannot execute bash commands.", .0.display())]
    MissingCwd(PathBuf),
    #[error("{0}")]
    Failed(String),
}

impl BashExecError {
    /// Error of an executor that reports by text, as pi's do: `aborted`, `timeout:<seconds>`, anything else.
    pub fn from_message(message: &str) -> Self {
        match (message, message.strip_prefix("timeout:")) {
            ("aborted", _) => Self::Aborted,
            (_, Some(seconds)) => Self::TimedOutAfter(seconds.to_owned()),
            (text, None) => Self::Failed(text.to_owned()),
        }
    }
}

/// Takes the output of a command, stdout and stderr merged, in order. Writing waits while the reader is behind.
#[derive(Debug, Clone)]
pub struct OutputSink(mpsc::Sender<Bytes>);

impl OutputSink {
    /// Chunks in flight at most.
    const DEPTH: usize = 16;

    /// A sink and the end that its output comes out of.
    pub fn channel() -> (Self, mpsc::Receiver<Bytes>) {
        let (sender, receiver) = mpsc::channel(Self::DEPTH);
        (Self(sender), receiver)
    }

    /// Hands over one chunk; `false` when nobody reads any more.
    pub async fn write(&self, chunk: impl Into<Bytes> + Send) -> bool {
        self.0.send(chunk.into()).await.is_ok()
    }

    pub(super) fn sender(&self) -> &mpsc::Sender<Bytes> {
        &self.0
    }
}

/// Where commands run.
#[async_trait]
pub trait BashOperations: Send + Sync {
    /// Runs the command to its end. Must honour `timeout` and `cancel`; callers stop waiting shortly after either.
    async fn exec(&self, request: BashExec, output: OutputSink) -> Result<BashExit, BashExecError>;
}

impl std::fmt::Debug for dyn BashOperations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BashOperations")
    }
}
