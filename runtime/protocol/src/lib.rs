//! Types of everything that crosses a boundary of Pier: messages, events, session entries, UI requests, extension
//! registrations. Data only: no I/O, no behaviour beyond reading, writing and pure look-ups.

pub mod block;
pub mod entry;
pub mod event;
pub mod extension;
pub mod message;
pub mod model;
pub mod num;
mod partial;
mod partial_json;
pub mod tool;
pub mod ui;
