//! `kill -9` in the middle of a streaming run with tools, again and again on the same sessions: what was announced is in the
//! file, and the next `--continue` shows it and goes on.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use super::agent::{Agent, ten_tools};
use super::children;
use super::random::Random;
use super::session_file::SessionFile;
use crate::sandbox::Sandbox;

/// Longest time until the kill, when fewer records come than it waits for.
const LATEST: Duration = Duration::from_secs(10);

pub(super) fn storm(random: &mut Random, rounds: u64) -> Result<()> {
    let sandbox = Sandbox::empty()?;
    let mut before = Crashed::default();
    // Records of a run that nobody interrupts; the first round finds out.
    let mut whole_run = 0;
    for round in 0..=rounds {
        let plan = Plan {
            round,
            new_session: round > 0 && random.once_in(5),
            follow_up: random.once_in(3),
            records: match round {
                0 => None,
                _ => Some(random.within(0..=whole_run)),
            },
            pause: Duration::from_micros(random.within(0..=3_000)),
        };
        let prompt = ten_tools(random, round, false);
        before = one(&sandbox, &before, &plan, &prompt)
            .with_context(|| format!("round {round}, {plan:?}, after {:?}", before.session))?;
        children::end(&sandbox.agent());
        if round == 0 {
            whole_run = before.records;
        }
    }
    let mut agent = Agent::start(&sandbox)?;
    check_history(&mut agent, &before).context("after the last round")
}

/// How a round goes.
#[derive(Debug)]
struct Plan {
    round: u64,
    /// The run is the first of a session, so that the kill may hit the creation of the file.
    new_session: bool,
    /// Another turn with tools follows the first one.
    follow_up: bool,
    /// Records of the run to wait for; all of them for `None`, and no kill then.
    records: Option<u64>,
    /// What passes between that record and the kill.
    pause: Duration,
}

/// What a killed process left.
#[derive(Default)]
struct Crashed {
    /// The session that `--continue` must open; empty before the first round.
    session: PathBuf,
    /// Ids of its entries.
    ids: Vec<String>,
    /// The last question that was announced in it.
    question: Option<Value>,
    /// Records of the last run.
    records: u64,
}

fn one(sandbox: &Sandbox, before: &Crashed, plan: &Plan, prompt: &str) -> Result<Crashed> {
    let mut agent = Agent::start(sandbox)?;
    check_history(&mut agent, before)?;
    agent.forget();
    agent.expect_answer(&format!("still there in round {}", plan.round))?;
    // By the session in which it was announced.
    let mut announced: HashMap<PathBuf, Vec<Value>> = HashMap::new();
    announced.insert(agent.session.clone(), agent.records.clone());
    let old = agent.session.clone();
    if plan.new_session {
        agent.ask(json!({"type": "new_session"}))?;
        agent.locate()?;
    }
    agent.forget();
    agent.send(json!({"type": "prompt", "message": prompt}))?;
    if plan.follow_up {
        agent.send(json!({"type": "follow_up", "message": prompt}))?;
    }
    match plan.records {
        None => {
            agent.wait(|record| record["type"] == "agent_settled")?;
        }
        Some(count) => {
            agent.take(count, LATEST)?;
            std::thread::sleep(plan.pause);
        }
    }
    let rest = agent.client.kill()?;
    agent.records.extend(rest);
    let session = std::mem::take(&mut agent.session);
    let records = agent.records.len() as u64;
    announced
        .entry(session.clone())
        .or_default()
        .append(&mut agent.records);
    for (path, records) in &announced {
        let file = SessionFile::read(path)?;
        file.check_announced(records)
            .and_then(|()| file.check_tree())
            .with_context(|| format!("in {}", path.display()))?;
    }
    let left = if session.exists() { session } else { old };
    let file = SessionFile::read(&left)?;
    let question = announced
        .get(&left)
        .and_then(|records| records.iter().rev().find(|record| is_question(record)))
        .map(|record| record["message"].clone());
    Ok(Crashed {
        ids: file.ids().into_iter().map(str::to_owned).collect(),
        session: left,
        question,
        records,
    })
}

fn is_question(record: &Value) -> bool {
    record["type"] == "message_end" && record["message"]["role"] == "user"
}

/// The session is the one that was left, with all its entries, and its conversation is in the context.
fn check_history(agent: &mut Agent, before: &Crashed) -> Result<()> {
    if before.ids.is_empty() {
        return Ok(());
    }
    ensure!(
        agent.session == before.session,
        "--continue opened {} and not {}",
        agent.session.display(),
        before.session.display()
    );
    let data = agent.ask(json!({"type": "get_entries"}))?;
    let entries = data["entries"].as_array().context("no entries")?;
    let ids: Vec<&str> = entries
        .iter()
        .filter_map(|entry| entry["id"].as_str())
        .collect();
    ensure!(
        ids.len() >= before.ids.len() && ids.iter().zip(&before.ids).all(|(now, then)| now == then),
        "entries are missing: {} of {} are there",
        ids.len(),
        before.ids.len()
    );
    let data = agent.ask(json!({"type": "get_messages"}))?;
    let messages = data["messages"].as_array().context("no messages")?;
    if let Some(question) = &before.question {
        ensure!(
            messages.contains(question),
            "the conversation does not hold {question}"
        );
    }
    Ok(())
}
