//! Replays a recorded RPC session: what the client sent goes out again with the recorded timing, and what comes back is
//! compared with what came back then.
//!
//! A send waits until the records that were recorded before it have arrived, then as long as the client waited
//! then. Ids that the client quoted are replaced by the ids that Pier gave to the same things.

use crate::compare::differences;
use crate::deviation::Deviations;
use crate::normal;
use crate::process::Exit;
use crate::rpc::Client;
use crate::sandbox::Sandbox;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a send waits for the record before it. A recorded answer took a second at most.
const GATE: Duration = Duration::from_secs(15);
/// How long the process may take to end after its input did.
const END: Duration = Duration::from_secs(15);

#[derive(Debug, Deserialize)]
struct Line {
    t: u64,
    dir: String,
    #[serde(default)]
    data: Value,
    text: Option<String>,
    argv: Option<Vec<String>>,
    code: Option<i32>,
}

/// Replays one file.
///
/// # Errors
/// All differences that no rule explains, or the send that could not be made.
pub fn run(path: &Path, rules: &Deviations) -> Result<()> {
    let name = path
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let text = std::fs::read_to_string(path)?;
    let lines: Vec<Line> = text
        .lines()
        .map(|line| {
            serde_json::from_str(line).with_context(|| format!("no transcript line: {line}"))
        })
        .collect::<Result<_>>()?;
    let argv = lines
        .iter()
        .find_map(|line| line.argv.clone())
        .context("the file names no argv")?;
    let args: Vec<String> = argv
        .into_iter()
        .map(|arg| {
            if arg.ends_with(".ts") {
                format!("<<lab>>/{arg}")
            } else {
                arg
            }
        })
        .collect();
    let sandbox = Sandbox::empty()?;
    let mut replay = Replay {
        client: Client::spawn(&mut sandbox.command(&args, &Default::default())?)?,
        recorded: Vec::new(),
        ours: Vec::new(),
        ids: HashMap::new(),
        last: 0,
        closed: false,
        work: sandbox.expand("<<cwd>>"),
    };
    let mut exit = None;
    let stopped = replay.lines(&name, rules, &lines);
    if stopped.is_ok() {
        exit = Some(replay.end()?);
    }
    let places = [
        (sandbox.expand("<<lab>>"), "$TRANSCRIPTS"),
        (sandbox.expand("<<home>>"), "$ROOT"),
        (sandbox.expand("<<cwd>>"), "$ROOT"),
        (std::env::temp_dir().display().to_string(), "$TMP"),
    ];
    rules.settle_races(&name, &mut replay.ours);
    // Before paths are replaced: one may be cut by the pieces it came in.
    let merged = normal::merge(&replay.ours);
    let ours: Vec<Value> = merged
        .iter()
        .map(|record| rename(record, &places))
        .collect();
    let mut recorded: Vec<Value> = match &stopped {
        Ok(()) => lines
            .iter()
            .filter(|line| line.dir == "recv")
            .map(|line| line.data.clone())
            .collect(),
        Err(_) => replay.recorded.clone(),
    };
    rules.settle_races(&name, &mut recorded);
    let mut found = differences(&name, rules, &normal::merge(&recorded), &ours);
    if let Err(error) = stopped {
        bail!(
            "{error:#}\ndifferences until then:\n{}\n{}",
            found.join("\n"),
            replay.client.report()
        );
    }
    let code = lines
        .iter()
        .find(|line| line.dir == "exit")
        .and_then(|line| line.code);
    if exit != code.map(Exit::Code) {
        found.push(format!("exit: recorded {code:?}, found {exit:?}"));
    }
    let stderr = String::from_utf8_lossy(replay.client.process().stderr()).into_owned();
    for line in lines.iter().filter(|line| line.dir == "stderr") {
        let text = line.text.as_deref().unwrap_or_default().trim();
        if !stderr.contains(text) {
            found.push(format!("stderr lacks: {text}"));
        }
    }
    if found.is_empty() {
        found.extend(
            rules
                .stale(&name)
                .into_iter()
                .map(|reason| format!("this deviation no longer applies: {reason}")),
        );
    }
    if found.is_empty() {
        Ok(())
    } else {
        bail!(
            "{} differences (- recorded, + ours):\n{}\n--- stderr\n{stderr}",
            found.len(),
            found.join("\n")
        )
    }
}

