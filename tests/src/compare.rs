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
    let (mut missing, mut extra) = (Vec::new(), Vec::new());
    for operation in capture_diff_slices(Algorithm::Myers, &left_texts, &right_texts) {
        if let DiffOp::Equal { .. } = operation {
            continue;
        }
        let (old, new) = (&left[operation.old_range()], &right[operation.new_range()]);
        unexplained(transcript, rules, old, new, &mut missing, &mut extra);
    }
    report(&missing, extra)
}

/// Explains a stretch that differs by rules, in order, and collects the rest.
fn unexplained<'a>(
    transcript: &str,
    rules: &Deviations,
    recorded: &'a [Value],
    ours: &'a [Value],
    missing: &mut Vec<&'a Value>,
    extra: &mut Vec<&'a Value>,
) {
    let unknown = |record: &&Value| !rules.pair(transcript, None, Some(*record));
    let mut next = 0;
    for record in recorded {
        let paired = (next..ours.len()).find(|&index| {
            // Equal records can sit in a stretch that differs; they need no rule.
            ours[index] == *record || rules.pair(transcript, Some(record), Some(&ours[index]))
        });
        if let Some(index) = paired {
            extra.extend(ours[next..index].iter().filter(unknown));
            next = index + 1;
        } else if !rules.pair(transcript, Some(record), None) {
            missing.push(record);
        }
    }
    extra.extend(ours[next..].iter().filter(unknown));
}

/// One line a difference; two records of the same kind are compared member by member.
fn report(missing: &[&Value], mut extra: Vec<&Value>) -> Vec<String> {
    let mut found = Vec::new();
    for record in missing {
        let kind = normal::signature(record);
        match extra
            .iter()
            .position(|other| normal::signature(other) == kind)
        {
            Some(index) => {
                let mut places = Vec::new();
                normal::explain("$", record, extra[index], &mut places);
                if places.is_empty() {
                    found.push(format!("~ {kind} comes elsewhere"));
                } else {
                    found.push(format!("~ {kind}\n    {}", places.join("\n    ")));
                }
                extra.remove(index);
            }
            None => found.push(format!("- {record}")),
        }
    }
    found.extend(extra.iter().map(|record| format!("+ {record}")));
    found
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
            1
        );
        assert_eq!(
            differences("t", &rules, &[b], &[json!({"type": "b", "v": 2})]).len(),
            1
        );
    }
}
