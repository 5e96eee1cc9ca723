//! Instructions for the model that come from flags and files (`spec/cli.md` §6.1).

use std::io::ErrorKind;
use std::path::Path;

use pier_agent::prompt::{ContextFile, PromptConfig};
use pier_agent::regular_file;

/// Names of context files; the first one in a directory counts.
const CONTEXT_FILES: &[&str] = &[
    "AGENTS.override.md",
    "AGENTS.md",
    "AGENTS.MD",
    "CLAUDE.md",
    "CLAUDE.MD",
];

/// Where to look.
pub(super) struct Sources<'a> {
    pub(super) cwd: &'a Path,
    pub(super) agent_dir: &'a Path,
    pub(super) trusted: bool,
    pub(super) custom: Option<&'a str>,
    pub(super) append: &'a [String],
    pub(super) no_context_files: bool,
}

/// Reads everything. What is there and cannot be read is left out and named in `warnings`.
pub(super) fn prompt(sources: &Sources<'_>, warnings: &mut Vec<String>) -> PromptConfig {
    let custom = match sources.custom {
        Some(given) => Some(text_or_file(given, sources.cwd)),
        None => standing_file(sources, "SYSTEM.md", warnings),
    };
    let append = if sources.append.is_empty() {
        standing_file(sources, "APPEND_SYSTEM.md", warnings)
    } else {
        let texts: Vec<_> = sources
            .append
            .iter()
            .map(|given| text_or_file(given, sources.cwd))
            .collect();
        Some(texts.join("\n\n"))
    };
    let context_files = if sources.no_context_files {
        Vec::new()
    } else {
        context_files(sources, warnings)
    };
    PromptConfig {
        custom,
        append,
        context_files,
        ..PromptConfig::default()
    }
}

/// The content of the file that the text names, or the text itself.
fn text_or_file(given: &str, cwd: &Path) -> String {
    // A text with a line break, or one too long for a name, is not looked up.
    if given.contains('\n') || given.len() > 4096 {
        return given.to_owned();
    }
    let path = crate::paths::expand(given, cwd);
    match path.is_file().then(|| regular_file::read_to_string(&path)) {
        Some(Ok(text)) => text,
        _ => given.to_owned(),
    }
}

/// The trusted project's file, else the user's.
fn standing_file(sources: &Sources<'_>, name: &str, warnings: &mut Vec<String>) -> Option<String> {
    let project = sources
        .trusted
        .then(|| read(&sources.cwd.join(".pi").join(name), warnings))
        .flatten();
    project.or_else(|| read(&sources.agent_dir.join(name), warnings))
}

fn read(path: &Path, warnings: &mut Vec<String>) -> Option<String> {
    match regular_file::read_to_string(path) {
        Ok(text) => Some(text),
        Err(error) => {
            if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) {
                warnings.push(format!("Cannot read {}: {error}", path.display()));
            }
            None
        }
    }
}

fn context_files(sources: &Sources<'_>, warnings: &mut Vec<String>) -> Vec<ContextFile> {
    let mut directories = vec![sources.agent_dir];
    directories.extend(
        sources
            .cwd
            .ancestors()
            .collect::<Vec<_>>()
            .into_iter()
            .rev(),
    );
    let mut files: Vec<ContextFile> = Vec::new();
    for directory in directories {
        let found = CONTEXT_FILES
            .iter()
            .map(|name| directory.join(name))
            .find_map(|path| {
                let content = read(&path, warnings)?;
                Some(ContextFile { path, content })
            });
        files.extend(found.filter(|file| !files.iter().any(|known| known.path == file.path)));
    }
    files
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use pier_agent::prompt::PromptConfig;

    use super::Sources;

    fn prompt(sources: &Sources<'_>) -> PromptConfig {
        super::prompt(sources, &mut Vec::new())
    }

    fn sources<'a>(cwd: &'a Path, agent_dir: &'a Path) -> Sources<'a> {
        Sources {
            cwd,
            agent_dir,
            trusted: false,
            custom: None,
            append: &[],
            no_context_files: false,
        }
    }

    #[test]
    fn context_files_are_read_outermost_first_one_a_directory() {
        let dir = tempfile::tempdir().expect("dir");
        let (agent, cwd) = (dir.path().join("agent"), dir.path().join("a/b"));
        fs::create_dir_all(&agent).expect("dirs");
        fs::create_dir_all(&cwd).expect("dirs");
        fs::write(agent.join("AGENTS.md"), "user").expect("write");
        fs::write(dir.path().join("a/CLAUDE.md"), "outer").expect("write");
        fs::write(cwd.join("AGENTS.md"), "shadowed").expect("write");
        fs::write(cwd.join("AGENTS.override.md"), "inner").expect("write");
        let read = prompt(&sources(&cwd, &agent));
        let texts: Vec<_> = read
            .context_files
            .iter()
            .map(|file| file.content.as_str())
            .collect();
        assert_eq!(texts, ["user", "outer", "inner"]);
        assert!(
            prompt(&Sources {
                no_context_files: true,
                ..sources(&cwd, &agent)
            })
            .context_files
            .is_empty()
        );
    }

    #[test]
    fn flags_win_over_files_and_name_files_too() {
        let dir = tempfile::tempdir().expect("dir");
        fs::create_dir_all(dir.path().join(".pi")).expect("dirs");
        fs::write(dir.path().join(".pi/SYSTEM.md"), "project").expect("write");
        fs::write(dir.path().join("SYSTEM.md"), "user").expect("write");
        fs::write(dir.path().join("p.txt"), "from file").expect("write");
        let base = || sources(dir.path(), dir.path());
        assert_eq!(prompt(&base()).custom.as_deref(), Some("user"));
        assert_eq!(
            prompt(&Sources {
                trusted: true,
                ..base()
            })
            .custom
            .as_deref(),
            Some("project")
        );
        assert_eq!(
            prompt(&Sources {
                custom: Some("p.txt"),
                ..base()
            })
            .custom
            .as_deref(),
            Some("from file")
        );
        let append = ["one".to_owned(), "p.txt".to_owned()];
        assert_eq!(
            prompt(&Sources {
                append: &append,
                ..base()
            })
            .append
            .as_deref(),
            Some("one\n\nfrom file")
        );
    }
}
