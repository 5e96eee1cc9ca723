//! Images that `read` hands to a model: recognised by content, brought into a form that may be sent.
//! Decides from bytes only, never from a file name.

/// Bytes that [`detect_mime_type`] needs to see at most.
pub const SNIFF_BYTES: usize = 64;
/// Base64 characters of one image at most; more is refused by common model services.
pub const MAX_INLINE_BASE64: usize = 4_718_592;
/// Image file read at most, in bytes. Nothing larger can become small enough without being decoded.
pub const MAX_IMAGE_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// MIME type of an image by its first bytes: jpg, png, gif, webp, bmp.
pub fn detect_mime_type(head: &[u8]) -> Option<&'static str> {
    if head.starts_with(&[0xFF, 0xD8, 0xFF]) {
        return Some("image/jpeg");
    }
    if head.starts_with(b"\x89PNG\r\n\x1A\n") {
        return Some("image/png");
    }
    if head.starts_with(b"GIF87a") || head.starts_with(b"GIF89a") {
        return Some("image/gif");
    }
    if head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP") {
        return Some("image/webp");
    }
    is_bmp(head).then_some("image/bmp")
}

/// "BM" alone is too little: text can start with it. The header that follows has one of a few known sizes and says
/// that there is one colour plane.
fn is_bmp(head: &[u8]) -> bool {
    let word = |at: usize| {
        head.get(at..at + 2)
            .map(|b| u16::from_le_bytes([b[0], b[1]]))
    };
    let dword = |at: usize| {
        head.get(at..at + 4)
            .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    };
    if !head.starts_with(b"BM") {
        return false;
    }
    let planes = match dword(14) {
        Some(12) => word(22),
        Some(40 | 52 | 56 | 64 | 108 | 124) => word(26),
        _ => None,
    };
    planes == Some(1)
}

/// An image as it goes into a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedImage {
    /// Base64.
    pub data: String,
    pub mime_type: String,
    /// Lines for the model about what was changed (size, format).
    pub hints: Vec<String>,
}

/// Brings images into a form that a model takes.
pub trait ImageProcessor: Send + Sync {
    /// # Errors
    /// A sentence for the model that says why the image is left out.
    fn prepare(&self, bytes: &[u8], mime_type: &str) -> Result<PreparedImage, String>;
}
