//! Reads `@file` arguments into prompt text and images (`spec/cli.md` §4.1).
//!
//! A file that cannot be read is an error of the command line; an image that cannot be used is not.

use std::path::{Path, PathBuf};

use crate::paths::expand;
use base64::Engine as _;
use pier_agent::regular_file;
use pier_agent::tools::image::detect_mime_type;
use pier_protocol::block::ImageBlock;
use unicode_normalization::UnicodeNormalization;

/// Largest image file that is attached, in bytes; no model takes more.
const MAX_IMAGE_BYTES: usize = 32 * 1024 * 1024;

/// What the files contribute to the first prompt.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Attachments {
    pub(crate) text: String,
    pub(crate) images: Vec<ImageBlock>,
}

/// Why a file argument cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileArgumentError {
    /// Nothing is there, whatever form of the name is tried.
    #[error("File not found: {}", .0.display())]
    NotFound(PathBuf),
    /// It is there and cannot be read.
    #[error("Cannot read {}: {source}", path.display())]
    Unreadable {
        /// Absolute path.
        path: PathBuf,
        /// The operating system's explanation.
        source: std::io::Error,
    },
}

/// Reads every file in order.
///
/// # Errors
/// The first file that is missing or unreadable.
pub(crate) fn read_all(paths: &[String], cwd: &Path) -> Result<Attachments, FileArgumentError> {
    let mut attachments = Attachments::default();
    for path in paths {
        add(&mut attachments, &resolve(path, cwd)?)?;
    }
    Ok(attachments)
}

fn add(attachments: &mut Attachments, path: &Path) -> Result<(), FileArgumentError> {
    let bytes = regular_file::read(path).map_err(|source| FileArgumentError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    if bytes.is_empty() {
        return Ok(());
    }
    let name = path.display();
    // The session scales it down and converts it, by its settings.
    match detect_mime_type(&bytes) {
        Some(_) if bytes.len() > MAX_IMAGE_BYTES => {
            let size = bytes.len();
            attachments.text.push_str(&format!(
                "<file name=\"{name}\">[Image omitted: {size} bytes are more than any model accepts.]</file>\n"
            ));
        }
        Some(mime_type) => {
            attachments
                .text
                .push_str(&format!("<file name=\"{name}\"></file>\n"));
            attachments.images.push(ImageBlock {
                data: base64::engine::general_purpose::STANDARD.encode(&bytes),
                mime_type: mime_type.to_owned(),
                ..ImageBlock::default()
            });
        }
        None => {
            let text = String::from_utf8_lossy(&bytes);
            let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
            attachments
                .text
                .push_str(&format!("<file name=\"{name}\">\n{text}\n</file>\n"));
        }
    }
    Ok(())
}

fn resolve(path: &str, cwd: &Path) -> Result<PathBuf, FileArgumentError> {
    let given = expand(path, cwd);
    spellings(path)
        .into_iter()
        .map(|spelling| expand(&spelling, cwd))
        .find(|candidate| candidate.exists())
        .ok_or(FileArgumentError::NotFound(given))
}

/// Forms under which file systems store a name that was typed or pasted: composed and decomposed
/// letters, the narrow space that macOS puts before AM and PM, and its curly apostrophe.
fn spellings(path: &str) -> Vec<String> {
    let narrow = path
        .replace(" AM", "\u{202f}AM")
        .replace(" PM", "\u{202f}PM");
    let curly = path.replace('\'', "\u{2019}");
    let mut spellings = vec![path.to_owned()];
    for base in [path, &narrow, &curly] {
        spellings.extend([base.to_owned(), base.nfc().collect(), base.nfd().collect()]);
    }
    spellings
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{FileArgumentError, read_all};

    const PNG: &[u8] = &[0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0];

    #[test]
    fn text_loses_its_byte_order_mark_and_is_wrapped_with_its_absolute_name() {
        let dir = tempfile::tempdir().expect("dir");
        fs::write(dir.path().join("a.txt"), "\u{feff}hello").expect("write");
        let read = read_all(&["a.txt".into()], dir.path()).expect("read");
        let name = dir.path().join("a.txt");
        assert_eq!(
            read.text,
            format!("<file name=\"{}\">\nhello\n</file>\n", name.display())
        );
        assert!(read.images.is_empty());
    }

    #[test]
    fn an_image_is_known_by_its_content_and_attached() {
        let dir = tempfile::tempdir().expect("dir");
        fs::write(dir.path().join("picture.txt"), PNG).expect("write");
        let read = read_all(&["picture.txt".into()], dir.path()).expect("read");
        assert_eq!(read.images[0].mime_type, "image/png");
        assert_eq!(read.images[0].data, "iVBORw0KGgoA");
        assert!(read.text.ends_with("\"></file>\n"), "{}", read.text);
    }

    #[test]
    fn an_empty_file_contributes_nothing() {
        let dir = tempfile::tempdir().expect("dir");
        fs::write(dir.path().join("empty"), "").expect("write");
        assert_eq!(
            read_all(&["empty".into()], dir.path()).expect("read"),
            super::Attachments::default()
        );
    }

    #[test]
    fn a_missing_file_and_a_directory_are_errors_that_name_the_path() {
        let dir = tempfile::tempdir().expect("dir");
        let missing = read_all(&["nope".into()], dir.path()).expect_err("missing");
        assert_eq!(
            missing.to_string(),
            format!("File not found: {}", dir.path().join("nope").display())
        );
        let directory = read_all(&[".".into()], dir.path()).expect_err("directory");
        assert!(
            matches!(directory, FileArgumentError::Unreadable { .. }),
            "{directory}"
        );
    }

    #[test]
    fn other_spellings_of_a_name_are_found() {
        let dir = tempfile::tempdir().expect("dir");
        fs::write(dir.path().join("shot 9.41\u{202f}AM.txt"), "x").expect("write");
        fs::write(dir.path().join("caf\u{e9}"), "x").expect("write");
        assert!(
            read_all(
                &["shot 9.41 AM.txt".into(), "cafe\u{301}".into()],
                dir.path()
            )
            .is_ok()
        );
    }
}
