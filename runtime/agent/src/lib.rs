//! The agent core: messages, the turn loop, queues, sessions, compaction, built-in tools and settings.
//!
//! No V8, no stdout, and no knowledge of modes or of the language extensions are written in.

pub mod agent_session;
mod clock;
pub mod compaction;
pub mod convert;
pub mod events;
pub mod hooks;
pub mod host;
pub mod ignore_files;
pub mod prompt;
pub mod provider;
mod queue;
pub mod regular_file;
pub mod retry;
mod run;
pub mod schema;
pub mod session;
pub mod settings;
pub mod shared_file;
pub mod tool;
pub mod tools;
mod updates;
pub mod usage;

pub use agent_session::{AgentConfig, AgentSession};
