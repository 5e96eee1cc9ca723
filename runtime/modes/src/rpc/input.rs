//! Reads standard input on its own thread, so that neither a slow reader nor a slow session blocks
//! the other (`spec/rpc.md` §1.1). It must never interpret a record.

use std::io::Read;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::framing::{Frame, LineSplitter, MAX_RECORD_BYTES};

/// Frames read ahead of the dispatcher. The pipe holds the rest.
const READ_AHEAD: usize = 256;
const CHUNK: usize = 64 * 1024;

/// A writer that says nothing for this long has paused: what follows is another input, and an end that follows is not the
/// end of a pipe (`printf … | pier --mode rpc`).
const PAUSE: Duration = Duration::from_millis(5);

/// What came from the client. The channel closes at the end of the stream.
#[derive(Debug)]
pub(crate) enum Arrival {
    Frame(Frame),
    /// The client wrote nothing for a while.
    Pause,
}

/// Starts reading. The channel closes at the end of the stream; a read error counts as the end.
///
/// # Errors
/// When the thread cannot be created.
pub(crate) fn start(
    mut source: impl Read + Send + 'static,
) -> std::io::Result<mpsc::Receiver<Arrival>> {
    let (sender, arrivals) = mpsc::channel(READ_AHEAD);
    std::thread::Builder::new()
        .name("pier-stdin".to_owned())
        .spawn(move || {
            let mut splitter = LineSplitter::new(MAX_RECORD_BYTES);
            let mut chunk = vec![0; CHUNK];
            let mut open = true;
            // Only waiting for the client counts, not waiting for the dispatcher.
            let mut waiting = Instant::now();
            while open {
                let read = source.read(&mut chunk);
                if read.is_ok() && waiting.elapsed() >= PAUSE {
                    open = sender.blocking_send(Arrival::Pause).is_ok();
                }
                match read {
                    Ok(0) => break,
                    Ok(count) => {
                        splitter.push(&chunk[..count], |frame| {
                            open = open && sender.blocking_send(Arrival::Frame(frame)).is_ok();
                        });
                        waiting = Instant::now();
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
            if let Some(frame) = splitter.finish() {
                // A dispatcher that is gone wants no more records.
                let _ = sender.blocking_send(Arrival::Frame(frame));
            }
        })?;
    Ok(arrivals)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::time::Duration;

    use super::{Arrival, Frame, start};

    #[tokio::test]
    async fn frames_arrive_in_order_and_the_end_closes_the_channel() {
        let mut input = start(&b"one\ntwo\nrest"[..]).expect("thread");
        let mut lines = Vec::new();
        while let Some(arrival) = input.recv().await {
            if let Arrival::Frame(Frame::Line(line)) = arrival {
                lines.push(String::from_utf8(line).expect("text"));
            }
        }
        assert_eq!(lines, ["one", "two", "rest"]);
    }

    #[tokio::test]
    async fn an_end_that_comes_later_than_the_last_record_is_announced() {
        let (reader, mut writer) = std::io::pipe().expect("pipe");
        let mut input = start(reader).expect("thread");
        writer.write_all(b"one\n").expect("write");
        while !matches!(input.recv().await.expect("open"), Arrival::Frame(_)) {}
        tokio::time::sleep(Duration::from_millis(50)).await;
        drop(writer);
        assert!(matches!(input.recv().await, Some(Arrival::Pause)));
        assert!(input.recv().await.is_none());
    }
}
