//! `read`, `write`, `ls`, path rules and the queue of changes.

mod tools_support;

use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::{DynamicImage, ImageFormat};
use pier_agent::tool::{Tool, ToolError};
use pier_agent::tools::operations::{ReadOperations, WriteOperations};
use pier_agent::tools::{
    LsTool, OpError, ReadTool, ReadToolOptions, WriteTool, builtin_tools, paths,
    with_file_mutation_queue,
};
use pier_protocol::block::Block;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tools_support::{Lab, text, within};

fn read() -> ReadTool {
    ReadTool::new(ReadToolOptions::default())
}

fn numbered(count: usize) -> String {
    (1..=count).map(|n| format!("{n}\n")).collect()
}

#[test]
fn the_documented_tools_with_the_documented_schemas() {
    let tools = builtin_tools();
    let specs: Vec<_> = tools.iter().map(|tool| tool.spec()).collect();
    let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(
        names,
        ["read", "bash", "edit", "write", "grep", "find", "ls"]
    );
    let active: Vec<&str> = specs
        .iter()
        .filter(|spec| spec.default_active)
        .map(|spec| spec.name.as_str())
        .collect();
    assert_eq!(active, ["read", "bash", "edit", "write"]);
    for (spec, members, required) in [
        (specs[0], vec!["path", "offset", "limit"], json!(["path"])),
        (specs[1], vec!["command", "timeout"], json!(["command"])),
        (specs[2], vec!["path", "edits"], json!(["path", "edits"])),
        (
            specs[3],
            vec!["path", "content"],
            json!(["path", "content"]),
        ),
        (
            specs[4],
            vec![
                "pattern",
                "path",
                "glob",
                "ignoreCase",
                "literal",
                "context",
                "limit",
            ],
            json!(["pattern"]),
        ),
        (
            specs[5],
            vec!["pattern", "path", "limit"],
            json!(["pattern"]),
        ),
        (specs[6], vec!["path", "limit"], json!(null)),
    ] {
        let schema = &spec.parameters;
        assert_eq!(schema["type"], "object", "{}", spec.name);
        assert!(
            schema.get("additionalProperties").is_none(),
            "{}",
            spec.name
        );
        let known: Vec<&str> = schema["properties"]
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(known, members, "{}", spec.name);
        assert_eq!(schema["required"], required, "{}", spec.name);
    }
}

#[tokio::test]
async fn read_gives_a_small_file_as_it_is() {
    let lab = Lab::new();
    lab.file("a.txt", "one\r\ntwo\n");
    let output = lab.run(&read(), json!({"path": "a.txt"})).await.unwrap();
    assert_eq!(text(&output), "one\r\ntwo\n");
    assert_eq!(output.details, None);
    lab.file("empty", "");
    assert_eq!(lab.ok(&read(), json!({"path": "empty"})).await, "");
}

#[tokio::test]
async fn read_cuts_after_2000_lines() {
    let lab = Lab::new();
    lab.file("a", numbered(2500));
    let output = lab.run(&read(), json!({"path": "a"})).await.unwrap();
    let shown = text(&output);
    // A final LF adds one to the number of lines of the file.
    assert!(
        shown.ends_with("\n2000\n\n[Showing lines 1-2000 of 2501. Use offset=2001 to continue.]"),
        "{shown}"
    );
    let truncation = &output.details.unwrap()["truncation"];
    assert_eq!(truncation["truncatedBy"], "lines");
    assert_eq!(truncation["outputLines"], 2000);
    let rest = lab.ok(&read(), json!({"path": "a", "offset": 2001})).await;
    assert!(
        rest.starts_with("2001\n") && rest.ends_with("2500\n"),
        "{rest}"
    );
}

