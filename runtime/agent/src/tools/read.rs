//! The `read` tool (`spec/agent-loop.md` §10): text files in pieces that fit a model, images as image blocks. Files are
//! streamed where the executor can, so their size does not matter; nothing is ever written.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use pier_protocol::block::Block;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio_util::sync::CancellationToken;

use super::image::{self, ImageProcessor, MAX_IMAGE_FILE_BYTES, SNIFF_BYTES};
use super::image_fit::Fitting;
use super::local::LocalFiles;
use super::operations::{ByteStream, OpError, ReadOperations};
use super::truncate::{HeadCapture, Limits, TruncatedBy, Truncation, format_size};
use super::utf8::Utf8Decoder;
use super::{builtin_spec, exists_locally, not_cancelled, parse_args, paths};
use crate::tool::{Tool, ToolCall, ToolContext, ToolError, ToolOutput, ToolSpec};

const CHUNK_BYTES: usize = 64 * 1024;

/// Options of [`ReadTool`].
#[derive(Default)]
pub struct ReadToolOptions {
    /// Where files come from; this machine by default.
    pub operations: Option<Arc<dyn ReadOperations>>,
    /// What is done to images before they are sent; by default what the session's settings say.
    pub images: Option<Arc<dyn ImageProcessor>>,
}

/// `read`.
pub struct ReadTool {
    spec: ToolSpec,
    options: ReadToolOptions,
}

#[derive(Deserialize)]
struct ReadArgs {
    path: String,
    /// Line to start at, from 1.
    offset: Option<f64>,
    /// Lines to read.
    limit: Option<f64>,
}

impl ReadTool {
    pub fn new(options: ReadToolOptions) -> Self {
        let mut spec = builtin_spec(
            "read",
            "Read a file. Text comes in pieces of at most 2000 lines or 50KB: use offset and limit for the rest of a \
             large file. Images (jpg, png, gif, webp, bmp) are shown as images.",
            json!({
                "type": "object",
                "required": ["path"],
                "properties": {
                    "path": {"type": "string", "description": "File to read (relative or absolute)"},
                    "offset": {"type": "number", "description": "Line to start at, counted from 1"},
                    "limit": {"type": "number", "description": "Number of lines to read"},
                },
            }),
        );
        spec.prompt_snippet = Some("read files".to_owned());
        spec.prompt_guidelines = vec!["Use read to look at files, not cat or sed.".to_owned()];
        Self { spec, options }
    }

    async fn image(
        &self,
        operations: &dyn ReadOperations,
        path: &Path,
        mime: &str,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let bytes = operations.read_file(path).await?;
        let mut text = format!("Read image file [{mime}]");
        let processor = self.options.images.clone().unwrap_or_else(|| {
            Arc::new(Fitting {
                resize: context.resize_images,
            })
        });
        let mime_type = mime.to_owned();
        // Decoding and scaling take their time.
        let prepared = tokio::task::spawn_blocking(move || processor.prepare(&bytes, &mime_type))
            .await
            .unwrap_or_else(|_| Err("Image left out: it cannot be read.".to_owned()));
        let mut output = ToolOutput::default();
        match prepared {
            Ok(image) => {
                for hint in &image.hints {
                    text = format!("{text}\n{hint}");
                }
                if !context.accepts_images {
                    text.push_str(
                        "\n[The current model takes no images, so it does not see this one.]",
                    );
                    output.details = Some(json!({ "imageUnsupportedByModel": true }));
                }
                output.content = vec![Block::text(text), Block::image(image.data, image.mime_type)];
            }
            Err(reason) => output.content = vec![Block::text(format!("{text}\n[{reason}]"))],
        }
        Ok(output)
    }
}

