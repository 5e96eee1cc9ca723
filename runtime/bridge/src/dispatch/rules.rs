//! The table of events (`spec/extension-api.md` §5.2): how results combine, which in-place edits count, what a
//! failing handler does, and how long a handler may take. Data only; `combine/` interprets it.

use crate::limits::Budget;

/// What happens to an event when a handler throws or runs out of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnFailure {
    /// Report and go on with the next handler.
    Continue,
    /// Report and stop: the guarded action does not happen (`tool_call`, `user_bash`).
    Refuse,
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

const fn refusing(rule: EventRule) -> EventRule {
    EventRule {
        on_failure: OnFailure::Refuse,
        ..rule
    }
}

use Budget::{Guard, Handler, Long, Shutdown, Start, Update};
use Combine::{Accumulate, Chain, First, Last, Notify};

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
    row("before_provider_request", Chain, &[], Handler),
    row("before_provider_headers", Chain, &["headers"], Handler),
    row("agent_before_settle", Chain, &[], Handler),
    row("turn_end", Chain, &[], Handler),
    row("message_update", Notify, &[], Update),
    row("message_end", Chain, &[], Handler),
    refusing(row("tool_call", Last, &["input"], Guard)),
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
    refusing(row("user_bash", First, &[], Long)),
    row("user_python", First, &[], Long),
];

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
    fn names_are_unique_and_guards_refuse() {
        let mut names: Vec<_> = RULES.iter().map(|rule| rule.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), RULES.len());
        let refusing: Vec<_> = RULES
            .iter()
            .filter(|rule| rule.on_failure == OnFailure::Refuse)
            .map(|rule| rule.name)
            .collect();
        assert_eq!(refusing, ["tool_call", "user_bash"]);
        assert_eq!(rule("agent_start").combine, Combine::Notify);
    }
}
