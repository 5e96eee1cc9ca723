//! Many things at once over RPC: commands in flight, open dialogs, a flood for a slow reader, several processes. Each load checks that
//! nothing was lost and that memory stayed bounded, and gives the numbers it saw; no number of time decides a test.

use crate::client::{Answer, Client, Command, Options, PATIENCE, UiRequest};
use crate::sandbox::{Sandbox, repository};
use anyhow::{Result, ensure};
use serde_json::Value;
use std::sync::mpsc;
use std::time::{Duration, Instant};

const COMMANDS: usize = 10_000;
const DIALOGS: usize = 1_000;
const ROUND_TRIPS: usize = 2_000;
const PROCESSES: usize = 20;

/// How much of the slow loads is run.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    /// Pieces of 100 kB that the tool streams.
    pub pieces: usize,
    /// What its reader takes, in bytes a second.
    pub bytes_per_second: u64,
}

impl Scale {
    /// For every test run: a flood of 20 MB.
    pub const TEST: Self = Self {
        pieces: 200,
        bytes_per_second: 8_000_000,
    };
    /// For measurements: 200 MB at 1 MB a second.
    pub const FULL: Self = Self {
        pieces: 2_000,
        bytes_per_second: 1_000_000,
    };
}

/// More than this at its peak is a leak: what the process takes at rest, queues and copies in the making.
const MEMORY: u64 = 700 << 20;

/// A load by name.
pub type Load = fn(Scale) -> Result<String>;

/// All of them.
pub const LOADS: [(&str, Load); 6] = [
    ("commands", commands),
    ("held-commands", held_commands),
    ("dialogs", dialogs),
    ("round-trips", round_trips),
    ("slow-reader", slow_reader),
    ("processes", processes),
];

fn start(sandbox: &Sandbox, options: Options) -> Result<Client> {
    let extension = repository().join("tests/load/load.ts");
    let words = ["--mode", "rpc", "--no-session", "-ne", "-e"];
    let mut args: Vec<String> = words.map(str::to_owned).to_vec();
    args.push(extension.display().to_string());
    Client::spawn(&mut sandbox.command(&args, &Default::default())?, options)
}

/// Answers each question with itself.
fn echo(request: &UiRequest) -> Option<Answer> {
    (request.method == "input").then(|| Answer::Value(title(&request.record)))
}

fn title(record: &Value) -> String {
    record["title"].as_str().unwrap_or_default().to_owned()
}

fn echoing() -> Options {
    Options {
        answer: Some(Box::new(echo)),
        ..Options::default()
    }
}

/// The text of the next notification.
fn notified(client: &Client) -> Result<String> {
    let event = client.next_event(PATIENCE, |event| event["method"] == "notify")?;
    Ok(event["message"].as_str().unwrap_or_default().to_owned())
}

fn within_memory(client: &Client) -> Result<u64> {
    let peak = client.memory()?.peak;
    ensure!(peak < MEMORY, "it took {} MiB at its peak", peak >> 20);
    Ok(peak >> 20)
}

/// All commands are written before the first answer is looked at.
fn commands(_: Scale) -> Result<String> {
    let sandbox = Sandbox::empty()?;
    let client = start(&sandbox, Options::default())?;
    client.call(&Command::GetState)?;
    let began = Instant::now();
    let pending = (0..COMMANDS)
        .map(|_| client.send(&Command::GetState))
        .collect::<Result<Vec<_>>>()?;
    for answer in pending {
        answer.wait(PATIENCE)?;
    }
    let took = began.elapsed();
    ensure!(client.in_flight() == 0, "answers are missing");
    let peak = within_memory(&client)?;
    client.close(PATIENCE)?;
    Ok(format!(
        "{COMMANDS} commands in flight: {} ms, peak {peak} MiB",
        took.as_millis()
    ))
}

/// All commands of an extension are at work before the first of them may end.
fn held_commands(_: Scale) -> Result<String> {
    let sandbox = Sandbox::empty()?;
    let client = start(&sandbox, Options::default())?;
    client.call(&Command::GetState)?;
    let began = Instant::now();
    let pending = (0..COMMANDS)
        .map(|_| client.send(&Command::prompt(format!("/hold {COMMANDS}"))))
        .collect::<Result<Vec<_>>>()?;
    let said = notified(&client)?;
    ensure!(said == "all are here", "it says {said:?}");
    ensure!(client.in_flight() == COMMANDS, "some have ended already");
    let peak = within_memory(&client)?;
    client.call(&Command::prompt("/release"))?;
    for answer in pending {
        answer.wait(PATIENCE)?;
    }
    let took = began.elapsed();
    client.close(PATIENCE)?;
    Ok(format!(
        "{COMMANDS} commands that wait in an extension: {} ms, peak {peak} MiB",
        took.as_millis()
    ))
}

