//! The table of events (`spec/extension-api.md` §5.2): how results combine, which in-place edits count, what a
//! failing handler does, and how long a handler may take. Data only; `combine/` interprets it.

use crate::discovery::Profile;
use crate::limits::Budget;

/// What happens to an event when a handler throws or runs out of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnFailure {
    /// Report and go on with the next handler.
    Continue,
    /// Report and stop: the guarded action does not happen.
    Refuse,
    /// As `Refuse` where the extension has the profile of pi; xcsh goes on with the next handler.
    RefuseForPi,
}

impl OnFailure {
    /// Whether a failure of an extension with this profile refuses the action.
    pub(crate) fn refuses(self, profile: Profile) -> bool {
        match self {
            OnFailure::Continue => false,
            OnFailure::Refuse => true,
            OnFailure::RefuseForPi => profile == Profile::Pi,
        }
    }
}

/// Combination keys of §5.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Combine {
    /// N: results are ignored.
    Notify,
    /// L: the last truthy result wins, `cancel: true` ends the dispatch.
    Last,
    /// F: the first truthy result wins and ends the dispatch.
    First,
    /// C: each handler sees what the previous one made of the event.
    Chain,
    /// A: everything returned is collected.
    Accumulate,
}

/// One row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventRule {
    /// Event name.
    pub(crate) name: &'static str,
    /// How results combine.
    pub(crate) combine: Combine,
    /// Members whose in-place edits count.
    pub(crate) returns: &'static [&'static str],
    /// Default time budget.
    pub(crate) budget: Budget,
    /// What a failure does.
    pub(crate) on_failure: OnFailure,
}

const fn row(
    name: &'static str,
    combine: Combine,
    returns: &'static [&'static str],
    budget: Budget,
) -> EventRule {
    EventRule {
        name,
        combine,
        returns,
        budget,
        on_failure: OnFailure::Continue,
    }
}

const fn guarding(on_failure: OnFailure, rule: EventRule) -> EventRule {
    EventRule { on_failure, ..rule }
}

use Budget::{Guard, Handler, Long, Shutdown, Start, Update};
use Combine::{Accumulate, Chain, First, Last, Notify};
use OnFailure::{Refuse, RefuseForPi};

/// Every event whose result or edits matter, and the few notify-only ones with a budget of their own.
/// An event that is not listed is notify-only with the ordinary handler budget.
const RULES: &[EventRule] = &[
    row("project_trust", First, &[], Long),
    row("resources_discover", Accumulate, &[], Handler),
    row("session_before_switch", Last, &[], Handler),
    row("session_before_branch", Last, &[], Handler),
    row("session_before_fork", Last, &[], Handler),
    row("session_before_compact", Last, &["preparation"], Long),
    row("session.compacting", Last, &[], Handler),
    row("session_before_tree", Last, &["preparation"], Long),
    row("session_start", Notify, &[], Start),
    row("session_shutdown", Notify, &[], Shutdown),
    row("input", Chain, &[], Long),
    row("before_agent_start", Chain, &["systemPromptOptions"], Long),
    row("context", Chain, &["messages"], Handler),
    row("context_with_system", Chain, &["messages"], Handler),
    row("before_provider_request", Chain, &["payload"], Handler),
    row("before_provider_headers", Chain, &["headers"], Handler),
    row("agent_before_settle", Chain, &[], Handler),
    row("turn_end", Chain, &[], Handler),
    row("message_update", Notify, &[], Update),
    row("message_end", Chain, &[], Handler),
    guarding(Refuse, row("tool_call", Last, &["input"], Guard)),
    row(
        "tool_result",
        Chain,
        &[
            "content",
            "details",
            "isError",
            "structuredContent",
            "usage",
        ],
        Handler,
    ),
    row("tool_execution_update", Notify, &[], Update),
    guarding(RefuseForPi, row("user_bash", First, &[], Long)),
    row("user_python", First, &[], Long),
];

