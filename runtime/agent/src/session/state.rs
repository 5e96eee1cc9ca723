//! The entries of an open session in memory: index, leaf, labels, name, versions. No I/O here.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pier_protocol::entry::{EntryBody, SessionHeader};
use serde::Serialize;

use super::stored::EntryRef;

/// Never repeats in a process, so that a mirror of one session cannot be mistaken for another's.
static NEXT_EPOCH: AtomicU64 = AtomicU64::new(1);

pub(super) struct State {
    pub(super) header: SessionHeader,
    pub(super) cwd: PathBuf,
    pub(super) dir: PathBuf,
    /// `None` for a session in memory.
    pub(super) file: Option<PathBuf>,
    /// Whether the file exists.
    pub(super) saved: bool,
    entries: Vec<EntryRef>,
    /// `version` right after each entry came; grows strictly.
    appended_at: Vec<u64>,
    /// The last entry with an id wins.
    index: HashMap<Arc<str>, usize>,
    labels: HashMap<String, ResolvedLabel>,
    /// `None` while no `session_info` was seen.
    info_name: Option<String>,
    leaf: Option<Arc<str>>,
    version: u64,
    epoch: u64,
}

/// The label that counts for an entry.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ResolvedLabel {
    pub(super) label: String,
    /// Of the `label` entry.
    pub(super) timestamp: String,
}

/// What a mirror that knows `epoch` and `version` must learn (see docs/bridge-protocol.md, `session.sync`).
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionChanges {
    /// Changes when the session is replaced by another or read anew.
    pub epoch: u64,
    /// Grows with every append and every move of the leaf.
    pub version: u64,
    /// `entries` are all there are, and what the mirror had is void.
    pub reset: bool,
    /// New entries in file order.
    pub entries: Vec<EntryRef>,
    pub leaf_id: Option<Arc<str>>,
    pub header: SessionHeader,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_file: Option<PathBuf>,
    pub session_dir: PathBuf,
    pub session_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_name: Option<String>,
    pub cwd: PathBuf,
}

impl State {
    pub(super) fn new(
        header: SessionHeader,
        cwd: PathBuf,
        dir: PathBuf,
        file: Option<PathBuf>,
    ) -> Self {
        State {
            header,
            cwd,
            dir,
            file,
            saved: false,
            entries: Vec::new(),
            appended_at: Vec::new(),
            index: HashMap::new(),
            labels: HashMap::new(),
            info_name: None,
            leaf: None,
            version: 0,
            epoch: NEXT_EPOCH.fetch_add(1, Ordering::Relaxed),
        }
    }

    pub(super) fn with_entries(mut self, entries: Vec<EntryRef>) -> Self {
        self.index.reserve(entries.len());
        self.appended_at.reserve(entries.len());
        self.entries.reserve(entries.len());
        for entry in entries {
            self.push(entry);
        }
        self
    }

    /// Adds an entry at the end; it becomes the leaf.
    pub(super) fn push(&mut self, entry: EntryRef) {
        // Parsing is put off for every type that changes no look-up table.
        if matches!(entry.entry_type(), "label" | "session_info") {
            self.note(&entry);
        }
        self.index
            .insert(entry.shared_id().clone(), self.entries.len());
        self.leaf = Some(entry.shared_id().clone());
        self.entries.push(entry);
        self.version += 1;
        self.appended_at.push(self.version);
    }

    fn note(&mut self, entry: &EntryRef) {
        match entry.body() {
            EntryBody::Label(body) => match body.label.as_deref() {
                Some(label) if !label.is_empty() => {
                    let resolved = ResolvedLabel {
                        label: label.to_owned(),
                        timestamp: entry.timestamp().to_owned(),
                    };
                    self.labels.insert(body.target_id.clone(), resolved);
                }
                _ => {
                    self.labels.remove(&body.target_id);
                }
            },
            EntryBody::SessionInfo(body) => {
                self.info_name = Some(body.name.clone().unwrap_or_default())
            }
            _ => {}
        }
    }

    pub(super) fn set_leaf(&mut self, leaf: Option<Arc<str>>) {
        if self.leaf != leaf {
            self.leaf = leaf;
            self.version += 1;
        }
    }

    pub(super) fn entries(&self) -> &[EntryRef] {
        &self.entries
    }

    pub(super) fn contains(&self, id: &str) -> bool {
        self.index.contains_key(id)
    }

    pub(super) fn get(&self, id: &str) -> Option<&EntryRef> {
        self.index.get(id).and_then(|at| self.entries.get(*at))
    }

    /// Position in the file of the entry that counts for `id`.
    pub(super) fn position(&self, id: &str) -> Option<usize> {
        self.index.get(id).copied()
    }

    pub(super) fn leaf(&self) -> Option<&Arc<str>> {
        self.leaf.as_ref()
    }

    pub(super) fn version(&self) -> u64 {
        self.version
    }

    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    pub(super) fn label(&self, id: &str) -> Option<&ResolvedLabel> {
        self.labels.get(id)
    }

    /// The last `session_info`, else xcsh's header title; an empty name is none.
    pub(super) fn name(&self) -> Option<&str> {
        self.info_name
            .as_deref()
            .or(self.header.title.as_deref())
            .filter(|name| !name.is_empty())
    }

    /// Root to `id`. Ends where a parent is missing and stops at a repeated id, so that a damaged file
    /// cannot keep a reader busy (spec/sessions.md §3.2).
    pub(super) fn path_to(&self, id: Option<&str>) -> Vec<EntryRef> {
        let mut path = Vec::new();
        let mut seen = HashSet::new();
        let mut next = id;
        while let Some(at) = next.and_then(|id| self.position(id)) {
            if !seen.insert(at) {
                break;
            }
            let Some(entry) = self.entries.get(at) else {
                break;
            };
            path.push(entry.clone());
            next = entry.parent_id();
        }
        path.reverse();
        path
    }

    /// What the leaf has behind `ancestor`, oldest first; `None` unless all of it was appended when there were `count` entries already.
    pub(super) fn grown_behind(&self, ancestor: &str, count: usize) -> Option<Vec<EntryRef>> {
        let mut behind = Vec::new();
        let mut next = self.leaf.as_deref()?;
        while next != ancestor {
            let at = self.position(next).filter(|at| *at >= count)?;
            let entry = self.entries.get(at)?;
            behind.push(entry.clone());
            // No path through what was appended is longer, unless it runs in a circle.
            if behind.len() > self.entries.len() - count {
                return None;
            }
            next = entry.parent_id()?;
        }
        behind.reverse();
        Some(behind)
    }

    pub(super) fn changes_since(&self, epoch: u64, version: u64) -> SessionChanges {
        let reset = epoch != self.epoch || version > self.version;
        let from = if reset {
            0
        } else {
            self.appended_at.partition_point(|at| *at <= version)
        };
        SessionChanges {
            epoch: self.epoch,
            version: self.version,
            reset,
            entries: self.entries.get(from..).unwrap_or_default().to_vec(),
            leaf_id: self.leaf.clone(),
            header: self.header.clone(),
            session_file: self.file.clone(),
            session_dir: self.dir.clone(),
            session_id: self.header.id.clone(),
            session_name: self.name().map(str::to_owned),
            cwd: self.cwd.clone(),
        }
    }
}
