//! Runs one case folder and compares everything that it names: exit, stdout, stderr, records, session file, files, processes.

use crate::case::{Case, Run};
use crate::pattern::{records_match, text_matches};
use crate::process::{Exit, Process, is_alive};
use crate::rpc::Client;
use crate::sandbox::Sandbox;
use crate::steps;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A process that has been told to end may need a moment until the kernel has removed it.
const DEATH_GRACE: Duration = Duration::from_millis(500);

struct Outcome {
    exit: Exit,
    stdout: String,
    stderr: String,
    exit_after_stdout: Option<Duration>,
}

/// Runs the case.
///
/// # Errors
/// The first thing that is not as expected, with everything that was printed.
pub fn run(case: &Case) -> Result<()> {
    if case.setup.each.is_empty() {
        return run_variant(case, None);
    }
    for variant in &case.setup.each {
        run_variant(case, Some(variant)).with_context(|| format!("with {variant}"))?;
    }
    Ok(())
}

fn run_variant(case: &Case, variant: Option<&str>) -> Result<()> {
    let sandbox = Sandbox::new(&case.directory, &case.setup, variant)?;
    for (index, run) in case.runs.iter().enumerate() {
        let what = || format!("{}: run {} ({})", case.name, index + 1, case.setup.about);
        let outcome = start(case, index, run, &sandbox).with_context(what)?;
        let last = index + 1 == case.runs.len();
        check(case, index, run, &sandbox, &outcome)
            .and_then(|()| match sandbox.server_problems() {
                problems if last && !problems.is_empty() => bail!("{}", problems.join("\n")),
                _ => Ok(()),
            })
            .map_err(|error| {
                anyhow::anyhow!(
                    "{error:#}\n--- server\n{}\n--- exit {:?}\n--- stdout\n{}\n--- stderr\n{}\n---",
                    sandbox.server_problems().join("\n"),
                    outcome.exit,
                    outcome.stdout.trim_end(),
                    outcome.stderr.trim_end(),
                )
            })
            .with_context(what)?;
    }
    Ok(())
}

fn start(case: &Case, index: usize, run: &Run, sandbox: &Sandbox) -> Result<Outcome> {
    let mut command = sandbox.command(&run.args, &run.env)?;
    let limit = Duration::from_millis(run.limit_ms);
    if let Some(path) = case.run_file(index, "steps", ".jsonl") {
        let text = fs::read_to_string(&path)?;
        let mut client = Client::spawn(&mut command)?;
        steps::run(&text, &mut client, sandbox)?;
        let (exit, _) = client.finish(limit)?;
        return Ok(outcome(exit, client.process(), sandbox));
    }
    let mut process = Process::spawn(&mut command)?;
    if !run.stdin.is_empty() {
        process.write(&sandbox.expand(&run.stdin))?;
    }
    process.close_stdin();
    let exit = process.wait(limit)?;
    Ok(outcome(exit, &process, sandbox))
}

fn outcome(exit: Exit, process: &Process, sandbox: &Sandbox) -> Outcome {
    let text = |bytes| sandbox.normalise(&String::from_utf8_lossy(bytes));
    Outcome {
        exit,
        stdout: text(process.stdout()),
        stderr: text(process.stderr()),
        exit_after_stdout: process.exit_after_first_stdout(),
    }
}

fn check(case: &Case, index: usize, run: &Run, sandbox: &Sandbox, outcome: &Outcome) -> Result<()> {
    let wanted = match run.exit_signal {
        Some(signal) => vec![Exit::Signal(signal)],
        None if run.exit_any.is_empty() => vec![Exit::Code(run.exit)],
        None => run.exit_any.iter().copied().map(Exit::Code).collect(),
    };
    if !wanted.contains(&outcome.exit) {
        bail!("expected exit {wanted:?}");
    }
    if let Some(path) = case.run_file(index, "expected", ".stdout") {
        whole("stdout", &path, &outcome.stdout)?;
    }
    if let Some(path) = case.run_file(index, "expected", ".stderr") {
        whole("stderr", &path, &outcome.stderr)?;
    }
    lines(
        "stdout",
        &run.stdout_has,
        &run.stdout_lacks,
        &outcome.stdout,
    )?;
    lines(
        "stderr",
        &run.stderr_has,
        &run.stderr_lacks,
        &outcome.stderr,
    )?;
    if let Some(path) = case.run_file(index, "expected", ".records.jsonl") {
        records("stdout", &path, &outcome.stdout)?;
    }
    if let Some(path) = case.run_file(index, "expected", ".session.jsonl") {
        let session = session_file(&sandbox.agent().join("sessions"))?;
        let text = fs::read_to_string(&session)?;
        records("the session file", &path, &sandbox.normalise(&text))?;
    }
    if let Some(limit) = run.stdout_max_bytes
        && outcome.stdout.len() > limit
    {
        bail!(
            "stdout has {} bytes, expected {limit} at most",
            outcome.stdout.len()
        );
    }
    if let Some(name) = &run.stdout_schema {
        schema(&case.directory.join(name), &outcome.stdout)?;
    }
    if run.session_in_order {
        in_order(&session_file(&sandbox.agent().join("sessions"))?)?;
    }
    if let Some(limit) = run.exit_after_stdout_ms {
        let took = outcome
            .exit_after_stdout
            .context("nothing was written to stdout")?;
        if took > Duration::from_millis(limit) {
            bail!(
                "ended {} ms after the first output, expected {limit} at most",
                took.as_millis()
            );
        }
    }
    for (name, pattern) in &run.files {
        let path = sandbox.work().join(sandbox.expand(name));
        let text =
            fs::read_to_string(&path).with_context(|| format!("expected the file {name}"))?;
        if !text_matches(pattern, &sandbox.normalise(&text))? {
            bail!("the file {name} holds:\n{text}\nexpected:\n{pattern}");
        }
    }
    for name in &run.dead_pids {
        dead(&sandbox.work().join(name))?;
    }
    Ok(())
}

