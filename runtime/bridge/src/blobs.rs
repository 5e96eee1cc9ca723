//! The blob store of xcsh and oh-my-pi: `<agent dir>/blobs/<sha256>` (spec/sessions.md §3.1). The agent reads it when a message
//! refers to `blob:sha256:<hash>`. Blocking.

use std::io::Write as _;
use std::path::Path;

use pier_agent::session::{BLOB_FOLDER, MAX_BLOB_BYTES};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// Stores the bytes and answers `{hash, path, ref}`. The same bytes are the same file, which is never seen half written.
pub(crate) fn put(agent_dir: &Path, bytes: &[u8]) -> Result<Value, String> {
    // The agent reads no larger ones.
    if bytes.len() as u64 > MAX_BLOB_BYTES {
        return Err(format!(
            "putBlob: {} bytes are too many, {MAX_BLOB_BYTES} is the limit",
            bytes.len()
        ));
    }
    let hash = format!("{:x}", Sha256::digest(bytes));
    let directory = agent_dir.join(BLOB_FOLDER);
    let path = directory.join(&hash);
    let whole = std::fs::metadata(&path).is_ok_and(|known| known.len() == bytes.len() as u64);
    if !whole {
        write(&directory, &path, bytes)
            .map_err(|error| format!("putBlob: cannot write {}: {error}", path.display()))?;
    }
    Ok(json!({"hash": hash, "path": path, "ref": format!("blob:sha256:{hash}")}))
}

fn write(directory: &Path, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    std::fs::create_dir_all(directory)?;
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_bytes_are_one_file_and_a_damaged_one_is_written_again() {
        let agent = tempfile::tempdir().unwrap();
        let first = put(agent.path(), b"abc").unwrap();
        let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(first["hash"], hash);
        assert_eq!(first["ref"], format!("blob:sha256:{hash}"));
        let path = agent.path().join("blobs").join(hash);
        assert_eq!(first["path"], json!(path));
        std::fs::write(&path, "a").unwrap();
        assert_eq!(put(agent.path(), b"abc").unwrap(), first);
        assert_eq!(std::fs::read(&path).unwrap(), b"abc");
        let files = std::fs::read_dir(agent.path().join("blobs")).unwrap();
        assert_eq!(files.count(), 1);
    }

    #[test]
    fn what_the_agent_would_not_read_is_refused() {
        let agent = tempfile::tempdir().unwrap();
        let problem = put(agent.path(), &vec![0; MAX_BLOB_BYTES as usize + 1]).unwrap_err();
        assert!(problem.contains("too many"), "{problem}");
        assert!(!agent.path().join("blobs").exists());
    }
}
