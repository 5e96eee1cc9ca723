//! `cargo xtask demo`: one prompt from start to end with a shipped extension, offline. Shows that the
//! extension's tool was really called, by reading the event records rather than trusting the answer.

use crate::paths::Workspace;
use crate::{build, proc, ui};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const EXTENSION: &str = "extensions/hello.ts";
/// The scripted model reads its script from the prompt: one tool call, then it reports the result.
const PROMPT: &str = "Greet Ada.\n@tool greet {\"name\":\"Ada\"}";

/// Sets up, builds and runs the demo.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let pier = build::dev(workspace)?;
    let home = tempfile::tempdir()?;
    let call = ui::step(&format!("pier --mode json -p … -e {EXTENSION}"), || {
        let records = pier_run(workspace, &pier, home.path(), &["--mode", "json"])?;
        tool_call(&records)
    })?;
    ui::note(&format!("tool call: {} {}", call.name, call.args));
    ui::note(&format!("tool result: {}", call.result));
    let answer = ui::step(&format!("pier -p … -e {EXTENSION}"), || {
        pier_run(workspace, &pier, home.path(), &[])
    })?;
    if !answer.contains(&call.result) {
        bail!(
            "the printed answer does not hold the tool's result `{}`: {answer}",
            call.result
        );
    }
    print!("{answer}");
    Ok(())
}

struct ToolCall {
    name: String,
    args: String,
    result: String,
}

/// Runs pier with a home of its own, so that the demo neither reads nor changes the developer's settings.
fn pier_run(workspace: &Workspace, pier: &Path, home: &Path, mode: &[&str]) -> Result<String> {
    proc::stdout(
        Command::new(pier)
            .args(mode)
            .args([
                "--no-session",
                "--no-extensions",
                "-e",
                EXTENSION,
                "-p",
                PROMPT,
            ])
            .env("HOME", home)
            .env("PI_CODING_AGENT_DIR", home.join("agent"))
            .current_dir(&workspace.root),
    )
}

/// The first finished tool call among the records of JSON mode.
fn tool_call(records: &str) -> Result<ToolCall> {
    let mut args = Value::Null;
    for line in records.lines() {
        let record: Value =
            serde_json::from_str(line).with_context(|| format!("not a JSON record: {line}"))?;
        match record["type"].as_str() {
            Some("tool_execution_start") => args = record["args"].clone(),
            Some("tool_execution_end") => {
                if record["isError"] == Value::Bool(true) {
                    bail!("the tool call failed: {record}");
                }
                let name = record["toolName"]
                    .as_str()
                    .context("a tool call without a name")?;
                let result = record["result"]["content"][0]["text"]
                    .as_str()
                    .context("a tool result without text")?;
                return Ok(ToolCall {
                    name: name.to_owned(),
                    args: args.to_string(),
                    result: result.to_owned(),
                });
            }
            _ => {}
        }
    }
    bail!("no tool was called; the records were:\n{records}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_finished_call_counts() {
        let start = r#"{"type":"tool_execution_start","toolName":"greet","args":{"name":"Ada"}}"#;
        let end = r#"{"type":"tool_execution_end","toolName":"greet","isError":false,"result":{"content":[{"type":"text","text":"Hello"}]}}"#;
        assert!(tool_call(start).is_err());
        let call = tool_call(&format!("{start}\n{end}"));
        assert!(call.is_ok_and(|call| call.result == "Hello" && call.args.contains("Ada")));
    }
}
