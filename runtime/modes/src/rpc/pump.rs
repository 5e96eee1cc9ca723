//! Moves input records to where they belong.
//!
//! Dialog answers and host-tool results are delivered at once, in every phase of the process.
//! Requests go to the server in order; while the gate is closed they wait here, except those that
//! need no extension (`docs/rpc.md`, *Start* and *Changing the session*). They wait as well, but for aborts, while the client
//! reads none of the answers that it has already; when too many do, the input is not read either.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use super::framing::Frame;
use super::gate::Passage;
use super::input::Arrival;
use super::record::{BadRecord, Incoming, Request, parse};
use super::response;
use super::server::{MAX_ACTIVE, Server};
use crate::diagnostics;

/// How long the start may take before requests that need no extension overtake the others. An
/// ordinary start is over by then, and everything was answered in its order.
pub(crate) const START_PATIENCE: Duration = Duration::from_secs(1);

/// Handle to the task that moves records.
pub(crate) struct Pump {
    task: tokio::task::JoinHandle<End>,
}

/// How the input ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Later than the last records: the client leaves.
    Left,
    /// Together with the last records, or before the first of them could be handled: a pipe whose commands shall be carried
    /// out. `alone`: nothing else was going on when they came.
    WithLastInput { alone: bool },
}

impl Pump {
    pub(crate) fn start(input: mpsc::Receiver<Arrival>, server: Arc<Server>) -> Self {
        let moving = Moving {
            input,
            server,
            waiting: VecDeque::new(),
            patient: true,
            last_input: None,
        };
        Self {
            task: tokio::spawn(moving.run()),
        }
    }

    /// Resolves when the client closed its end and every record was delivered, or when the start
    /// failed and every record was refused.
    pub(crate) async fn ended(&mut self) -> End {
        // A panic in the pump is the end of input as well.
        (&mut self.task).await.unwrap_or(End::Left)
    }
}

type Record = Result<Request, BadRecord>;

struct Moving {
    input: mpsc::Receiver<Arrival>,
    server: Arc<Server>,
    waiting: VecDeque<Record>,
    /// The start has not lasted so long yet that anything overtakes.
    patient: bool,
    /// Whether nothing was going on when the records came that no pause has followed yet.
    last_input: Option<bool>,
}

impl Moving {
    async fn run(mut self) -> End {
        let gate = Arc::clone(&self.server.gate);
        let output = self.server.output.clone();
        let patience = tokio::time::sleep(START_PATIENCE);
        tokio::pin!(patience);
        let mut open = true;
        let mut end = End::Left;
        loop {
            if let Passage::Failed(reason) = gate.passage() {
                self.refuse_the_rest(&reason);
                return End::Left;
            }
            self.release(open).await;
            if !open && self.waiting.is_empty() {
                return end;
            }
            tokio::select! {
                biased;
                () = gate.not_closed(), if gate.passage() == Passage::Closed => {}
                // A broken output holds nothing up; it ends the process elsewhere.
                _ = output.ready(), if open && !self.waiting.is_empty() && gate.passage() == Passage::Open => {}
                () = &mut patience, if self.patient => {
                    self.patient = false;
                    if !gate.has_started() {
                        diagnostics::warning(
                            "The start takes long: extensions are still being loaded. Requests that need them wait; the session can be read",
                        );
                        self.overtake().await;
                    }
                }
                arrival = self.input.recv(), if open && self.has_room() => match arrival {
                    Some(Arrival::Frame(frame)) => {
                        if self.last_input.is_none() {
                            self.server.requests.begin_input();
                            self.last_input = Some(self.server.session.is_idle());
                        }
                        self.take(frame).await;
                    }
                    Some(Arrival::Pause) => self.last_input = None,
                    None => {
                        open = false;
                        if !gate.has_started() {
                            end = End::WithLastInput { alone: true };
                        } else if let Some(alone) = self.last_input {
                            end = End::WithLastInput { alone };
                        } else {
                            self.leave();
                        }
                        if end != End::Left {
                            // Neither a dialog nor a tool of the client may hold the start or a last command.
                            self.server.ui.client_left();
                            self.server.host_tools.close();
                        }
                    }
                },
            }
        }
    }