#[tokio::test]
async fn read_cuts_after_50_kb() {
    let lab = Lab::new();
    lab.file("a", format!("{}\n", "x".repeat(999)).repeat(100));
    let shown = lab.ok(&read(), json!({"path": "a"})).await;
    assert!(
        shown.ends_with(
            "\n\n[Showing lines 1-51 of 101 (50.0KB limit). Use offset=52 to continue.]"
        )
    );
    let shown = lab.ok(&read(), json!({"path": "a", "offset": 11})).await;
    assert!(
        shown.ends_with(
            "\n\n[Showing lines 11-61 of 101 (50.0KB limit). Use offset=62 to continue.]"
        )
    );
}

#[tokio::test]
async fn read_honours_offset_and_limit() {
    let lab = Lab::new();
    lab.file("a", "1\n2\n3\n4");
    let read = read();
    assert_eq!(
        lab.ok(&read, json!({"path": "a", "offset": 2, "limit": 2}))
            .await,
        "2\n3\n\n[1 more lines in file. Use offset=4 to continue.]"
    );
    assert_eq!(
        lab.ok(&read, json!({"path": "a", "offset": 3, "limit": 2}))
            .await,
        "3\n4"
    );
    assert_eq!(
        lab.ok(&read, json!({"path": "a", "offset": 3, "limit": 99}))
            .await,
        "3\n4"
    );
    assert_eq!(
        lab.ok(&read, json!({"path": "a", "offset": 0, "limit": 3.7}))
            .await
            .lines()
            .next(),
        Some("1")
    );
    assert_eq!(
        lab.ok(&read, json!({"path": "a", "offset": -5})).await,
        "1\n2\n3\n4"
    );
    assert_eq!(
        lab.err(&read, json!({"path": "a", "offset": 5})).await,
        "Offset 5 is beyond end of file (4 lines total)"
    );
    // The part after a final LF counts, so its number is not beyond the end.
    lab.file("b", "1\n2\n");
    assert_eq!(lab.ok(&read, json!({"path": "b", "offset": 3})).await, "");
    assert_eq!(
        lab.err(&read, json!({"path": "b", "offset": 1e300})).await,
        format!(
            "Offset {} is beyond end of file (3 lines total)",
            usize::MAX
        )
    );
}

#[tokio::test]
async fn read_does_not_show_a_line_that_is_too_long() {
    let lab = Lab::new();
    lab.file("sub dir/a", format!("short\n{}\nlast", "é".repeat(60_000)));
    let output = lab
        .run(&read(), json!({"path": "sub dir/a", "offset": 2}))
        .await
        .unwrap();
    assert_eq!(
        text(&output),
        "[Line 2 is 117.2KB, exceeds 50.0KB limit. Use bash: sed -n '2p' sub dir/a | head -c 51200]"
    );
    assert_eq!(
        output.details.unwrap()["truncation"]["firstLineExceedsLimit"],
        true
    );
}

#[tokio::test]
async fn read_survives_a_huge_file_and_binary_content() {
    let lab = Lab::new();
    // 60 MB that take no space: one "line" of zeros after the first.
    let path = lab.file("huge", "first\n");
    std::fs::OpenOptions::new()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(60_000_000)
        .unwrap();
    let shown = lab.ok(&read(), json!({"path": "huge"})).await;
    assert!(
        shown.starts_with("first\n\n[Showing lines 1-1 of 2 (50.0KB limit)."),
        "{shown}"
    );
    lab.file("binary", b"\xff\xfe\x00a\n\xc3");
    assert_eq!(
        lab.ok(&read(), json!({"path": "binary"})).await,
        "\u{FFFD}\u{FFFD}\0a\n\u{FFFD}"
    );
}

fn picture(format: ImageFormat) -> Vec<u8> {
    let mut bytes = Vec::new();
    DynamicImage::new_rgb8(2, 2)
        .write_to(&mut Cursor::new(&mut bytes), format)
        .unwrap();
    bytes
}

