//! Modes: print, JSON and RPC. The only crate that writes to standard output and knows wire forms.
//!
//! `print` and `rpc` are the two lives a process can have; both get their session from `setup` and
//! write its events through `events` in one of the forms of `dialect`.

pub mod diagnostics;
mod dialect;
mod events;
pub mod export;
mod extensions;
mod host;
mod isolates;
pub mod listing;
mod output;
mod paths;
pub mod print;
mod proxy;
pub mod rpc;
pub mod setup;
mod signals;

pub use dialect::{DIALECT_VARIABLE, Dialect};
pub use isolates::{Isolates, kill_children};
pub use output::{OutputClosed, OutputQueue, ProtocolStdout, print_plain};
pub use signals::EarlySignals;