    /// The client leaves and waits for nothing; what still waits is not begun.
    fn leave(&mut self) {
        for record in std::mem::take(&mut self.waiting) {
            self.refuse(&match record {
                Ok(request) => BadRecord {
                    id: request.id,
                    command: Some(request.kind.into()),
                    error: "The input ended before this could be handled".to_owned(),
                },
                Err(bad) => bad,
            });
        }
    }

    /// Takes one frame: delivers it, handles it, or lets it wait.
    async fn take(&mut self, frame: Frame) {
        let Some(record) = self.deliver(frame) else {
            return;
        };
        let wait = if self.server.gate.passage() == Passage::Closed {
            !self.may_overtake(&record)
        } else {
            self.is_held(&record)
        };
        if !wait {
            return self.handle(record).await;
        }
        if self.waiting.len() < MAX_ACTIVE {
            return self.waiting.push_back(record);
        }
        self.refuse(&match record {
            Ok(request) => BadRecord {
                id: request.id,
                command: Some(request.kind.into()),
                error: format!("{MAX_ACTIVE} requests are waiting for the session already"),
            },
            Err(bad) => bad,
        });
    }

    /// Whether a record waits until the client has read.
    fn is_held(&self, record: &Record) -> bool {
        let aborts = record
            .as_ref()
            .is_ok_and(|request| request.kind.starts_with("abort"));
        !aborts && (self.server.output.is_full() || !self.waiting.is_empty())
    }

    /// Whether more can be read: requests that wait for the gate are refused when there are too many, those that wait for the
    /// client to read stay in the pipe.
    fn has_room(&self) -> bool {
        self.waiting.len() < MAX_ACTIVE || self.server.gate.passage() == Passage::Closed
    }

    /// Whether a record is handled at once although the gate is closed.
    fn may_overtake(&self, record: &Record) -> bool {
        let starting = !self.server.gate.has_started();
        let calm = record.as_ref().map_or(true, |request| {
            super::command::needs_no_extension(&request.kind)
        });
        calm && !(starting && self.patient)
    }

    /// Handles what waits and may overtake.
    async fn overtake(&mut self) {
        for record in std::mem::take(&mut self.waiting) {
            if self.may_overtake(&record) {
                self.handle(record).await;
            } else {
                self.waiting.push_back(record);
            }
        }
    }

    /// Handles what waits, until the gate closes again or the client does not read. Once the input has ended nobody would.
    async fn release(&mut self, open: bool) {
        while self.server.gate.passage() == Passage::Open
            && !(open && self.server.output.is_full())
            && let Some(record) = self.waiting.pop_front()
        {
            self.handle(record).await;
        }
    }

    /// Answers everything that came with the reason why nothing will be handled.
    fn refuse_the_rest(&mut self, reason: &str) {
        let came = std::iter::from_fn(|| self.input.try_recv().ok())
            .filter_map(|arrival| match arrival {
                Arrival::Frame(frame) => Some(parse(frame)),
                Arrival::Pause => None,
            })
            .filter_map(|record| match record {
                Ok(Incoming::Command(request)) => Some(Ok(request)),
                Err(bad) => Some(Err(bad)),
                Ok(_) => None,
            })
            .collect::<Vec<_>>();
        for record in std::mem::take(&mut self.waiting).into_iter().chain(came) {
            self.refuse(&match record {
                Ok(request) => BadRecord {
                    id: request.id,
                    command: Some(request.kind.into()),
                    error: format!("The session could not be started: {reason}"),
                },
                Err(bad) => bad,
            });
        }
    }

    async fn handle(&self, record: Record) {
        match record {
            Ok(request) => self.server.submit(request).await,
            Err(bad) => self.refuse(&bad),
        }
    }

    /// Delivers what gets no response; gives back what gets one.
    fn deliver(&self, frame: Frame) -> Option<Record> {
        match parse(frame) {
            Ok(Incoming::Command(request)) => return Some(Ok(request)),
            Err(bad) => return Some(Err(bad)),
            Ok(Incoming::UiResponse(record)) => self.server.ui.answer(&record),
            Ok(Incoming::UiInput(record)) => self.server.screen.input(&record),
            Ok(Incoming::HostTool(record)) => self.server.host_tools.answer(&record),
        }
        None
    }

    fn refuse(&self, bad: &BadRecord) {
        self.server.write(response::bad_record(bad));
    }
}
