//! Ownership of standard output.
//!
//! This module is the only place in the workspace that writes to file descriptor 1. Everything
//! else that believes it prints to standard output (an extension, a library, a child process that
//! inherited the descriptor) lands on standard error from the moment [`ProtocolStdout::take_over`]
//! returned. It must never format records; it moves finished lines.

mod queue;
mod stdin;
mod stdout;

pub(crate) use queue::PushError;
pub use queue::{OutputClosed, OutputQueue};
pub(crate) use stdin::take_stdin;
pub use stdout::{ProtocolStdout, print_plain};
