//! The wire dialects: which products' clients a record must suit (`spec/rpc.md` §11).
//!
//! A dialect is a table of choices, one small file each; the code that applies a choice is in
//! `events` and in `rpc`. Nothing here may know a session.

mod events;
mod omp;
mod pi;
mod union;
mod xcsh;

pub(crate) use events::{event_lines, without_system};

/// Environment variable that chooses a dialect when the flag does not.
pub const DIALECT_VARIABLE: &str = "PIER_RPC_DIALECT";

/// A product whose clients are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// pi 1.6.
    Pi,
    /// xcsh 19.
    Xcsh,
    /// oh-my-pi 5.
    Omp,
    /// pi's forms plus the ready record.
    Union,
}

/// How xcsh and omp word automatic compaction, in addition to pi's events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AutoCompactionEvents {
    /// Not at all.
    None,
    /// With the member `action`.
    WithAction,
    /// Without it.
    Plain,
}

/// Everything in which dialects differ.
#[derive(Debug)]
pub(crate) struct Rules {
    /// Word used by the flag.
    pub(crate) name: &'static str,
    /// First record is `{"type":"ready"}`.
    pub(crate) ready_record: bool,
    /// `prompt` is acknowledged before anything is checked; a failure is a second response.
    pub(crate) early_prompt_ack: bool,
    /// An extension command that threw fails its prompt; pi says it was handled.
    pub(crate) failed_commands_fail: bool,
    /// `message_update` also carries the whole message so far.
    pub(crate) cumulative_updates: bool,
    /// Messages of role `system` are visible.
    pub(crate) system_messages: bool,
    pub(crate) auto_compaction: AutoCompactionEvents,
    /// A failed `sendMessage` of an extension is also a failed response without id.
    pub(crate) send_failures_as_responses: bool,
    /// The client is told to close a dialog that ended early.
    pub(crate) cancel_notices: bool,
    /// `setTitle` frames need the environment's consent.
    pub(crate) title_is_opt_in: bool,
    /// `get_state` carries prompt, tools and todo phases; statistics carry `premiumRequests`.
    pub(crate) xcsh_extras: bool,
}

impl Dialect {
    /// Every dialect, in the order of the help text.
    pub const ALL: [Self; 4] = [Self::Pi, Self::Xcsh, Self::Omp, Self::Union];

    /// The dialect with this name.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|dialect| dialect.rules().name == word)
    }

    /// The dialect that clients of a program of this name expect.
    #[must_use]
    pub fn for_program(name: &str) -> Self {
        match name {
            "xcsh" => Self::Xcsh,
            "omp" => Self::Omp,
            _ => Self::Pi,
        }
    }

    /// Its name, as the flag takes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.rules().name
    }

    pub(crate) fn rules(self) -> &'static Rules {
        match self {
            Self::Pi => &pi::RULES,
            Self::Xcsh => &xcsh::RULES,
            Self::Omp => &omp::RULES,
            Self::Union => &union::RULES,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Dialect;

    #[test]
    fn names_are_distinct_and_parse_back() {
        for dialect in Dialect::ALL {
            assert_eq!(Dialect::parse(dialect.name()), Some(dialect));
        }
        assert_eq!(Dialect::parse("PI"), None);
    }

    #[test]
    fn the_program_name_decides_the_default() {
        assert_eq!(Dialect::for_program("xcsh"), Dialect::Xcsh);
        assert_eq!(Dialect::for_program("omp"), Dialect::Omp);
        assert_eq!(Dialect::for_program("pier"), Dialect::Pi);
    }
}
