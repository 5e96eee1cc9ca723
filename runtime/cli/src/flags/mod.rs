//! The flags, one small type each, and the tables that find them.
//!
//! The doc comment of a flag is its help text. A new flag is a type in the file of its group, an
//! entry in [`ALL`], a line in `docs/cli.md` and a test; a test below checks the first three.

mod model;
mod resources;
mod run;
mod session;
mod tools;

use crate::args::Args;

/// Heading under which the help shows a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    Run,
    Model,
    Session,
    Tools,
    Resources,
}

impl Group {
    /// Every group in the order of the help text.
    pub(crate) const ALL: [(Self, &'static str); 5] = [
        (Self::Run, "Running"),
        (Self::Model, "Model"),
        (Self::Session, "Session"),
        (Self::Tools, "Tools"),
        (Self::Resources, "Extensions and other resources"),
    ];
}

/// What follows a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    Nothing,
    /// One word, whatever it looks like.
    One(&'static str),
    /// Like [`Self::One`], with its own complaint when the word is missing.
    OneElse(&'static str, &'static str),
    /// One word unless it is a flag or a file.
    Optional(&'static str),
    /// One word and perhaps a second.
    OneAndOptional(&'static str, &'static str),
    /// A message, which goes to the messages and not to the flag.
    Message,
}

/// A flag.
pub(crate) trait Flag: Sync {
    /// Name without dashes.
    fn long(&self) -> &'static str;
    /// Short name without the dash; may have several letters.
    fn short(&self) -> Option<&'static str>;
    fn group(&self) -> Group;
    fn takes(&self) -> Takes;
    /// Help text.
    fn doc(&self) -> &'static str;
    /// Records the flag.
    ///
    /// # Errors
    /// A sentence that says which values are accepted.
    fn set(&self, args: &mut Args, values: &[String]) -> Result<(), String>;
}

/// Defines a flag type; the doc comment becomes the help text.
macro_rules! flag {
    (
        $(#[doc = $doc:literal])+
        $name:ident, $long:literal $(, $short:literal)?; $group:ident; $takes:expr;
        |$args:ident, $values:ident| $set:expr
    ) => {
        $(#[doc = $doc])+
        pub(super) struct $name;

        impl $crate::flags::Flag for $name {
            fn long(&self) -> &'static str {
                $long
            }
            fn short(&self) -> Option<&'static str> {
                [$($short)?].first().copied()
            }
            fn group(&self) -> $crate::flags::Group {
                $crate::flags::Group::$group
            }
            fn takes(&self) -> $crate::flags::Takes {
                $takes
            }
            fn doc(&self) -> &'static str {
                concat!($($doc),+)
            }
            fn set(&self, $args: &mut $crate::args::Args, $values: &[String]) -> Result<(), String> {
                $set
            }
        }
    };
}
use flag;

/// Every flag, in the order of the help text.
pub(crate) const ALL: &[&dyn Flag] = &[
    &run::Print,
    &run::Mode,
    &run::RpcDialect,
    &run::SystemPrompt,
    &run::AppendSystemPrompt,
    &run::Approve,
    &run::NoApprove,
    &run::Offline,
    &run::Verbose,
    &run::Trace,
    &run::TuiMode,
    &run::Export,
    &run::Help,
    &run::Version,
    &model::ModelFlag,
    &model::Provider,
    &model::Thinking,
    &model::Models,
    &model::ApiKey,
    &model::ListModels,
    &model::Script,
    &session::Continue,
    &session::Resume,
    &session::SessionFlag,
    &session::SessionId,
    &session::Fork,
    &session::SessionDir,
    &session::NoSession,
    &session::Name,
    &tools::Tools,
    &tools::ExcludeTools,
    &tools::NoTools,
    &tools::NoBuiltinTools,
    &resources::Extension,
    &resources::Hook,
    &resources::NoExtensions,
    &resources::PluginDir,
    &resources::NoMcp,
    &resources::Skill,
    &resources::Skills,
    &resources::NoSkills,
    &resources::PromptTemplate,
    &resources::NoPromptTemplates,
    &resources::Theme,
    &resources::NoThemes,
    &resources::UseTheme,
    &resources::NoContextFiles,
];

/// The flag `--long`.
pub(crate) fn by_long(long: &str) -> Option<&'static dyn Flag> {
    ALL.iter().copied().find(|flag| flag.long() == long)
}

/// The flag `-short`.
pub(crate) fn by_short(short: &str) -> Option<&'static dyn Flag> {
    ALL.iter().copied().find(|flag| flag.short() == Some(short))
}

/// Splits a comma-separated list; blanks around items do not count.
fn list(value: &str) -> Vec<String> {
    value
        .split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
        .map(str::to_owned)
        .collect()
}

/// First value of a flag that always has one.
fn first(values: &[String]) -> String {
    values.first().cloned().unwrap_or_default()
}

#[cfg(test)]
pub(crate) fn parse(words: &[&str]) -> Result<Args, String> {
    crate::args::parse(words.iter().map(|word| (*word).to_owned()))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{ALL, Takes};

    #[test]
    fn names_are_unique() {
        let mut seen = HashSet::new();
        for flag in ALL {
            assert!(seen.insert(format!("--{}", flag.long())), "{}", flag.long());
            if let Some(short) = flag.short() {
                assert!(seen.insert(format!("-{short}")), "{short}");
            }
        }
    }

    #[test]
    fn every_flag_is_documented_for_users() {
        let page = include_str!("../../../../docs/cli.md");
        for flag in ALL {
            assert!(
                flag.doc().trim().len() > 10,
                "--{} has no help text",
                flag.long()
            );
            assert!(
                page.contains(&format!("`--{}", flag.long())),
                "docs/cli.md lacks --{}",
                flag.long()
            );
        }
    }

    #[test]
    fn every_flag_can_be_set_and_changes_the_arguments() {
        let nothing = super::parse(&[]).expect("parses");
        for flag in ALL {
            let mut words = vec![format!("--{}", flag.long())];
            match (flag.long(), flag.takes()) {
                ("mode", _) => words.push("json".into()),
                ("rpc-dialect", _) => words.push("omp".into()),
                ("provider", _) => words.extend(["p", "--model", "m"].map(str::to_owned)),
                (_, Takes::One(_) | Takes::OneElse(..) | Takes::OneAndOptional(..)) => {
                    words.push("value".into())
                }
                _ => {}
            }
            let words: Vec<_> = words.iter().map(String::as_str).collect();
            let args = super::parse(&words).unwrap_or_else(|error| panic!("{words:?}: {error}"));
            assert_ne!(args, nothing, "--{} changed nothing", flag.long());
        }
    }
}
