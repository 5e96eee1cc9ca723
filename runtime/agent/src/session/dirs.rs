//! Where session files are (spec/sessions.md §1.1). Paths only; touches no file.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

/// The session directory of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionDirs {
    cwd: PathBuf,
    root: PathBuf,
    custom: Option<PathBuf>,
}

impl SessionDirs {
    /// `<agent_dir>/sessions/--<cwd>--/`. Both paths should be absolute.
    pub fn new(cwd: impl Into<PathBuf>, agent_dir: impl AsRef<Path>) -> Self {
        SessionDirs {
            cwd: cwd.into(),
            root: agent_dir.as_ref().join("sessions"),
            custom: None,
        }
    }

    /// Uses one flat directory for all projects instead, when there is one.
    pub fn with_custom(mut self, custom: Option<PathBuf>) -> Self {
        self.custom = custom;
        self
    }

    /// The directory that overrides the default: the flag before the environment variable before the
    /// setting. Relative ones start at `cwd`, `~` at `home`; empty ones count as unset.
    pub fn choose_custom(
        flag: Option<&OsStr>,
        environment: Option<&OsStr>,
        setting: Option<&OsStr>,
        cwd: &Path,
        home: Option<&Path>,
    ) -> Option<PathBuf> {
        let chosen = [flag, environment, setting]
            .into_iter()
            .flatten()
            .find(|path| !path.is_empty())?;
        Some(resolve(Path::new(chosen), cwd, home))
    }

    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Where new sessions of the project go.
    pub fn dir(&self) -> PathBuf {
        match &self.custom {
            Some(custom) => custom.clone(),
            None => self.root.join(encode_cwd(&self.cwd)),
        }
    }

    /// Whether all projects share [`SessionDirs::dir`], so that look-ups go by the header's `cwd`.
    pub fn is_flat(&self) -> bool {
        self.custom.is_some()
    }

    /// The parent of all projects' directories.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The same rules for another project.
    pub fn for_cwd(&self, cwd: impl Into<PathBuf>) -> Self {
        SessionDirs {
            cwd: cwd.into(),
            ..self.clone()
        }
    }
}

/// `~` and relative paths made absolute, `.` and `..` folded without asking the file system.
pub(super) fn resolve(path: &Path, base: &Path, home: Option<&Path>) -> PathBuf {
    let expanded = match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => base.join(path),
    };
    let mut folded = PathBuf::new();
    for part in expanded.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                folded.pop();
            }
            other => folded.push(other),
        }
    }
    folded
}

/// The directory name of a project: `/home/u/p` becomes `--home-u-p--`. Different paths may get the same
/// name; the header's `cwd` decides.
pub fn encode_cwd(cwd: &Path) -> String {
    let text = cwd.to_string_lossy();
    let rest = text.strip_prefix(['/', '\\']).unwrap_or(&text);
    let name: String = rest
        .chars()
        .map(|c| {
            if matches!(c, '/' | '\\' | ':') {
                '-'
            } else {
                c
            }
        })
        .collect();
    format!("--{name}--")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn project_directories_are_named_after_the_path() {
        assert_eq!(encode_cwd(Path::new("/home/u/p")), "--home-u-p--");
        assert_eq!(encode_cwd(Path::new("/")), "----");
        assert_eq!(encode_cwd(Path::new("C:\\w\\p")), "--C--w-p--");
        assert_eq!(encode_cwd(Path::new("/a-b")), encode_cwd(Path::new("/a/b")));
        let dirs = SessionDirs::new("/home/u/p", "/home/u/.pi/agent");
        assert_eq!(
            dirs.dir(),
            Path::new("/home/u/.pi/agent/sessions/--home-u-p--")
        );
        assert!(!dirs.is_flat());
        assert_eq!(
            dirs.for_cwd("/x").dir(),
            Path::new("/home/u/.pi/agent/sessions/--x--")
        );
    }

    #[test]
    fn the_strongest_override_that_is_set_wins() {
        let choose = |flag: Option<&str>, env: Option<&str>, setting: Option<&str>| {
            let home = Some(Path::new("/home/u"));
            SessionDirs::choose_custom(
                flag.map(OsStr::new),
                env.map(OsStr::new),
                setting.map(OsStr::new),
                Path::new("/home/u/code/p"),
                home,
            )
        };
        assert_eq!(
            choose(Some("a"), Some("/e"), Some("/s")).unwrap(),
            Path::new("/home/u/code/p/a")
        );
        assert_eq!(
            choose(None, Some("~/e"), Some("/s")).unwrap(),
            Path::new("/home/u/e")
        );
        assert_eq!(
            choose(None, Some(""), Some("../s/.")).unwrap(),
            Path::new("/home/u/code/s")
        );
        assert_eq!(choose(None, None, None), None);
        let dirs = SessionDirs::new("/p", "/a").with_custom(choose(Some("/flat"), None, None));
        assert_eq!(dirs.dir(), Path::new("/flat"));
        assert!(dirs.is_flat());
    }
}
