//! Target `record`: bytes as they come from standard input, up to the decoded command and the answer's line.

use serde_json::Value;

use super::super::command::Command;
use super::super::framing::{Frame, LineSplitter};
use super::super::record::{BadRecord, Incoming, parse};
use super::super::response;
use super::words;

/// Small, so that lines over the limit are met.
const LIMIT: usize = 4000;

pub(super) fn run(bytes: &[u8]) -> Vec<String> {
    let whole = frames(std::iter::once(bytes));
    // The first byte says how the rest is cut into chunks; where they are cut must not matter.
    let chunk = usize::from(bytes.first().copied().unwrap_or(0) % 17) + 1;
    let cut = frames(bytes.chunks(chunk));
    assert_eq!(lines(&whole), lines(&cut), "cut into chunks of {chunk}");
    let ends = bytes.iter().filter(|byte| **byte == b'\n').count();
    let rest = usize::from(bytes.last().is_some_and(|byte| *byte != b'\n'));
    assert_eq!(whole.len(), ends + rest, "one frame a line");
    whole.into_iter().map(one).collect()
}

fn frames<'a>(chunks: impl Iterator<Item = &'a [u8]>) -> Vec<Frame> {
    let mut splitter = LineSplitter::new(LIMIT);
    let mut frames = Vec::new();
    for chunk in chunks {
        splitter.push(chunk, |frame| frames.push(frame));
    }
    frames.extend(splitter.finish());
    frames
}

/// What must not depend on chunks: of a line that is too long only its length.
fn lines(frames: &[Frame]) -> Vec<Result<&[u8], usize>> {
    frames
        .iter()
        .map(|frame| match frame {
            Frame::Line(line) => Ok(line.as_slice()),
            Frame::TooLong { bytes, .. } => Err(*bytes),
        })
        .collect()
}

fn one(frame: Frame) -> String {
    match parse(frame) {
        Ok(Incoming::Command(request)) => {
            let decoded = Command::decode(&request);
            let line = match &decoded {
                Ok(_) => response::success::<Value>(request.id.as_ref(), &request.kind, None),
                Err(error) => response::failure(request.id.as_ref(), &request.kind, error, None),
            };
            check(&line, request.id.as_ref().map(|id| id.text()));
            match decoded {
                Ok(command) => words(&format!("{command:?}").chars().take(24).collect::<String>()),
                Err(error) => words(&error),
            }
        }
        Ok(Incoming::UiResponse(_)) => "ui response".to_owned(),
        Ok(Incoming::UiInput(_)) => "ui input".to_owned(),
        Ok(Incoming::HostTool(_)) => "host tool".to_owned(),
        Err(bad) => {
            check(
                &response::bad_record(&bad),
                bad.id.as_ref().map(|id| id.text()),
            );
            let BadRecord { id, command, error } = bad;
            format!("{}{}{}", id.is_some(), command.is_some(), words(&error))
        }
    }
}

/// An answer is one line of JSON, with the id in it as it came.
fn check(line: &str, id: Option<&str>) {
    assert!(!line.contains(['\n', '\r']), "{line}");
    // The id may be nested deeper than a value can be; the line around it is still checked.
    if let Some(id) = id {
        assert!(
            line.starts_with(&format!("{{\"id\":{id},\"type\":\"response\"")),
            "{line}"
        );
    } else {
        let value: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(value["type"], "response");
        assert!(value.get("id").is_none(), "{line}");
    }
}
