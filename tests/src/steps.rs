//! `steps.jsonl`: a conversation with RPC mode, one step a line.
//!
//! * `{"send": RECORD}` and `{"raw": TEXT}` write to stdin; `{"close": true}` ends it; `{"signal": "TERM"}` sends a signal.
//!   With `"as_soon_as_caught": true` the signal waits until the process no longer dies of it.
//! * `{"expect": PATTERN}` skips records until one fits. `{"next": PATTERN}` demands that the very next one fits.
//! * `{"all": [PATTERN, ...]}` waits until each has been met, in any order.
//! * `{"ended": true}` waits until the process has ended by itself, with its input still open.
//! * `{"await_file": NAME}` waits until the file is in the working directory.
//! * `{"hold": true}` stops reading the process's output, `{"hold": false}` goes on.
//! * `{"memory_mb": N}` demands that the process has at most N MiB of memory in use (resident), at this moment.
//! * `"within_ms"` beside any of them bounds the wait (20 s otherwise).
//! * `{"never": PATTERN}` fails when a record between the previous step and the next `expect` that is met fits.
//! * `{"note": TEXT}` explains.
//!
//! Values kept by `"<<save:NAME>>"` in a pattern fill `"<<NAME>>"` in later sends.

use crate::pattern::{Saved, fill, json_matches};
use crate::rpc::Client;
use crate::sandbox::Sandbox;
use anyhow::{Context, Result, bail};
use rustix::process::Signal;
use serde::Deserialize;
use serde_json::Value;
use std::time::{Duration, Instant};

const DEFAULT_WAIT_MS: u64 = 20_000;

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Step {
    send: Option<Value>,
    raw: Option<String>,
    close: bool,
    signal: Option<String>,
    expect: Option<Value>,
    next: Option<Value>,
    all: Vec<Value>,
    as_soon_as_caught: bool,
    ended: bool,
    await_file: Option<String>,
    hold: Option<bool>,
    memory_mb: Option<u64>,
    within_ms: Option<u64>,
    never: Option<Value>,
    #[allow(dead_code, reason = "written for the reader of the file")]
    note: Option<String>,
}

/// Runs all steps. The client's input is closed afterwards, unless a signal already tells the process to end: its exit code
/// shall say which of the two it obeyed.
///
/// # Errors
/// Names the step that failed and the whole exchange until then.
pub fn run(text: &str, client: &mut Client, sandbox: &Sandbox) -> Result<()> {
    let mut saved = Saved::new();
    let mut forbidden = Vec::new();
    let mut signalled = false;
    for (index, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        let place = || format!("step on line {}: {line}", index + 1);
        let step: Step = serde_json::from_str(line).with_context(place)?;
        signalled |= step.signal.is_some();
        one(step, client, sandbox, &mut saved, &mut forbidden).with_context(place)?;
    }
    if !signalled {
        client.close();
    }
    Ok(())
}

fn one(
    step: Step,
    client: &mut Client,
    sandbox: &Sandbox,
    saved: &mut Saved,
    forbidden: &mut Vec<Value>,
) -> Result<()> {
    if let Some(pattern) = step.never {
        forbidden.push(pattern);
    }
    if let Some(record) = step.send {
        let text = sandbox.expand(&fill(&record, saved).to_string());
        client.send_raw(&format!("{text}\n"))?;
    }
    if let Some(text) = step.raw {
        client.send_raw(&text)?;
    }
    if step.close {
        client.close();
    }
    if let Some(hold) = step.hold {
        client.process().hold_output(hold);
    }
    if let Some(limit) = step.memory_mb {
        let used = client.process().memory_mb()?;
        if used > limit {
            bail!("the process uses {used} MiB, expected {limit} at most");
        }
    }
    if let Some(name) = step.signal {
        let signal = match name.as_str() {
            "TERM" => Signal::TERM,
            "HUP" => Signal::HUP,
            "INT" => Signal::INT,
            other => bail!("unknown signal `{other}`; known: TERM, HUP, INT"),
        };
        if step.as_soon_as_caught {
            client.process().wait_until_caught(signal)?;
        }
        client.process().signal(signal)?;
    }
    let deadline =
        Instant::now() + Duration::from_millis(step.within_ms.unwrap_or(DEFAULT_WAIT_MS));
    if step.ended {
        let left = deadline.saturating_duration_since(Instant::now());
        if let Err(error) = client.process().wait(left) {
            bail!("{error:#}\n{}", client.report());
        }
    }
    if let Some(name) = step.await_file {
        let path = sandbox.work().join(&name);
        while !path.exists() {
            if Instant::now() > deadline {
                bail!(
                    "the file {name} did not appear in time\n{}",
                    client.report()
                );
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    if let Some(pattern) = step.next {
        let pattern = fill(&pattern, saved);
        let record = wait(client, sandbox, deadline)?;
        json_matches(&pattern, &record, saved).map_err(|why| {
            anyhow::anyhow!("the next record does not fit: {why}\n{}", client.report())
        })?;
        forbidden.clear();
    }
    let mut awaited = step.all;
    while !awaited.is_empty() {
        let record = wait(client, sandbox, deadline)
            .with_context(|| format!("still missing: {awaited:?}"))?;
        let met = awaited.iter().position(|pattern| {
            let mut attempt = saved.clone();
            let fits = json_matches(&fill(pattern, saved), &record, &mut attempt).is_ok();
            if fits {
                *saved = attempt;
            }
            fits
        });
        if let Some(index) = met {
            awaited.remove(index);
        }
    }
    if let Some(pattern) = step.expect {
        let pattern = fill(&pattern, saved);
        loop {
            let record = wait(client, sandbox, deadline)?;
            let mut attempt = saved.clone();
            if json_matches(&pattern, &record, &mut attempt).is_ok() {
                *saved = attempt;
                break;
            }
            let bad = forbidden
                .iter()
                .find(|never| json_matches(never, &record, &mut saved.clone()).is_ok());
            if let Some(never) = bad {
                bail!("a record came that must not: {never}\n{}", client.report());
            }
        }
        forbidden.clear();
    }
    Ok(())
}

fn wait(client: &mut Client, sandbox: &Sandbox, deadline: Instant) -> Result<Value> {
    match client.next(deadline)? {
        Some(record) => Ok(serde_json::from_str(
            &sandbox.normalise(&record.to_string()),
        )?),
        None if client.process().is_running() => {
            bail!("no such record in time\n{}", client.report())
        }
        None => bail!(
            "the process ended without such a record\n{}",
            client.report()
        ),
    }
}
