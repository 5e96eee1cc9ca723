//! Files that tools keep beside the session (xcsh artifacts): numbered, never overwritten. Blocking.

use std::io::Write as _;
use std::path::Path;

use serde_json::{Value, json};

/// Attempts to find a free number while others write too.
const ATTEMPTS: u32 = 1000;

/// `allocate` reserves a file, `save` writes one, `path` finds one by id.
pub(crate) fn run(
    directory: &Path,
    op: &str,
    tool: &str,
    content: &str,
    id: Option<&str>,
) -> Result<Value, String> {
    match op {
        "allocate" => create(directory, tool, ""),
        "save" => create(directory, tool, content),
        "path" => {
            let id = id.ok_or("\"id\" must be a string")?;
            Ok(match find(directory, id) {
                Some(path) => json!({"id": id, "path": path}),
                None => json!({}),
            })
        }
        other => Err(format!("unknown artifact operation \"{other}\"")),
    }
}

fn create(directory: &Path, tool: &str, content: &str) -> Result<Value, String> {
    let tool: String = tool
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '-' || c == '_' {
                c
            } else {
                '_'
            }
        })
        .collect();
    std::fs::create_dir_all(directory)
        .map_err(|error| format!("cannot create {}: {error}", directory.display()))?;
    let mut number = numbers(directory).max().map_or(0, |last| last + 1);
    for _ in 0..ATTEMPTS {
        let path = directory.join(format!("{number}.{tool}.log"));
        match std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)
        {
            Ok(mut file) => {
                file.write_all(content.as_bytes())
                    .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
                return Ok(json!({"id": number.to_string(), "path": path}));
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(format!("cannot create {}: {error}", path.display())),
        }
    }
    Err(format!(
        "no free artifact number in {}",
        directory.display()
    ))
}

fn numbers(directory: &Path) -> impl Iterator<Item = u64> {
    std::fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|item| {
            let name = item.file_name().to_string_lossy().into_owned();
            name.split('.').next()?.parse().ok()
        })
}

fn find(directory: &Path, id: &str) -> Option<std::path::PathBuf> {
    std::fs::read_dir(directory)
        .ok()?
        .flatten()
        .find_map(|item| {
            let name = item.file_name().to_string_lossy().into_owned();
            (name.split('.').next() == Some(id)).then(|| item.path())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn artifacts_are_numbered_and_found_again() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("a");
        let first = run(&at, "save", "../bash", "text", None).unwrap();
        let second = run(&at, "allocate", "read", "", None).unwrap();
        assert_eq!(
            (first["id"].as_str(), second["id"].as_str()),
            (Some("0"), Some("1"))
        );
        let path = first["path"].as_str().unwrap();
        assert!(path.ends_with("0.___bash.log"), "{path}");
        assert_eq!(std::fs::read_to_string(path).unwrap(), "text");
        assert_eq!(
            run(&at, "path", "", "", Some("0")).unwrap()["path"],
            first["path"]
        );
        assert_eq!(run(&at, "path", "", "", Some("9")).unwrap(), json!({}));
    }
}
