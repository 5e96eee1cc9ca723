//! Runs of the agent, without V8: event orders, aborts, retries, queues, hooks, compaction. The scripted provider answers
//! and extensions are hooks in memory.

mod abort;
mod boundary;
mod compaction;
mod compaction_hooks;
mod control;
mod delivery;
mod endings;
mod lab;
mod models;
mod plain;
mod prompting;
mod queues;
mod retry;
mod streams;
mod tools;