fn whole(what: &str, expected: &Path, actual: &str) -> Result<()> {
    let pattern = fs::read_to_string(expected)?;
    if text_matches(&pattern, actual)? {
        return Ok(());
    }
    let diff = similar::TextDiff::from_lines(pattern.as_str(), actual);
    bail!(
        "{what} differs (- expected, + found):\n{}",
        diff.unified_diff().context_radius(2)
    );
}

fn lines(what: &str, has: &[String], lacks: &[String], text: &str) -> Result<()> {
    for pattern in has {
        if !any_line_fits(pattern, text)? {
            bail!("{what} has no line like `{pattern}`");
        }
    }
    for pattern in lacks {
        if any_line_fits(pattern, text)? {
            bail!("{what} has a line like `{pattern}`, which it must not");
        }
    }
    Ok(())
}

fn any_line_fits(pattern: &str, text: &str) -> Result<bool> {
    for line in text.lines() {
        if text_matches(pattern, line)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn records(what: &str, expected: &Path, text: &str) -> Result<()> {
    let wanted = json_lines(&fs::read_to_string(expected)?)
        .with_context(|| format!("in {}", expected.display()))?;
    let found = json_lines(text).with_context(|| format!("in {what}"))?;
    records_match(&wanted, &found).map_err(|why| anyhow::anyhow!("{what}: {why}"))
}

fn json_lines(text: &str) -> Result<Vec<Value>> {
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| serde_json::from_str(line).with_context(|| format!("no JSON: {line}")))
        .collect()
}

/// Every record must satisfy the schema.
fn schema(path: &Path, stdout: &str) -> Result<()> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let schema: Value =
        serde_json::from_str(&text).with_context(|| format!("in {}", path.display()))?;
    let validator = jsonschema::validator_for(&schema)
        .map_err(|error| anyhow::anyhow!("{} is no schema: {error}", path.display()))?;
    let found = json_lines(stdout).context("in stdout")?;
    if found.is_empty() {
        bail!("stdout has no record that the schema could be held against");
    }
    for record in found {
        if let Err(error) = validator.validate(&record) {
            bail!(
                "a record does not satisfy the schema: {error} (at {})\n{record}",
                error.instance_path()
            );
        }
    }
    Ok(())
}

/// Every entry's parent stands before it.
fn in_order(session: &Path) -> Result<()> {
    let entries = json_lines(&fs::read_to_string(session)?)?;
    let mut seen = std::collections::HashSet::new();
    for entry in &entries {
        if let Some(parent) = entry.get("parentId").and_then(Value::as_str)
            && !seen.contains(parent)
        {
            bail!(
                "{} has an entry before its parent: {entry}",
                session.display()
            );
        }
        if let Some(id) = entry.get("id").and_then(Value::as_str) {
            seen.insert(id.to_owned());
        }
    }
    if seen.len() < 2 {
        bail!("{} has too few entries for an order", session.display());
    }
    Ok(())
}

fn session_file(directory: &Path) -> Result<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![directory.to_path_buf()];
    while let Some(directory) = waiting.pop() {
        let entries = fs::read_dir(&directory)
            .with_context(|| format!("cannot list {}", directory.display()))?;
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                waiting.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "jsonl")
            {
                found.push(path);
            }
        }
    }
    match found.as_slice() {
        [one] => Ok(one.clone()),
        _ => bail!("expected one session file, found {found:?}"),
    }
}

/// The processes whose ids the file lists must be gone.
fn dead(path: &Path) -> Result<()> {
    let text = fs::read_to_string(path)
        .with_context(|| format!("the extension wrote no {}", path.display()))?;
    let pids: Vec<u32> = text
        .split_whitespace()
        .map(|word| {
            word.parse()
                .with_context(|| format!("no process id: {word}"))
        })
        .collect::<Result<_>>()?;
    if pids.is_empty() {
        bail!("{} lists no process", path.display());
    }
    let deadline = Instant::now() + DEATH_GRACE;
    for pid in pids {
        while is_alive(pid) {
            if Instant::now() > deadline {
                bail!("process {pid} of {} still runs", path.display());
            }
            std::thread::yield_now();
        }
    }
    Ok(())
}
