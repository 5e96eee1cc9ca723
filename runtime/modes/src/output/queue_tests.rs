//! Tests of the output queue: order, back-pressure, refusal and a closed reader.

use std::io::{self, Read, Write};
use std::time::Duration;

use super::{OutputLimits, OutputQueue, PushError};

const LIMITS: OutputLimits = OutputLimits {
    high_water: 1024,
    hard: 4096,
};

struct Closed;

impl Write for Closed {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::from(io::ErrorKind::BrokenPipe))
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_reader_that_stands_still_stalls_senders_and_loses_nothing() {
    let (mut reader, writer) = io::pipe().expect("pipe");
    let queue = OutputQueue::with_limits(writer, LIMITS).expect("thread");
    let line = "x".repeat(1023);
    let sender = {
        let queue = queue.clone();
        let line = line.clone();
        tokio::spawn(async move {
            for _ in 0..400 {
                queue.send(line.clone()).await.expect("open");
            }
            queue.finish();
        })
    };
    // A pipe holds 64 KiB; 400 KiB cannot be accepted while nobody reads.
    let stalled = tokio::time::timeout(Duration::from_millis(300), async {
        while !sender.is_finished() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(stalled.is_err(), "the sender finished although nobody read");
    let text = tokio::task::spawn_blocking(move || {
        let mut text = String::new();
        reader.read_to_string(&mut text).map(|_| text)
    })
    .await
    .expect("join")
    .expect("read");
    sender.await.expect("sender");
    assert_eq!(text.lines().count(), 400);
    assert!(text.lines().all(|read| read == line));
}

#[tokio::test]
async fn lines_keep_their_order_across_producers_that_wait_and_that_do_not() {
    let (mut reader, writer) = io::pipe().expect("pipe");
    let queue = OutputQueue::with_limits(writer, LIMITS).expect("thread");
    for number in 0..50 {
        if number % 2 == 0 {
            queue.send(number.to_string()).await.expect("open");
        } else {
            queue.push(number.to_string()).expect("open");
        }
    }
    assert!(queue.flush(Duration::from_secs(5)).await);
    queue.finish();
    let mut text = String::new();
    reader.read_to_string(&mut text).expect("read");
    let numbers: Vec<usize> = text
        .lines()
        .map(|line| line.parse().expect("number"))
        .collect();
    assert_eq!(numbers, (0..50).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_producer_that_cannot_wait_is_refused_above_the_hard_limit() {
    let (_reader, writer) = io::pipe().expect("pipe");
    let queue = OutputQueue::with_limits(writer, LIMITS).expect("thread");
    queue.push("y".repeat(200_000)).expect("open");
    let refused = queue.try_push("small".to_owned());
    assert!(
        matches!(refused, Err(PushError::Full { limit: 4096, .. })),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_closed_reader_is_reported_to_waiters_and_later_producers() {
    let queue = OutputQueue::with_limits(Closed, LIMITS).expect("thread");
    queue
        .push("first".to_owned())
        .expect("accepted before the failure is known");
    tokio::time::timeout(Duration::from_secs(5), queue.broken())
        .await
        .expect("noticed");
    assert!(queue.push("second".to_owned()).is_err());
    assert!(!queue.flush(Duration::from_secs(1)).await);
}

#[tokio::test]
async fn a_queue_is_full_until_the_reader_has_caught_up() {
    let (mut reader, writer) = io::pipe().expect("pipe");
    let queue = OutputQueue::with_limits(writer, LIMITS).expect("thread");
    assert!(!queue.is_full());
    // More than a pipe holds.
    for _ in 0..100 {
        queue.push("x".repeat(1023)).expect("open");
    }
    assert!(queue.is_full());
    let reading = tokio::task::spawn_blocking(move || {
        let mut text = String::new();
        reader.read_to_string(&mut text).map(|_| text.len())
    });
    queue.ready().await.expect("open");
    assert!(!queue.is_full());
    queue.finish();
    drop(queue);
    assert_eq!(reading.await.expect("task").expect("pipe"), 100 * 1024);
}
