//! Theme files that extensions name. Nothing here draws; a file that no frontend could use is told to its author at once.

use std::path::{Path, PathBuf};

use pier_agent::regular_file;
use serde_json::Value;

/// Checks a theme file, or every theme file of a directory.
///
/// # Errors
/// Names the file and what is wrong with it.
pub(super) fn check(path: &Path) -> Result<(), String> {
    if path.is_dir() {
        let mut files: Vec<PathBuf> = std::fs::read_dir(path)
            .map_err(|error| format!("Cannot read {}: {error}", path.display()))?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|file| {
                file.extension()
                    .is_some_and(|extension| extension == "json")
            })
            .collect();
        files.sort();
        return files.iter().try_for_each(|file| check_file(file));
    }
    check_file(path)
}

fn check_file(path: &Path) -> Result<(), String> {
    let text = regular_file::read_to_string(path)
        .map_err(|error| format!("Cannot read theme {}: {error}", path.display()))?;
    let theme: Value = serde_json::from_str(&text)
        .map_err(|error| format!("Theme {} is not JSON: {error}", path.display()))?;
    if theme.get("name").and_then(Value::as_str).is_none() {
        return Err(format!("Theme {} has no \"name\"", path.display()));
    }
    if theme.get("colors").and_then(Value::as_object).is_none() {
        return Err(format!("Theme {} has no \"colors\"", path.display()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn problems_name_the_file() {
        let dir = tempfile::tempdir().expect("dir");
        let file = dir.path().join("t.json");
        for (text, problem) in [
            ("{", "is not JSON"),
            ("{}", "has no \"name\""),
            (r#"{"name":"t"}"#, "has no \"colors\""),
        ] {
            std::fs::write(&file, text).expect("write");
            let error = check(dir.path()).expect_err(text);
            assert!(
                error.contains("t.json") && error.contains(problem),
                "{error}"
            );
        }
        std::fs::write(&file, r#"{"name":"t","colors":{}}"#).expect("write");
        assert_eq!(check(&file), Ok(()));
        assert!(check(&dir.path().join("none.json")).is_err());
    }
}
