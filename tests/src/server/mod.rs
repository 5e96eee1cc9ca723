//! A small HTTP server on the loopback address. It answers every GET with the path as JSON, for extensions that fetch,
//! and plays model provider for every POST: `server.jsonl` of a case says what each request must look like and what is
//! answered, in terms that no protocol owns; [`request`] and [`reply`] translate. Nothing outside the machine is ever reached.
//!
//! A line of `server.jsonl` is one exchange, in the order in which requests come:
//!
//! * `"request"`: a pattern ([`crate::pattern`]) for the request as [`request::Request::view`] describes it. Optional.
//! * `"reply"`: what is answered, see [`reply::Reply`].
//! * `"any_number": true`: the exchange may happen any number of times, also never; it must be the last line.
//! * `"note"` explains.

mod anthropic;
mod google;
mod http;
mod openai;
mod reply;
mod request;
mod responses;

use crate::pattern::{Saved, json_matches};
use anyhow::{Context, Result};
use reply::Reply;
use request::Request;
use serde::Deserialize;
use serde_json::Value;
use std::collections::VecDeque;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One exchange of the script.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exchange {
    #[serde(default)]
    request: Option<Value>,
    reply: Reply,
    #[serde(default)]
    any_number: bool,
    #[serde(default)]
    #[allow(dead_code, reason = "written for the reader of the file")]
    note: Option<String>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Exchange>,
    /// Requests that came, for the message of a failure.
    seen: Vec<String>,
    problems: Vec<String>,
}

/// A server that answers until the test process ends.
pub struct Server {
    url: String,
    state: Arc<Mutex<State>>,
}

impl Server {
    /// Starts it on a free port.
    ///
    /// # Errors
    /// When no port can be bound.
    pub fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("cannot bind a local port")?;
        let url = format!("http://{}", listener.local_addr()?);
        let state = Arc::<Mutex<State>>::default();
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                // A broken request is the client's problem; the next one must still be answered.
                std::thread::spawn(move || {
                    let _ = serve(stream, &state);
                });
            }
        });
        Ok(Self { url, state })
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Sets the exchanges.
    ///
    /// # Errors
    /// Names the line that cannot be read.
    pub fn play(&self, script: &str) -> Result<()> {
        let mut exchanges = VecDeque::new();
        for (index, line) in script.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let exchange = serde_json::from_str(line)
                .with_context(|| format!("server.jsonl, line {}: {line}", index + 1))?;
            exchanges.push_back(exchange);
        }
        lock(&self.state).waiting = exchanges;
        Ok(())
    }

    /// What went otherwise than the script says: requests that do not fit, came too often or not at all.
    pub fn problems(&self) -> Vec<String> {
        let state = lock(&self.state);
        let mut problems = state.problems.clone();
        let missing = state.waiting.iter().filter(|one| !one.any_number).count();
        if missing > 0 {
            problems.push(format!(
                "{missing} more requests were expected after these {}:\n{}",
                state.seen.len(),
                state.seen.join("\n")
            ));
        }
        problems
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(mut stream: TcpStream, state: &Mutex<State>) -> std::io::Result<()> {
    let Some(head) = http::read(&mut stream)? else {
        return Ok(());
    };
    if head.method != "POST" {
        let body = serde_json::json!({ "path": head.target });
        return http::answer(&mut stream, 200, &[], &body.to_string());
    }
    match Request::read(&head) {
        Ok(request) => {
            let reply = next(&request, state);
            reply.send(&mut stream, request.protocol)
        }
        Err(why) => {
            lock(state).problems.push(why.clone());
            http::answer(&mut stream, 400, &[], &why)
        }
    }
}

/// Takes the next exchange of the script, and notes when the request is not the expected one.
fn next(request: &Request, state: &Mutex<State>) -> Reply {
    let view = request.view();
    let mut state = lock(state);
    state.seen.push(view.to_string());
    let exchange = match state.waiting.front() {
        Some(last) if last.any_number => Some(last.clone()),
        _ => state.waiting.pop_front(),
    };
    let Some(exchange) = exchange else {
        state
            .problems
            .push(format!("a request came that nobody expected: {view}"));
        return Reply::refusal("this request is not in the script");
    };
    if let Some(expected) = &exchange.request
        && let Err(why) = json_matches(expected, &view, &mut Saved::new())
    {
        let number = state.seen.len();
        state
            .problems
            .push(format!("request {number}: {why}\nin {view}"));
    }
    exchange.reply
}
