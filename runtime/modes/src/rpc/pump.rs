//! Moves input records to where they belong.
//!
//! Dialog answers and host-tool results are delivered at once, in every phase of the process.
//! Commands wait until the session is ready and then go to the server in order.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::framing::Frame;
use super::host_tools::HostTools;
use super::input::{Input, Times};
use super::record::{BadRecord, Incoming, Request, parse};
use super::response;
use super::screen::Screen;
use super::server::Server;
use super::ui::UiProxy;
use crate::output::OutputQueue;

/// Most commands that wait for the session to become ready.
const MAX_EARLY: usize = 4096;

/// Handle to the task that moves records.
pub(crate) struct Pump {
    server: Option<oneshot::Sender<Arc<Server>>>,
    task: tokio::task::JoinHandle<End>,
    times: Arc<Times>,
}

/// How the input ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Before the first command could be handled: nobody can have seen an answer.
    BeforeReady,
    /// While commands were being handled.
    WhileServing,
}

impl Pump {
    pub(crate) fn start(
        input: Input,
        output: OutputQueue,
        ui: Arc<UiProxy>,
        screen: Arc<Screen>,
        host_tools: Arc<HostTools>,
    ) -> Self {
        let (server, ready) = oneshot::channel();
        let times = Arc::clone(&input.times);
        let moving = Moving {
            input,
            output,
            ui,
            screen,
            host_tools,
        };
        Self {
            server: Some(server),
            task: tokio::spawn(moving.run(ready)),
            times,
        }
    }

    /// When records came.
    pub(crate) fn times(&self) -> &Times {
        &self.times
    }

    /// Lets commands through from now on.
    pub(crate) fn open(&mut self, server: Arc<Server>) {
        if let Some(sender) = self.server.take() {
            // A pump that ended has nothing left to deliver.
            let _ = sender.send(server);
        }
    }

    /// Resolves when the client closed its end and every record was delivered.
    pub(crate) async fn ended(&mut self) -> End {
        // A panic in the pump is the end of input as well.
        (&mut self.task).await.unwrap_or(End::WhileServing)
    }
}

struct Moving {
    input: Input,
    output: OutputQueue,
    ui: Arc<UiProxy>,
    screen: Arc<Screen>,
    host_tools: Arc<HostTools>,
}

impl Moving {
    async fn run(mut self, mut ready: oneshot::Receiver<Arc<Server>>) -> End {
        let mut end = End::WhileServing;
        let mut early = VecDeque::new();
        let server = loop {
            tokio::select! {
                server = &mut ready => match server {
                    Ok(server) => break server,
                    Err(_) => return End::BeforeReady,
                },
                frame = self.input.frames.recv() => match frame {
                    Some(frame) => self.hold(frame, &mut early),
                    None => {
                        // A dialog of `session_start` must not hold the start, which waits for it.
                        self.ui.client_left();
                        match ready.await {
                            Ok(server) => {
                                end = End::BeforeReady;
                                break server;
                            }
                            Err(_) => return End::BeforeReady,
                        }
                    }
                },
            }
        };
        for record in early {
            self.handle(&server, record).await;
        }
        while let Some(frame) = self.input.frames.recv().await {
            if let Some(record) = self.deliver(frame) {
                self.handle(&server, record).await;
            }
        }
        self.ui.client_left();
        end
    }

    /// Keeps a record for later. Its answer must not overtake those of earlier records, so what is
    /// no record waits as well.
    fn hold(&self, frame: Frame, early: &mut VecDeque<Result<Request, BadRecord>>) {
        let full = early.len() >= MAX_EARLY;
        match self.deliver(frame) {
            Some(Ok(request)) if full => self.refuse(&BadRecord {
                id: request.id,
                command: Some(request.kind.into()),
                error: "Too many commands before the session was ready".to_owned(),
            }),
            Some(Err(bad)) if full => self.refuse(&bad),
            Some(record) => early.push_back(record),
            None => {}
        }
    }

    async fn handle(&self, server: &Arc<Server>, record: Result<Request, BadRecord>) {
        match record {
            Ok(request) => server.submit(request).await,
            Err(bad) => self.refuse(&bad),
        }
    }

    /// Delivers what gets no response; gives back what gets one.
    fn deliver(&self, frame: Frame) -> Option<Result<Request, BadRecord>> {
        match parse(frame) {
            Ok(Incoming::Command(request)) => return Some(Ok(request)),
            Err(bad) => return Some(Err(bad)),
            Ok(Incoming::UiResponse(record)) => self.ui.answer(&record),
            Ok(Incoming::UiInput(record)) => self.screen.input(&record),
            Ok(Incoming::HostTool(record)) => self.host_tools.answer(&record),
        }
        None
    }

    fn refuse(&self, bad: &BadRecord) {
        // That the client is gone is noticed by the main loop.
        let _ = self.output.push(response::bad_record(bad));
    }
}