#[tokio::test]
async fn read_shows_images_by_content() {
    let mut lab = Lab::new();
    let mut bmp =
        b"BM\x3a\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\x18\0".to_vec();
    bmp.resize(58, 0);
    for (name, bytes, mime) in [
        ("p.txt", picture(ImageFormat::Png), "image/png"),
        ("j", picture(ImageFormat::Jpeg), "image/jpeg"),
        ("g", picture(ImageFormat::Gif), "image/gif"),
        ("w", picture(ImageFormat::WebP), "image/webp"),
    ] {
        lab.file(name, &bytes);
        let output = lab.run(&read(), json!({"path": name})).await.unwrap();
        assert_eq!(
            output.content[0],
            Block::text(format!("Read image file [{mime}]"))
        );
        assert_eq!(
            output.content[1],
            Block::image(STANDARD.encode(&bytes), mime)
        );
        assert_eq!(output.details, None);
    }
    lab.file("b", &bmp);
    let output = lab.run(&read(), json!({"path": "b"})).await.unwrap();
    assert_eq!(
        output.content[0],
        Block::text("Read image file [image/bmp]\n[Image converted from image/bmp to image/png.]")
    );
    assert!(matches!(&output.content[1], Block::Image(image) if image.mime_type == "image/png"));
    lab.file("not.bmp", "BM is how this text starts");
    assert_eq!(
        lab.ok(&read(), json!({"path": "not.bmp"})).await,
        "BM is how this text starts"
    );
    lab.file("not.png", "text");
    assert_eq!(lab.ok(&read(), json!({"path": "not.png"})).await, "text");
    lab.context.accepts_images = false;
    let output = lab.run(&read(), json!({"path": "g"})).await.unwrap();
    assert_eq!(
        output.details,
        Some(json!({"imageUnsupportedByModel": true}))
    );
    assert_eq!(output.content.len(), 2);
}

#[tokio::test]
async fn read_leaves_out_an_image_that_cannot_be_sent() {
    let lab = Lab::new();
    let path = lab.file("big.png", b"\x89PNG\r\n\x1a\n");
    std::fs::OpenOptions::new()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(8_000_000)
        .unwrap();
    let output = lab.run(&read(), json!({"path": "big.png"})).await.unwrap();
    assert_eq!(output.content.len(), 1);
    assert!(text(&output).starts_with("Read image file [image/png]\n[Image left out: "));
    lab.file("cut.png", b"\x89PNG\r\n\x1a\nrest");
    let output = lab.run(&read(), json!({"path": "cut.png"})).await.unwrap();
    assert_eq!(output.content.len(), 1);
    let start = "Read image file [image/png]\n[Image left out: it cannot be read (";
    assert!(text(&output).starts_with(start), "{}", text(&output));
}

#[tokio::test]
async fn read_explains_what_it_cannot_read() {
    let lab = Lab::new();
    let read = read();
    let missing = lab.path("nowhere");
    assert_eq!(
        lab.err(&read, json!({"path": "nowhere"})).await,
        format!(
            "ENOENT: no such file or directory, access '{}'",
            missing.display()
        )
    );
    assert!(
        lab.err(&read, json!({"path": "."}))
            .await
            .starts_with("EISDIR: ")
    );
    lab.file("file", "");
    assert!(
        lab.err(&read, json!({"path": "file/below"}))
            .await
            .starts_with("ENOTDIR: ")
    );
    std::os::unix::fs::symlink("loop", lab.path("loop")).unwrap();
    assert!(
        lab.err(&read, json!({"path": "loop"}))
            .await
            .starts_with("ELOOP: ")
    );
    assert!(
        lab.err(&read, json!({"path": "/dev/zero"}))
            .await
            .starts_with("Not a regular file")
    );
    let made = std::process::Command::new("mkfifo")
        .arg(lab.path("fifo"))
        .status()
        .unwrap();
    assert!(made.success());
    assert!(
        lab.err(&read, json!({"path": "fifo"}))
            .await
            .starts_with("Not a regular file")
    );
    assert_eq!(
        lab.err(&read, json!({"path": 1})).await,
        "Invalid arguments for tool \"read\": invalid type: integer `1`, expected a string"
    );
}

