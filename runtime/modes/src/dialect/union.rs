//! Forms of pi for clients that also serve xcsh: everything of pi plus the ready record.

use super::{Rules, pi};

pub(super) const RULES: Rules = Rules {
    name: "union",
    ready_record: true,
    ..pi::RULES
};