#[async_trait]
impl Tool for ReadTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn execute(&self, call: ToolCall) -> Result<ToolOutput, ToolError> {
        let args: ReadArgs = parse_args(&self.spec.name, call.args)?;
        let cwd = &call.context.cwd;
        let cancel = &call.cancel;
        not_cancelled(cancel)?;
        let work = async {
            let (operations, path): (&dyn ReadOperations, PathBuf) = match &self.options.operations
            {
                Some(operations) => (
                    operations.as_ref(),
                    find(operations.as_ref(), &args.path, cwd).await,
                ),
                None => (
                    &LocalFiles,
                    paths::resolve_existing(&args.path, cwd, &exists_locally),
                ),
            };
            operations.access(&path).await?;
            let content = Content::open(operations, &path).await?;
            match content.image_type(operations, &path).await? {
                Some(mime) => {
                    if self.options.operations.is_none() {
                        small_enough(&path).await?;
                    }
                    self.image(operations, &path, &mime, &call.context).await
                }
                None => {
                    let selection = Selection::new(&args);
                    let read = content.select(selection, cancel).await?;
                    not_cancelled(cancel)?;
                    text_result(&args.path, read)
                }
            }
        };
        // An executor on another machine may never answer.
        tokio::select! {
            biased;
            result = work => result.map(with_structure),
            () = cancel.cancelled() => Err(ToolError::Aborted),
        }
    }
}

/// The form for programs that call the tool: the text alone, or the image with its text as a note.
fn with_structure(mut output: ToolOutput) -> ToolOutput {
    let text = output
        .content
        .iter()
        .find_map(Block::as_text)
        .unwrap_or_default();
    let image = output.content.iter().find_map(|block| match block {
        Block::Image(image) => Some(image),
        _ => None,
    });
    output.structured_content = Some(match image {
        Some(image) => json!({
            "type": "image",
            "data": image.data,
            "mimeType": image.mime_type,
            "note": text,
        }),
        None => Value::from(text),
    });
    output
}

/// The spelling of the path that the executor knows.
async fn find(operations: &dyn ReadOperations, input: &str, cwd: &Path) -> PathBuf {
    let plain = paths::resolve(input, cwd);
    match operations.access(&plain).await {
        Err(error) if error.code.is_none() || error.is_missing() => {}
        _ => return plain,
    }
    for candidate in paths::candidates(input, &plain, cwd) {
        if operations.access(&candidate).await.is_ok() {
            return candidate;
        }
    }
    plain
}

async fn small_enough(path: &Path) -> Result<(), ToolError> {
    let size = tokio::fs::metadata(path)
        .await
        .map_err(|e| OpError::io(&e, "stat", path))?
        .len();
    if size > MAX_IMAGE_FILE_BYTES {
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        return Err(ToolError::failed(format!(
            "Image file too large: {} has {}.",
            path.display(),
            format_size(size)
        )));
    }
    Ok(())
}

/// A file's content, whole or as a stream whose beginning was looked at.
enum Content {
    Whole(Vec<u8>),
    Stream {
        head: Vec<u8>,
        rest: ByteStream,
        path: PathBuf,
    },
}

impl Content {
    async fn open(operations: &dyn ReadOperations, path: &Path) -> Result<Self, OpError> {
        let Some(mut rest) = operations.create_read_stream(path).await? else {
            return Ok(Self::Whole(operations.read_file(path).await?));
        };
        let mut head = Vec::with_capacity(SNIFF_BYTES);
        let mut start = (&mut rest).take(SNIFF_BYTES as u64);
        start
            .read_to_end(&mut head)
            .await
            .map_err(|e| OpError::io(&e, "read", path))?;
        Ok(Self::Stream {
            head,
            rest,
            path: path.to_path_buf(),
        })
    }

    async fn image_type(
        &self,
        operations: &dyn ReadOperations,
        path: &Path,
    ) -> Result<Option<String>, OpError> {
        if let Some(answer) = operations.detect_image_mime_type(path).await? {
            return Ok(answer);
        }
        let head = match self {
            Self::Whole(bytes) => bytes.as_slice(),
            Self::Stream { head, .. } => head.as_slice(),
        };
        Ok(image::detect_mime_type(head).map(str::to_owned))
    }

