//! oh-my-pi 5: the ancestor of xcsh; same streaming forms, no ready record, no todo phases.

use super::{AutoCompactionEvents, Rules};

pub(super) const RULES: Rules = Rules {
    name: "omp",
    ready_record: false,
    early_prompt_ack: false,
    failed_commands_fail: true,
    cumulative_updates: true,
    system_messages: false,
    auto_compaction: AutoCompactionEvents::Plain,
    send_failures_as_responses: false,
    cancel_notices: false,
    title_is_opt_in: false,
    xcsh_extras: false,
};
