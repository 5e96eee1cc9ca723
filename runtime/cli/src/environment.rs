//! What the environment says (`spec/cli.md` §5).

use std::path::PathBuf;

/// Places and names that do not come from flags.
#[derive(Debug, Clone)]
pub(crate) struct Environment {
    /// Name the program was started under, without directories.
    pub(crate) program: String,
    pub(crate) cwd: PathBuf,
    pub(crate) agent_dir: PathBuf,
    pub(crate) session_dir: Option<String>,
    pub(crate) dialect: Option<String>,
    pub(crate) offline: bool,
    /// Where compiled code is kept between runs.
    pub(crate) cache_dir: Option<PathBuf>,
}

impl Environment {
    /// Reads the process's environment.
    ///
    /// # Errors
    /// When the working directory is gone, or there is no home directory and none was named.
    pub(crate) fn read(program: Option<&str>) -> Result<Self, String> {
        let cwd = std::env::current_dir()
            .map_err(|error| format!("The working directory cannot be used: {error}"))?;
        Self::from(program, cwd, &|name| {
            std::env::var(name).ok().filter(|value| !value.is_empty())
        })
    }

    fn from(
        program: Option<&str>,
        cwd: PathBuf,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, String> {
        let home = variable("HOME").map(PathBuf::from);
        let in_home = |path: String| match (path.strip_prefix('~'), &home) {
            (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
                home.join(rest.trim_start_matches('/'))
            }
            _ => cwd.join(path),
        };
        let agent_dir = match (variable("PI_CODING_AGENT_DIR"), &home) {
            (Some(named), _) => in_home(named),
            (None, Some(home)) => home.join(".pi/agent"),
            (None, None) => {
                return Err("HOME is not set; name a directory with PI_CODING_AGENT_DIR".to_owned());
            }
        };
        let cache_dir = variable("XDG_CACHE_HOME")
            .map(PathBuf::from)
            .filter(|dir| dir.is_absolute())
            .or_else(|| home.as_ref().map(|home| home.join(".cache")))
            .map(|dir| dir.join("pier/code"));
        let program = program
            .unwrap_or("pier")
            .rsplit('/')
            .next()
            .unwrap_or("pier")
            .to_owned();
        Ok(Self {
            program,
            agent_dir,
            session_dir: variable("PI_CODING_AGENT_SESSION_DIR"),
            dialect: variable(pier_modes::DIALECT_VARIABLE),
            offline: variable("PI_OFFLINE")
                .is_some_and(|value| matches!(value.as_str(), "1" | "true" | "yes")),
            cache_dir,
            cwd,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Environment;

    fn read(program: &str, variables: &[(&str, &str)]) -> Result<Environment, String> {
        Environment::from(Some(program), "/some/place".into(), &|name| {
            variables
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_agent_directory_has_a_default_and_a_variable() {
        let home = ("HOME", "/home/u");
        assert_eq!(
            read("pier", &[home]).expect("read").agent_dir,
            Path::new("/home/u/.pi/agent")
        );
        let named = |value| {
            read("pier", &[home, ("PI_CODING_AGENT_DIR", value)])
                .expect("read")
                .agent_dir
        };
        assert_eq!(named("~/x"), Path::new("/home/u/x"));
        assert_eq!(named("rel"), Path::new("/some/place/rel"));
        assert!(read("pier", &[]).is_err());
    }

    #[test]
    fn the_program_name_has_no_directory() {
        assert_eq!(
            read("/usr/bin/xcsh", &[("HOME", "/h")])
                .expect("read")
                .program,
            "xcsh"
        );
    }

    #[test]
    fn offline_takes_three_words() {
        for (value, offline) in [
            ("1", true),
            ("true", true),
            ("yes", true),
            ("0", false),
            ("no", false),
        ] {
            assert_eq!(
                read("p", &[("HOME", "/h"), ("PI_OFFLINE", value)])
                    .expect("read")
                    .offline,
                offline
            );
        }
    }
}
