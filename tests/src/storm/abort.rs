//! Ten tools in one turn, aborted at a random moment, again and again in one process: calls and results fit, no child is left,
//! the next prompt is answered.

use anyhow::{Context, Result};
use serde_json::json;
use std::time::Duration;

use super::agent::{Agent, ten_tools};
use super::children;
use super::random::Random;
use super::session_file::SessionFile;
use crate::sandbox::Sandbox;

/// Longest time until the abort: some of the tools never end by themselves.
const LATEST_MS: u64 = 150;
/// Records until the abort at most; a run with ten tools has about so many.
const RECORDS: u64 = 120;
/// What a killed child may take until it is gone.
const CHILDREN_END: Duration = Duration::from_secs(5);

/// An orderly end takes ten seconds at most.
const ORDERLY_END: Duration = Duration::from_secs(20);

pub(super) fn storm(random: &mut Random, rounds: u64) -> Result<()> {
    let sandbox = Sandbox::empty()?;
    let mut agent = Agent::start(&sandbox)?;
    for round in 0..rounds {
        let prompt = ten_tools(random, round, true);
        let (records, limit) = (random.within(0..=RECORDS), random.within(0..=LATEST_MS));
        one(&sandbox, &mut agent, &prompt, records, limit)
            .and_then(|()| agent.expect_answer(&format!("next {round}")))
            .with_context(|| {
                format!("round {round}: abort after {records} records or {limit} ms\n{prompt}")
            })?;
        agent.forget();
    }
    // The file is readable by the next process as well, once this one has let go of it.
    agent.client.close();
    agent.client.finish(ORDERLY_END)?;
    Agent::start(&sandbox)?.expect_answer("after the storm")
}

fn one(sandbox: &Sandbox, agent: &mut Agent, prompt: &str, records: u64, limit: u64) -> Result<()> {
    let prompted = agent.send(json!({"type": "prompt", "message": prompt}))?;
    agent.take(records, Duration::from_millis(limit))?;
    let aborted = agent.send(json!({"type": "abort"}))?;
    let answered = |id: &str| {
        let id = json!(id);
        move |record: &serde_json::Value| record["type"] == "response" && record["id"] == id
    };
    agent.have(answered(&prompted))?;
    agent.have(answered(&aborted))?;
    agent.have(|record| record["type"] == "agent_settled")?;
    let pid = agent.client.process().id();
    children::gone(&sandbox.agent(), pid, CHILDREN_END)?;
    let file = SessionFile::read(&agent.session)?;
    file.check_tree()?;
    file.check_announced(&agent.records)?;
    file.check_calls()
}
