//! Cuts a byte stream into records at LF (`spec/rpc.md` §1.2).
//!
//! Only LF separates; CR before it is removed; every other line or paragraph separator is data.
//! This module must never interpret a record.

/// Largest record accepted on standard input, in bytes. The peers have no limit; three images of
/// the largest size a model takes fit several times. A longer line is skipped up to its LF.
pub(crate) const MAX_RECORD_BYTES: usize = 128 * 1024 * 1024;

/// One piece of the input stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// A complete line without its terminator.
    Line(Vec<u8>),
    /// A line that was longer than the limit; its bytes are gone.
    TooLong {
        /// Length of the line in bytes.
        bytes: usize,
        /// How it began.
        head: Vec<u8>,
    },
}

/// How much of a line that is too long is kept, in bytes: enough to find its id.
const HEAD_BYTES: usize = 4096;

/// Collects chunks and yields frames.
#[derive(Debug)]
pub(crate) struct LineSplitter {
    limit: usize,
    line: Vec<u8>,
    /// Bytes of the current line when it is over the limit; only its head is kept then.
    dropped: usize,
}

impl LineSplitter {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            dropped: 0,
        }
    }

    /// Adds a chunk and gives every frame it completes to `emit`.
    pub(crate) fn push(&mut self, mut chunk: &[u8], mut emit: impl FnMut(Frame)) {
        while let Some(end) = chunk.iter().position(|byte| *byte == b'\n') {
            self.extend(&chunk[..end]);
            chunk = &chunk[end + 1..];
            emit(self.take());
        }
        self.extend(chunk);
    }

    /// The unterminated rest at the end of the stream, if there is one.
    pub(crate) fn finish(mut self) -> Option<Frame> {
        (!self.line.is_empty() || self.dropped > 0).then(|| self.take())
    }

    fn extend(&mut self, bytes: &[u8]) {
        if self.dropped > 0 {
            self.dropped += bytes.len();
        } else if self.line.len() + bytes.len() > self.limit {
            self.dropped = self.line.len() + bytes.len();
            let missing = HEAD_BYTES.saturating_sub(self.line.len()).min(bytes.len());
            self.line.extend_from_slice(&bytes[..missing]);
            self.line.truncate(HEAD_BYTES);
            self.line.shrink_to_fit();
        } else {
            self.line.extend_from_slice(bytes);
        }
    }

    fn take(&mut self) -> Frame {
        if self.dropped > 0 {
            return Frame::TooLong {
                bytes: std::mem::take(&mut self.dropped),
                head: std::mem::take(&mut self.line),
            };
        }
        let mut line = std::mem::take(&mut self.line);
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        Frame::Line(line)
    }
}

#[cfg(test)]
mod tests {
    use super::{Frame, LineSplitter};

    fn split(limit: usize, chunks: &[&[u8]]) -> Vec<Frame> {
        let mut splitter = LineSplitter::new(limit);
        let mut frames = Vec::new();
        for chunk in chunks {
            splitter.push(chunk, |frame| frames.push(frame));
        }
        frames.extend(splitter.finish());
        frames
    }

    fn line(text: &str) -> Frame {
        Frame::Line(text.as_bytes().to_vec())
    }

    fn too_long(bytes: usize, head: &str) -> Frame {
        Frame::TooLong {
            bytes,
            head: head.as_bytes().to_vec(),
        }
    }

    #[test]
    fn of_a_line_over_the_limit_only_the_beginning_is_kept() {
        let long = "x".repeat(10_000);
        let frames = split(5000, &[long.as_bytes(), long.as_bytes(), b"\n"]);
        assert_eq!(frames, [too_long(20_000, &long[..super::HEAD_BYTES])]);
    }

    #[test]
    fn only_line_feed_separates() {
        let text = "a\u{2028}b\u{2029}c\u{85}d\u{b}e\u{c}f\rg\n";
        assert_eq!(
            split(100, &[text.as_bytes()]),
            [line(text.trim_end_matches('\n'))]
        );
    }

    #[test]
    fn one_carriage_return_before_the_line_feed_is_removed() {
        assert_eq!(split(100, &[b"a\r\nb\r\r\n"]), [line("a"), line("b\r")]);
    }

    #[test]
    fn chunks_may_cut_anywhere_even_inside_a_character() {
        let text = "{\"m\":\"\u{20ac}\u{1f600}\"}\n[]\n".as_bytes();
        let whole = split(100, &[text]);
        for cut in 0..text.len() {
            assert_eq!(
                split(100, &[&text[..cut], &text[cut..]]),
                whole,
                "cut at {cut}"
            );
        }
    }

    #[test]
    fn empty_lines_are_frames_and_the_unterminated_rest_is_one() {
        assert_eq!(split(100, &[b"\n\nend"]), [line(""), line(""), line("end")]);
        assert_eq!(split(100, &[b"end\n"]), [line("end")]);
    }

    #[test]
    fn a_line_over_the_limit_is_skipped_and_the_next_one_is_read() {
        assert_eq!(
            split(4, &[b"12345", b"678\nok\n123456\n1234\n"]),
            [
                too_long(8, "12345"),
                line("ok"),
                too_long(6, "123456"),
                line("1234")
            ]
        );
    }
}
