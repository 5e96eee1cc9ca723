//! Moves input records to where they belong.
//!
//! Dialog answers and host-tool results are delivered at once, in every phase of the process.
//! Requests go to the server in order; while the gate is closed they wait here, except those that
//! need no extension (`docs/rpc.md`, *Start* and *Changing the session*).

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::framing::Frame;
use super::gate::Passage;
use super::input::{Input, Times};
use super::record::{BadRecord, Incoming, Request, parse};
use super::response;
use super::server::Server;
use crate::diagnostics;

/// Most requests that wait for the gate.
const MAX_WAITING: usize = 4096;
/// How long the start may take before requests that need no extension overtake the others. An
/// ordinary start is over by then, and everything was answered in its order.
pub(crate) const START_PATIENCE: Duration = Duration::from_secs(1);

/// Handle to the task that moves records.
pub(crate) struct Pump {
    task: tokio::task::JoinHandle<End>,
    times: Arc<Times>,
}

/// How the input ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Before the first request could be handled: nobody can have seen an answer.
    BeforeReady,
    /// While requests were being handled.
    WhileServing,
}

impl Pump {
    pub(crate) fn start(input: Input, server: Arc<Server>) -> Self {
        let times = Arc::clone(&input.times);
        let moving = Moving {
            input,
            server,
            waiting: VecDeque::new(),
            patient: true,
        };
        Self {
            task: tokio::spawn(moving.run()),
            times,
        }
    }

    /// When records came.
    pub(crate) fn times(&self) -> &Times {
        &self.times
    }

    /// Resolves when the client closed its end and every record was delivered, or when the start
    /// failed and every record was refused.
    pub(crate) async fn ended(&mut self) -> End {
        // A panic in the pump is the end of input as well.
        (&mut self.task).await.unwrap_or(End::WhileServing)
    }
}

type Record = Result<Request, BadRecord>;

struct Moving {
    input: Input,
    server: Arc<Server>,
    waiting: VecDeque<Record>,
    /// The start has not lasted so long yet that anything overtakes.
    patient: bool,
}

impl Moving {
    async fn run(mut self) -> End {
        let gate = Arc::clone(&self.server.gate);
        let patience = tokio::time::sleep(START_PATIENCE);
        tokio::pin!(patience);
        let mut open = true;
        let mut end = End::WhileServing;
        loop {
            if let Passage::Failed(reason) = gate.passage() {
                self.refuse_the_rest(&reason);
                return End::BeforeReady;
            }
            self.release().await;
            if !open && self.waiting.is_empty() {
                return end;
            }
            tokio::select! {
                biased;
                () = gate.not_closed(), if !self.waiting.is_empty() || gate.passage() == Passage::Closed => {}
                () = &mut patience, if self.patient => {
                    self.patient = false;
                    if !gate.has_started() {
                        diagnostics::warning(
                            "The start takes long: extensions are still being loaded. Requests that need them wait; the session can be read",
                        );
                        self.overtake().await;
                    }
                }
                frame = self.input.frames.recv(), if open => match frame {
                    Some(frame) => self.take(frame).await,
                    None => {
                        open = false;
                        if !gate.has_started() {
                            end = End::BeforeReady;
                        }
                        // A dialog of `session_start` must not hold the start, which waits for it.
                        self.server.ui.client_left();
                    }
                },
            }
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
            false
        };
        if !wait {
            return self.handle(record).await;
        }
        if self.waiting.len() < MAX_WAITING {
            return self.waiting.push_back(record);
        }
        self.refuse(&match record {
            Ok(request) => BadRecord {
                id: request.id,
                command: Some(request.kind.into()),
                error: format!("{MAX_WAITING} requests are waiting for the session already"),
            },
            Err(bad) => bad,
        });
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

    /// Handles what waits, until the gate closes again.
    async fn release(&mut self) {
        while self.server.gate.passage() == Passage::Open
            && let Some(record) = self.waiting.pop_front()
        {
            self.handle(record).await;
        }
    }

    /// Answers everything that came with the reason why nothing will be handled.
    fn refuse_the_rest(&mut self, reason: &str) {
        let came = std::iter::from_fn(|| self.input.frames.try_recv().ok())
            .filter_map(|frame| match parse(frame) {
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
