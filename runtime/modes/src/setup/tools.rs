//! Which tools may be used and which the model is offered (`spec/cli.md` §2.1, §6 `defaultTools`).

use std::collections::HashSet;

use pier_agent::tool::{ToolFilter, ToolRegistry};

use super::model::matches;
use super::options::ToolChoice;

/// Registers the built-in tools, unless the flags leave them out.
pub(super) fn register_builtin(registry: &ToolRegistry, choice: &ToolChoice) {
    if choice.no_builtin || choice.none {
        return;
    }
    for tool in pier_agent::tools::builtin_tools() {
        registry.register("builtin", tool);
    }
}

/// Applies flags and setting to what is registered now; call it once extensions are loaded. Returns complaints about
/// names that no tool has.
pub(super) fn apply(
    registry: &ToolRegistry,
    choice: &ToolChoice,
    default_tools: &[String],
) -> Vec<String> {
    let known: Vec<String> = registry
        .all()
        .iter()
        .map(|tool| tool.spec().name.clone())
        .collect();
    let words = match (&choice.allow, choice.none) {
        (_, true) => Some(&[][..]),
        (Some(words), false) => Some(words.as_slice()),
        (None, false) => None,
    };
    let exclude: HashSet<String> = expand(&choice.exclude, &known);
    let (allow, changes) = match words {
        None => (None, default_tools),
        Some(words) if is_changes(words) => (None, words),
        Some(words) => (Some(expand(words, &known)), &[][..]),
    };
    let offered = match &allow {
        // The order in which tools were registered, so that the prompt is the same every time.
        Some(allow) => known
            .iter()
            .filter(|name| allow.contains(*name))
            .cloned()
            .collect(),
        None => changed(registry.active_names(), changes, &known),
    };
    registry.set_filter(ToolFilter { allow, exclude });
    registry.set_active(&offered);
    [
        ("--tools", choice.allow.as_deref().unwrap_or_default()),
        ("--exclude-tools", &choice.exclude),
        ("The setting \"defaultTools\"", default_tools),
    ]
    .iter()
    .filter_map(|(place, words)| unmatched(place, words, &known))
    .collect()
}

/// A sentence about the words that fit no tool. A warning only: an extension may register one later.
fn unmatched(place: &str, words: &[String], known: &[String]) -> Option<String> {
    let missing: Vec<String> = words
        .iter()
        .map(|word| word.trim_start_matches(['+', '-']))
        .filter(|word| !known.iter().any(|name| matches(word, name)))
        .map(|word| format!("\"{word}\""))
        .collect();
    if missing.is_empty() {
        return None;
    }
    let mut names = known.to_vec();
    names.sort();
    Some(format!(
        "{place} names {}, which no tool fits. There are: {}",
        missing.join(", "),
        if names.is_empty() {
            "none".to_owned()
        } else {
            names.join(", ")
        }
    ))
}

/// A list of nothing but `+name` and `-name`.
fn is_changes(words: &[String]) -> bool {
    !words.is_empty() && words.iter().all(|word| word.starts_with(['+', '-']))
}

/// Names and patterns as names; a name that nobody has yet stays, for a tool that is registered later.
fn expand(words: &[String], known: &[String]) -> HashSet<String> {
    let mut names = HashSet::new();
    for word in words {
        if word.contains('*') {
            names.extend(known.iter().filter(|name| matches(word, name)).cloned());
        } else {
            names.insert(word.clone());
        }
    }
    names
}

/// The active set after a list: changes to it, or the names that replace the built-in ones.
fn changed(active: Vec<String>, words: &[String], known: &[String]) -> Vec<String> {
    if words.is_empty() {
        return active;
    }
    let mut result = active;
    if !is_changes(words) {
        let builtin: Vec<_> = pier_agent::tools::builtin_tools()
            .iter()
            .map(|tool| tool.spec().name.clone())
            .collect();
        result.retain(|name| !builtin.contains(name));
    }
    for word in words {
        match word.strip_prefix('-') {
            Some(name) => result.retain(|active| !matches(name, active)),
            None => {
                let name = word.strip_prefix('+').unwrap_or(word);
                for found in known.iter().filter(|known| matches(name, known)) {
                    if !result.contains(found) {
                        result.push(found.clone());
                    }
                }
            }
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use pier_agent::tool::{ToolFilter, ToolRegistry};

    use super::{ToolChoice, apply, register_builtin};

    fn active(choice: &ToolChoice, default_tools: &[&str]) -> Vec<String> {
        let registry = ToolRegistry::new(ToolFilter::default());
        register_builtin(&registry, choice);
        let defaults: Vec<_> = default_tools
            .iter()
            .map(|name| (*name).to_owned())
            .collect();
        let complaints = apply(&registry, choice, &defaults);
        assert!(complaints.is_empty(), "{complaints:?}");
        let mut names = registry.active_names();
        names.sort();
        names
    }

    fn allow(words: &[&str]) -> ToolChoice {
        ToolChoice {
            allow: Some(words.iter().map(|word| (*word).to_owned()).collect()),
            ..ToolChoice::default()
        }
    }

    #[test]
    fn four_tools_are_offered_unless_something_else_is_said() {
        assert_eq!(
            active(&ToolChoice::default(), &[]),
            ["bash", "edit", "read", "write"]
        );
        assert_eq!(
            active(&ToolChoice::default(), &["read", "ls"]),
            ["ls", "read"]
        );
        assert_eq!(
            active(&ToolChoice::default(), &["+grep", "-bash"]),
            ["edit", "grep", "read", "write"]
        );
    }

    #[test]
    fn an_allow_list_names_or_changes() {
        assert_eq!(active(&allow(&["ls", "r*"]), &[]), ["ls", "read"]);
        assert_eq!(
            active(&allow(&["+ls", "-bash"]), &[]),
            ["edit", "ls", "read", "write"]
        );
        assert!(active(&allow(&[]), &[]).is_empty());
    }

    #[test]
    fn names_that_no_tool_has_are_said_with_those_that_exist() {
        let registry = ToolRegistry::new(ToolFilter::default());
        let choice = ToolChoice {
            exclude: vec!["-also*".into()],
            ..allow(&["read", "nosuch"])
        };
        register_builtin(&registry, &choice);
        let complaints = apply(&registry, &choice, &[]);
        assert_eq!(complaints.len(), 2);
        assert!(
            complaints[0]
                .starts_with("--tools names \"nosuch\", which no tool fits. There are: bash,"),
            "{}",
            complaints[0]
        );
        assert!(complaints[1].starts_with("--exclude-tools names \"also*\""));
    }

    #[test]
    fn excluded_tools_are_out_whatever_else_is_said() {
        let choice = ToolChoice {
            exclude: vec!["b*".into()],
            ..allow(&["bash", "read"])
        };
        assert_eq!(active(&choice, &[]), ["read"]);
    }

    #[test]
    fn none_and_no_builtin() {
        assert!(
            active(
                &ToolChoice {
                    none: true,
                    ..ToolChoice::default()
                },
                &[]
            )
            .is_empty()
        );
        assert!(
            active(
                &ToolChoice {
                    no_builtin: true,
                    ..ToolChoice::default()
                },
                &[]
            )
            .is_empty()
        );
    }
}
