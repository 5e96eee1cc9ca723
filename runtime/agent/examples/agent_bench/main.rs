//! Measures the agent core: turns, deltas, sessions. `cargo xtask bench agent` runs it and explains the table; `--json` prints one
//! object a line instead. Each number stands beside a reference that is measured in the same run: the least that any
//! implementation would have to do for the same job. Numbers are medians; they depend on the machine and the build profile.

mod runs;
mod sessions;

use std::error::Error;
use std::time::{Duration, Instant};

/// How often each measurement is repeated.
const REPEATS: usize = 5;

/// Prints results.
struct Report {
    json: bool,
}

/// What was measured.
struct Row<'a> {
    name: &'a str,
    /// Items, and what they are.
    size: usize,
    unit: &'a str,
    total: Duration,
    /// The same number of items with the reference.
    reference: Option<Duration>,
}

impl Report {
    fn head(&self) {
        if !self.json {
            println!(
                "{:<26} {:>8} {:<9} {:>11} {:>11} {:>13} {:>8}",
                "what", "size", "", "total ms", "us each", "reference us", "ratio"
            );
        }
    }

    fn row(&self, row: &Row<'_>) {
        let each = |total: Duration| total.as_secs_f64() * 1e6 / row.size.max(1) as f64;
        let (micros, reference) = (each(row.total), row.reference.map(each));
        if self.json {
            println!(
                "{}",
                serde_json::json!({
                    "bench": row.name, "size": row.size, "unit": row.unit, "totalMs": row.total.as_secs_f64() * 1e3,
                    "eachUs": micros, "referenceUs": reference,
                })
            );
            return;
        }
        let reference = reference.map_or_else(
            || format!("{:>13} {:>8}", "", ""),
            |reference| format!("{reference:>13.3} {:>8.1}", micros / reference),
        );
        println!(
            "{:<26} {:>8} {:<9} {:>11.2} {micros:>11.3} {reference}",
            row.name,
            row.size,
            row.unit,
            row.total.as_secs_f64() * 1e3,
        );
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut report = Report { json: false };
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--json" => report.json = true,
            other => return Err(format!("unknown argument {other}; the only one is --json").into()),
        }
    }
    report.head();
    runs::measure(&report)?;
    sessions::measure(&report)
}

/// Median time of [`REPEATS`] calls.
fn median_of(
    mut work: impl FnMut() -> Result<Duration, Box<dyn Error>>,
) -> Result<Duration, Box<dyn Error>> {
    let mut times = Vec::with_capacity(REPEATS);
    for _ in 0..REPEATS {
        times.push(work()?);
    }
    times.sort();
    Ok(times.get(times.len() / 2).copied().unwrap_or_default())
}

/// Time of one call.
fn timed<T>(work: impl FnOnce() -> Result<T, Box<dyn Error>>) -> Result<Duration, Box<dyn Error>> {
    let started = Instant::now();
    work()?;
    Ok(started.elapsed())
}
