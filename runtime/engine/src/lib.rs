//! One V8 isolate on one thread: snapshot, module loading, Node compatibility, permissions, limits, termination, source-mapped errors.
//!
//! The engine runs code and calls it; it must never learn what an agent, a tool or an event is. `Engine::spawn` gives an [`Isolate`], whose
//! `call` reaches the handler that js-api installed in it; the code's calls to the host arrive at [`HostServices`].

mod buffers;
mod children;
mod clock;
mod engine;
mod error;
mod fault;
mod host;
mod interrupt;
mod isolate;
mod loader;
mod lost;
mod ops;
mod options;
mod shared;
mod snapshot;
mod source_maps;
mod stdio;
mod thread;
mod variables;
mod watchdog;
mod worker;

pub use children::kill_children;
pub use clock::{DeadlineClock, Pause};
pub use engine::Engine;
pub use error::{EngineError, StopReason};
pub use fault::{JsFault, Location};
pub use host::{HostError, HostResult, HostServices, IsolateFault};
pub use isolate::Isolate;
pub use options::{
    CallOptions, DEFAULT_BUSY_LIMIT, DEFAULT_HEAP_LIMIT, EngineOptions, IsolateOptions, Permissions,
};
pub use stdio::{OutputSink, StderrSink};
pub use variables::set_process_variables;