    /// Runs the whole content through `selection`; stops early when cancelled.
    async fn select(
        self,
        mut selection: Selection,
        cancel: &CancellationToken,
    ) -> Result<Selection, OpError> {
        let mut decoder = Utf8Decoder::new();
        let mut text = String::new();
        match self {
            Self::Whole(bytes) => {
                for chunk in bytes.chunks(CHUNK_BYTES) {
                    decoder.push(chunk, &mut text);
                    selection.push(&text);
                    text.clear();
                }
            }
            Self::Stream {
                head,
                mut rest,
                path,
            } => {
                decoder.push(&head, &mut text);
                let mut buffer = vec![0; CHUNK_BYTES];
                while !cancel.is_cancelled() {
                    selection.push(&text);
                    text.clear();
                    let size = rest
                        .read(&mut buffer)
                        .await
                        .map_err(|e| OpError::io(&e, "read", &path))?;
                    if size == 0 {
                        break;
                    }
                    decoder.push(&buffer[..size], &mut text);
                }
            }
        }
        decoder.finish(&mut text);
        selection.push(&text);
        Ok(selection)
    }
}

/// The lines of a text that a call asks for, and counts of everything.
struct Selection {
    /// First line wanted, from 0.
    start: usize,
    /// Line after the last one wanted.
    end: usize,
    limited: bool,
    /// Line breaks seen so far.
    breaks: usize,
    capture: HeadCapture,
}

impl Selection {
    fn new(args: &ReadArgs) -> Self {
        let start = args
            .offset
            .map_or(0, |offset| whole(offset).saturating_sub(1));
        let limit = args.limit.map(|limit| whole(limit).max(1));
        Self {
            start,
            end: limit.map_or(usize::MAX, |limit| start.saturating_add(limit)),
            limited: limit.is_some(),
            breaks: 0,
            capture: HeadCapture::new(Limits::default()),
        }
    }

    fn push(&mut self, text: &str) {
        for piece in text.split_inclusive('\n') {
            let line = self.breaks;
            if piece.ends_with('\n') {
                self.breaks += 1;
            }
            if line < self.start || line >= self.end {
                continue;
            }
            // The break after the last wanted line does not belong to the selection.
            let last_wanted = self.limited && line + 1 == self.end;
            self.capture.push(if last_wanted {
                piece.trim_end_matches('\n')
            } else {
                piece
            });
        }
    }
}

/// JSON numbers as counts: fractions and anything negative are cut off.
fn whole(number: f64) -> usize {
    // A float-to-integer cast saturates, which is what a limit needs.
    number.max(0.0) as usize
}

fn text_result(path: &str, read: Selection) -> Result<ToolOutput, ToolError> {
    let total = read.breaks + 1;
    if read.start >= total {
        return Err(ToolError::failed(format!(
            "Offset {} is beyond end of file ({total} lines total)",
            read.start + 1
        )));
    }
    let first_line = read.start + 1;
    let first_bytes = read.capture.first_line_bytes();
    let (end, limited) = (read.end, read.limited);
    let shown = read.capture.finish();
    if shown.first_line_exceeds_limit {
        let limit = shown.max_bytes;
        let mut output = ToolOutput::text(format!(
            "[Line {first_line} is {}, exceeds {} limit. Use bash: sed -n '{first_line}p' {path} | head -c {limit}]",
            format_size(first_bytes),
            format_size(limit),
        ));
        output.details = Some(json!({ "truncation": shown }));
        return Ok(output);
    }
    let mut output = ToolOutput::default();
    let notice = if shown.truncated {
        Some(cut_notice(&shown, first_line, total))
    } else if limited && end < total {
        Some(format!(
            "[{} more lines in file. Use offset={} to continue.]",
            total - end,
            end + 1
        ))
    } else {
        None
    };
    let text = match notice {
        Some(notice) => format!("{}\n\n{notice}", shown.content),
        None => shown.content.clone(),
    };
    output.content = vec![Block::text(text)];
    if shown.truncated {
        output.details = Some(json!({ "truncation": shown }));
    }
    Ok(output)
}

fn cut_notice(shown: &Truncation, first: usize, total: usize) -> String {
    let last = first + shown.output_lines.max(1) - 1;
    let limit = match shown.truncated_by {
        Some(TruncatedBy::Bytes) => format!(" ({} limit)", format_size(shown.max_bytes)),
        _ => String::new(),
    };
    format!(
        "[Showing lines {first}-{last} of {total}{limit}. Use offset={} to continue.]",
        last + 1
    )
}
