//! `tests/lab/deviations.toml`: where Pier differs from a recording on purpose. Each rule carries its reason,
//! and a rule that no longer applies fails the test, so that the list stays true.

use crate::pattern::{Saved, json_matches};
use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;
use std::cell::Cell;
use std::path::Path;

/// All rules.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Deviations {
    /// Records that differ as a whole.
    pub record: Vec<RecordRule>,
    /// Members that differ inside records that are otherwise the same.
    pub field: Vec<FieldRule>,
    /// Calls that end at the same moment, in either order.
    pub race: Vec<RaceRule>,
}

/// One record of the recording and what Pier says instead. At least one side is present.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordRule {
    /// Name of the transcript without its suffix.
    pub transcript: String,
    /// Pattern for the recorded record; absent if Pier says something extra.
    pub recorded: Option<Value>,
    /// Pattern for Pier's record; absent if Pier leaves the recorded one out.
    pub ours: Option<Value>,
    /// Why.
    pub reason: String,
    /// The rule may also not apply (a race that both outcomes settle correctly).
    #[serde(default)]
    pub optional: bool,
    #[serde(skip)]
    used: Cell<bool>,
}

/// A member that is left out of the comparison on both sides.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FieldRule {
    /// Name of the transcript, or `*` for all.
    pub transcript: String,
    /// Pattern for the records the rule is about.
    pub records: Value,
    /// Path to the member: names joined by `.`, `*` for all elements of an array.
    pub path: String,
    /// Why.
    pub reason: String,
    #[serde(skip)]
    used: Cell<bool>,
}

/// Tool calls of one batch that take equally long, so that only the machine decides whose updates and end come first.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RaceRule {
    /// Name of the transcript.
    pub transcript: String,
    /// Ids of the calls.
    pub calls: Vec<String>,
    /// Why.
    pub reason: String,
    #[serde(skip)]
    used: Cell<bool>,
}

impl Deviations {
    /// Reads the file.
    ///
    /// # Errors
    /// When it is no such list.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        toml::from_str(&text).with_context(|| format!("in {}", path.display()))
    }

    /// Puts what calls that race did at the same moment into the order of the calls.
    pub fn settle_races(&self, transcript: &str, records: &mut [Value]) {
        for rule in self
            .race
            .iter()
            .filter(|rule| rule.transcript == transcript)
        {
            let racer = |record: &Value| {
                let running = ["tool_execution_update", "tool_execution_end"];
                let call = record["toolCallId"].as_str()?;
                running
                    .contains(&record["type"].as_str()?)
                    .then(|| rule.calls.iter().position(|id| id == call))?
            };
            for stretch in records.chunk_by_mut(|a, b| racer(a).is_some() == racer(b).is_some()) {
                if stretch.first().and_then(racer).is_some() {
                    stretch.sort_by_key(racer);
                    rule.used.set(true);
                }
            }
        }
    }

    /// Takes out of a normalised record what rules exempt.
    pub fn strip(&self, transcript: &str, record: &mut Value) {
        for rule in &self.field {
            let here = rule.transcript == "*" || rule.transcript == transcript;
            if here && fits(&rule.records, record) {
                let path: Vec<&str> = rule.path.split('.').collect();
                if remove(record, &path) {
                    rule.used.set(true);
                }
            }
        }
    }

    /// A rule for this recorded record and, if it has one, this record of ours.
    pub fn pair(&self, transcript: &str, recorded: Option<&Value>, ours: Option<&Value>) -> bool {
        let found = self.record.iter().find(|rule| {
            rule.transcript == transcript
                && side(rule.recorded.as_ref(), recorded)
                && side(rule.ours.as_ref(), ours)
        });
        if let Some(rule) = found {
            rule.used.set(true);
        }
        found.is_some()
    }

    /// Whether Pier is known to leave this record out, so that a client must not wait for it.
    pub fn left_out(&self, transcript: &str, recorded: &Value) -> bool {
        self.record.iter().any(|rule| {
            rule.transcript == transcript
                && rule.ours.is_none()
                && side(rule.recorded.as_ref(), Some(recorded))
        })
    }

    /// Rules about this transcript that did not apply.
    pub fn stale(&self, transcript: &str) -> Vec<String> {
        let records = self
            .record
            .iter()
            .filter(|rule| rule.transcript == transcript && !rule.used.get() && !rule.optional)
            .map(|rule| &rule.reason);
        let fields = self
            .field
            .iter()
            .filter(|rule| rule.transcript == transcript && !rule.used.get())
            .map(|rule| &rule.reason);
        let races = self
            .race
            .iter()
            .filter(|rule| rule.transcript == transcript && !rule.used.get())
            .map(|rule| &rule.reason);
        records.chain(fields).chain(races).cloned().collect()
    }
}

fn side(pattern: Option<&Value>, record: Option<&Value>) -> bool {
    match (pattern, record) {
        (None, None) => true,
        (Some(pattern), Some(record)) => fits(pattern, record),
        _ => false,
    }
}

fn fits(pattern: &Value, record: &Value) -> bool {
    json_matches(pattern, record, &mut Saved::new()).is_ok()
}

fn remove(value: &mut Value, path: &[&str]) -> bool {
    match (path, value) {
        ([name], Value::Object(members)) => members.remove(*name).is_some(),
        (["*", rest @ ..], Value::Array(elements)) => {
            let mut any = false;
            for element in elements {
                any |= remove(element, rest);
            }
            any
        }
        ([name, rest @ ..], Value::Object(members)) => members
            .get_mut(*name)
            .is_some_and(|member| remove(member, rest)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn calls_that_race_are_put_in_order_and_nothing_else_moves() {
        let rules: Deviations = toml::from_str(
            "[[race]]\ntranscript = \"a\"\ncalls = [\"1\", \"2\"]\nreason = \"r\"\n",
        )
        .unwrap();
        let event = |kind: &str, call: &str, n: u8| json!({"type": format!("tool_execution_{kind}"), "toolCallId": call, "n": n});
        let mut records = [
            event("start", "2", 0),
            event("update", "2", 1),
            event("update", "2", 2),
            event("end", "1", 3),
            event("end", "3", 4),
            event("end", "2", 5),
        ];
        assert_eq!(rules.stale("a"), ["r"]);
        rules.settle_races("a", &mut records);
        let order: Vec<u64> = records.iter().filter_map(|r| r["n"].as_u64()).collect();
        assert_eq!(order, [0, 3, 1, 2, 4, 5]);
        assert!(rules.stale("a").is_empty());
    }

    #[test]
    fn rules_apply_and_unused_ones_are_named() {
        let rules: Deviations = toml::from_str(
            "[[record]]\ntranscript = \"a\"\nrecorded = { type = \"x\" }\nreason = \"r1\"\n\
             [[field]]\ntranscript = \"a\"\nrecords = { type = \"y\" }\npath = \"list.*.n\"\nreason = \"r2\"\n",
        )
        .unwrap();
        assert!(!rules.pair("a", Some(&json!({"type": "z"})), None));
        assert_eq!(rules.stale("a").len(), 2);
        assert!(rules.pair("a", Some(&json!({"type": "x"})), None));
        let mut record = json!({"type": "y", "list": [{"n": 1, "m": 2}]});
        rules.strip("a", &mut record);
        assert_eq!(record, json!({"type": "y", "list": [{"m": 2}]}));
        assert!(rules.stale("a").is_empty());
    }
}