#[tokio::test]
async fn read_follows_links_and_finds_mixed_up_spellings() {
    let lab = Lab::new();
    let read = read();
    lab.file("real.txt", "x");
    std::os::unix::fs::symlink("real.txt", lab.path("link")).unwrap();
    for name in [
        "link",
        "@real.txt",
        "./sub/../real.txt",
        lab.path("real.txt").to_str().unwrap(),
    ] {
        assert_eq!(lab.ok(&read, json!({"path": name})).await, "x", "{name}");
    }
    for (on_disk, asked) in [
        ("with space.txt", "with\u{00A0}space.txt"),
        (
            "Shot at 10.30.00\u{202F}AM.png.txt",
            "Shot at 10.30.00 AM.png.txt",
        ),
        (
            "de\u{0301}compose\u{0301}.txt",
            "d\u{00E9}compos\u{00E9}.txt",
        ),
        ("d\u{00E9}j\u{00E0}.txt", "de\u{0301}ja\u{0300}.txt"),
        ("it\u{2019}s.txt", "it's.txt"),
        ("@at.txt", "@at.txt"),
        ("nbsp\u{00A0}name", "nbsp\u{00A0}name"),
    ] {
        lab.file(on_disk, on_disk);
        assert_eq!(lab.ok(&read, json!({"path": asked})).await, on_disk);
    }
}

#[test]
fn paths_resolve_by_name() {
    let cwd = Path::new("/some/dir");
    let home = std::env::home_dir().unwrap();
    assert_eq!(
        paths::resolve("a/../b/./c", cwd),
        Path::new("/some/dir/b/c")
    );
    assert_eq!(paths::resolve("../../../..", cwd), Path::new("/"));
    assert_eq!(paths::resolve("/x", cwd), Path::new("/x"));
    assert_eq!(paths::resolve("~", cwd), home);
    assert_eq!(paths::resolve("@~/x", cwd), home.join("x"));
    assert_eq!(paths::resolve("~user", cwd), Path::new("/some/dir/~user"));
    assert_eq!(
        paths::resolve("a\u{3000}b", cwd),
        Path::new("/some/dir/a b")
    );
}

/// Everything that can be read, from memory.
struct Fake {
    content: Vec<u8>,
    image: Option<Option<String>>,
}

#[async_trait]
impl ReadOperations for Fake {
    async fn read_file(&self, _path: &Path) -> Result<Vec<u8>, OpError> {
        Ok(self.content.clone())
    }
    async fn access(&self, path: &Path) -> Result<(), OpError> {
        if path.ends_with("secret") {
            return Err(OpError {
                code: Some("EACCES".into()),
                message: "EACCES: permission denied".into(),
            });
        }
        Ok(())
    }
    async fn detect_image_mime_type(
        &self,
        _path: &Path,
    ) -> Result<Option<Option<String>>, OpError> {
        Ok(self.image.clone())
    }
}

#[tokio::test]
async fn read_runs_through_other_executors() {
    let lab = Lab::new();
    let tool = |content: &[u8], image| {
        let content = content.to_vec();
        ReadTool::new(ReadToolOptions {
            operations: Some(Arc::new(Fake { content, image })),
            images: None,
        })
    };
    assert_eq!(
        lab.ok(&tool(b"far away", None), json!({"path": "x"})).await,
        "far away"
    );
    assert_eq!(
        lab.err(&tool(b"", None), json!({"path": "secret"})).await,
        "EACCES: permission denied"
    );
    let output = lab
        .run(
            &tool(&picture(ImageFormat::Gif), None),
            json!({"path": "x"}),
        )
        .await
        .unwrap();
    assert_eq!(output.content.len(), 2);
    let output = lab
        .run(&tool(b"GIF89a", Some(None)), json!({"path": "x"}))
        .await
        .unwrap();
    assert_eq!(text(&output), "GIF89a");
    let output = lab
        .run(
            &tool(&picture(ImageFormat::Png), Some(Some("image/png".into()))),
            json!({"path": "x"}),
        )
        .await
        .unwrap();
    assert_eq!(
        output.content[1],
        Block::image(STANDARD.encode(picture(ImageFormat::Png)), "image/png")
    );
}

