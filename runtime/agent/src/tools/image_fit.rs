//! Brings an image into a form and size that model services take (spec/agent-loop.md §3.3, §10): other formats become PNG,
//! large ones are scaled down, and the model is told.

use std::io::Cursor;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::{DynamicImage, ImageError, ImageFormat};

use pier_protocol::message::{Block, ImageBlock};

use super::image::{ImageProcessor, MAX_INLINE_BASE64, PreparedImage, detect_mime_type};
use super::image_read::{decode, must_be_whole, size_of};
use super::truncate::format_size;

/// Said of an image of a prompt that is left out (spec/rpc.md §3.1).
const OMITTED: &str = "[Image omitted: could not be resized below the inline image size limit.]";
/// Longest side in pixels; services scale down or refuse what is longer.
const MAX_SIDE: u32 = 2000;
/// JPEG qualities that are tried, best first.
const QUALITIES: [u8; 4] = [80, 70, 55, 40];
/// Base64 characters that hold [`super::image::SNIFF_BYTES`].
const SNIFF_BASE64: usize = 88;
/// A side is multiplied by this when no encoding is small enough.
const SHRINK: f64 = 0.75;

/// The standard processor.
#[derive(Debug, Clone, Copy)]
pub struct Fitting {
    /// Setting `images.autoResize`: scale down what is too large. Without it such images are left out.
    pub resize: bool,
}

impl ImageProcessor for Fitting {
    fn prepare(&self, bytes: &[u8], mime_type: &str) -> Result<PreparedImage, String> {
        // Services compare the type with the content, too.
        let mime_type = detect_mime_type(bytes).unwrap_or(mime_type);
        let known = supported(mime_type);
        let encoded = bytes.len().div_ceil(3).saturating_mul(4);
        let heavy = encoded > MAX_INLINE_BASE64;
        if let Some(mime) = known
            && !heavy
        {
            let (width, height) = size_of(bytes)?;
            if !(self.resize && width.max(height) > MAX_SIDE) {
                must_be_whole(bytes)?;
                return Ok(PreparedImage {
                    data: STANDARD.encode(bytes),
                    mime_type: mime.to_owned(),
                    hints: Vec::new(),
                });
            }
        }
        if known.is_some() && !self.resize {
            return Err(format!(
                "Image left out: it has {} as base64, and at most {} can be sent.",
                format_size(encoded),
                format_size(MAX_INLINE_BASE64)
            ));
        }
        let picture = decode(bytes)?;
        let original = (picture.width(), picture.height());
        let made = encode(&picture, self.resize)?;
        let mut hints = Vec::new();
        if known.is_none() {
            hints.push(format!(
                "[Image converted from {mime_type} to {}.]",
                made.mime_type
            ));
        }
        if (made.width, made.height) != original {
            hints.push(format!(
                "[Image scaled down from {}x{} to {}x{} pixels. Multiply coordinates in it by {:.2} for those of the original.]",
                original.0,
                original.1,
                made.width,
                made.height,
                f64::from(original.0) / f64::from(made.width)
            ));
        }
        Ok(PreparedImage {
            data: made.data,
            mime_type: made.mime_type.to_owned(),
            hints,
        })
    }
}

/// The form of a MIME type that services take; `None` for a format that they do not.
fn supported(mime_type: &str) -> Option<&'static str> {
    let word = mime_type.split(';').next().unwrap_or_default().trim();
    match word.to_ascii_lowercase().as_str() {
        "image/png" => Some("image/png"),
        "image/jpeg" | "image/jpg" => Some("image/jpeg"),
        "image/gif" => Some("image/gif"),
        "image/webp" => Some("image/webp"),
        _ => None,
    }
}

struct Encoded {
    data: String,
    mime_type: &'static str,
    width: u32,
    height: u32,
}

/// The largest encoding within the limits.
fn encode(picture: &DynamicImage, resize: bool) -> Result<Encoded, String> {
    let (mut width, mut height) = (picture.width(), picture.height());
    let longest = width.max(height);
    if resize && longest > MAX_SIDE {
        let scale = f64::from(MAX_SIDE) / f64::from(longest);
        (width, height) = (scaled(width, scale), scaled(height, scale));
    }
    loop {
        let sized = if (width, height) == (picture.width(), picture.height()) {
            picture.clone()
        } else {
            picture.resize_exact(width, height, FilterType::Lanczos3)
        };
        if let Some((data, mime_type)) = smallest(&sized)? {
            return Ok(Encoded {
                data,
                mime_type,
                width,
                height,
            });
        }
        if !resize || (width, height) == (1, 1) {
            return Err(format!(
                "Image left out: at most {} can be sent.",
                format_size(MAX_INLINE_BASE64)
            ));
        }
        (width, height) = (scaled(width, SHRINK), scaled(height, SHRINK));
    }
}

fn scaled(side: u32, by: f64) -> u32 {
    // A side is far below 2^53, and `as` saturates.
    ((f64::from(side) * by).floor() as u32).max(1)
}

