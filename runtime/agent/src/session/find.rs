//! Finding the session a person means (spec/sessions.md §6). Reads headers only.

use std::path::{Path, PathBuf};

use super::dirs::{SessionDirs, encode_cwd, resolve};
use super::error::SessionError;
use super::list::{self, SessionStub};

/// Whose session was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionScope {
    /// Given as a path, which need not exist.
    Path,
    Project,
    /// A session of another project: open it only after asking, or fork it.
    OtherProject {
        cwd: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundSession {
    pub path: PathBuf,
    pub scope: SessionScope,
}

/// Whether `query` is a path rather than an id.
pub fn is_session_path(query: &str) -> bool {
    query.contains(['/', '\\']) || query.ends_with(".jsonl")
}

/// Resolves `--session X`: a path, an exact id in the project, an id prefix there (the newest file first),
/// then an exact id or prefix in all projects. `home` expands a leading `~`.
///
/// # Errors
/// [`SessionError::NoMatch`]; a directory cannot be read.
pub fn find_session(
    dirs: &SessionDirs,
    query: &str,
    home: Option<&Path>,
) -> Result<FoundSession, SessionError> {
    if is_session_path(query) {
        let path = resolve(Path::new(query), dirs.cwd(), home);
        return Ok(FoundSession {
            path,
            scope: SessionScope::Path,
        });
    }
    let no_match = || SessionError::NoMatch(query.to_owned());
    if query.is_empty() {
        return Err(no_match());
    }
    if let Some(stub) = best_match(project_stubs(dirs)?, query) {
        return Ok(FoundSession {
            path: stub.path,
            scope: SessionScope::Project,
        });
    }
    let stub = best_match(all_stubs(dirs)?, query).ok_or_else(no_match)?;
    let cwd = stub.header.cwd.unwrap_or_default();
    Ok(FoundSession {
        path: stub.path,
        scope: SessionScope::OtherProject { cwd },
    })
}

/// The project's session with exactly this id (`--session-id`).
///
/// # Errors
/// The directory cannot be read.
pub fn find_by_exact_id(dirs: &SessionDirs, id: &str) -> Result<Option<PathBuf>, SessionError> {
    let exact = project_stubs(dirs)?
        .into_iter()
        .filter(|stub| stub.header.id == id);
    Ok(newest(exact).map(|stub| stub.path))
}

/// The project's session file that was modified last (`--continue`).
///
/// # Errors
/// The directory cannot be read.
pub fn newest_session(dirs: &SessionDirs) -> Result<Option<PathBuf>, SessionError> {
    Ok(newest(project_stubs(dirs)?.into_iter()).map(|stub| stub.path))
}

/// An exact id before a prefix; among equals the file modified last.
fn best_match(stubs: Vec<SessionStub>, query: &str) -> Option<SessionStub> {
    let (exact, rest): (Vec<_>, Vec<_>) =
        stubs.into_iter().partition(|stub| stub.header.id == query);
    newest(exact.into_iter()).or_else(|| {
        newest(
            rest.into_iter()
                .filter(|stub| stub.header.id.starts_with(query)),
        )
    })
}

fn newest(stubs: impl Iterator<Item = SessionStub>) -> Option<SessionStub> {
    // File names start with a timestamp, which decides between equal times.
    stubs.max_by(|a, b| {
        a.modified
            .cmp(&b.modified)
            .then_with(|| a.path.cmp(&b.path))
    })
}

fn project_stubs(dirs: &SessionDirs) -> Result<Vec<SessionStub>, SessionError> {
    let mut stubs = list::list_stubs(&dirs.dir())?;
    stubs.retain(|stub| belongs_to(stub, dirs));
    Ok(stubs)
}

fn belongs_to(stub: &SessionStub, dirs: &SessionDirs) -> bool {
    let Some(cwd) = stub.header.cwd.as_deref().filter(|cwd| !cwd.is_empty()) else {
        return !dirs.is_flat();
    };
    let is_ours = Path::new(cwd) == dirs.cwd();
    if dirs.is_flat() {
        return is_ours;
    }
    // `/a-b` and `/a/b` share a directory. A file that somebody moved here from elsewhere counts as ours.
    is_ours || encode_cwd(Path::new(cwd)) != encode_cwd(dirs.cwd())
}

fn all_stubs(dirs: &SessionDirs) -> Result<Vec<SessionStub>, SessionError> {
    if dirs.is_flat() {
        return list::list_stubs(&dirs.dir());
    }
    let projects = match std::fs::read_dir(dirs.root()) {
        Ok(projects) => projects,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => {
            let path = dirs.root().to_owned();
            return Err(SessionError::Io {
                action: "read session directory",
                path,
                source,
            });
        }
    };
    let mut stubs = Vec::new();
    for project in projects.flatten() {
        // One unreadable project must not hide the others.
        stubs.extend(list::list_stubs(&project.path()).unwrap_or_default());
    }
    Ok(stubs)
}
