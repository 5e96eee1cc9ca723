//! What a case folder says: `case.toml`, read strictly, so that a misspelt key fails instead of testing less.

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Time that one run may take unless the case says otherwise.
const DEFAULT_LIMIT_MS: u64 = 60_000;

/// One folder below `tests/specs`.
#[derive(Debug)]
pub struct Case {
    /// `<area>/<case>`.
    pub name: String,
    /// The folder.
    pub directory: PathBuf,
    /// What is prepared before the first run.
    pub setup: Setup,
    /// The runs, in order, in one sandbox.
    pub runs: Vec<Run>,
}

/// The part of `case.toml` that concerns the whole case.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Setup {
    /// One sentence: what must hold.
    pub about: String,
    /// Start the local HTTP server; its address is `<<server>>` and the variable `PIER_TEST_SERVER`. A case with a
    /// `server.jsonl` ([`crate::server`]) has it anyway.
    pub server: bool,
    /// Files copied from elsewhere into the working directory: name -> source with placeholders.
    pub copy: BTreeMap<String, String>,
    /// Symbolic links in the working directory: name -> target.
    pub link: BTreeMap<String, String>,
    /// Words for `<<each>>`: the whole case is played once for each, in a sandbox of its own.
    pub each: Vec<String>,
    /// Each run as a table of its own; without it the whole file describes one run.
    pub run: Vec<toml::Table>,
}

/// One start of the binary.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Run {
    /// Arguments, with placeholders.
    pub args: Vec<String>,
    /// Text for stdin; without it stdin is empty.
    pub stdin: String,
    /// Variables on top of the sandbox's, with placeholders.
    pub env: BTreeMap<String, String>,
    /// Expected exit code.
    pub exit: i32,
    /// Several exit codes that are right, in place of `exit`: two reasons to end at the same moment.
    pub exit_any: Vec<i32>,
    /// Expected death by this signal instead of an exit.
    pub exit_signal: Option<i32>,
    /// Milliseconds after which the run counts as hung.
    pub limit_ms: u64,
    /// Milliseconds that may pass between the first byte on stdout and the end.
    pub exit_after_stdout_ms: Option<u64>,
    /// Patterns that some line of stdout fits.
    pub stdout_has: Vec<String>,
    /// Patterns that no line of stdout fits.
    pub stdout_lacks: Vec<String>,
    /// Patterns that some line of stderr fits.
    pub stderr_has: Vec<String>,
    /// Patterns that no line of stderr fits.
    pub stderr_lacks: Vec<String>,
    /// Most bytes that stdout may have.
    pub stdout_max_bytes: Option<usize>,
    /// A JSON Schema in the case folder that every record on stdout must satisfy.
    pub stdout_schema: Option<String>,
    /// In the session file every entry must come after its parent.
    pub session_in_order: bool,
    /// Files with process ids that must be gone after the run.
    pub dead_pids: Vec<String>,
    /// Files that must be there after the run: name (with placeholders) -> pattern for the whole text.
    pub files: BTreeMap<String, String>,
}

impl Default for Run {
    fn default() -> Self {
        Self {
            args: Vec::new(),
            stdin: String::new(),
            env: BTreeMap::new(),
            exit: 0,
            exit_any: Vec::new(),
            exit_signal: None,
            limit_ms: DEFAULT_LIMIT_MS,
            exit_after_stdout_ms: None,
            stdout_has: Vec::new(),
            stdout_lacks: Vec::new(),
            stderr_has: Vec::new(),
            stderr_lacks: Vec::new(),
            stdout_max_bytes: None,
            stdout_schema: None,
            session_in_order: false,
            dead_pids: Vec::new(),
            files: BTreeMap::new(),
        }
    }
}

const SETUP_KEYS: [&str; 6] = ["about", "server", "copy", "link", "each", "run"];

impl Case {
    /// Reads the folder's `case.toml`.
    ///
    /// # Errors
    /// Names the file and the key that is wrong.
    pub fn read(specs: &Path, directory: &Path) -> Result<Self> {
        let name = directory
            .strip_prefix(specs)
            .unwrap_or(directory)
            .to_string_lossy()
            .replace('\\', "/");
        let path = directory.join("case.toml");
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(name, directory, &text).with_context(|| format!("in {}", path.display()))
    }

    fn parse(name: String, directory: &Path, text: &str) -> Result<Self> {
        let table: toml::Table = toml::from_str(text)?;
        let mut setup = toml::Table::new();
        let mut shared = toml::Table::new();
        for (key, value) in table {
            let part = if SETUP_KEYS.contains(&key.as_str()) {
                &mut setup
            } else {
                &mut shared
            };
            part.insert(key, value);
        }
        let setup: Setup = setup.try_into()?;
        if setup.about.trim().is_empty() {
            bail!("`about` is missing: one sentence about what must hold");
        }
        let runs = if setup.run.is_empty() {
            vec![shared.try_into()?]
        } else {
            setup
                .run
                .iter()
                .map(|own| {
                    let mut merged = shared.clone();
                    merged.extend(own.clone());
                    Ok(merged.try_into()?)
                })
                .collect::<Result<Vec<Run>>>()?
        };
        Ok(Self {
            name,
            directory: directory.to_path_buf(),
            setup,
            runs,
        })
    }

    /// A file of the case that belongs to run `index` (from 0): `expected.2.stdout` for the second run;
    /// `expected.stdout` is the first one's.
    pub fn run_file(&self, index: usize, stem: &str, suffix: &str) -> Option<PathBuf> {
        let numbered = self.directory.join(format!("{stem}.{}{suffix}", index + 1));
        if numbered.is_file() {
            return Some(numbered);
        }
        let plain = self.directory.join(format!("{stem}{suffix}"));
        (index == 0 && plain.is_file()).then_some(plain)
    }
}

/// All case folders below `tests/specs`, sorted by name.
///
/// # Errors
/// When a directory cannot be listed.
pub fn find(specs: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut waiting = vec![specs.to_path_buf()];
    while let Some(directory) = waiting.pop() {
        if directory.join("case.toml").is_file() {
            found.push(directory);
            continue;
        }
        let entries = std::fs::read_dir(&directory)
            .with_context(|| format!("cannot list {}", directory.display()))?;
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                waiting.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Case> {
        Case::parse("a/b".into(), Path::new("/nowhere"), text)
    }

    #[test]
    fn misspelt_keys_are_refused() {
        assert!(parse("about = \"x\"\nexti = 1").is_err());
        assert!(parse("args = []").is_err(), "about is required");
    }

    #[test]
    fn runs_inherit_what_they_do_not_say() {
        let case =
            parse("about = \"x\"\nexit = 1\n[[run]]\nargs = [\"a\"]\n[[run]]\nexit = 0").unwrap();
        assert_eq!(case.runs.len(), 2);
        assert_eq!((case.runs[0].exit, case.runs[1].exit), (1, 0));
    }
}