/// PNG or JPEG, whichever is smaller, if it fits; else JPEG of lower quality.
fn smallest(picture: &DynamicImage) -> Result<Option<(String, &'static str)>, String> {
    let failed = |error: ImageError| format!("Image left out: it cannot be written ({error}).");
    let mut png = Vec::new();
    picture
        .write_to(&mut Cursor::new(&mut png), ImageFormat::Png)
        .map_err(failed)?;
    let opaque = picture.to_rgb8();
    for quality in QUALITIES {
        let mut jpeg = Vec::new();
        JpegEncoder::new_with_quality(&mut jpeg, quality)
            .encode_image(&opaque)
            .map_err(failed)?;
        let (bytes, mime_type) = if png.len() <= jpeg.len() {
            (&png, "image/png")
        } else {
            (&jpeg, "image/jpeg")
        };
        if bytes.len().div_ceil(3).saturating_mul(4) <= MAX_INLINE_BASE64 {
            return Ok(Some((STANDARD.encode(bytes), mime_type)));
        }
    }
    Ok(None)
}

/// Prepares one image that is base64 already.
fn fit(image: ImageBlock, resize: bool) -> Result<(ImageBlock, Vec<String>), String> {
    let bytes = STANDARD
        .decode(&image.data)
        .map_err(|_| "Image left out: its data is not base64.".to_owned())?;
    let prepared = Fitting { resize }.prepare(&bytes, &image.mime_type)?;
    let fitted = ImageBlock {
        data: prepared.data,
        mime_type: prepared.mime_type,
        ..image
    };
    Ok((fitted, prepared.hints))
}

/// Whether the image is of a format that is decoded here. Some services take further ones.
fn is_ours(image: &ImageBlock) -> bool {
    let head = image.data.get(..SNIFF_BASE64).unwrap_or(&image.data);
    supported(&image.mime_type).is_some()
        || image.mime_type == "image/bmp"
        || STANDARD
            .decode(head)
            .is_ok_and(|head| detect_mime_type(&head).is_some())
}

/// Images of a prompt, fitted, and lines for the model about what was changed or left out.
pub async fn fit_prompt(images: Vec<ImageBlock>, resize: bool) -> (Vec<ImageBlock>, Vec<String>) {
    if images.is_empty() {
        return (images, Vec::new());
    }
    let kept = images.clone();
    let work = move || {
        let mut fitted = Vec::new();
        let mut hints = Vec::new();
        for image in images {
            match fit(image, resize) {
                Ok((image, notes)) => {
                    fitted.push(image);
                    hints.extend(notes);
                }
                Err(_) => hints.push(OMITTED.to_owned()),
            }
        }
        (fitted, hints)
    };
    // A decoder that panics must not take the prompt along.
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or((kept, Vec::new()))
}

/// Fits the images among blocks of a tool's result. One that cannot be sent is replaced by a line that says why; one of a format
/// that is not known here stays as the tool made it.
pub async fn fit_blocks(blocks: &mut Vec<Block>, resize: bool) {
    if !blocks.iter().any(|block| matches!(block, Block::Image(_))) {
        return;
    }
    let before = blocks.clone();
    let work = move || {
        let mut after = Vec::with_capacity(before.len());
        for block in before {
            match block {
                Block::Image(image) if is_ours(&image) => match fit(image, resize) {
                    Ok((fitted, hints)) => {
                        after.push(Block::Image(fitted));
                        if !hints.is_empty() {
                            after.push(Block::text(hints.join("\n")));
                        }
                    }
                    Err(reason) => after.push(Block::text(format!("[{reason}]"))),
                },
                other => after.push(other),
            }
        }
        after
    };
    if let Ok(after) = tokio::task::spawn_blocking(work).await {
        *blocks = after;
    }
}

#[cfg(test)]
mod tests {
    use image::RgbImage;

    use super::*;

