//! Extensions that a session is given as functions: found like others, loaded into a realm of the isolate that has them.

use std::path::PathBuf;
use std::sync::Arc;

use super::ExtensionHost;
use super::slot::IsolateSlot;
use crate::discovery::{DiscoveredExtension, PackageKey, Profile, Scope, Surface};

/// Begins the entry of such an extension; the isolate knows the function by what follows.
pub(super) const ENTRY: &str = "pier:inline/";
/// Source and package of such an extension.
const SOURCE: &str = "inline";

/// The isolate that has the functions.
pub struct InlinePlace(pub(crate) Arc<IsolateSlot>);

/// Functions of one isolate.
pub struct Inline {
    /// For [`ExtensionHost::set_inline_place`].
    pub place: InlinePlace,
    /// In order; to be loaded behind all others.
    pub extensions: Vec<DiscoveredExtension>,
}

impl Inline {
    /// `count` functions that the isolate of `slot` keeps under `token`.
    pub(crate) fn new(slot: &Arc<IsolateSlot>, profile: Profile, token: u64, count: usize) -> Self {
        let extension = |index: usize| DiscoveredExtension {
            path: PathBuf::from(format!("<inline-{index}>")),
            entry: PathBuf::from(format!("{ENTRY}{token}/{index}")),
            package: PackageKey(SOURCE.into()),
            root: slot.root.clone(),
            profile,
            scope: Scope::Temporary,
            source: SOURCE.into(),
            from_package: false,
            surface: Surface::Extension,
        };
        Self {
            place: InlinePlace(slot.isolate()),
            extensions: (0..count).map(extension).collect(),
        }
    }
}

/// Whether the host loads this extension into a realm.
pub(super) fn is_inline(extension: &DiscoveredExtension) -> bool {
    extension.source == SOURCE
        && extension
            .entry
            .to_str()
            .is_some_and(|entry| entry.starts_with(ENTRY))
}

impl ExtensionHost {
    /// Where the functions are that [`Inline::extensions`] name.
    pub fn set_inline_place(&self, place: InlinePlace) {
        *self.shared.inline_place.write() = Some(place.0);
    }
}