#[tokio::test]
async fn write_creates_parents_and_overwrites() {
    let lab = Lab::new();
    let write = WriteTool::new(None);
    let output = lab
        .run(&write, json!({"path": "a/b/c.txt", "content": "one"}))
        .await
        .unwrap();
    assert_eq!(text(&output), "Successfully wrote to a/b/c.txt");
    assert_eq!(output.details, None);
    lab.run(&write, json!({"path": "a/b/c.txt", "content": ""}))
        .await
        .unwrap();
    assert_eq!(lab.content("a/b/c.txt"), "");
    std::os::unix::fs::symlink("target", lab.path("link")).unwrap();
    lab.run(&write, json!({"path": "link", "content": "through"}))
        .await
        .unwrap();
    assert_eq!(lab.content("target"), "through");
}

#[tokio::test]
async fn write_explains_what_it_cannot_write() {
    let lab = Lab::new();
    let write = WriteTool::new(None);
    lab.file("file", "");
    assert!(
        lab.err(&write, json!({"path": "file/x", "content": ""}))
            .await
            .contains("'")
    );
    std::fs::create_dir(lab.path("dir")).unwrap();
    assert!(
        lab.err(&write, json!({"path": "dir", "content": ""}))
            .await
            .starts_with("EISDIR: ")
    );
    let made = std::process::Command::new("mkfifo")
        .arg(lab.path("fifo"))
        .status()
        .unwrap();
    assert!(made.success());
    assert!(
        lab.err(&write, json!({"path": "fifo", "content": ""}))
            .await
            .starts_with("Not a regular file")
    );
    let mut call = lab.call(json!({"path": "never", "content": ""}));
    call.cancel.cancel();
    assert!(matches!(
        within(write.execute(call.clone())).await,
        Err(ToolError::Aborted)
    ));
    call.args = json!({"path": "never"});
    assert!(!lab.path("never").exists());
}

/// Notices when two writes of the same file overlap.
#[derive(Default)]
struct Watched {
    busy: AtomicBool,
    overlaps: AtomicUsize,
}

#[async_trait]
impl WriteOperations for Watched {
    async fn write_file(&self, path: &Path, content: &str) -> Result<(), OpError> {
        if self.busy.swap(true, Ordering::SeqCst) {
            self.overlaps.fetch_add(1, Ordering::SeqCst);
        }
        for _ in 0..5 {
            tokio::task::yield_now().await;
        }
        std::fs::write(path, content).unwrap();
        self.busy.store(false, Ordering::SeqCst);
        Ok(())
    }
    async fn mkdir(&self, _path: &Path) -> Result<(), OpError> {
        Ok(())
    }
}

#[tokio::test]
async fn changes_of_one_real_file_run_in_call_order() {
    let lab = Lab::new();
    lab.file("real", "");
    std::os::unix::fs::symlink("real", lab.path("alias")).unwrap();
    let watched = Arc::new(Watched::default());
    let write = WriteTool::new(Some(watched.clone()));
    let names = ["real", "alias", "./real", "sub/../alias"];
    let calls = (0..20).map(|n| {
        write.execute(lab.call(json!({"path": names[n % names.len()], "content": n.to_string()})))
    });
    let results = within(futures::future::join_all(calls)).await;
    assert!(results.iter().all(Result::is_ok));
    assert_eq!(watched.overlaps.load(Ordering::SeqCst), 0);
    assert_eq!(lab.content("real"), "19");
}

