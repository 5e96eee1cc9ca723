//! What opening a file for writing may change in it: its last line, and its format version.
//!
//! Neither loses anything: a cut-off line is kept in a file beside it, and a migration writes a new
//! file and renames it over the old one (spec/sessions.md §3.2; design §3, invariant 7).

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::error::{SessionError, SessionWarning};
use super::flush;
use super::read::{FileText, Tail};
use super::writer;

/// Makes the file end in a line end. A torn last line is moved to `<file>.torn`; where that fails, it
/// stays in the file as a line of its own, which readers skip.
///
/// # Errors
/// The session file cannot be written.
pub(super) fn repair_tail(
    path: &Path,
    mut file: &File,
    text: &FileText,
    tail: Tail,
) -> Result<Option<SessionWarning>, SessionError> {
    let end_line = |file: &mut &File| {
        file.write_all(b"\n")
            .map_err(SessionError::io("write session file", path))
    };
    match tail {
        Tail::Clean => Ok(None),
        Tail::Unterminated => end_line(&mut file).map(|()| None),
        Tail::Torn => {
            let bytes = text.tail.len() as u64;
            let kept_in = keep_aside(path, &text.tail, text.size - bytes).ok();
            if kept_in.is_none() {
                end_line(&mut file)?;
            }
            Ok(Some(SessionWarning::TornLine {
                path: path.to_owned(),
                bytes,
                kept_in,
            }))
        }
    }
}

fn keep_aside(path: &Path, torn: &[u8], whole_lines: u64) -> io::Result<PathBuf> {
    let mut name = path.as_os_str().to_owned();
    name.push(".torn");
    let kept = PathBuf::from(name);
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    writer::private(&mut options);
    let mut file = options.open(&kept)?;
    file.write_all(&[torn, b"\n"].concat())?;
    // Only when the copy is safe may the original go.
    file.sync_all()?;
    OpenOptions::new()
        .write(true)
        .open(path)?
        .set_len(whole_lines)?;
    Ok(kept)
}

/// Replaces the file by `migrated`, at once or not at all. The original is kept as `<file>.v<N>.bak`
/// when `keep_original` says that the new text does not hold everything. Returns the new file, open for
/// appending, and the backup.
///
/// # Errors
/// The directory cannot be written. The file is as it was then.
pub(super) fn rewrite(
    path: &Path,
    migrated: &str,
    from_version: u64,
    keep_original: bool,
) -> Result<(File, Option<PathBuf>), SessionError> {
    let io = SessionError::io("migrate session file", path);
    let attempt = || -> io::Result<(File, Option<PathBuf>)> {
        // A link must go on pointing at the file.
        let real = path.canonicalize()?;
        let backup = if keep_original {
            Some(back_up(&real, from_version)?)
        } else {
            None
        };
        let mut temp = writer::temp_beside(&real)?;
        temp.as_file_mut().write_all(migrated.as_bytes())?;
        temp.as_file()
            .set_permissions(std::fs::metadata(&real)?.permissions())?;
        temp.as_file().sync_all()?;
        let file = temp.persist(&real).map_err(|error| error.error)?;
        flush::sync_directory(&real);
        Ok((file, backup))
    };
    attempt().map_err(io)
}

fn back_up(path: &Path, from_version: u64) -> io::Result<PathBuf> {
    for n in 0..1000 {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(
            ".v{from_version}{}.bak",
            if n == 0 {
                String::new()
            } else {
                format!("-{n}")
            }
        ));
        let backup = PathBuf::from(name);
        let mut options = OpenOptions::new();
        options.create_new(true).write(true);
        writer::private(&mut options);
        match options.open(&backup) {
            Ok(mut copy) => {
                io::copy(&mut File::open(path)?, &mut copy)?;
                copy.sync_all()?;
                return Ok(backup);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("a thousand backups exist already"))
}
