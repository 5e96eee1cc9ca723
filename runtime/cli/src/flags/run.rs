//! Flags that say what to run and how.

use super::{Takes, first, flag};
use crate::args::{ExportArgs, RequestedMode};

flag! {
    /// Answer the messages, print the last answer and exit. Takes the next word as a message.
    Print, "print", "p"; Run; Takes::Message;
    |args, _values| { args.print = true; Ok(()) }
}

flag! {
    /// text: print the last answer; json: print every event as one JSON line;
    /// rpc: serve a frontend on standard input and output.
    Mode, "mode"; Run; Takes::OneElse("text|json|rpc", "--mode requires text, json, or rpc");
    |args, values| {
        args.mode = Some(match first(values).as_str() {
            "text" => RequestedMode::Text,
            "json" => RequestedMode::Json,
            "rpc" => RequestedMode::Rpc,
            other => return Err(format!("Invalid mode \"{other}\". Valid values: text, json, rpc")),
        });
        Ok(())
    }
}

flag! {
    /// Records as clients of pi, xcsh or omp expect them, or union for pi's with a ready record.
    /// PIER_RPC_DIALECT sets it too; the default follows the name the program was started under.
    RpcDialect, "rpc-dialect"; Run; Takes::One("pi|xcsh|omp|union");
    |args, values| {
        let word = first(values);
        args.rpc_dialect = Some(pier_modes::Dialect::parse(&word).ok_or_else(|| {
            format!("Invalid dialect \"{word}\". Valid values: pi, xcsh, omp, union")
        })?);
        Ok(())
    }
}

flag! {
    /// Replace the system prompt by this text, or by the content of this file.
    SystemPrompt, "system-prompt"; Run; Takes::One("TEXT|FILE");
    |args, values| { args.system_prompt = Some(first(values)); Ok(()) }
}

flag! {
    /// Add this text, or the content of this file, to the system prompt. May be repeated.
    AppendSystemPrompt, "append-system-prompt"; Run; Takes::One("TEXT|FILE");
    |args, values| { args.append_system_prompt.push(first(values)); Ok(()) }
}

flag! {
    /// Trust the project's own settings, extensions and other resources for this run.
    Approve, "approve", "a"; Run; Takes::Nothing;
    |args, _values| { args.trust = Some(true); Ok(()) }
}

flag! {
    /// Ignore the project's own settings, extensions and other resources for this run.
    NoApprove, "no-approve", "na"; Run; Takes::Nothing;
    |args, _values| { args.trust = Some(false); Ok(()) }
}

flag! {
    /// No network of Pier's own accord: no catalogue refresh, no version check.
    Offline, "offline"; Run; Takes::Nothing;
    |args, _values| { args.offline = true; Ok(()) }
}

flag! {
    /// More diagnostics on standard error.
    Verbose, "verbose"; Run; Takes::Nothing;
    |args, _values| { args.verbose = true; Ok(()) }
}

flag! {
    /// Append one JSON line to this file for every model request: who asked, model, usage, time, outcome.
    Trace, "trace"; Run; Takes::One("FILE");
    |args, values| { args.trace = Some(first(values)); Ok(()) }
}

flag! {
    /// Layout of the terminal interface; has no effect in the other modes.
    TuiMode, "tui-mode"; Run; Takes::OneElse("MODE", "--tui-mode requires a value");
    |args, values| { args.tui_mode = Some(first(values)); Ok(()) }
}

flag! {
    /// Write a session file as an HTML page and exit.
    Export, "export"; Run; Takes::OneAndOptional("SESSION", "PAGE");
    |args, values| {
        args.export = Some(ExportArgs { input: first(values), output: values.get(1).cloned() });
        Ok(())
    }
}

flag! {
    /// Show this text and exit.
    Help, "help", "h"; Run; Takes::Nothing;
    |args, _values| { args.help = true; Ok(()) }
}

flag! {
    /// Show the version and exit.
    Version, "version", "v"; Run; Takes::Nothing;
    |args, _values| { args.version = true; Ok(()) }
}

#[cfg(test)]
mod tests {
    use crate::args::{RequestedMode, Word};
    use crate::flags::parse;

    #[test]
    fn print_takes_a_message() {
        let args = parse(&["-p", "hi"]).expect("parses");
        assert!(args.print);
        assert_eq!(args.words, [Word::Message("hi".into())]);
    }

    #[test]
    fn mode_knows_three_words() {
        assert_eq!(
            parse(&["--mode", "rpc"]).expect("parses").mode,
            Some(RequestedMode::Rpc)
        );
        assert_eq!(
            parse(&["--mode", "RPC"]),
            Err("Invalid mode \"RPC\". Valid values: text, json, rpc".into())
        );
    }

    #[test]
    fn rpc_dialect_knows_four_words() {
        assert_eq!(
            parse(&["--rpc-dialect", "xcsh"])
                .expect("parses")
                .rpc_dialect,
            Some(pier_modes::Dialect::Xcsh)
        );
        assert!(parse(&["--rpc-dialect", "x"]).is_err());
    }

    #[test]
    fn prompts_replace_and_append() {
        let args = parse(&[
            "--system-prompt",
            "a",
            "--append-system-prompt",
            "b",
            "--append-system-prompt",
            "c",
        ])
        .expect("parses");
        assert_eq!(args.system_prompt.as_deref(), Some("a"));
        assert_eq!(args.append_system_prompt, ["b", "c"]);
    }

    #[test]
    fn the_last_word_about_trust_counts() {
        assert_eq!(parse(&["-a", "-na"]).expect("parses").trust, Some(false));
        assert_eq!(
            parse(&["-na", "--approve"]).expect("parses").trust,
            Some(true)
        );
    }

    #[test]
    fn switches_switch() {
        let args =
            parse(&["--offline", "--verbose", "-h", "-v", "--tui-mode", "x"]).expect("parses");
        assert!(args.offline && args.verbose && args.help && args.version);
        assert_eq!(args.tui_mode.as_deref(), Some("x"));
    }

    #[test]
    fn export_takes_one_or_two_words() {
        let export = |words: &[&str]| parse(words).expect("parses").export.expect("export");
        assert_eq!(export(&["--export", "in"]).output, None);
        assert_eq!(
            export(&["--export", "in", "out"]).output.as_deref(),
            Some("out")
        );
        assert!(parse(&["--export", "-p"]).is_err());
    }
}
