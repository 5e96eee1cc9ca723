//! Puts images back into messages of xcsh and oh-my-pi files, which keep them in a blob store and
//! write `blob:sha256:<hash>` instead (spec/sessions.md §3.1).
//!
//! Only what the model sees is completed; entries keep the reference. Reads, never writes.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pier_protocol::block::{Block, Content, ImageBlock};
use pier_protocol::message::Message;

const REFERENCE: &str = "blob:sha256:";
/// An image beyond this is of no use to a model.
pub const MAX_BLOB_BYTES: u64 = 64 * 1024 * 1024;
/// Folder of the agent directory that holds blobs, each under its hash.
pub const BLOB_FOLDER: &str = "blobs";

/// The directories in which blobs may lie, one file each, named by hash.
#[derive(Debug, Clone, Default)]
pub(super) struct BlobDirs(Vec<PathBuf>);

impl BlobDirs {
    /// The stores that belong to `<agent dir>/sessions/<project>/` and to the sessions' root.
    pub(super) fn near(session_dir: &Path, sessions_root: &Path) -> Self {
        let beside_project = session_dir.parent().and_then(Path::parent);
        let candidates = [beside_project, sessions_root.parent()];
        let mut dirs: Vec<PathBuf> = Vec::new();
        for agent_dir in candidates.into_iter().flatten() {
            let blobs = agent_dir.join(BLOB_FOLDER);
            if !dirs.contains(&blobs) {
                dirs.push(blobs);
            }
        }
        BlobDirs(dirs)
    }

    /// The message with its images; one whose data is nowhere to be found becomes a line of text, because
    /// a provider would refuse the whole request for it.
    pub(super) fn complete(&self, message: Arc<Message>) -> Arc<Message> {
        if !blocks(&message)
            .iter()
            .any(|block| reference(block).is_some())
        {
            return message;
        }
        let mut completed = Message::clone(&message);
        for block in blocks_mut(&mut completed) {
            let Some(hash) = reference(block).map(str::to_owned) else {
                continue;
            };
            *block = match (self.read(&hash), &*block) {
                (Some(bytes), Block::Image(image)) => Block::Image(ImageBlock {
                    data: STANDARD.encode(bytes),
                    ..image.clone()
                }),
                _ => Block::text(format!("[Image not available: {REFERENCE}{hash}]")),
            };
        }
        Arc::new(completed)
    }

    fn read(&self, hash: &str) -> Option<Vec<u8>> {
        // A hash is a file name here, so it must look like nothing else.
        if hash.len() != 64 || !hash.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        self.0.iter().find_map(|dir| read_file(&dir.join(hash)))
    }
}

/// Whether a line can contain a reference at all.
pub(super) fn may_refer(line: &str) -> bool {
    line.contains(REFERENCE)
}

fn read_file(path: &Path) -> Option<Vec<u8>> {
    let file = super::read::open_regular(path).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_BLOB_BYTES + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= MAX_BLOB_BYTES).then_some(bytes)
}

fn reference(block: &Block) -> Option<&str> {
    match block {
        Block::Image(image) => image.data.strip_prefix(REFERENCE),
        _ => None,
    }
}

fn blocks(message: &Message) -> &[Block] {
    match message {
        Message::User(body) | Message::Developer(body) => content_blocks(&body.content),
        Message::Custom(body) => content_blocks(&body.content),
        Message::Assistant(body) => &body.content,
        Message::ToolResult(body) => &body.content,
        _ => &[],
    }
}

fn content_blocks(content: &Content) -> &[Block] {
    match content {
        Content::Blocks(blocks) => blocks,
        Content::Text(_) => &[],
    }
}

fn blocks_mut(message: &mut Message) -> &mut [Block] {
    let content = match message {
        Message::User(body) | Message::Developer(body) => &mut body.content,
        Message::Custom(body) => &mut body.content,
        Message::Assistant(body) => return &mut body.content,
        Message::ToolResult(body) => return &mut body.content,
        _ => return &mut [],
    };
    match content {
        Content::Blocks(blocks) => blocks,
        Content::Text(_) => &mut [],
    }
}
