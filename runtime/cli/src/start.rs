//! From arguments to a running mode.

use std::sync::Arc;

use anyhow::Context as _;
use pier_modes::print::{Format, PrintOptions};
use pier_modes::setup::{
    Boot, ExtensionFlags, FlagOutcome, GivenFlag, ModelChoice, ResourceChoice, SessionChoice,
    StartOptions, ToolChoice,
};
use pier_modes::{Dialect, EarlySignals, Isolates, OutputQueue, ProtocolStdout};

use crate::args::{Args, ExportArgs, ExtensionFlagType, RegisteredFlag};
use crate::environment::Environment;
use crate::mode::ModeChoice;

/// Runs the chosen mode to its end. Returns the exit code.
///
/// # Errors
/// When the process cannot be set up: streams, threads, signals.
pub(crate) async fn run(
    args: Args,
    environment: Environment,
    mode: ModeChoice,
    isolates: Isolates,
    signals: EarlySignals,
) -> anyhow::Result<i32> {
    if let Some(search) = args.model.list.clone() {
        let flags = extension_flags(args.clone());
        let boot = Boot::new(options(args, environment), flags, Arc::new(isolates));
        let table = match pier_modes::listing::models(boot, search.as_deref(), signals).await? {
            Ok(table) => table,
            Err(code) => return Ok(code),
        };
        pier_modes::print_plain(&table)?;
        return Ok(0);
    }
    for sentence in args.without_effect() {
        pier_modes::diagnostics::warning(&sentence);
    }
    let dialect = dialect(&args, &environment)?;
    let stdout = ProtocolStdout::take_over().context("standard output cannot be used")?;
    let output = OutputQueue::start(stdout).context("the output thread cannot be started")?;
    let files = args.files.clone();
    let read_stdin = !std::io::IsTerminal::is_terminal(&std::io::stdin());
    let flags = extension_flags(args.clone());
    let boot = Boot::new(options(args, environment), flags, Arc::new(isolates));
    let code = match mode {
        ModeChoice::Rpc => pier_modes::rpc::run(boot, output, dialect, signals).await?,
        ModeChoice::Json => {
            pier_modes::print::run(
                boot,
                output,
                PrintOptions {
                    format: Format::Json,
                    files,
                    read_stdin,
                    dialect,
                },
                signals,
            )
            .await?
        }
        ModeChoice::Print | ModeChoice::Interactive => {
            pier_modes::print::run(
                boot,
                output,
                PrintOptions {
                    format: Format::Text,
                    files,
                    read_stdin,
                    dialect,
                },
                signals,
            )
            .await?
        }
    };
    Ok(code)
}

/// Writes a session as a page; returns where it is.
pub(crate) fn export(
    export: &ExportArgs,
    environment: &Environment,
) -> anyhow::Result<std::path::PathBuf> {
    pier_modes::export::session(
        &export.input,
        export.output.as_deref(),
        &environment.cwd,
        &environment.agent_dir,
    )
    .map_err(anyhow::Error::msg)
}

/// Sends logs to standard error. `PIER_LOG` takes the usual filter syntax.
pub(crate) fn log_to_stderr(verbose: bool) {
    use tracing_subscriber::EnvFilter;
    let filter = EnvFilter::try_from_env("PIER_LOG")
        .unwrap_or_else(|_| EnvFilter::new(if verbose { "info,pier=debug" } else { "error" }));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(true)
        .init();
}

fn dialect(args: &Args, environment: &Environment) -> anyhow::Result<Dialect> {
    if let Some(dialect) = args.rpc_dialect {
        return Ok(dialect);
    }
    match &environment.dialect {
        Some(word) => Dialect::parse(word).with_context(|| {
            format!(
                "{}: invalid dialect \"{word}\". Valid values: pi, xcsh, omp, union",
                pier_modes::DIALECT_VARIABLE
            )
        }),
        None => Ok(Dialect::for_program(&environment.program)),
    }
}

fn options(args: Args, environment: Environment) -> StartOptions {
    StartOptions {
        script: args.script.map(|path| environment.cwd.join(path)),
        trace: args.trace.map(|path| environment.cwd.join(path)),
        cwd: environment.cwd,
        agent_dir: environment.agent_dir,
        session_dir_variable: environment.session_dir,
        app_name: environment.program,
        model: ModelChoice {
            provider: args.model.provider,
            pattern: args.model.pattern,
            thinking: args.model.thinking,
            scope: args.model.scope,
            api_key: args.model.api_key,
        },
        session: SessionChoice {
            continue_last: args.session.continue_last,
            resume: args.session.resume,
            open: args.session.open,
            id: args.session.id,
            fork: args.session.fork,
            dir: args.session.dir,
            in_memory: args.session.in_memory,
            name: args.session.name,
        },
        tools: ToolChoice {
            allow: args.tools.allow,
            exclude: args.tools.exclude,
            none: args.tools.none,
            no_builtin: args.tools.no_builtin,
        },
        resources: ResourceChoice {
            extensions: args
                .resources
                .extensions
                .into_iter()
                .chain(args.resources.plugin_dirs)
                .collect(),
            no_extensions: args.resources.no_extensions,
            skills: args.resources.skills,
            no_skills: args.resources.no_skills,
            prompt_templates: args.resources.prompt_templates,
            no_prompt_templates: args.resources.no_prompt_templates,
            no_context_files: args.resources.no_context_files,
        },
        system_prompt: args.system_prompt,
        append_system_prompt: args.append_system_prompt,
        trust: args.trust,
        offline: args.offline || environment.offline,
    }
}

/// The second look at the command line, for when extensions have declared their flags.
fn extension_flags(args: Args) -> ExtensionFlags {
    Box::new(move |declared| {
        let registered: Vec<_> = declared
            .iter()
            .map(|flag| RegisteredFlag {
                name: flag.name.clone(),
                kind: match flag.flag_type {
                    pier_modes::setup::FlagType::Boolean => ExtensionFlagType::Boolean,
                    pier_modes::setup::FlagType::String => ExtensionFlagType::String,
                },
            })
            .collect();
        let resolved = args.resolve(&registered)?;
        let given = resolved
            .values
            .into_iter()
            .map(|(name, value)| GivenFlag {
                name,
                value: match value {
                    serde_json::Value::String(text) => Some(text),
                    other => Some(other.to_string()),
                },
            })
            .collect();
        Ok(FlagOutcome {
            given,
            messages: resolved.messages,
            warnings: resolved.warnings,
        })
    })
}
