//! A client of RPC mode for tests: sends records, takes in records one by one with a deadline, and keeps both
//! in one log for failure reports.

use crate::process::{Exit, Process};
use anyhow::{Result, bail};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::VecDeque;
use std::process::Command;
use std::time::{Duration, Instant};

/// A killed process ends at once, unless it is inside the kernel.
const KILL_LIMIT: Duration = Duration::from_secs(10);

/// A running binary in RPC mode.
pub struct Client {
    process: Process,
    /// Bytes of stdout that were split into lines already.
    consumed: usize,
    waiting: VecDeque<Value>,
    log: Vec<String>,
}

impl Client {
    /// Starts the command.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn spawn(command: &mut Command) -> Result<Self> {
        Ok(Self {
            process: Process::spawn(command)?,
            consumed: 0,
            waiting: VecDeque::new(),
            log: Vec::new(),
        })
    }

    /// Sends one record.
    ///
    /// # Errors
    /// When the other side does not read any more.
    pub fn send(&mut self, record: &Value) -> Result<()> {
        self.send_raw(&format!("{record}\n"))
    }

    /// Sends text as it is.
    ///
    /// # Errors
    /// When the other side does not read any more.
    pub fn send_raw(&mut self, text: &str) -> Result<()> {
        self.log.push(format!("-> {}", text.trim_end_matches('\n')));
        self.process.write(text)
    }

    /// Closes its stdin.
    pub fn close(&mut self) {
        self.log.push("-> (end of input)".to_owned());
        self.process.close_stdin();
    }

    /// The next record, or `None` when the deadline passes first or no more can come.
    ///
    /// # Errors
    /// When a line of stdout is no JSON: in RPC mode that is a fault, whoever printed it.
    pub fn next(&mut self, deadline: Instant) -> Result<Option<Value>> {
        loop {
            self.split_lines()?;
            if let Some(record) = self.waiting.pop_front() {
                self.log.push(format!("<- {record}"));
                return Ok(Some(record));
            }
            if !self.process.pump(deadline)? {
                return Ok(None);
            }
        }
    }

    fn split_lines(&mut self) -> Result<()> {
        while let Some(length) = self.process.stdout()[self.consumed..]
            .iter()
            .position(|byte| *byte == b'\n')
        {
            let line = &self.process.stdout()[self.consumed..self.consumed + length];
            match serde_json::from_slice(line) {
                Ok(record) => self.waiting.push_back(record),
                Err(error) => {
                    let line = String::from_utf8_lossy(line).into_owned();
                    bail!(
                        "stdout has a line that is no JSON ({error}): {line}\n{}",
                        self.report()
                    );
                }
            }
            self.consumed += length + 1;
        }
        Ok(())
    }

    /// Waits for the end of the process; the records that still come are returned.
    ///
    /// # Errors
    /// When it does not end within the limit.
    pub fn finish(&mut self, limit: Duration) -> Result<(Exit, Vec<Value>)> {
        let exit = match self.process.wait(limit) {
            Ok(exit) => exit,
            Err(error) => bail!("{error:#}\n{}", self.report()),
        };
        let mut rest = Vec::new();
        while let Some(record) = self.next(Instant::now())? {
            rest.push(record);
        }
        if self.consumed != self.process.stdout().len() {
            bail!("stdout ends in the middle of a record\n{}", self.report());
        }
        Ok((exit, rest))
    }

    /// Kills the process; returns the records that it had written. A last record may be cut off, as the process was.
    ///
    /// # Errors
    /// When a whole line is no JSON.
    pub fn kill(&mut self) -> Result<Vec<Value>> {
        self.log.push("-> (kill -9)".to_owned());
        self.process.signal(Signal::KILL)?;
        self.process.wait(KILL_LIMIT)?;
        let mut rest = Vec::new();
        while let Some(record) = self.next(Instant::now())? {
            rest.push(record);
        }
        Ok(rest)
    }

    /// The end of what was said, in short lines, and stderr.
    pub fn short_report(&self) -> String {
        const LINES: usize = 60;
        const CHARS: usize = 240;
        let hidden = self.log.len().saturating_sub(LINES);
        let lines: Vec<String> = self.log[hidden..]
            .iter()
            .map(|line| line.chars().take(CHARS).collect())
            .collect();
        format!(
            "--- end of the exchange ({hidden} lines before)\n{}\n--- stderr so far\n{}\n---",
            lines.join("\n"),
            String::from_utf8_lossy(self.process.stderr()).trim_end(),
        )
    }

    /// Leaves what was said so far out of reports.
    pub fn forget(&mut self) {
        self.log.clear();
    }

    /// The process behind the client.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Everything said so far, and stderr.
    pub fn report(&self) -> String {
        format!(
            "--- exchange so far\n{}\n--- stderr so far\n{}\n---",
            self.log.join("\n"),
            String::from_utf8_lossy(self.process.stderr()).trim_end(),
        )
    }
}
