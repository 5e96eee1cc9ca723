//! Makes new inputs from old ones: bytes and bits change, pieces move, two inputs are joined, words of the protocol and
//! awkward pieces of JSON are put in.

use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

const WORDS: &[&[u8]] = &[
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b",",
    b"\"",
    b"\\",
    b"\n",
    b"\r\n",
    b"\r",
    b" ",
    b"\t",
    b"\0",
    b"\xff",
    b"\xed\xa0\x80",
    b"\xe2\x80\xa8",
    b"\\ud800",
    b"\\udc00",
    b"\\u0000",
    b"1e999",
    b"-0",
    b"1e-400",
    b"123456789012345678901234567890",
    b"null",
    b"true",
    b"false",
    b"NaN",
    b"\"id\":",
    b"\"type\":",
    b"\"prompt\"",
    b"\"get_state\"",
    b"\"message\":",
    b"\"extension_ui_response\"",
    b"\"extension_ui_input\"",
    b"\"extension_ui_resize\"",
    b"\"host_tool_result\"",
    b"\"host_tool_update\"",
    b"\"result\":{\"content\":[]}",
    b"\"partialResult\":",
    b"\"value\":",
    b"\"confirmed\":",
    b"\"cancelled\":",
    b"\"timedOut\":",
    b"\"columns\":",
    b"\"rows\":",
    b"\"data\":",
    b"\"images\":[",
    b"\"level\":",
    b"\"mode\":",
    b"\"enabled\":",
    b"\"d1\"",
    b"\"d2\"",
    b"\"d3\"",
    b"\"d4\"",
    b"\"d5\"",
    b"\"d6\"",
    b"[[[[[[[[[[[[[[[[",
    b"{\"a\":{\"a\":{\"a\":",
    b"{\"type\":\"abort\"}\n",
];

pub(super) struct Mutator(StdRng);

impl Mutator {
    pub(super) fn new(seed: u64) -> Self {
        Self(StdRng::seed_from_u64(seed))
    }

    /// A new input; the pool must not be empty.
    pub(super) fn mutate(&mut self, pool: &[Vec<u8>]) -> Vec<u8> {
        let mut input = self.pick(pool).to_vec();
        for _ in 0..self.0.random_range(1..=6) {
            self.once(&mut input, pool);
        }
        // Longer ones only cost time.
        input.truncate(16 * 1024);
        input
    }

    fn pick<'a>(&mut self, pool: &'a [Vec<u8>]) -> &'a [u8] {
        &pool[self.0.random_range(0..pool.len())]
    }

    fn place(&mut self, input: &[u8]) -> usize {
        self.0.random_range(0..=input.len())
    }

    fn once(&mut self, input: &mut Vec<u8>, pool: &[Vec<u8>]) {
        let at = self.place(input);
        match self.0.random_range(0..9) {
            0 if at < input.len() => input[at] ^= 1 << self.0.random_range(0..8),
            1 if at < input.len() => input[at] = self.0.random(),
            2 => input.insert(at, self.0.random()),
            3 => {
                let end = (at + self.0.random_range(0..32)).min(input.len());
                input.drain(at..end);
            }
            4 => {
                let end = (at + self.0.random_range(0..64)).min(input.len());
                let piece = input[at..end].to_vec();
                let to = self.place(input);
                input.splice(to..to, piece);
            }
            5 => {
                let other = self.pick(pool).to_vec();
                let from = self.place(&other);
                input.truncate(at);
                input.extend(&other[from..]);
            }
            6 if !input.is_empty() => {
                let times = self.0.random_range(1..400);
                let byte = input[at.min(input.len() - 1)];
                input.splice(at..at, std::iter::repeat_n(byte, times));
            }
            _ => {
                let word = WORDS[self.0.random_range(0..WORDS.len())];
                input.splice(at..at, word.iter().copied());
            }
        }
    }
}