/// All dialogs are open before the first is answered, the last one first.
fn dialogs(_: Scale) -> Result<String> {
    let sandbox = Sandbox::empty()?;
    let client = start(&sandbox, Options::default())?;
    let began = Instant::now();
    let command = client.send(&Command::prompt(format!("/dialogs {DIALOGS}")))?;
    let mut open = Vec::new();
    while open.len() < DIALOGS {
        open.push(client.next_event(PATIENCE, |event| event["method"] == "input")?);
    }
    for request in open.iter().rev() {
        let id = request["id"].as_str().unwrap_or_default();
        client.respond(id, &Answer::Value(title(request)))?;
    }
    let said = notified(&client)?;
    ensure!(said == format!("right: {DIALOGS}"), "it says {said:?}");
    command.wait(PATIENCE)?;
    let took = began.elapsed();
    let peak = within_memory(&client)?;
    client.close(PATIENCE)?;
    Ok(format!(
        "{DIALOGS} dialogs open at once: {} ms, peak {peak} MiB",
        took.as_millis()
    ))
}

fn round_trips(_: Scale) -> Result<String> {
    let sandbox = Sandbox::empty()?;
    let client = start(&sandbox, echoing())?;
    client.call(&Command::prompt(format!("/round-trips {ROUND_TRIPS}")))?;
    let took: Value = serde_json::from_str(&notified(&client)?)?;
    client.close(PATIENCE)?;
    Ok(format!(
        "{ROUND_TRIPS} dialogs one by one: p50 {:.3} ms, p99 {:.3} ms",
        took["p50"].as_f64().unwrap_or(f64::NAN),
        took["p99"].as_f64().unwrap_or(f64::NAN)
    ))
}

/// Every update arrives, in order, then the result, and commands are answered meanwhile.
fn slow_reader(scale: Scale) -> Result<String> {
    let sandbox = Sandbox::empty()?;
    let (sender, events) = mpsc::channel();
    let options = Options {
        bytes_per_second: Some(scale.bytes_per_second),
        on_event: Some(Box::new(move |event| {
            // The receiver is gone when the test has failed.
            let _ = sender.send((
                event["type"].as_str().unwrap_or_default().to_owned(),
                event["partialResult"]["details"]["n"].as_u64(),
                event["result"]["details"]["n"].as_u64(),
            ));
        })),
        ..Options::default()
    };
    let client = start(&sandbox, options)?;
    client.call(&Command::GetState)?;
    let began = Instant::now();
    let call = format!("flood\n@tool stream {{\"pieces\":{}}}", scale.pieces);
    client.call(&Command::prompt(call))?;
    // The whole of it at the reader's speed, and as much again for a busy machine.
    let limit =
        Duration::from_secs(60 + 2 * 100_000 * scale.pieces as u64 / scale.bytes_per_second);
    let (mut seen, mut result) = (Vec::new(), None);
    while result.is_none() {
        let left = limit.saturating_sub(began.elapsed());
        let (_, update, end) = events.recv_timeout(left)?;
        seen.extend(update);
        result = end;
    }
    ensure!(
        seen.iter().copied().eq(0..scale.pieces as u64),
        "updates are missing, out of order or came twice"
    );
    ensure!(
        result == Some(scale.pieces as u64),
        "the result says {result:?}"
    );
    let state = client.send(&Command::GetState)?.wait(limit)?;
    ensure!(state["messageCount"].is_number(), "no state: {state}");
    let took = began.elapsed();
    let peak = within_memory(&client)?;
    let read = client.bytes() >> 20;
    client.close(limit)?;
    Ok(format!(
        "a tool that streams {} MB, read at {} MB/s: {:.1} s for {} updates ({read} MiB) and the result, peak {peak} MiB",
        scale.pieces / 10,
        scale.bytes_per_second / 1_000_000,
        took.as_secs_f64(),
        seen.len()
    ))
}

/// Every client has a process of its own; all work at the same time.
fn processes(_: Scale) -> Result<String> {
    let began = Instant::now();
    let workers: Vec<_> = (0..PROCESSES)
        .map(|index| {
            std::thread::spawn(move || -> Result<u64> {
                let sandbox = Sandbox::empty()?;
                let client = start(&sandbox, Options::default())?;
                client.run(
                    &format!("number {index}\n@tool stream {{\"pieces\":2}}"),
                    PATIENCE,
                )?;
                let text = client.call(&Command::GetLastAssistantText)?;
                ensure!(
                    text["text"]
                        .as_str()
                        .is_some_and(|text| text.contains("all of it")),
                    "the answer is {text}"
                );
                let peak = within_memory(&client)?;
                client.close(PATIENCE)?;
                Ok(peak)
            })
        })
        .collect();
    let mut peak = 0;
    for worker in workers {
        match worker.join() {
            Ok(result) => peak = peak.max(result?),
            Err(_) => anyhow::bail!("a client panicked"),
        }
    }
    Ok(format!(
        "{PROCESSES} clients, each with its process: {:.1} s, the largest peak {peak} MiB",
        began.elapsed().as_secs_f64()
    ))
}
