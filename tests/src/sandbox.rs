//! A place of its own for one case: home, agent directory and working directory in a temporary directory
//! that disappears with it. Also the one place that knows the placeholders.

use crate::case::Setup;
use crate::server::Server;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Variables of the developer that the binary may see; everything else is removed.
const INHERITED: [&str; 4] = ["PATH", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR"];

/// Folder of a case that becomes the agent directory (settings and the like).
const AGENT_FILES: &str = "_agent";

/// What the local server answers to model requests.
const SERVER_SCRIPT: &str = "server.jsonl";

/// Directories and placeholder values of one running case.
pub struct Sandbox {
    _root: tempfile::TempDir,
    work: PathBuf,
    home: PathBuf,
    placeholders: Vec<(String, String)>,
    server: Option<Server>,
}

impl Sandbox {
    /// Makes the directories and fills the working directory from the case folder.
    ///
    /// # Errors
    /// When a file cannot be copied or a `.wat` file is no WebAssembly text.
    pub fn new(case_directory: &Path, setup: &Setup, variant: Option<&str>) -> Result<Self> {
        let root = tempfile::Builder::new().prefix("pier-case-").tempdir()?;
        let base = fs::canonicalize(root.path())?;
        let (work, home) = (base.join("work"), base.join("home"));
        fs::create_dir(&work)?;
        fs::create_dir(&home)?;
        let script = case_directory.join(SERVER_SCRIPT);
        let server = (setup.server || script.is_file())
            .then(Server::start)
            .transpose()?;
        let repository = repository();
        let mut placeholders = vec![
            ("<<cwd>>".to_owned(), work.display().to_string()),
            (
                "<<agent>>".to_owned(),
                home.join("agent").display().to_string(),
            ),
            ("<<home>>".to_owned(), home.display().to_string()),
            (
                "<<specs>>".to_owned(),
                repository.join("tests/specs").display().to_string(),
            ),
            (
                "<<lab>>".to_owned(),
                repository.join("tests/lab").display().to_string(),
            ),
            (
                "<<shipped>>".to_owned(),
                repository.join("extensions").display().to_string(),
            ),
            ("<<examples>>".to_owned(), examples().display().to_string()),
            (
                "<<node_modules>>".to_owned(),
                node_modules().display().to_string(),
            ),
        ];
        if let Some(server) = &server {
            placeholders.push(("<<server>>".to_owned(), server.url().to_owned()));
        }
        if let Some(variant) = variant {
            placeholders.push(("<<each>>".to_owned(), variant.to_owned()));
        }
        let sandbox = Self {
            _root: root,
            work,
            home,
            placeholders,
            server,
        };
        sandbox.fill(case_directory, setup)?;
        if let Some(server) = &sandbox.server
            && script.is_file()
        {
            server.play(&sandbox.expand(&fs::read_to_string(&script)?))?;
        }
        Ok(sandbox)
    }

    /// One with an empty working directory.
    ///
    /// # Errors
    /// When the directories cannot be made.
    pub fn empty() -> Result<Self> {
        let nothing = tempfile::tempdir()?;
        Self::new(nothing.path(), &Setup::default(), None)
    }

    fn fill(&self, case_directory: &Path, setup: &Setup) -> Result<()> {
        copy_case(case_directory, &self.work, true)?;
        let agent = case_directory.join(AGENT_FILES);
        if agent.is_dir() {
            copy_any(&agent, &self.agent())?;
            self.expand_json(&self.agent())?;
        }
        for (name, source) in &setup.copy {
            let source = PathBuf::from(self.expand(source));
            copy_any(&source, &self.work.join(name))?;
        }
        for (name, target) in &setup.link {
            let link = self.work.join(name);
            if let Some(parent) = link.parent() {
                fs::create_dir_all(parent)?;
            }
            std::os::unix::fs::symlink(self.expand(target), link)
                .with_context(|| format!("cannot link {name}"))?;
        }
        Ok(())
    }

    /// Fills placeholders in the JSON files of a directory: the server's address is not known before.
    fn expand_json(&self, directory: &Path) -> Result<()> {
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            if path
                .extension()
                .is_some_and(|extension| extension == "json")
            {
                fs::write(&path, self.expand(&fs::read_to_string(&path)?))?;
            }
        }
        Ok(())
    }

    /// What the local server found wrong.
    pub fn server_problems(&self) -> Vec<String> {
        let server = self.server.as_ref();
        server.map(Server::problems).unwrap_or_default()
    }

    /// The working directory.
    pub fn work(&self) -> &Path {
        &self.work
    }

    /// The agent directory (the binary creates it).
    pub fn agent(&self) -> PathBuf {
        self.home.join("agent")
    }

    /// Replaces placeholders by the real values.
    pub fn expand(&self, text: &str) -> String {
        self.placeholders
            .iter()
            .fold(text.to_owned(), |text, (placeholder, value)| {
                text.replace(placeholder, value)
            })
    }

    /// Replaces the real values by placeholders, for comparing output.
    pub fn normalise(&self, text: &str) -> String {
        self.placeholders
            .iter()
            .filter(|(placeholder, _)| placeholder != "<<each>>")
            .fold(text.to_owned(), |text, (placeholder, value)| {
                text.replace(value, placeholder)
            })
    }

    /// The binary with this sandbox as its world.
    ///
    /// # Errors
    /// When there is no binary.
    pub fn command(&self, args: &[String], env: &BTreeMap<String, String>) -> Result<Command> {
        self.program(&binary()?, args, env)
    }

    /// Any program with this sandbox as its world.
    ///
    /// # Errors
    /// When the shared cache cannot be made.
    pub fn program(
        &self,
        program: &Path,
        args: &[String],
        env: &BTreeMap<String, String>,
    ) -> Result<Command> {
        let mut command = Command::new(program);
        command.env_clear();
        for name in INHERITED {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command
            .env("HOME", &self.home)
            .env("PI_CODING_AGENT_DIR", self.agent())
            .env("XDG_CACHE_HOME", cache()?)
            .env("LANG", "C.UTF-8")
            .env("TERM", "dumb")
            .env("TZ", "UTC")
            .current_dir(&self.work);
        if let Some(server) = &self.server {
            command.env("PIER_TEST_SERVER", server.url());
        }
        for arg in args {
            command.arg(self.expand(arg));
        }
        for (name, value) in env {
            command.env(name, self.expand(value));
        }
        Ok(command)
    }
}

/// Copies what the extension sees. Files that only the runner reads stay out; `.wat` becomes `.wasm`;
/// a directory `_node_modules` becomes `node_modules`, which version control would ignore.
fn copy_case(from: &Path, to: &Path, top: bool) -> Result<()> {
    let entries = fs::read_dir(from).with_context(|| format!("cannot list {}", from.display()))?;
    for entry in entries {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let runner_only = name == "case.toml"
            || name.starts_with("steps.")
            || name == AGENT_FILES
            || name == SERVER_SCRIPT
            || name.starts_with("expected.");
        if top && runner_only {
            continue;
        }
        if path.is_dir() {
            let target = to.join(if name == "_node_modules" {
                "node_modules"
            } else {
                name.as_str()
            });
            fs::create_dir_all(&target)?;
            copy_case(&path, &target, false)?;
        } else if let Some(stem) = name.strip_suffix(".wat") {
            let bytes = wat::parse_file(&path)
                .with_context(|| format!("cannot assemble {}", path.display()))?;
            fs::write(to.join(format!("{stem}.wasm")), bytes)?;
        } else {
            fs::copy(&path, to.join(&name))
                .with_context(|| format!("cannot copy {}", path.display()))?;
        }
    }
    Ok(())
}

fn copy_any(from: &Path, to: &Path) -> Result<()> {
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)?;
    }
    if from.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let path = entry?.path();
            copy_any(&path, &to.join(path.file_name().unwrap_or_default()))?;
        }
        return Ok(());
    }
    fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(())
}

