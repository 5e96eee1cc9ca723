//! UTF-8 decoding of byte streams that may break a character between two chunks.
//! Never fails: malformed sequences become U+FFFD, as `TextDecoder` does it.

/// Decoder with at most three bytes of state.
#[derive(Debug, Default)]
pub struct Utf8Decoder {
    pending: Vec<u8>,
}

impl Utf8Decoder {
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends the decoded text of `bytes` to `out`; an incomplete last character waits for more.
    pub fn push(&mut self, bytes: &[u8], out: &mut String) {
        if self.pending.is_empty() {
            self.pending = decode(bytes, out).to_vec();
        } else {
            let mut joined = std::mem::take(&mut self.pending);
            joined.extend_from_slice(bytes);
            self.pending = decode(&joined, out).to_vec();
        }
    }

    /// Ends the stream: an incomplete character becomes U+FFFD.
    pub fn finish(&mut self, out: &mut String) {
        if !std::mem::take(&mut self.pending).is_empty() {
            out.push(char::REPLACEMENT_CHARACTER);
        }
    }
}

/// Decodes what is complete and returns the unfinished character at the end, if any.
fn decode<'a>(bytes: &'a [u8], out: &mut String) -> &'a [u8] {
    let mut chunks = bytes.utf8_chunks().peekable();
    while let Some(chunk) = chunks.next() {
        out.push_str(chunk.valid());
        let invalid = chunk.invalid();
        if invalid.is_empty() {
            continue;
        }
        let unfinished = chunks.peek().is_none()
            && std::str::from_utf8(invalid).is_err_and(|e| e.error_len().is_none());
        if unfinished {
            return invalid_tail(bytes, invalid.len());
        }
        out.push(char::REPLACEMENT_CHARACTER);
    }
    &[]
}

fn invalid_tail(bytes: &[u8], len: usize) -> &[u8] {
    bytes.get(bytes.len() - len..).unwrap_or_default()
}
