//! Slash commands across extensions (`spec/extension-api.md` §7.1, §11.1): the last loaded wins the plain name,
//! and every one of a clash can be reached as `name:1`, `name:2`, ... in load order.

use std::collections::HashMap;
use std::sync::Arc;

use super::{ExtensionInfo, Loaded};

/// A command as it can be invoked.
#[derive(Clone)]
pub(crate) struct Command {
    /// Name after the slash.
    pub(crate) invoked_as: String,
    /// Name as registered.
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) has_completions: bool,
    pub(crate) info: Arc<ExtensionInfo>,
}

/// Every invocation name, in load order; an alias follows the plain name it stands beside.
pub(crate) fn list(extensions: &[Loaded]) -> Vec<Command> {
    let mut by_name: Vec<(String, Vec<Command>)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for extension in extensions {
        for command in &extension.registered.commands {
            let at = *places.entry(command.name.clone()).or_insert_with(|| {
                by_name.push((command.name.clone(), Vec::new()));
                by_name.len() - 1
            });
            by_name[at].1.push(Command {
                invoked_as: command.name.clone(),
                name: command.name.clone(),
                description: command.description.clone(),
                has_completions: command.has_completions,
                info: extension.info.clone(),
            });
        }
    }
    let taken: Vec<String> = by_name.iter().map(|(name, _)| name.clone()).collect();
    let mut out = Vec::new();
    for (name, commands) in by_name {
        out.extend(commands.last().cloned());
        if commands.len() > 1 {
            for (index, command) in commands.into_iter().enumerate() {
                let invoked_as = format!("{name}:{}", index + 1);
                if !taken.contains(&invoked_as) {
                    out.push(Command {
                        invoked_as,
                        ..command
                    });
                }
            }
        }
    }
    out
}

/// The command that `/name` runs. Exact and case-sensitive.
pub(crate) fn find(extensions: &[Loaded], name: &str) -> Option<Command> {
    list(extensions)
        .into_iter()
        .find(|command| command.invoked_as == name)
}

/// Names that more than one extension registered, with their paths in load order.
pub(crate) fn clashes(extensions: &[Loaded]) -> Vec<(String, Vec<String>)> {
    let mut seen: Vec<(String, Vec<String>)> = Vec::new();
    for extension in extensions {
        for command in &extension.registered.commands {
            match seen.iter_mut().find(|(name, _)| *name == command.name) {
                Some((_, paths)) => paths.push(extension.info.path.clone()),
                None => seen.push((command.name.clone(), vec![extension.info.path.clone()])),
            }
        }
    }
    seen.retain(|(_, paths)| paths.len() > 1);
    seen
}
