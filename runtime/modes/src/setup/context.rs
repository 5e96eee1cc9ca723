//! Instructions for the model that come from flags and files (`spec/cli.md` §6.1).

use std::io::{ErrorKind, Read as _};
use std::path::Path;

use pier_agent::prompt::{ContextFile, PromptConfig};
use pier_agent::regular_file;

/// Longest file that is read, in bytes: more fits into no model's context.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

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

/// Reads everything. Files that are there but cannot be read are named in `warnings` and left out.
///
/// # Errors
/// A flag names such a file: its name would be sent in place of what the user meant.
pub(super) fn prompt(
    sources: &Sources<'_>,
    warnings: &mut Vec<String>,
) -> Result<PromptConfig, String> {
    let custom = match sources.custom {
        Some(given) => Some(text_or_file("--system-prompt", given, sources.cwd)?),
        None => standing_file(sources, "SYSTEM.md", warnings),
    };
    let append = if sources.append.is_empty() {
        standing_file(sources, "APPEND_SYSTEM.md", warnings)
    } else {
        let texts = sources
            .append
            .iter()
            .map(|given| text_or_file("--append-system-prompt", given, sources.cwd))
            .collect::<Result<Vec<_>, _>>()?;
        Some(texts.join("\n\n"))
    };
    let context_files = if sources.no_context_files {
        Vec::new()
    } else {
        context_files(sources, warnings)
    };
    Ok(PromptConfig {
        custom,
        append,
        context_files,
        ..PromptConfig::default()
    })
}

/// The content of the file that the text names, or the text itself.
fn text_or_file(flag: &str, given: &str, cwd: &Path) -> Result<String, String> {
    // A text with a line break, or one too long for a name, is not looked up; one that is also the name of a folder
    // is a text.
    if given.contains('\n') || given.len() > 4096 {
        return Ok(given.to_owned());
    }
    let path = crate::paths::expand(given, cwd);
    if path.is_dir() {
        return Ok(given.to_owned());
    }
    match text_of(&path) {
        Ok(found) => Ok(found.unwrap_or_else(|| given.to_owned())),
        Err(problem) => Err(format!("{flag}: {problem}")),
    }
}

/// The trusted project's file, else the user's.
fn standing_file(sources: &Sources<'_>, name: &str, warnings: &mut Vec<String>) -> Option<String> {
    let project = sources
        .trusted
        .then(|| sources.cwd.join(".pi").join(name))
        .and_then(|path| text_or_warning(&path, warnings));
    project.or_else(|| text_or_warning(&sources.agent_dir.join(name), warnings))
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
                let content = text_or_warning(&path, warnings)?;
                Some(ContextFile { path, content })
            });
        files.extend(found.filter(|file| !files.iter().any(|known| known.path == file.path)));
    }
    files
}

fn text_or_warning(path: &Path, warnings: &mut Vec<String>) -> Option<String> {
    text_of(path).unwrap_or_else(|problem| {
        // A directory above the project may be the agent directory, too.
        if !warnings.contains(&problem) {
            warnings.push(problem);
        }
        None
    })
}

/// What a file says; `None` when there is none. Bytes that are no UTF-8 are replaced, as in files of `@path`: an old
/// encoding of a few letters is no reason to lose the rest.
///
/// # Errors
/// Names the file and why it was not read: no permission, too long, or nothing that ends, such as a pipe or a device.
fn text_of(path: &Path) -> Result<Option<String>, String> {
    let failed = |why: &dyn std::fmt::Display| format!("Cannot read {}: {why}", path.display());
    let file = match regular_file::open(path) {
        Ok(file) => file,
        // The name of a text may also be no valid path at all.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidFilename
            ) || path.as_os_str().as_encoded_bytes().contains(&0) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(failed(&error)),
    };
    let mut bytes = Vec::new();
    // One more than is allowed, also where the system does not tell the size.
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| failed(&error))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(failed(&format_args!(
            "it has more than {} MiB",
            MAX_BYTES / 1024 / 1024
        )));
    }
    let text = String::from_utf8_lossy(&bytes);
    Ok(Some(
        text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned(),
    ))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{MAX_BYTES, PromptConfig, Sources};

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

    fn prompt(sources: &Sources<'_>) -> PromptConfig {
        let mut warnings = Vec::new();
        let prompt = super::prompt(sources, &mut warnings).expect("prompt");
        assert!(warnings.is_empty(), "{warnings:?}");
        prompt
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let dir = tempfile::tempdir().expect("dir");
        fs::create_dir(dir.path().join("AGENTS.md")).expect("dir");
        fs::write(dir.path().join("CLAUDE.md"), "read").expect("write");
        let long = fs::File::create(dir.path().join("SYSTEM.md")).expect("create");
        long.set_len(MAX_BYTES + 1).expect("length");
        let mut warnings = Vec::new();
        let base = || sources(dir.path(), dir.path());
        let read = super::prompt(&base(), &mut warnings).expect("prompt");
        assert_eq!(read.context_files[0].content, "read");
        assert_eq!(read.custom, None);
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert!(warnings[0].contains("SYSTEM.md: it has more than"));
        assert!(warnings[1].contains("AGENTS.md: "));
        let problem = super::prompt(
            &Sources {
                custom: Some("SYSTEM.md"),
                ..base()
            },
            &mut Vec::new(),
        );
        assert!(problem.is_err_and(|text| text.starts_with("--system-prompt: ")));
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
