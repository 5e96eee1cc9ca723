//! The text of `--help`, made from the flags' own documentation.

use std::fmt::Write as _;

use crate::flags::{ALL, Flag, Group, Takes};

const USAGE: &str = "\
Runs a coding agent with TypeScript extensions.

Usage: pier [FLAGS] [@FILE ...] [MESSAGE ...]

  pier -p \"question\"            answer once and exit
  pier -p -e ./ext.ts \"/cmd\"    run the command of an extension
  pier --mode json -p \"...\"     the same as one JSON event a line
  pier --mode rpc               serve a frontend on standard input and output

Messages are prompts, answered one after another. Standard input, when it is no terminal, and the
files named with @ belong to the first one. Extensions may add flags of their own.
";

const EXIT_CODES: &str = "
Exit codes:
  0    done
  1    the command line, the start or the answer failed
  129  ended by SIGHUP, after cleaning up
  130  ended by SIGINT, after cleaning up
  143  ended by SIGTERM, after cleaning up
";

/// The whole text.
pub(crate) fn text() -> String {
    let mut text = USAGE.to_owned();
    for (group, heading) in Group::ALL {
        let _ = write!(text, "\n{heading}:\n");
        for flag in ALL.iter().filter(|flag| flag.group() == group) {
            describe(&mut text, *flag);
        }
    }
    text.push_str(EXIT_CODES);
    text
}

fn describe(text: &mut String, flag: &dyn Flag) {
    let mut head = format!("  --{}", flag.long());
    if let Some(short) = flag.short() {
        let _ = write!(head, ", -{short}");
    }
    match flag.takes() {
        Takes::Nothing => {}
        Takes::One(label) | Takes::OneElse(label, _) => {
            let _ = write!(head, " {label}");
        }
        Takes::Optional(label) => {
            let _ = write!(head, " [{label}]");
        }
        Takes::OneAndOptional(label, second) => {
            let _ = write!(head, " {label} [{second}]");
        }
        Takes::Message => head.push_str(" [MESSAGE]"),
    }
    text.push_str(&head);
    text.push('\n');
    for line in wrap(flag.doc(), 84) {
        let _ = writeln!(text, "        {line}");
    }
}

fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut();
        match line {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.len() + 1 + word.len() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::{text, wrap};
    use crate::flags::ALL;

    #[test]
    fn every_flag_is_shown_and_no_line_is_too_long() {
        let text = text();
        for flag in ALL {
            assert!(
                text.contains(&format!("--{}", flag.long())),
                "{}",
                flag.long()
            );
        }
        for line in text.lines() {
            assert!(line.len() <= 100, "{line}");
        }
    }

    #[test]
    fn words_are_never_split() {
        assert_eq!(wrap("aa bb cc", 5), ["aa bb", "cc"]);
        assert_eq!(wrap("abcdefgh i", 3), ["abcdefgh", "i"]);
    }
}
