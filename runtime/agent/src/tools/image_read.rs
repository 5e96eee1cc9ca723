//! Reads pictures: their size, whether they are whole, and the pixels. Decides from bytes only and changes nothing.

use std::io::Cursor;

use image::{DynamicImage, ImageDecoder as _, ImageError, ImageFormat, ImageReader, Limits};

/// Memory that decoding one image may take, in bytes.
const MAX_DECODED: u64 = 512 * 1024 * 1024;

/// Width and height in pixels, without decoding the picture.
pub(super) fn size_of(bytes: &[u8]) -> Result<(u32, u32), String> {
    reader(bytes)?
        .into_dimensions()
        .map_err(|error| unreadable(&error))
}

/// Refuses an image whose end is missing: a service refuses it, with every request from then on. What our decoder finds odd
/// otherwise may still be an image to others.
pub(super) fn must_be_whole(bytes: &[u8]) -> Result<(), String> {
    let reader = reader(bytes)?;
    // These decoders do not tell a missing end from other faults.
    let strict = matches!(reader.format(), Some(ImageFormat::Gif | ImageFormat::WebP));
    // And this one fills in what is missing.
    if reader.format() == Some(ImageFormat::Jpeg) && !has_jpeg_end(bytes) {
        return Err("Image left out: it cannot be read (its end is missing).".to_owned());
    }
    match reader.decode() {
        Err(error @ ImageError::IoError(_)) => Err(unreadable(&error)),
        Err(error @ ImageError::Decoding(_)) if strict => Err(unreadable(&error)),
        _ => Ok(()),
    }
}

/// Whether the marker for the end comes, outside of segments such as those with a preview.
fn has_jpeg_end(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    loop {
        // In the data of the picture, 0xFF comes with a zero or a restart marker behind it.
        let is_marker =
            |pair: &[u8]| matches!(pair, [0xFF, code] if !matches!(code, 0 | 0xD0..=0xD7 | 0xFF));
        let Some(at) = rest.windows(2).position(is_marker) else {
            return false;
        };
        let behind = rest.get(at + 2..).unwrap_or_default();
        let skipped = match (rest.get(at + 1), behind) {
            (Some(0xD9), _) => return true,
            // The start and a reserved marker have no length.
            (Some(0x01 | 0xD8), _) => 0,
            (_, [high, low, ..]) => usize::from(u16::from_be_bytes([*high, *low])),
            _ => return false,
        };
        rest = behind.get(skipped..).unwrap_or_default();
    }
}

fn reader(bytes: &[u8]) -> Result<ImageReader<Cursor<&[u8]>>, String> {
    ImageReader::new(Cursor::new(bytes))
        .with_guessed_format()
        .map_err(|error| unreadable(&error.into()))
}

fn unreadable(error: &ImageError) -> String {
    format!("Image left out: it cannot be read ({error}).")
}

/// The picture as a person sees it: turned as its metadata says.
pub(super) fn decode(bytes: &[u8]) -> Result<DynamicImage, String> {
    let left_out = |error: ImageError| unreadable(&error);
    let mut reader = reader(bytes)?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_DECODED);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(left_out)?;
    let orientation = decoder.orientation().map_err(left_out)?;
    let mut picture = DynamicImage::from_decoder(decoder).map_err(left_out)?;
    picture.apply_orientation(orientation);
    Ok(picture)
}
