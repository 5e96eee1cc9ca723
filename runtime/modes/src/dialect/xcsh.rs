//! xcsh 19: its clients wait for `ready`, read cumulative updates and treat a system message as noise.

use super::{AutoCompactionEvents, Rules};

pub(super) const RULES: Rules = Rules {
    name: "xcsh",
    ready_record: true,
    early_prompt_ack: true,
    failed_commands_fail: true,
    cumulative_updates: true,
    system_messages: false,
    auto_compaction: AutoCompactionEvents::WithAction,
    send_failures_as_responses: true,
    cancel_notices: true,
    title_is_opt_in: true,
    xcsh_extras: true,
};