/// The other events that extensions may subscribe to: notify-only, or of a feature that not every host of the family has.
const OTHERS: &[&str] = &[
    "after_provider_response",
    "agent_end",
    "agent_settled",
    "agent_start",
    "assistant_message",
    "auto_compaction_end",
    "auto_compaction_start",
    "auto_retry_end",
    "auto_retry_start",
    "bash_execution_update",
    "before_subagent_spawn",
    "cache_warming_decision",
    "compaction_end",
    "compaction_start",
    "credential_disabled",
    "entry_appended",
    "extension_error",
    "goal_updated",
    "initialize",
    "llm_trace",
    "mcp_notification",
    "mcp_servers_change",
    "message_start",
    "model_select",
    "provider_stream_event",
    "queue_update",
    "retry_fallback_applied",
    "retry_fallback_succeeded",
    "session_branch",
    "session_compact",
    "session_compact_failed",
    "session_directory",
    "session_fork",
    "session_info_changed",
    "session_stop",
    "session_switch",
    "session_tree",
    "summarization_retry_attempt_start",
    "summarization_retry_finished",
    "summarization_retry_scheduled",
    "thinking_level_changed",
    "thinking_level_select",
    "todo_reminder",
    "tool_approval_requested",
    "tool_approval_resolved",
    "tool_execution_end",
    "tool_execution_start",
    "ttsr_triggered",
    "turn_start",
    "ui_prompt_end",
    "ui_prompt_start",
];

/// What to say about a subscription to an event that does not exist.
pub(crate) fn unknown_event(name: &str) -> Option<String> {
    let known = || {
        RULES
            .iter()
            .map(|rule| rule.name)
            .chain(OTHERS.iter().copied())
    };
    if known().any(|known| known == name) {
        return None;
    }
    let nearest = known()
        .map(|known| (distance(name, known), known))
        .min()
        // Further away it would be a guess.
        .filter(|(edits, known)| *edits <= known.len().max(name.len()) / 3);
    Some(match nearest {
        Some((_, known)) => format!(
            "There is no event \"{name}\"; its handler is never called. Did you mean \"{known}\"?"
        ),
        None => format!("There is no event \"{name}\"; its handler is never called."),
    })
}

/// Number of characters to insert, remove or replace. Case and the kind of separator do not count.
fn distance(one: &str, other: &str) -> usize {
    let letters = |text: &str| -> Vec<char> {
        text.chars()
            .take(64)
            .filter(char::is_ascii_alphanumeric)
            .map(|letter| letter.to_ascii_lowercase())
            .collect()
    };
    let (one, other) = (letters(one), letters(other));
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.iter().enumerate() {
        let mut diagonal = at;
        if let Some(first) = row.first_mut() {
            *first = at + 1;
        }
        for (column, wanted) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != wanted);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}

/// The row of an event.
pub(crate) fn rule(name: &str) -> EventRule {
    RULES
        .iter()
        .find(|rule| rule.name == name)
        .copied()
        .unwrap_or(EventRule {
            name: "",
            combine: Notify,
            returns: &[],
            budget: Handler,
            on_failure: OnFailure::Continue,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_event_is_named_with_its_nearest_neighbour() {
        assert_eq!(unknown_event("tool_call"), None);
        assert_eq!(unknown_event("turn_start"), None);
        for event in pier_agent::hooks::HookEvent::ALL {
            assert_eq!(unknown_event(event.as_str()), None);
        }
        let said = |name| unknown_event(name).unwrap_or_default();
        assert!(said("sessionStart").contains("Did you mean \"session_start\"?"));
        assert!(said("tool_calls").contains("Did you mean \"tool_call\"?"));
        assert!(said("beforeAgentStart").contains("\"before_agent_start\""));
        assert!(!said("my_own_thing_entirely").contains("Did you mean"));
        assert!(!said("").contains("Did you mean"));
    }

    #[test]
    fn names_are_unique_and_guards_refuse() {
        let mut names: Vec<_> = RULES.iter().map(|rule| rule.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), RULES.len());
        let refusing = |profile| -> Vec<_> {
            let guards = RULES.iter().filter(|rule| rule.on_failure.refuses(profile));
            guards.map(|rule| rule.name).collect()
        };
        assert_eq!(refusing(Profile::Pi), ["tool_call", "user_bash"]);
        assert_eq!(refusing(Profile::Xcsh), ["tool_call"]);
        assert_eq!(rule("agent_start").combine, Combine::Notify);
    }
}
