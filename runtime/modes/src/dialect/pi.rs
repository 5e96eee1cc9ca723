//! pi 1.6: delta-only updates, system messages visible, nothing before the first answer.

use super::{AutoCompactionEvents, Rules};

pub(super) const RULES: Rules = Rules {
    name: "pi",
    ready_record: false,
    early_prompt_ack: false,
    failed_commands_fail: true,
    cumulative_updates: false,
    system_messages: true,
    auto_compaction: AutoCompactionEvents::None,
    send_failures_as_responses: false,
    cancel_notices: false,
    title_is_opt_in: false,
    xcsh_extras: false,
};