struct Replay {
    client: Client,
    /// What the recording has received so far.
    recorded: Vec<Value>,
    /// What Pier has said so far.
    ours: Vec<Value>,
    /// Recorded id -> our id.
    ids: HashMap<String, String>,
    /// Recorded time of the last line, in milliseconds.
    last: u64,
    closed: bool,
    /// Our working directory, where the recording's client named its own.
    work: String,
}

impl Replay {
    fn lines(&mut self, name: &str, rules: &Deviations, lines: &[Line]) -> Result<()> {
        for line in lines {
            let gap = Duration::from_millis(line.t.saturating_sub(self.last));
            match line.dir.as_str() {
                "recv" => self.recorded.push(line.data.clone()),
                "send" => {
                    self.gate(name, rules, gap)?;
                    let record = self.translate(&line.data);
                    self.client.send(&record)?;
                }
                "send-raw" => {
                    self.gate(name, rules, gap)?;
                    self.client
                        .send_raw(line.text.as_deref().unwrap_or_default())?;
                }
                "note" if line.text.as_deref() == Some("close stdin") => {
                    self.gate(name, rules, gap)?;
                    self.client.close();
                    self.closed = true;
                }
                "note" if line.text.as_deref() == Some("client disconnects with a dialog open") => {
                }
                _ => continue,
            }
            self.last = line.t;
        }
        Ok(())
    }

    /// Waits for our counterpart of the last recorded record, then for the client's own pause.
    fn gate(&mut self, name: &str, rules: &Deviations, pause: Duration) -> Result<()> {
        let awaited = self
            .recorded
            .iter()
            .rev()
            .find(|record| !rules.left_out(name, &normal::record(record)));
        if let Some(record) = awaited.cloned() {
            let signature = normal::signature(&record);
            let count = |records: &[Value]| {
                normal::merge_output(records)
                    .iter()
                    .filter(|record| normal::signature(record) == signature)
                    .count()
            };
            let wanted = count(&self.recorded);
            let deadline = Instant::now() + GATE;
            while count(&self.ours) < wanted {
                match self.client.next(deadline)? {
                    Some(record) => self.ours.push(record),
                    None => bail!("this recorded record has no counterpart: {record}"),
                }
            }
        }
        let until = Instant::now() + pause;
        while let Some(record) = self.client.next(until)? {
            self.ours.push(record);
        }
        self.pair_ids();
        Ok(())
    }

    fn pair_ids(&mut self) {
        let mut by_signature: HashMap<String, Vec<&Value>> = HashMap::new();
        for record in self.ours.iter().rev() {
            by_signature
                .entry(normal::signature(record))
                .or_default()
                .push(record);
        }
        let mut found = Vec::new();
        for record in &self.recorded {
            let counterpart = by_signature
                .get_mut(&normal::signature(record))
                .and_then(Vec::pop);
            if let Some(ours) = counterpart {
                normal::ids(record, ours, &mut found);
            }
        }
        for (recorded, ours) in found {
            self.ids.entry(recorded).or_insert(ours);
        }
    }

    fn translate(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => {
                let text = self.ids.get(text).unwrap_or(text);
                match text
                    .strip_prefix("$ROOT/work-")
                    .and_then(|rest| rest.split_once('/'))
                {
                    Some((_, file)) => Value::from(format!("{}/{file}", self.work)),
                    None => Value::from(text.as_str()),
                }
            }
            Value::Array(elements) => elements
                .iter()
                .map(|element| self.translate(element))
                .collect(),
            Value::Object(members) => members
                .iter()
                .map(|(name, member)| (name.clone(), self.translate(member)))
                .collect(),
            _ => value.clone(),
        }
    }

    fn end(&mut self) -> Result<Exit> {
        if !self.closed {
            self.client.close();
        }
        let (exit, rest) = self.client.finish(END)?;
        self.ours.extend(rest);
        Ok(exit)
    }
}

fn rename(value: &Value, places: &[(String, &str)]) -> Value {
    match value {
        Value::String(text) => {
            Value::from(places.iter().fold(text.clone(), |text, (real, name)| {
                text.replace(real.as_str(), name)
            }))
        }
        Value::Array(elements) => elements
            .iter()
            .map(|element| rename(element, places))
            .collect(),
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| (name.clone(), rename(member, places)))
            .collect(),
        _ => value.clone(),
    }
}