/// A change that nobody aborts.
async fn changing(path: &Path, change: impl Future<Output = ()>) {
    let never = CancellationToken::new();
    let change = async {
        change.await;
        Ok(())
    };
    with_file_mutation_queue(path, "test", &never, change)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_dangling_link_and_its_target_are_one_file() {
    let lab = Lab::new();
    std::os::unix::fs::symlink("target", lab.path("dangling")).unwrap();
    let (target, dangling) = (lab.path("target"), lab.path("dangling"));
    let (started, has_started) = tokio::sync::oneshot::channel();
    let (finish, finished) = tokio::sync::oneshot::channel::<()>();
    let first = tokio::spawn(async move {
        changing(&target, async {
            started.send(()).unwrap();
            finished.await.unwrap();
        })
        .await;
    });
    within(has_started).await.unwrap();
    let second = changing(&dangling, async {});
    tokio::pin!(second);
    assert!(futures::poll!(second.as_mut()).is_pending());
    finish.send(()).unwrap();
    within(second).await;
    within(first).await.unwrap();
}

#[tokio::test]
async fn different_files_do_not_wait_for_each_other_and_a_dropped_change_frees_its_place() {
    let lab = Lab::new();
    let (a, b) = (lab.path("a"), lab.path("b"));
    let stuck = changing(&a, std::future::pending::<()>());
    let mut stuck = Box::pin(stuck);
    assert!(futures::poll!(stuck.as_mut()).is_pending());
    within(changing(&b, async {})).await;
    drop(stuck);
    within(changing(&a, async {})).await;
}

#[tokio::test]
async fn ls_lists_names() {
    let lab = Lab::new();
    let ls = LsTool::new(None);
    assert_eq!(lab.ok(&ls, json!({})).await, "(empty directory)");
    for name in ["b.txt", "A.txt", ".hidden", "dir/x", "C"] {
        lab.file(name, "");
    }
    std::os::unix::fs::symlink("dir", lab.path("link")).unwrap();
    std::os::unix::fs::symlink("nowhere", lab.path("broken")).unwrap();
    let output = lab.run(&ls, json!({})).await.unwrap();
    assert_eq!(
        text(&output),
        ".hidden\nA.txt\nb.txt\nbroken\nC\ndir/\nlink/"
    );
    assert_eq!(output.details, None);
    let output = lab.run(&ls, json!({"limit": 2})).await.unwrap();
    assert_eq!(
        text(&output),
        ".hidden\nA.txt\n\n[2 entries limit reached. Use limit=4 for more]"
    );
    assert_eq!(output.details, Some(json!({"entryLimitReached": 2})));
    assert!(
        lab.ok(&ls, json!({"limit": 0}))
            .await
            .starts_with(".hidden\n\n[1 entries limit reached.")
    );
    assert_eq!(lab.ok(&ls, json!({"limit": 7})).await.lines().count(), 7);
    assert_eq!(
        lab.err(&ls, json!({"path": "no"})).await,
        format!("Path not found: {}", lab.path("no").display())
    );
    assert_eq!(
        lab.err(&ls, json!({"path": "C"})).await,
        format!("Not a directory: {}", lab.path("C").display())
    );
}

#[tokio::test]
async fn ls_cuts_after_50_kb() {
    let lab = Lab::new();
    for n in 0..300 {
        lab.file(&format!("{n:03}{}", "x".repeat(220)), "");
    }
    let output = lab.run(&ls_tool(), json!({})).await.unwrap();
    assert!(text(&output).ends_with("\n\n[50.0KB limit reached]"));
    assert_eq!(
        output.details.unwrap()["truncation"]["maxLines"],
        9_007_199_254_740_991_u64
    );
}

fn ls_tool() -> LsTool {
    LsTool::new(None)
}
