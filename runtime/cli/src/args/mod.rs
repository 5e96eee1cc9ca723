//! The command line as data, and the parser that makes it (`spec/cli.md` §2).
//!
//! Nothing here touches files, settings or extensions; it only reads words.

mod extension_flags;
mod parser;

pub(crate) use extension_flags::{ExtensionFlagType, RegisteredFlag};
pub(crate) use parser::parse;

/// Everything the user asked for.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Args {
    pub(crate) mode: Option<RequestedMode>,
    pub(crate) print: bool,
    pub(crate) rpc_dialect: Option<pier_modes::Dialect>,
    pub(crate) script: Option<String>,
    pub(crate) model: ModelArgs,
    pub(crate) session: SessionArgs,
    pub(crate) tools: ToolArgs,
    pub(crate) resources: ResourceArgs,
    pub(crate) system_prompt: Option<String>,
    pub(crate) append_system_prompt: Vec<String>,
    /// `--approve` or `--no-approve`.
    pub(crate) trust: Option<bool>,
    pub(crate) offline: bool,
    pub(crate) verbose: bool,
    /// `--trace`: file for records of model requests.
    pub(crate) trace: Option<String>,
    pub(crate) tui_mode: Option<String>,
    pub(crate) export: Option<ExportArgs>,
    pub(crate) help: bool,
    pub(crate) version: bool,
    /// Messages in order; words that may turn out to be values of extension flags are marked.
    pub(crate) words: Vec<Word>,
    /// `@file` arguments without the `@`, in order.
    pub(crate) files: Vec<String>,
    /// Flags that only an extension can explain.
    pub(crate) unknown: Vec<UnknownFlag>,
}

impl Args {
    /// A sentence for each flag that was given and changes nothing, so that nobody waits for its effect.
    pub(crate) fn without_effect(&self) -> Vec<String> {
        const NO_TERMINAL: &str = "it belongs to the terminal interface, which Pier does not have";
        let resources = &self.resources;
        [
            ("--theme", !resources.themes.is_empty(), NO_TERMINAL),
            ("--no-themes", resources.no_themes, NO_TERMINAL),
            ("--use-theme", resources.use_theme.is_some(), NO_TERMINAL),
            ("--tui-mode", self.tui_mode.is_some(), NO_TERMINAL),
            (
                "--no-mcp",
                resources.no_mcp,
                "Pier starts no MCP servers of its own; extensions that do are switched off with --no-extensions",
            ),
        ]
        .iter()
        .filter(|(_, given, _)| *given)
        .map(|(flag, _, reason)| format!("{flag} has no effect: {reason}"))
        .collect()
    }
}

/// The argument of `--mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestedMode {
    Text,
    Json,
    Rpc,
}

/// Choice of model and thinking level.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct ModelArgs {
    pub(crate) provider: Option<String>,
    pub(crate) pattern: Option<String>,
    pub(crate) thinking: Option<String>,
    pub(crate) scope: Vec<String>,
    pub(crate) api_key: Option<String>,
    /// `--list-models`, with the search text when one was given.
    pub(crate) list: Option<Option<String>>,
}

/// Choice of session (`spec/sessions.md` §6).
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct SessionArgs {
    pub(crate) continue_last: bool,
    pub(crate) resume: bool,
    pub(crate) open: Option<String>,
    pub(crate) id: Option<String>,
    pub(crate) fork: Option<String>,
    pub(crate) dir: Option<String>,
    pub(crate) in_memory: bool,
    pub(crate) name: Option<String>,
}

/// Which tools the model may use.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct ToolArgs {
    pub(crate) allow: Option<Vec<String>>,
    pub(crate) exclude: Vec<String>,
    pub(crate) none: bool,
    pub(crate) no_builtin: bool,
}

/// Which extensions and other resources are loaded.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct ResourceArgs {
    pub(crate) extensions: Vec<String>,
    pub(crate) no_extensions: bool,
    pub(crate) plugin_dirs: Vec<String>,
    pub(crate) no_mcp: bool,
    pub(crate) skills: Vec<String>,
    pub(crate) no_skills: bool,
    pub(crate) prompt_templates: Vec<String>,
    pub(crate) no_prompt_templates: bool,
    pub(crate) themes: Vec<String>,
    pub(crate) no_themes: bool,
    pub(crate) use_theme: Option<String>,
    pub(crate) no_context_files: bool,
}

/// `--export IN [OUT]`.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct ExportArgs {
    pub(crate) input: String,
    pub(crate) output: Option<String>,
}

/// A word that is not a flag.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Word {
    /// A message.
    Message(String),
    /// The word after `unknown[flag]`: its value if that flag takes one, else a message.
    Candidate {
        /// Index into [`Args::unknown`].
        flag: usize,
        /// The word.
        text: String,
    },
}

/// A flag that is not Pier's own.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct UnknownFlag {
    /// Name without dashes.
    pub(crate) name: String,
    /// Value behind `=`.
    pub(crate) inline: Option<String>,
}

#[cfg(test)]
mod tests {
    use crate::flags::parse;

    #[test]
    fn flags_that_change_nothing_say_so() {
        let args = parse(&[
            "--theme",
            "x",
            "--no-mcp",
            "--tui-mode",
            "full",
            "--offline",
        ]);
        let said = args.expect("parses").without_effect();
        let flags: Vec<_> = said
            .iter()
            .filter_map(|sentence| sentence.split_once(" has no effect: "))
            .map(|(flag, _)| flag)
            .collect();
        assert_eq!(flags, ["--theme", "--tui-mode", "--no-mcp"]);
    }
}
