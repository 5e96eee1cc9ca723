//! What the server answers: content in neutral terms, and the faults of a bad day.

use super::request::Protocol;
use super::{anthropic, google, http, openai, responses};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::Result;
use std::net::TcpStream;
use std::time::Duration;

/// Pause behind each comment.
const COMMENT_PAUSE: Duration = Duration::from_millis(100);

/// One answer of the script.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Reply {
    /// Another status than 200: `body` is sent as it is, nothing is streamed.
    pub(super) status: Option<u16>,
    pub(super) headers: BTreeMap<String, String>,
    /// Text, or a value that is sent as JSON.
    pub(super) body: Value,
    /// Content of the answer.
    pub(super) blocks: Vec<Block>,
    /// `end` (default), `length`; with a tool among the blocks it is `tool`.
    pub(super) stop: Option<String>,
    /// Tokens of prompt and answer.
    pub(super) usage: (u64, u64),
    /// What goes wrong, behind `after` pieces of the stream.
    pub(super) fault: Option<Fault>,
    /// Number of pieces that are sent before the fault.
    pub(super) after: usize,
    /// Comments that keep the connection open, 100 ms apart, behind `after` pieces of the stream.
    pub(super) comments: u32,
    /// Microseconds between single bytes.
    pub(super) slow_us: Option<u64>,
}

/// One block of the answer.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(super) enum Block {
    Thinking {
        thinking: String,
    },
    Text {
        text: String,
    },
    Tool {
        tool: String,
        id: String,
        #[serde(default)]
        arguments: Map<String, Value>,
    },
}

/// What goes wrong in the middle of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Fault {
    /// The connection is closed inside the body.
    Cut,
    /// The body ends regularly, but the protocol's last events are missing.
    End,
    /// An event that is no JSON; then the rest.
    Garbage,
    /// Nothing more, and the connection stays open.
    Silence,
}

impl Reply {
    /// An answer that no provider gives twice.
    pub(super) fn refusal(text: &str) -> Self {
        Self {
            status: Some(400),
            body: json!({"error": {"message": text}}),
            ..Self::default()
        }
    }

    /// Whether the answer calls a tool.
    pub(super) fn calls_tool(&self) -> bool {
        let mut blocks = self.blocks.iter();
        blocks.any(|block| matches!(block, Block::Tool { .. }))
    }

    /// Whether it stops at the output limit.
    pub(super) fn is_cut_short(&self) -> bool {
        self.stop.as_deref() == Some("length")
    }

    /// Sends the answer in a protocol.
    pub(super) fn send(&self, stream: &mut TcpStream, protocol: Protocol) -> Result<()> {
        let headers: Vec<_> = self.headers.clone().into_iter().collect();
        if let Some(status) = self.status {
            let body = match &self.body {
                Value::String(text) => text.clone(),
                Value::Null => String::new(),
                value => value.to_string(),
            };
            return http::answer(stream, status, &headers, &body);
        }
        http::begin_stream(stream, &headers)?;
        let pieces = match protocol {
            Protocol::OpenAi => openai::pieces(self),
            Protocol::Responses => responses::pieces(self),
            Protocol::Anthropic => anthropic::pieces(self),
            Protocol::Google => google::pieces(self),
        };
        for (number, piece) in pieces.iter().enumerate() {
            if number == self.after {
                for _ in 0..self.comments {
                    http::chunk(stream, b": keep-alive\n\n")?;
                    std::thread::sleep(COMMENT_PAUSE);
                }
                match self.fault {
                    Some(Fault::Cut) => return Ok(()),
                    Some(Fault::End) => return http::end_stream(stream),
                    Some(Fault::Silence) => return http::wait_for_close(stream),
                    Some(Fault::Garbage) => http::chunk(stream, broken(piece).as_bytes())?,
                    None => {}
                }
            }
            self.piece(stream, piece)?;
        }
        http::end_stream(stream)
    }

    fn piece(&self, stream: &mut TcpStream, piece: &str) -> Result<()> {
        let Some(pause) = self.slow_us.map(Duration::from_micros) else {
            return http::chunk(stream, piece.as_bytes());
        };
        for byte in piece.as_bytes() {
            http::chunk(stream, std::slice::from_ref(byte))?;
            std::thread::sleep(pause);
        }
        Ok(())
    }
}

/// The piece with data that is no JSON and cannot be repaired to any.
fn broken(piece: &str) -> String {
    match piece.split_once("data: ") {
        Some((head, _)) => format!("{head}data: <html>bad gateway</html>\n\n"),
        None => "data: <html>bad gateway</html>\n\n".to_owned(),
    }
}

/// A text in two parts, so that deltas have to be joined.
pub(super) fn halves(text: &str) -> [String; 2] {
    let count = text.chars().count() / 2;
    [
        text.chars().take(count).collect(),
        text.chars().skip(count).collect(),
    ]
}

/// An event of a server-sent stream without a name.
pub(super) fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

/// An event with a name.
pub(super) fn named(name: &str, value: &Value) -> String {
    format!("event: {name}\ndata: {value}\n\n")
}
