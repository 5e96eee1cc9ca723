//! The binary in RPC mode with the storm's tools, and the prompts that it gets.

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::random::Random;
use crate::rpc::Client;
use crate::sandbox::{Sandbox, repository};

/// Longest wait for anything that must come.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running agent.
pub(super) struct Agent {
    pub(super) client: Client,
    /// Where its session is or will be.
    pub(super) session: PathBuf,
    /// Records since the last [`Agent::forget`].
    pub(super) records: Vec<Value>,
    commands: u64,
}

impl Agent {
    /// Starts it on the newest session of the sandbox.
    ///
    /// # Errors
    /// When it does not start.
    pub(super) fn start(sandbox: &Sandbox) -> Result<Self> {
        let tools = repository().join("tests/storm/tools.ts");
        let args: Vec<String> = ["--mode", "rpc", "--continue", "-ne", "-e"]
            .into_iter()
            .map(str::to_owned)
            .chain([tools.display().to_string()])
            .collect();
        let mut command = sandbox.command(&args, &BTreeMap::new())?;
        let mut agent = Self {
            client: Client::spawn(&mut command)?,
            session: PathBuf::new(),
            records: Vec::new(),
            commands: 0,
        };
        agent.locate()?;
        Ok(agent)
    }

    /// Asks where the session is.
    ///
    /// # Errors
    /// When there is no answer.
    pub(super) fn locate(&mut self) -> Result<()> {
        let state = self.ask(json!({"type": "get_state"}))?;
        let file = state["sessionFile"].as_str().context("no session file")?;
        self.session = PathBuf::from(file);
        Ok(())
    }

    /// Sends a command; returns its id.
    ///
    /// # Errors
    /// When the agent does not read.
    pub(super) fn send(&mut self, mut command: Value) -> Result<String> {
        self.commands += 1;
        let id = format!("storm-{}", self.commands);
        command["id"] = json!(id);
        self.client.send(&command)?;
        Ok(id)
    }

    /// Sends a command and waits for the data of its response.
    ///
    /// # Errors
    /// When it fails or nothing comes.
    pub(super) fn ask(&mut self, command: Value) -> Result<Value> {
        let id = self.send(command)?;
        self.answer(&id)
    }

    /// Waits for the response to a command.
    ///
    /// # Errors
    /// When it fails or nothing comes.
    pub(super) fn answer(&mut self, id: &str) -> Result<Value> {
        let record = self.wait(|record| record["type"] == "response" && record["id"] == id)?;
        if record["success"] != true {
            bail!("a command failed: {record}\n{}", self.client.short_report());
        }
        Ok(record["data"].clone())
    }

    /// A prompt that must be answered, and the end of its run. Where the last run was killed between question and answer, the model
    /// sees both questions; then it may use tools before it answers.
    ///
    /// # Errors
    /// When another answer or none comes.
    pub(super) fn expect_answer(&mut self, text: &str) -> Result<()> {
        let id = self.send(json!({"type": "prompt", "message": text}))?;
        self.answer(&id)?;
        self.wait(|record| {
            record["type"] == "message_end"
                && record["message"]["role"] == "user"
                && record["message"]["content"][0]["text"] == text
        })?;
        self.wait(|record| {
            record["type"] == "message_end"
                && record["message"]["role"] == "assistant"
                && record["message"]["stopReason"] == "stop"
        })?;
        self.wait(|record| record["type"] == "agent_settled")?;
        Ok(())
    }

    /// Takes in records until one fits.
    ///
    /// # Errors
    /// When none comes.
    pub(super) fn wait(&mut self, fits: impl Fn(&Value) -> bool) -> Result<Value> {
        let deadline = Instant::now() + PATIENCE;
        while let Some(record) = self.client.next(deadline)? {
            self.records.push(record.clone());
            if fits(&record) {
                return Ok(record);
            }
        }
        bail!(
            "what must come did not come\n{}",
            self.client.short_report()
        );
    }

    /// As [`Agent::wait`], unless such a record was there already.
    ///
    /// # Errors
    /// When none comes.
    pub(super) fn have(&mut self, fits: impl Fn(&Value) -> bool) -> Result<()> {
        if !self.records.iter().any(&fits) {
            self.wait(fits)?;
        }
        Ok(())
    }

    /// Takes in up to `count` records within `limit`, and none after the end of the run.
    ///
    /// # Errors
    /// When standard output is broken.
    pub(super) fn take(&mut self, count: u64, limit: Duration) -> Result<()> {
        let deadline = Instant::now() + limit;
        for _ in 0..count {
            match self.client.next(deadline)? {
                Some(record) => {
                    let ended = record["type"] == "agent_settled";
                    self.records.push(record);
                    if ended {
                        break;
                    }
                }
                None => break,
            }
        }
        Ok(())
    }

    /// What was announced from now on counts.
    pub(super) fn forget(&mut self) {
        self.records.clear();
        self.client.forget();
    }
}

/// A prompt whose answer streams slowly and calls ten tools. With `endless`, some of them run until they are aborted.
pub(super) fn ten_tools(random: &mut Random, round: u64, endless: bool) -> String {
    let mut lines = vec![
        format!("@delay {}", random.within(0..=2)),
        format!("@chunk {}", random.within(8..=40)),
        "@think what to do about the ten things that are to be done".to_owned(),
        format!("@text round {round}: all of them now"),
    ];
    let sequential = random.once_in(2);
    for at in 0..10 {
        let ms = random.within(0..=12);
        let timed = |name: &str| format!("@tool {name} {{\"ms\":{ms}}}");
        lines.push(match random.within(0..=11) {
            0 => timed("pause"),
            1 if sequential => timed("ordered"),
            1 => timed("deaf"),
            2 => timed("child"),
            3 => timed("fails"),
            4 => timed("note"),
            5 if endless => "@tool bash {\"command\":\"echo a; sleep 60 & sleep 60\"}".to_owned(),
            5 => "@tool bash {\"command\":\"echo a; sleep 0.01; echo b\"}".to_owned(),
            6 if endless => format!(
                "@tool {} {{\"ms\":60000}}",
                random.pick(&["pause", "child"])
            ),
            6 => "@tool ls {}".to_owned(),
            7 => format!("@tool write {{\"path\":\"f{at}\",\"content\":\"{ms}\"}}"),
            8 => "@tool read {\"path\":\"f1\"}".to_owned(),
            9 => "@tool bash {}".to_owned(),
            10 => timed("no_such_tool"),
            _ => "@tool bash {\"command\":\"true\"}".to_owned(),
        });
    }
    lines.join("\n")
}
