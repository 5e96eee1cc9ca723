//! How `grep` and `find` go through directories (`spec/agent-loop.md` §10). Knows neither what is searched nor how it is shown.

use std::path::Path;

use ignore::WalkBuilder;

use super::operations::OpError;
use crate::ignore_files;

/// Walks in name order, with hidden entries, without what ignore files name and without repository data. A directory whose ignore
/// files cannot be read as files is left out.
///
/// # Errors
/// An ignore file that holds for `root` is a pipe or a device: reading it would not end.
pub(super) fn walker(root: &Path, ignore_file: &'static str) -> Result<WalkBuilder, OpError> {
    if let Some(path) = root
        .ancestors()
        .find_map(|dir| ignore_files::endless(dir, Some(ignore_file)))
    {
        return Err(OpError::other(format!(
            "Cannot search: {} is a pipe, device or socket, not an ignore file",
            path.display()
        )));
    }
    let mut builder = WalkBuilder::new(root);
    let inside_git = root.components().any(|part| part.as_os_str() == ".git");
    builder
        .hidden(false)
        .require_git(false)
        .add_custom_ignore_filename(ignore_file)
        .sort_by_file_name(std::ffi::OsStr::cmp)
        .filter_entry(move |entry| {
            let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
            (inside_git || entry.file_name() != ".git")
                && !(is_dir && ignore_files::endless(entry.path(), Some(ignore_file)).is_some())
        });
    Ok(builder)
}

/// The error of a walk, if it is about the directory that was asked for: then there is nothing to search.
pub(super) fn root_problem(error: &ignore::Error, root: &Path) -> Option<OpError> {
    if error.depth() != Some(0) {
        return None;
    }
    // The walk wraps the system's error; asked again, the system says it itself.
    Some(match std::fs::read_dir(root) {
        Err(error) => OpError::io(&error, "scandir", root),
        Ok(_) => OpError::other(format!("Cannot read directory: {error}")),
    })
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::PathBuf;

    use super::*;

    fn at_depth(depth: usize) -> ignore::Error {
        let denied = io::Error::from_raw_os_error(libc::EACCES);
        ignore::Error::WithDepth {
            depth,
            err: Box::new(ignore::Error::Io(denied)),
        }
    }

    #[test]
    fn only_an_error_of_the_root_ends_a_walk() {
        let dir = tempfile::tempdir().unwrap();
        let gone = dir.path().join("gone");
        // The system has the last word: as root, everything can be read.
        assert_eq!(
            root_problem(&at_depth(0), &gone).map(|error| error.message),
            Some(format!(
                "ENOENT: no such file or directory, scandir '{}'",
                gone.display()
            ))
        );
        let denied = root_problem(&at_depth(0), dir.path()).map(|error| error.message);
        assert!(denied.is_some_and(|text| text.starts_with("Cannot read directory: ")));
        assert_eq!(root_problem(&at_depth(1), &gone), None);
    }

    #[test]
    #[cfg(unix)]
    fn a_pipe_in_place_of_an_ignore_file_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let (good, bad) = (dir.path().join("good"), dir.path().join("bad"));
        for dir in [&good, &bad] {
            std::fs::create_dir(dir).unwrap();
            std::fs::write(dir.join("file"), "").unwrap();
        }
        let pipe = bad.join(".gitignore");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
        let found: Vec<PathBuf> = walker(dir.path(), ".rgignore")
            .unwrap()
            .build()
            .map(|entry| entry.unwrap().into_path())
            .collect();
        assert_eq!(
            found,
            [dir.path().to_path_buf(), good.clone(), good.join("file")]
        );
        let error = walker(&bad, ".rgignore").err().map(|error| error.message);
        assert!(error.is_some_and(|text| text.contains(".gitignore is a pipe")));
    }
}
