//! Which mode runs (`spec/cli.md` §1).

use std::io::IsTerminal;

use crate::args::{Args, RequestedMode};

/// A mode of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModeChoice {
    Rpc,
    Json,
    Print,
    Interactive,
}

/// What the standard streams are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Streams {
    pub(crate) stdin_is_terminal: bool,
    pub(crate) stdout_is_terminal: bool,
}

impl Streams {
    pub(crate) fn detect() -> Self {
        Self {
            stdin_is_terminal: std::io::stdin().is_terminal(),
            stdout_is_terminal: std::io::stdout().is_terminal(),
        }
    }
}

/// The first condition that holds decides.
pub(crate) fn choose(args: &Args, streams: Streams) -> ModeChoice {
    match args.mode {
        Some(RequestedMode::Rpc) => ModeChoice::Rpc,
        Some(RequestedMode::Json) => ModeChoice::Json,
        _ if args.print || !streams.stdin_is_terminal || !streams.stdout_is_terminal => {
            ModeChoice::Print
        }
        _ => ModeChoice::Interactive,
    }
}

#[cfg(test)]
mod tests {
    use super::{ModeChoice, Streams, choose};

    const TERMINAL: Streams = Streams {
        stdin_is_terminal: true,
        stdout_is_terminal: true,
    };
    const PIPED_IN: Streams = Streams {
        stdin_is_terminal: false,
        stdout_is_terminal: true,
    };
    const PIPED_OUT: Streams = Streams {
        stdin_is_terminal: true,
        stdout_is_terminal: false,
    };

    fn mode(words: &[&str], streams: Streams) -> ModeChoice {
        choose(&crate::flags::parse(words).expect("parses"), streams)
    }

    #[test]
    fn the_mode_flag_wins_over_print() {
        assert_eq!(mode(&["--mode", "rpc", "-p"], TERMINAL), ModeChoice::Rpc);
        assert_eq!(mode(&["-p", "--mode", "json"], PIPED_IN), ModeChoice::Json);
    }

    #[test]
    fn a_stream_that_is_no_terminal_means_print() {
        assert_eq!(mode(&[], PIPED_IN), ModeChoice::Print);
        assert_eq!(mode(&["--mode", "text"], PIPED_OUT), ModeChoice::Print);
        assert_eq!(mode(&["-p"], TERMINAL), ModeChoice::Print);
        assert_eq!(mode(&["--mode", "text"], TERMINAL), ModeChoice::Interactive);
    }
}
