//! What the developer sees: one line a step, with the time it took. Writes to stderr only, so that a
//! command's result on stdout stays usable in a pipe.

use anyhow::Result;
use std::time::Instant;

/// Says what is about to happen, does it, and says how long it took.
pub(crate) fn step<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    eprintln!("==> {what}");
    let start = Instant::now();
    let result = work()?;
    eprintln!("    {what}: {:.1} s", start.elapsed().as_secs_f64());
    Ok(result)
}

/// A fact that needs no action.
pub(crate) fn note(text: &str) {
    eprintln!("    {text}");
}
