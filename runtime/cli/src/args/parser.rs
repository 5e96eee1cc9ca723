//! Reads the words left to right (`spec/cli.md` §2).
//!
//! The rules are those of pi: short flags do not cluster, `-p` swallows the next word, `@word` is a
//! file even after `--`. Flags nobody here knows are kept for extensions.

use super::{Args, UnknownFlag, Word};
use crate::flags::{self, Flag, Takes};

/// Parses the words after the program name.
///
/// # Errors
/// A sentence that names the flag.
pub(crate) fn parse(words: impl IntoIterator<Item = String>) -> Result<Args, String> {
    let mut parser = Parser {
        args: Args::default(),
        rest: words.into_iter().collect(),
    };
    while let Some(word) = parser.rest.pop_front() {
        if word == "--" {
            parser.only_words();
            break;
        }
        parser.word(word)?;
    }
    check_combinations(&parser.args)?;
    Ok(parser.args)
}

struct Parser {
    args: Args,
    rest: std::collections::VecDeque<String>,
}

impl Parser {
    fn only_words(&mut self) {
        while let Some(word) = self.rest.pop_front() {
            self.positional(word);
        }
    }

    fn positional(&mut self, word: String) {
        match word.strip_prefix('@') {
            Some(path) => self.args.files.push(path.to_owned()),
            None => self.args.words.push(Word::Message(word)),
        }
    }

    fn word(&mut self, word: String) -> Result<(), String> {
        if let Some(long) = word.strip_prefix("--") {
            return self.long(long);
        }
        match word.strip_prefix('-') {
            Some(short) if !short.is_empty() => match flags::by_short(short) {
                Some(flag) => self.apply(flag, None),
                None => Err(format!("Unknown option: {word}")),
            },
            _ => {
                self.positional(word);
                Ok(())
            }
        }
    }

    fn long(&mut self, long: &str) -> Result<(), String> {
        let (name, inline) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (long, None),
        };
        match flags::by_long(name) {
            Some(flag) => self.apply(flag, inline),
            None => {
                self.keep_for_extensions(name, inline);
                Ok(())
            }
        }
    }

    fn apply(&mut self, flag: &dyn Flag, inline: Option<String>) -> Result<(), String> {
        let mut values: Vec<String> = inline.into_iter().collect();
        let has_inline = !values.is_empty();
        match flag.takes() {
            Takes::Nothing if has_inline => {
                return Err(format!("--{} takes no value", flag.long()));
            }
            Takes::Nothing => {}
            Takes::One(_) | Takes::OneElse(..) if has_inline => {}
            Takes::One(label) => match self.rest.pop_front() {
                Some(value) => values.push(value),
                None => return Err(format!("--{} requires a value: {label}", flag.long())),
            },
            Takes::OneElse(_, complaint) => match self.rest.pop_front() {
                Some(value) => values.push(value),
                None => return Err(complaint.to_owned()),
            },
            Takes::Optional(_) if has_inline => {}
            Takes::Optional(_) => values.extend(self.next_unless_marked()),
            Takes::OneAndOptional(label, _) => {
                if !has_inline {
                    let Some(value) = self.next_unless_marked() else {
                        return Err(format!("--{} requires a value: {label}", flag.long()));
                    };
                    values.push(value);
                }
                values.extend(self.next_unless_marked());
            }
            // The value behind `=` is the message, as the next word would be.
            Takes::Message if has_inline => {
                self.args.words.extend(values.drain(..).map(Word::Message));
            }
            Takes::Message => {
                let takes = self.rest.front().is_some_and(|next| {
                    !next.starts_with('@') && (!next.starts_with('-') || next.starts_with("---"))
                });
                if let Some(message) = self.rest.pop_front_if(|_| takes) {
                    self.args.words.push(Word::Message(message));
                }
            }
        }
        flag.set(&mut self.args, &values)
    }

    /// The next word unless it is a flag or a file.
    fn next_unless_marked(&mut self) -> Option<String> {
        self.rest
            .pop_front_if(|word| !word.starts_with('-') && !word.starts_with('@'))
    }

    fn keep_for_extensions(&mut self, name: &str, inline: Option<String>) {
        let flag = self.args.unknown.len();
        let candidate = if inline.is_none() {
            self.next_unless_marked()
        } else {
            None
        };
        self.args.unknown.push(UnknownFlag {
            name: name.to_owned(),
            inline,
        });
        if let Some(text) = candidate {
            self.args.words.push(Word::Candidate { flag, text });
        }
    }
}

