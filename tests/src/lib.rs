//! Black-box tests of Pier: they start the real binary and look at what comes out of it.
//!
//! * `tests/specs/<area>/<case>/` holds one behaviour a folder; [`runner`] runs it. Adding a case needs no
//!   Rust; `tests/README.md` describes the files.
//! * [`load`] does many things at once, through [`client`].
//! * [`storm`] interrupts runs at random moments.
//! * `tests/lab/transcripts/` holds recorded RPC sessions; [`transcript`] replays them.
//! * `tests/clients/` holds scenarios for clients of other projects, which run unmodified.
//!
//! Nothing here may use the product's crates: a test that shares code with what it tests agrees with it
//! about every mistake.

pub mod case;
pub mod client;
pub mod compare;
pub mod deviation;
pub mod load;
pub mod normal;
pub mod pattern;
pub mod process;
pub mod rpc;
pub mod runner;
pub mod sandbox;
pub mod server;
pub mod steps;
pub mod storm;
pub mod transcript;
