//! The projection of the current branch, kept and extended: a turn costs what it added, not what came before it.

use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

use super::blobs::BlobDirs;
use super::context::SessionContext;
use super::state::State;
use super::stored::EntryRef;

#[derive(Default)]
pub(super) struct ContextCache(Mutex<Option<Kept>>);

/// A projection and the state of the session it was made for.
struct Kept {
    context: Arc<SessionContext>,
    epoch: u64,
    version: u64,
    leaf: Option<Arc<str>>,
    /// Entries on all branches. What is appended later has ids that none of them has.
    count: usize,
}

/// The way to the current projection.
enum Plan {
    Keep(Arc<SessionContext>),
    Extend(Arc<SessionContext>, Vec<EntryRef>),
    Build(Vec<EntryRef>),
}

impl ContextCache {
    /// The projection of the branch that ends at the leaf. Works without a lock on `state`.
    pub(super) fn current(
        &self,
        state: &RwLock<State>,
        blobs: impl FnOnce() -> BlobDirs,
    ) -> Arc<SessionContext> {
        let mut slot = self.0.lock();
        let read = state.read();
        let plan = plan(slot.take(), &read);
        let (epoch, version) = (read.epoch(), read.version());
        let (leaf, count) = (read.leaf().cloned(), read.entries().len());
        drop(read);
        let context = match plan {
            Plan::Keep(context) => context,
            Plan::Extend(mut context, entries) => {
                // Copies the lists when somebody still looks at the last projection.
                Arc::make_mut(&mut context).extend(entries, &blobs());
                context
            }
            Plan::Build(path) => Arc::new(SessionContext::build(&path, &blobs())),
        };
        *slot = Some(Kept {
            context: context.clone(),
            epoch,
            version,
            leaf,
            count,
        });
        context
    }
}

fn plan(kept: Option<Kept>, state: &State) -> Plan {
    let build = || Plan::Build(state.path_to(state.leaf().map(|leaf| &**leaf)));
    let Some(kept) = kept.filter(|kept| kept.epoch == state.epoch()) else {
        return build();
    };
    if kept.version == state.version() {
        return Plan::Keep(kept.context);
    }
    kept.leaf
        .and_then(|leaf| state.grown_behind(&leaf, kept.count))
        .filter(|entries| entries.iter().all(SessionContext::can_extend_by))
        .map_or_else(build, |entries| Plan::Extend(kept.context, entries))
}