fn check_combinations(args: &Args) -> Result<(), String> {
    let session = &args.session;
    let opens = [
        ("--session", session.open.is_some()),
        ("--continue", session.continue_last),
        ("--resume", session.resume),
    ];
    let conflict = |flag: &str, others: &[(&str, bool)]| {
        others
            .iter()
            .find(|(_, given)| *given)
            .map_or(Ok(()), |(other, _)| {
                Err(format!("{flag} cannot be combined with {other}"))
            })
    };
    if session.fork.is_some() {
        conflict("--fork", &opens)?;
        conflict("--fork", &[("--no-session", session.in_memory)])?;
    }
    if session.id.is_some() {
        conflict("--session-id", &opens)?;
    }
    if let (Some(provider), None) = (&args.model.provider, &args.model.pattern) {
        return Err(format!(
            "--provider requires --model (for example: --provider {provider} --model <pattern>)"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{Args, Word};

    fn parse(words: &[&str]) -> Args {
        super::parse(words.iter().map(|word| (*word).to_owned())).expect("parses")
    }

    fn error(words: &[&str]) -> String {
        super::parse(words.iter().map(|word| (*word).to_owned())).expect_err("must be refused")
    }

    fn messages(args: &Args) -> Vec<&str> {
        args.words
            .iter()
            .map(|word| match word {
                Word::Message(text) | Word::Candidate { text, .. } => text.as_str(),
            })
            .collect()
    }

    #[test]
    fn print_swallows_the_next_word_but_no_flag_and_no_file() {
        assert_eq!(messages(&parse(&["-p", "one", "two"])), ["one", "two"]);
        let args = parse(&["-p", "--model", "x", "msg"]);
        assert_eq!(
            (messages(&args), args.model.pattern.as_deref()),
            (vec!["msg"], Some("x"))
        );
        assert_eq!(parse(&["-p", "@f"]).files, ["f"]);
        assert_eq!(messages(&parse(&["-p", "---x"])), ["---x"]);
        assert_eq!(messages(&parse(&["--print=one", "two"])), ["one", "two"]);
    }

    #[test]
    fn a_double_dash_ends_flags_but_not_files() {
        let args = parse(&["--", "--model", "-x", "@file"]);
        assert_eq!(messages(&args), ["--model", "-x"]);
        assert_eq!(args.files, ["file"]);
    }

    #[test]
    fn a_lone_dash_is_a_message() {
        assert_eq!(messages(&parse(&["-"])), ["-"]);
    }

    #[test]
    fn unknown_short_flags_fail_and_do_not_cluster() {
        assert_eq!(error(&["-x"]), "Unknown option: -x");
        assert_eq!(error(&["-pc"]), "Unknown option: -pc");
    }

    #[test]
    fn a_missing_value_names_the_flag() {
        assert_eq!(error(&["--model"]), "--model requires a value: PATTERN");
        assert_eq!(error(&["--mode"]), "--mode requires text, json, or rpc");
        assert_eq!(error(&["--name"]), "--name requires a non-empty value");
    }

    #[test]
    fn own_flags_accept_an_equals_sign_too() {
        assert_eq!(
            parse(&["--model=a=b"]).model.pattern.as_deref(),
            Some("a=b")
        );
        assert_eq!(error(&["--no-tools=1"]), "--no-tools takes no value");
    }

    #[test]
    fn unknown_long_flags_are_kept_with_a_candidate_value() {
        let args = parse(&["--plan", "go", "--x=1", "--y", "-e", "ext.ts"]);
        let names: Vec<_> = args.unknown.iter().map(|flag| flag.name.as_str()).collect();
        assert_eq!(names, ["plan", "x", "y"]);
        assert_eq!(
            args.words,
            [Word::Candidate {
                flag: 0,
                text: "go".into()
            }]
        );
        assert_eq!(args.unknown[1].inline.as_deref(), Some("1"));
        assert_eq!(args.resources.extensions, ["ext.ts"]);
    }

    #[test]
    fn flags_that_contradict_each_other_are_refused() {
        assert_eq!(
            error(&["--fork", "a", "-c"]),
            "--fork cannot be combined with --continue"
        );
        assert_eq!(
            error(&["--fork", "a", "--no-session"]),
            "--fork cannot be combined with --no-session"
        );
        assert_eq!(
            error(&["--session-id", "a", "-r"]),
            "--session-id cannot be combined with --resume"
        );
        assert!(error(&["--provider", "p"]).starts_with("--provider requires --model"));
    }
}
