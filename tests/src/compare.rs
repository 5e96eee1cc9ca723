//! Aligns a recording with what Pier said and lists what no deviation explains.

use crate::deviation::Deviations;
use crate::normal;
use serde_json::Value;
use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Differences between the two sequences, one a line; empty when they agree.
pub fn differences(
    transcript: &str,
    rules: &Deviations,
    recorded: &[Value],
    ours: &[Value],
) -> Vec<String> {
    let prepare = |records: &[Value]| -> Vec<Value> {
        records
            .iter()
            .map(|record| {
                let mut normal = normal::record(record);
                rules.strip(transcript, &mut normal);
                normal
            })
            .collect()
    };
    let (left, right) = (prepare(recorded), prepare(ours));
    let texts = |records: &[Value]| records.iter().map(Value::to_string).collect::<Vec<_>>();
    let (left_texts, right_texts) = (texts(&left), texts(&right));
    let mut found = Vec::new();
    for operation in capture_diff_slices(Algorithm::Myers, &left_texts, &right_texts) {
        if let DiffOp::Equal { .. } = operation {
            continue;
        }
        let (old, new) = (operation.old_range(), operation.new_range());
        unexplained(transcript, rules, &left[old], &right[new], &mut found);
    }
    found
}

/// Explains a stretch that differs by rules, in order; the rest is reported.
fn unexplained(
    transcript: &str,
    rules: &Deviations,
    recorded: &[Value],
    ours: &[Value],
    found: &mut Vec<String>,
) {
    let mut next = 0;
    let mut missing = Vec::new();
    for record in recorded {
        let paired = (next..ours.len()).find(|&index| {
            // Equal records can sit in a stretch that differs; they need no rule.
            ours[index] == *record || rules.pair(transcript, Some(record), Some(&ours[index]))
        });
        if let Some(index) = paired {
            extra(transcript, rules, &ours[next..index], found);
            next = index + 1;
        } else if !rules.pair(transcript, Some(record), None) {
            missing.push(format!("- {record}"));
        }
    }
    found.extend(missing);
    extra(transcript, rules, &ours[next..], found);
}

fn extra(transcript: &str, rules: &Deviations, ours: &[Value], found: &mut Vec<String>) {
    for record in ours {
        if !rules.pair(transcript, None, Some(record)) {
            found.push(format!("+ {record}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn order_and_values_matter() {
        let rules = Deviations::default();
        let a = json!({"type": "a", "timestamp": 1});
        let b = json!({"type": "b", "v": 1});
        let same = [json!({"type": "a", "timestamp": 2}), b.clone()];
        assert!(differences("t", &rules, &[a.clone(), b.clone()], &same).is_empty());
        assert_eq!(
            differences(
                "t",
                &rules,
                &[a.clone(), b.clone()],
                &[b.clone(), a.clone()]
            )
            .len(),
            2
        );
        assert_eq!(
            differences("t", &rules, &[b], &[json!({"type": "b", "v": 2})]).len(),
            2
        );
    }
}