    fn picture(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
        // Noise, so that it does not compress away.
        let mut state = 1_u32;
        let pixels = RgbImage::from_fn(width, height, |_, _| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            image::Rgb([(state >> 24) as u8, (state >> 16) as u8, (state >> 8) as u8])
        });
        let mut bytes = Vec::new();
        DynamicImage::ImageRgb8(pixels)
            .write_to(&mut Cursor::new(&mut bytes), format)
            .unwrap();
        bytes
    }

    fn size(image: &PreparedImage) -> (u32, u32) {
        let bytes = STANDARD.decode(&image.data).unwrap();
        let picture = image::load_from_memory(&bytes).unwrap();
        (picture.width(), picture.height())
    }

    const RESIZE: Fitting = Fitting { resize: true };
    const KEEP: Fitting = Fitting { resize: false };

    #[test]
    fn small_images_pass_unchanged_and_broken_ones_are_left_out() {
        let bytes = picture(20, 10, ImageFormat::Png);
        for processor in [RESIZE, KEEP] {
            let prepared = processor.prepare(&bytes, "image/png").unwrap();
            assert_eq!(prepared.data, STANDARD.encode(&bytes));
            assert_eq!(prepared.hints, Vec::<String>::new());
        }
        // The content decides, not what is said of it.
        let jpeg = picture(20, 10, ImageFormat::Jpeg);
        for said in ["image/jpg", "image/png"] {
            assert_eq!(KEEP.prepare(&jpeg, said).unwrap().mime_type, "image/jpeg");
        }
        let (gif, webp) = (
            picture(20, 10, ImageFormat::Gif),
            picture(20, 10, ImageFormat::WebP),
        );
        let half = |bytes: &[u8]| bytes[..bytes.len() / 2].to_vec();
        let broken = [half(&bytes), half(&gif), half(&webp), half(&jpeg)];
        for whole in [&jpeg, &gif, &webp] {
            assert!(KEEP.prepare(whole, "image/png").is_ok());
        }
        for broken in broken.iter().map(Vec::as_slice).chain([b"x".as_slice()]) {
            for processor in [RESIZE, KEEP] {
                let problem = processor.prepare(broken, "image/png").unwrap_err();
                assert!(
                    problem.starts_with("Image left out: it cannot be read ("),
                    "{problem}"
                );
            }
        }
    }

    #[test]
    fn a_long_side_is_scaled_down_and_the_factor_is_told() {
        let bytes = picture(3000, 30, ImageFormat::Png);
        let prepared = RESIZE.prepare(&bytes, "image/png").unwrap();
        assert_eq!(size(&prepared), (2000, 20));
        assert_eq!(
            prepared.hints,
            [
                "[Image scaled down from 3000x30 to 2000x20 pixels. Multiply coordinates in it by 1.50 for those of the original.]"
            ]
        );
        assert_eq!(
            size(&KEEP.prepare(&bytes, "image/png").unwrap()),
            (3000, 30)
        );
    }

    #[test]
    fn a_format_that_services_do_not_take_becomes_png() {
        let bytes = picture(4, 4, ImageFormat::Bmp);
        for processor in [RESIZE, KEEP] {
            let prepared = processor.prepare(&bytes, "image/bmp").unwrap();
            assert_eq!(prepared.mime_type, "image/png");
            assert_eq!(size(&prepared), (4, 4));
            assert_eq!(
                prepared.hints,
                ["[Image converted from image/bmp to image/png.]"]
            );
        }
        let problem = RESIZE.prepare(b"BM nothing", "image/bmp").unwrap_err();
        assert!(
            problem.starts_with("Image left out: it cannot be read"),
            "{problem}"
        );
    }

    #[test]
    fn a_heavy_image_becomes_light_enough_or_is_left_out() {
        let bytes = picture(1400, 1400, ImageFormat::Png);
        let prepared = RESIZE.prepare(&bytes, "image/png").unwrap();
        assert!(prepared.data.len() <= MAX_INLINE_BASE64);
        assert!(
            KEEP.prepare(&bytes, "image/png")
                .unwrap_err()
                .starts_with("Image left out: it has ")
        );
    }

    #[tokio::test]
    async fn what_cannot_be_sent_is_left_out_of_results_and_prompts() {
        let odd = ImageBlock {
            data: STANDARD.encode(b"BM nothing"),
            mime_type: "image/bmp".into(),
            ..ImageBlock::default()
        };
        let sent = |data: String| ImageBlock {
            data,
            mime_type: "image/png".into(),
            ..ImageBlock::default()
        };
        let whole = picture(20, 10, ImageFormat::Png);
        let foreign = Block::Image(ImageBlock {
            data: STANDARD.encode("some other format"),
            mime_type: "image/heic".into(),
            ..ImageBlock::default()
        });
        let cut = sent(STANDARD.encode(&whole[..60]));
        let mut blocks = vec![
            Block::text("t"),
            Block::Image(odd.clone()),
            Block::Image(cut),
            foreign.clone(),
            Block::Image(sent("!!!".into())),
        ];
        fit_blocks(&mut blocks, true).await;
        let texts: Vec<&str> = blocks.iter().filter_map(Block::as_text).collect();
        assert_eq!(texts[0], "t");
        assert!(texts[1].starts_with("[Image left out: it cannot be read ("));
        assert!(texts[2].starts_with("[Image left out: it cannot be read ("));
        assert_eq!(texts[3], "[Image left out: its data is not base64.]");
        assert_eq!(blocks[3], foreign);
        let broken = vec![
            odd,
            sent(String::new()),
            sent("!!!".into()),
            sent(STANDARD.encode("not a picture")),
            sent(STANDARD.encode(&whole[..60])),
        ];
        let (images, hints) = fit_prompt(broken, true).await;
        assert!(images.is_empty(), "{images:?}");
        assert_eq!(hints, [OMITTED; 5]);
        let good = vec![sent(STANDARD.encode(&whole))];
        assert_eq!(fit_prompt(good.clone(), false).await, (good, Vec::new()));
    }
}
