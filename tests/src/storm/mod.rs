//! Storms: many runs of the real binary that are interrupted at random moments, and what must hold afterwards.
//!
//! A storm is made from one number, its seed; a failure names it, and `PIER_STORM_SEED` plays the same choices again. The moments
//! themselves depend on the machine as well. `PIER_STORM_ROUNDS` changes how many interruptions one storm has.

mod abort;
mod agent;
mod children;
mod kill;
mod random;
mod session_file;

use anyhow::{Context, Result};
use random::Random;
use std::time::{SystemTime, UNIX_EPOCH};

/// Storms of one kind that may run at the same time; together they have 200 interruptions.
pub const STORMS: u64 = 4;
const ROUNDS: u64 = 50;

/// What interrupts the runs.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// `kill -9`, then `--continue`.
    Kill,
    /// The command `abort`, in the middle of ten tools.
    Abort,
}

/// Runs storm number `index` of its kind.
///
/// # Errors
/// Names the seed, the round and what did not hold.
pub fn run(kind: Kind, index: u64) -> Result<()> {
    let seed = match number("PIER_STORM_SEED")? {
        Some(seed) => seed,
        None => {
            let clock = SystemTime::now().duration_since(UNIX_EPOCH)?;
            clock.as_secs().wrapping_mul(STORMS).wrapping_add(index)
        }
    };
    let rounds = number("PIER_STORM_ROUNDS")?.unwrap_or(ROUNDS);
    let mut random = Random::new(seed);
    match kind {
        Kind::Kill => kill::storm(&mut random, rounds),
        Kind::Abort => abort::storm(&mut random, rounds),
    }
    .with_context(|| format!("storm with PIER_STORM_SEED={seed} PIER_STORM_ROUNDS={rounds}"))
}

fn number(variable: &str) -> Result<Option<u64>> {
    match std::env::var(variable) {
        Ok(text) => Ok(Some(text.parse().with_context(|| {
            format!("{variable} must be a number, not \"{text}\"")
        })?)),
        Err(_) => Ok(None),
    }
}
