//! Files that name what a walk through directories leaves out. The walker reads them as they come, so who starts it looks here first
//! whether that would end.

use std::path::{Path, PathBuf};

use crate::regular_file;

const NAMES: [&str; 3] = [".gitignore", ".ignore", ".git/info/exclude"];

/// The first ignore file of a directory that is a pipe, device or socket; `further` names one more that the walk honours.
pub fn endless(dir: &Path, further: Option<&str>) -> Option<PathBuf> {
    NAMES
        .into_iter()
        .chain(further)
        .map(|name| dir.join(name))
        .find(|path| std::fs::metadata(path).is_ok_and(|meta| !regular_file::is_readable(&meta)))
}