/// Root of the clone that the tests are run in; the binary may have been built in another one that shares the target directory.
pub fn repository() -> PathBuf {
    let tests = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    tests.parent().unwrap_or(&tests).to_path_buf()
}

/// Installed packages of js-api.
fn node_modules() -> PathBuf {
    repository().join("js-api/node_modules")
}

/// The example extensions that ship in pi's own package; Pier's tests use them unmodified.
fn examples() -> PathBuf {
    node_modules().join("@earendil-works/pi-coding-agent/examples/extensions")
}

/// The binary under test: `PIER_BIN`, else the one beside this test in the target directory.
///
/// # Errors
/// When there is none.
pub fn binary() -> Result<PathBuf> {
    if let Some(named) = std::env::var_os("PIER_BIN") {
        let named = PathBuf::from(named);
        if !named.is_file() {
            bail!("PIER_BIN names {}, which is no file", named.display());
        }
        return Ok(named);
    }
    let here = profile_directory()?;
    let binary = here.join("pier");
    if !binary.is_file() {
        bail!(
            "no binary {}; build it with `cargo build -p pier-cli` or run `cargo xtask test`",
            binary.display()
        );
    }
    Ok(binary)
}

/// Code and transpile cache that all cases share: they check each other's concurrent use of it, and the
/// suite stays quick. A case about the cache sets `XDG_CACHE_HOME` to a place of its own.
fn cache() -> Result<PathBuf> {
    let cache = profile_directory()?.join("pier-tests-cache");
    fs::create_dir_all(&cache)?;
    Ok(cache)
}

/// Where `cargo xtask test` installed the clients of other projects (`tests/clients`).
///
/// # Errors
/// When it did not yet, or installed other versions than are wanted now.
pub fn clients() -> Result<PathBuf> {
    let profile = profile_directory()?;
    let directory = profile
        .parent()
        .unwrap_or(&profile)
        .join("pier-test-clients");
    for list in ["package-lock.json", "requirements.txt"] {
        let wanted = fs::read(repository().join("tests/clients").join(list))?;
        if fs::read(directory.join(list)).ok() != Some(wanted) {
            bail!(
                "{} does not hold the clients that tests/clients/{list} names; run `cargo xtask test` once",
                directory.display()
            );
        }
    }
    Ok(directory)
}

/// `target/<profile>`: test programs are in its `deps`.
fn profile_directory() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let directory = program
        .ancestors()
        .nth(2)
        .context("the test program has no target directory")?;
    Ok(directory.to_path_buf())
}
