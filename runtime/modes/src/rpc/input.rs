//! Reads standard input on its own thread, so that neither a slow reader nor a slow session blocks
//! the other (`spec/rpc.md` §1.1). It must never interpret a record.

use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::mpsc;

use super::framing::{Frame, LineSplitter, MAX_RECORD_BYTES};

/// Frames read ahead of the dispatcher. The pipe holds the rest.
const READ_AHEAD: usize = 256;
const CHUNK: usize = 64 * 1024;

/// Frames, and when they came.
pub(crate) struct Input {
    pub(crate) frames: mpsc::Receiver<Frame>,
    pub(crate) times: Arc<Times>,
}

/// Times of the last record and of the end of the stream.
#[derive(Debug, Default)]
pub(crate) struct Times {
    marks: Mutex<(Option<Instant>, Option<Instant>)>,
}

impl Times {
    fn record(&self) {
        self.marks.lock().0 = Some(Instant::now());
    }

    fn end(&self) {
        self.marks.lock().1 = Some(Instant::now());
    }

    /// When the last record came.
    pub(crate) fn last_record(&self) -> Option<Instant> {
        self.marks.lock().0
    }

    /// How long after the last record the stream ended.
    pub(crate) fn gap(&self) -> Option<Duration> {
        let (record, end) = *self.marks.lock();
        Some(end?.saturating_duration_since(record?))
    }
}

/// Starts reading. The channel closes at the end of the stream; a read error counts as the end.
///
/// # Errors
/// When the thread cannot be created.
pub(crate) fn start(mut source: impl Read + Send + 'static) -> std::io::Result<Input> {
    let (sender, frames) = mpsc::channel(READ_AHEAD);
    let times = Arc::new(Times::default());
    let marks = Arc::clone(&times);
    std::thread::Builder::new()
        .name("pier-stdin".to_owned())
        .spawn(move || {
            let mut splitter = LineSplitter::new(MAX_RECORD_BYTES);
            let mut chunk = vec![0; CHUNK];
            let mut open = true;
            while open {
                match source.read(&mut chunk) {
                    Ok(0) => break,
                    Ok(count) => {
                        marks.record();
                        splitter.push(&chunk[..count], |frame| {
                            open = open && sender.blocking_send(frame).is_ok();
                        });
                    }
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                        std::thread::sleep(std::time::Duration::from_millis(10));
                    }
                    Err(error) => {
                        tracing::warn!("reading standard input failed: {error}");
                        break;
                    }
                }
            }
            marks.end();
            if let Some(frame) = splitter.finish() {
                // A dispatcher that is gone wants no more records.
                let _ = sender.blocking_send(frame);
            }
        })?;
    Ok(Input { frames, times })
}

#[cfg(test)]
mod tests {
    use super::{Frame, start};

    #[tokio::test]
    async fn frames_arrive_in_order_and_the_end_closes_the_channel() {
        let mut input = start(&b"one\ntwo\nrest"[..]).expect("thread");
        let mut lines = Vec::new();
        while let Some(Frame::Line(line)) = input.frames.recv().await {
            lines.push(String::from_utf8(line).expect("text"));
        }
        assert_eq!(lines, ["one", "two", "rest"]);
        assert!(input.times.gap().is_some());
    }
}
