//! File-system errors in the words extension authors know from Node: `ENOENT: no such file or directory, open '/x'`.
//! Only translates; never touches a file.

use std::io;
use std::path::Path;

use crate::tool::ToolError;

/// A failed operation of an executor ([`super::operations`]): an errno name where there is one, and a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct OpError {
    /// `ENOENT`, `EACCES`, ... when the cause was a system error.
    pub code: Option<String>,
    pub message: String,
}

impl OpError {
    /// An error that is not a system error.
    pub fn other(message: impl Into<String>) -> Self {
        Self {
            code: None,
            message: message.into(),
        }
    }

    /// A system error of `syscall` on `path`.
    pub fn io(error: &io::Error, syscall: &str, path: &Path) -> Self {
        match errno_name(error) {
            Some((code, text)) => Self {
                code: Some(code.to_owned()),
                message: format!("{code}: {text}, {syscall} '{}'", path.display()),
            },
            None => Self {
                code: None,
                message: format!("{error}, {syscall} '{}'", path.display()),
            },
        }
    }

    /// The path leads nowhere (a missing component, or a file where a directory is needed).
    pub fn is_missing(&self) -> bool {
        matches!(self.code.as_deref(), Some("ENOENT" | "ENOTDIR"))
    }
}

impl From<OpError> for ToolError {
    fn from(error: OpError) -> Self {
        ToolError::failed(error.message)
    }
}

/// Name and usual text of the system error behind `error`.
fn errno_name(error: &io::Error) -> Option<(&'static str, &'static str)> {
    Some(match error.raw_os_error()? {
        libc::ENOENT => ("ENOENT", "no such file or directory"),
        libc::EACCES => ("EACCES", "permission denied"),
        libc::EPERM => ("EPERM", "operation not permitted"),
        libc::EEXIST => ("EEXIST", "file already exists"),
        libc::ENOTDIR => ("ENOTDIR", "not a directory"),
        libc::EISDIR => ("EISDIR", "illegal operation on a directory"),
        libc::EINVAL => ("EINVAL", "invalid argument"),
        libc::ELOOP => ("ELOOP", "too many symbolic links encountered"),
        libc::ENAMETOOLONG => ("ENAMETOOLONG", "name too long"),
        libc::ENOSPC => ("ENOSPC", "no space left on device"),
        libc::EDQUOT => ("EDQUOT", "disk quota exceeded"),
        libc::EROFS => ("EROFS", "read-only file system"),
        libc::EMFILE => ("EMFILE", "too many open files"),
        libc::ENFILE => ("ENFILE", "file table overflow"),
        libc::EBUSY => ("EBUSY", "resource busy or locked"),
        libc::ETXTBSY => ("ETXTBSY", "text file is busy"),
        libc::EFBIG => ("EFBIG", "file too large"),
        libc::EIO => ("EIO", "i/o error"),
        _ => return None,
    })
}
