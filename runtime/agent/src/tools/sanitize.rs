//! Terminal output as plain text: escape sequences and control characters removed, also when a sequence is split
//! between chunks (`spec/rpc.md` §3.5). Text only; interprets nothing.

/// Characters of an unfinished string sequence (title, hyperlink, image) that are held back. A sequence that is
/// longer was none, and its text is shown: a stray byte must not swallow the rest of the output.
const MAX_HELD_BYTES: usize = 64 * 1024;

const ESC: char = '\u{1B}';
const BEL: char = '\u{07}';

/// Streaming filter. Keeps LF and tab, drops CR and every other control character.
#[derive(Debug, Default)]
pub struct Sanitizer {
    state: State,
    /// Text of the string sequence being skipped.
    held: String,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    Escape,
    /// After intermediate bytes of a two-character escape, e.g. `ESC ( B`.
    EscapeIntermediate,
    Csi,
    /// OSC, DCS, SOS, PM or APC, up to its terminator.
    Str,
    /// `ESC` inside a string: terminator if `\` follows.
    StrEscape,
}

impl Sanitizer {
    pub fn new() -> Self {
        Self::default()
    }

    /// The visible text of the next piece.
    pub fn push(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for c in text.chars() {
            self.step(c, &mut out);
        }
        out
    }

    /// Text that was held back for a sequence that never ended.
    pub fn finish(&mut self) -> String {
        let mut out = String::new();
        self.release_held(&mut out);
        out
    }

    fn release_held(&mut self, out: &mut String) {
        self.state = State::Text;
        out.extend(
            std::mem::take(&mut self.held)
                .chars()
                .filter(|c| is_visible(*c)),
        );
    }

    fn step(&mut self, c: char, out: &mut String) {
        match self.state {
            State::Text => self.text(c, out),
            State::Escape => match c {
                '[' => self.state = State::Csi,
                ']' | 'P' | 'X' | '^' | '_' => self.state = State::Str,
                ' '..='/' => self.state = State::EscapeIntermediate,
                '0'..='~' => self.state = State::Text,
                other => self.restart(other, out),
            },
            State::EscapeIntermediate => match c {
                ' '..='/' => {}
                '0'..='~' => self.state = State::Text,
                other => self.restart(other, out),
            },
            State::Csi => match c {
                '@'..='~' => self.state = State::Text,
                ' '..='?' => {}
                other => self.restart(other, out),
            },
            State::Str => match c {
                BEL | '\u{9C}' => self.end_string(),
                ESC => self.state = State::StrEscape,
                other => self.hold(other, out),
            },
            State::StrEscape => {
                if c == '\\' {
                    self.end_string();
                } else {
                    // A new escape sequence: the string was never terminated.
                    self.release_held(out);
                    self.state = State::Escape;
                    self.step(c, out);
                }
            }
        }
    }

    fn text(&mut self, c: char, out: &mut String) {
        match c {
            ESC => self.state = State::Escape,
            '\u{9B}' => self.state = State::Csi,
            '\u{90}' | '\u{98}' | '\u{9D}' | '\u{9E}' | '\u{9F}' => self.state = State::Str,
            other if is_visible(other) => out.push(other),
            _ => {}
        }
    }

    /// `c` cannot continue the sequence, so the sequence is over and `c` is judged on its own.
    fn restart(&mut self, c: char, out: &mut String) {
        self.state = State::Text;
        self.text(c, out);
    }

    fn hold(&mut self, c: char, out: &mut String) {
        self.held.push(c);
        if self.held.len() > MAX_HELD_BYTES {
            self.release_held(out);
        }
    }

    fn end_string(&mut self) {
        self.held.clear();
        self.state = State::Text;
    }
}

fn is_visible(c: char) -> bool {
    match c {
        '\n' | '\t' => true,
        // Interlinear annotation marks have no width and break text measuring.
        '\u{FFF9}'..='\u{FFFB}' => false,
        other => !other.is_control(),
    }
}

/// [`Sanitizer`] for text that is there as a whole.
pub fn sanitize(text: &str) -> String {
    let mut filter = Sanitizer::new();
    let mut out = filter.push(text);
    out.push_str(&filter.finish());
    out
}
