//! Counts over a whole session file, all branches (spec/rpc.md §3.2, `get_session_stats`). Pure.

use pier_protocol::entry::EntryBody;
use pier_protocol::message::{Message, Usage};
use serde::Serialize;

use super::stored::EntryRef;

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionStats {
    pub user_messages: u64,
    pub assistant_messages: u64,
    pub tool_calls: u64,
    pub tool_results: u64,
    /// Every `message` entry, whatever its role.
    pub total_messages: u64,
    pub tokens: TokenTotals,
    /// US dollars.
    #[serde(serialize_with = "pier_protocol::num::serialize_f64")]
    pub cost: f64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenTotals {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// The sum of the four.
    pub total: u64,
}

impl SessionStats {
    pub(super) fn count(entries: &[EntryRef]) -> Self {
        let mut stats = SessionStats::default();
        for entry in entries {
            stats.add(entry);
        }
        let tokens = &mut stats.tokens;
        tokens.total = [tokens.output, tokens.cache_read, tokens.cache_write]
            .into_iter()
            .fold(tokens.input, u64::saturating_add);
        stats
    }

    fn add(&mut self, entry: &EntryRef) {
        match entry.entry_type() {
            "message" | "compaction" | "branch_summary" | "usage" => {}
            _ => return,
        }
        match entry.body() {
            EntryBody::Message(body) => {
                self.total_messages += 1;
                match &*body.message {
                    Message::User(_) => self.user_messages += 1,
                    Message::Assistant(message) => {
                        self.assistant_messages += 1;
                        self.tool_calls += message.tool_calls().count() as u64;
                        self.spend(Some(&message.usage));
                    }
                    Message::ToolResult(message) => {
                        self.tool_results += 1;
                        self.spend(message.usage.as_ref());
                    }
                    _ => {}
                }
            }
            EntryBody::Compaction(body) => self.spend(body.usage.as_ref()),
            EntryBody::BranchSummary(body) => self.spend(body.usage.as_ref()),
            EntryBody::Usage(body) => self.spend(Some(&body.usage)),
            _ => {}
        }
    }

    fn spend(&mut self, usage: Option<&Usage>) {
        let Some(usage) = usage else { return };
        let tokens = &mut self.tokens;
        tokens.input = tokens.input.saturating_add(usage.input);
        tokens.output = tokens.output.saturating_add(usage.output);
        tokens.cache_read = tokens.cache_read.saturating_add(usage.cache_read);
        tokens.cache_write = tokens.cache_write.saturating_add(usage.cache_write);
        if usage.cost.total.is_finite() {
            self.cost += usage.cost.total;
        }
    }
}
