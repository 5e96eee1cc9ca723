//! The cache of compiled code on disk: transpiled text with its source map, and V8's code cache.
//!
//! Keys are hashes of the whole source and of the tool chain, never of a time or a length: V8 itself checks only the length of the source.
//! Entries are written to a temporary file and renamed, so that concurrent processes see whole files. An entry whose checksum is wrong
//! is ignored and rewritten. A cache that cannot be written is no error: the code then compiles anew.

use std::io::Write;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Changes with everything that changes compiled output.
const TOOL_CHAIN: &str = concat!(
    "pier ",
    env!("CARGO_PKG_VERSION"),
    " format 1, v8 ",
    env!("PIER_V8_VERSION"),
    ", host modules ",
    env!("PIER_HOST_MODULES_HASH")
);

const CHECKSUM_LEN: usize = 16;

/// Name of one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CacheKey([u8; 32]);

impl CacheKey {
    /// The key of `parts`; each part is delimited, so that moving a byte from one to the next gives another key.
    pub(crate) fn of(parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        hash.update(TOOL_CHAIN);
        for part in parts {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Self(hash.finalize().into())
    }

    /// A number for V8, which hands it back with the code it compiled.
    pub(crate) fn short(&self) -> u64 {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.0[..8]);
        u64::from_le_bytes(bytes)
    }

    fn file_name(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// What an entry holds; part of its file name.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Transpiled,
    V8Code,
}

#[derive(Debug)]
pub(crate) struct DiskCache {
    dir: PathBuf,
}

impl DiskCache {
    pub(crate) fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    pub(crate) fn read(&self, key: &CacheKey, kind: Kind) -> Option<Vec<u8>> {
        let mut bytes = std::fs::read(self.path(key, kind)).ok()?;
        if bytes.len() < CHECKSUM_LEN || checksum(&bytes[CHECKSUM_LEN..]) != bytes[..CHECKSUM_LEN] {
            return None;
        }
        bytes.drain(..CHECKSUM_LEN);
        Some(bytes)
    }

    pub(crate) fn write(&self, key: &CacheKey, kind: Kind, content: &[u8]) {
        let path = self.path(key, kind);
        if let Err(error) = write_whole(&path, content) {
            tracing::debug!(
                "cannot write the code cache entry {}: {error}",
                path.display()
            );
        }
    }

    fn path(&self, key: &CacheKey, kind: Kind) -> PathBuf {
        let name = key.file_name();
        let suffix = match kind {
            Kind::Transpiled => "js",
            Kind::V8Code => "v8",
        };
        self.dir
            .join(&name[..2])
            .join(format!("{}.{suffix}", &name[2..]))
    }
}

fn write_whole(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(dir)?;
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(&checksum(content))?;
    file.write_all(content)?;
    file.persist(path)?;
    Ok(())
}

fn checksum(content: &[u8]) -> [u8; CHECKSUM_LEN] {
    let hash = Sha256::digest(content);
    let mut sum = [0; CHECKSUM_LEN];
    sum.copy_from_slice(&hash[..CHECKSUM_LEN]);
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_was_written() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let cache = DiskCache::new(dir.path().join("deep"));
        let key = CacheKey::of(&[b"source"]);
        assert!(cache.read(&key, Kind::V8Code).is_none());
        cache.write(&key, Kind::V8Code, b"code");
        assert_eq!(
            cache.read(&key, Kind::V8Code).as_deref(),
            Some(&b"code"[..])
        );
        assert!(cache.read(&key, Kind::Transpiled).is_none());
    }

    #[test]
    fn a_damaged_entry_is_ignored_and_rewritten() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let cache = DiskCache::new(dir.path().to_path_buf());
        let key = CacheKey::of(&[b"source"]);
        cache.write(&key, Kind::Transpiled, b"a long enough text");
        let path = cache.path(&key, Kind::Transpiled);
        let mut bytes = std::fs::read(&path).expect("the entry exists");
        for damaged in [Vec::new(), bytes[..bytes.len() - 1].to_vec(), {
            bytes[CHECKSUM_LEN + 2] ^= 1;
            bytes.clone()
        }] {
            std::fs::write(&path, damaged).expect("the entry can be damaged");
            assert!(cache.read(&key, Kind::Transpiled).is_none());
        }
        cache.write(&key, Kind::Transpiled, b"new");
        assert_eq!(
            cache.read(&key, Kind::Transpiled).as_deref(),
            Some(&b"new"[..])
        );
    }

    #[test]
    fn parts_are_delimited() {
        assert_ne!(CacheKey::of(&[b"ab", b"c"]), CacheKey::of(&[b"a", b"bc"]));
    }
}
