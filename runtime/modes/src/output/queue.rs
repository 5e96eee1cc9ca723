//! The bounded queue between everyone who emits records and the one thread that writes them.
//!
//! A client that stops reading fills the queue; producers that wait ([`OutputQueue::send`]) then
//! stand still and nothing is dropped (`spec/rpc.md` §1.4). Records leave in the order in which
//! they were handed in, whoever handed them in. The queue must never look into a record.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tokio::sync::{Notify, watch};

/// Largest piece given to one write call. Bounds the copy, not the record.
const WRITE_CHUNK: usize = 64 * 1024;

/// The reader of standard output went away; nothing can be written any more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("standard output is closed: {reason}")]
pub struct OutputClosed {
    /// The operating system's explanation.
    pub reason: String,
}

/// Why a record was not accepted by [`OutputQueue::try_push`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PushError {
    /// See [`OutputClosed`].
    #[error(transparent)]
    Closed(#[from] OutputClosed),
    /// The client has not read for so long that accepting more would use memory without a limit.
    #[error("the client does not read: {queued} bytes of output are waiting (limit {limit})")]
    Full {
        /// Bytes that wait to be written.
        queued: usize,
        /// The limit that was reached, in bytes.
        limit: usize,
    },
}

/// Limits of a queue, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct OutputLimits {
    /// Producers that can wait do so while more than this is queued.
    pub high_water: usize,
    /// Producers that cannot wait are refused above this.
    pub hard: usize,
}

impl Default for OutputLimits {
    fn default() -> Self {
        Self {
            high_water: 256 * 1024,
            hard: 64 * 1024 * 1024,
        }
    }
}

#[derive(Default)]
struct State {
    lines: VecDeque<String>,
    queued: usize,
    writing: bool,
    finished: bool,
    broken: Option<OutputClosed>,
}

struct Shared {
    state: Mutex<State>,
    work: Condvar,
    progress: Notify,
    broken: watch::Sender<bool>,
    limits: OutputLimits,
}

/// Handle to the queue; clones share it.
#[derive(Clone)]
pub struct OutputQueue {
    shared: Arc<Shared>,
}

impl OutputQueue {
    /// Starts the writer thread with default limits.
    ///
    /// # Errors
    /// When the thread cannot be created.
    pub fn start(writer: impl Write + Send + 'static) -> io::Result<Self> {
        Self::with_limits(writer, OutputLimits::default())
    }

    /// Starts the writer thread.
    ///
    /// # Errors
    /// When the thread cannot be created.
    pub fn with_limits(
        writer: impl Write + Send + 'static,
        limits: OutputLimits,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            state: Mutex::new(State::default()),
            work: Condvar::new(),
            progress: Notify::new(),
            broken: watch::Sender::new(false),
            limits,
        });
        let for_thread = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("pier-stdout".to_owned())
            .spawn(move || write_loop(&for_thread, writer))?;
        Ok(Self { shared })
    }

    /// Hands in a line (without its LF) and does not wait. For records that must not be refused:
    /// responses and session events, whose producers wait afterwards.
    ///
    /// # Errors
    /// [`OutputClosed`] when the reader is gone.
    pub fn push(&self, line: String) -> Result<(), OutputClosed> {
        let mut state = self.shared.state.lock();
        if let Some(closed) = &state.broken {
            return Err(closed.clone());
        }
        state.queued += line.len() + 1;
        state.lines.push_back(line);
        self.shared.work.notify_one();
        Ok(())
    }

    /// Like [`Self::push`] for producers that cannot wait, such as an isolate in the middle of a
    /// synchronous call. Refuses above the hard limit instead of growing.
    ///
    /// # Errors
    /// See [`PushError`].
    pub fn try_push(&self, line: String) -> Result<(), PushError> {
        let queued = self.shared.state.lock().queued;
        if queued > self.shared.limits.hard {
            return Err(PushError::Full {
                queued,
                limit: self.shared.limits.hard,
            });
        }
        Ok(self.push(line)?)
    }

    /// Hands in a line, then waits until the queue is below its high-water mark.
    ///
    /// # Errors
    /// [`OutputClosed`] when the reader is gone.
    pub async fn send(&self, line: String) -> Result<(), OutputClosed> {
        self.push(line)?;
        self.wait_below(self.shared.limits.high_water).await
    }

    /// Waits until the queue is below its high-water mark.
    ///
    /// # Errors
    /// [`OutputClosed`] when the reader is gone.
    pub async fn ready(&self) -> Result<(), OutputClosed> {
        self.wait_below(self.shared.limits.high_water).await
    }

    /// Whether so much waits that nothing should be begun that adds to it.
    pub fn is_full(&self) -> bool {
        self.shared.state.lock().queued > self.shared.limits.hard
    }

    /// Waits until every accepted line was written, at most `limit`. Returns whether it was.
    pub async fn flush(&self, limit: Duration) -> bool {
        matches!(
            tokio::time::timeout(limit, self.wait_below(0)).await,
            Ok(Ok(()))
        )
    }

    /// Resolves when the reader of standard output is gone; pends for ever otherwise.
    pub async fn broken(&self) {
        let mut broken = self.shared.broken.subscribe();
        if broken.wait_for(|broken| *broken).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    async fn wait_below(&self, limit: usize) -> Result<(), OutputClosed> {
        loop {
            let progress = self.shared.progress.notified();
            tokio::pin!(progress);
            // Registered before the check, so that a write between check and await is not missed.
            progress.as_mut().enable();
            {
                let state = self.shared.state.lock();
                if let Some(closed) = &state.broken {
                    return Err(closed.clone());
                }
                if state.queued <= limit && (limit > 0 || !state.writing) {
                    return Ok(());
                }
            }
            progress.await;
        }
    }

    /// Lets the writer thread end after the last accepted line.
    pub fn finish(&self) {
        self.shared.state.lock().finished = true;
        self.shared.work.notify_one();
    }
}

fn write_loop(shared: &Shared, mut writer: impl Write) {
    loop {
        let batch = {
            let mut state = shared.state.lock();
            while state.lines.is_empty() {
                if state.finished {
                    return;
                }
                shared.work.wait(&mut state);
            }
            state.writing = true;
            take_batch(&mut state)
        };
        let result = writer
            .write_all(batch.as_bytes())
            .and_then(|()| writer.flush());
        let mut state = shared.state.lock();
        state.writing = false;
        // Counted until written: what sits in the batch still occupies memory.
        state.queued -= batch.len();
        if let Err(error) = result {
            state.broken = Some(OutputClosed {
                reason: error.to_string(),
            });
            state.lines.clear();
            state.queued = 0;
            drop(state);
            shared.broken.send_replace(true);
            shared.progress.notify_waiters();
            return;
        }
        drop(state);
        shared.progress.notify_waiters();
    }
}

fn take_batch(state: &mut State) -> String {
    let mut batch = String::new();
    while let Some(line) = state.lines.front() {
        if !batch.is_empty() && batch.len() + line.len() >= WRITE_CHUNK {
            break;
        }
        batch.push_str(line);
        batch.push('\n');
        state.lines.pop_front();
    }
    batch
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
