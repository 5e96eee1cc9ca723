//! Reading files that a person, a project or a model names. Refuses what is neither a file nor a directory: opening a pipe waits
//! for somebody to write into it, and a device may have no end.

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::path::Path;

/// Said of pipes, devices and sockets.
const REFUSED: &str = "not a regular file (pipe, device or socket)";

/// Whether reading this can be left to the file system: it is a file, or a directory, which fails by itself.
pub fn is_readable(meta: &Metadata) -> bool {
    meta.is_file() || meta.is_dir()
}

/// As [`File::open`], for reading.
///
/// # Errors
/// Those of the system, and `InvalidInput` for a pipe, device or socket.
pub fn open(path: &Path) -> io::Result<File> {
    let refuse = || io::Error::new(io::ErrorKind::InvalidInput, REFUSED);
    // Before it is opened: opening alone can wait, or do something to a device.
    if !is_readable(&std::fs::metadata(path)?) {
        return Err(refuse());
    }
    let mut options = File::options();
    options.read(true);
    // Another file may have taken its place meanwhile; without a wait it is seen below.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    let file = options.open(path)?;
    if !is_readable(&file.metadata()?) {
        return Err(refuse());
    }
    Ok(file)
}

/// As [`std::fs::read`].
///
/// # Errors
/// As [`open`], and those of reading.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = open(path)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// As [`std::fs::read_to_string`].
///
/// # Errors
/// As [`open`], those of reading, and `InvalidData` for what is not UTF-8.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    let mut file = open(path)?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_and_pipes_and_devices_refused_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "text").unwrap();
        assert_eq!(read_to_string(&file).unwrap(), "text");
        assert_eq!(read(&file).unwrap(), b"text");
        let pipe = dir.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&pipe, &link).unwrap();
        for path in [pipe.as_path(), link.as_path(), Path::new("/dev/zero")] {
            let error = read(path).unwrap_err();
            assert_eq!(error.to_string(), REFUSED, "{}", path.display());
        }
        let missing = read(&dir.path().join("missing")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        assert_ne!(read(dir.path()).unwrap_err().to_string(), REFUSED);
    }
}
