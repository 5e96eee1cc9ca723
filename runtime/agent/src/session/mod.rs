//! Sessions: append-only JSONL files that hold a tree of entries (spec/sessions.md).
//!
//! The way in is [`SessionManager`]. Everything here is synchronous and works on one file at a time;
//! nothing here knows about models, tools, extensions or modes, and nothing prints.
//!
//! Who does what: `dirs`, `find` and `list` know where files are; `read`, `scan`, `migrate` and `torn`
//! turn a file into entries; `state` and `tree` hold them; `context` projects them for the model
//! (`context_cache` keeps the projection, `blobs` fetches images);
//! `partial` leaves entries out for readers who must not see them;
//! `writer`, `lock` and `flush` put lines on disk; `fork` computes what a new file gets; `manager`, `open`,
//! `readers`, `append` and `replace` tie these together.

mod append;
mod blobs;
mod context;
mod context_cache;
mod dirs;
mod edit;
mod error;
mod find;
mod flush;
mod fork;
mod ids;
mod list;
mod lock;
mod manager;
mod migrate;
mod open;
mod partial;
mod raw;
mod read;
mod readers;
mod replace;
mod scan;
mod state;
mod stats;
mod stored;
mod torn;
mod tree;
mod writer;

pub use blobs::{BLOB_FOLDER, MAX_BLOB_BYTES};
pub use context::{ContextMessage, ModelSelection, SessionContext};
pub use dirs::{SessionDirs, encode_cwd};
pub use error::{SessionError, SessionWarning};
pub use find::{
    FoundSession, SessionScope, find_by_exact_id, find_session, is_session_path, newest_session,
};
pub use flush::SyncPolicy;
pub use ids::{is_valid_session_id, millis_from_iso, now_iso};
pub use list::{SessionInfo, SessionStub, list_sessions, list_stubs};
pub use manager::{NewSession, SessionManager, SessionOptions};
pub use partial::PartialView;
pub use replace::{ForkOutcome, ForkPosition};
pub use state::SessionChanges;
pub use stats::{SessionStats, TokenTotals};
pub use stored::{EntryRef, StoredEntry};
pub use tree::{SessionTree, TreeNode};
