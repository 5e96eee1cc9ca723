//! `grep` and `find`.

mod tools_support;

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use pier_agent::tool::{Tool, ToolError};
use pier_agent::tools::operations::{FindOperations, GlobOptions, GrepOperations};
use pier_agent::tools::{FindTool, GrepTool, OpError};
use serde_json::json;
use tools_support::{Lab, text, within};

fn grep() -> GrepTool {
    GrepTool::new(None)
}

fn find() -> FindTool {
    FindTool::new(None)
}

#[tokio::test]
async fn grep_prints_path_line_and_text() {
    let lab = Lab::new();
    lab.file("b.txt", "x\nneedle here\r\n");
    lab.file("a/c.txt", "a needle\n");
    lab.file(".hidden/d", "needle");
    let output = lab
        .run(&grep(), json!({"pattern": "needle"}))
        .await
        .unwrap();
    assert_eq!(
        text(&output),
        ".hidden/d:1: needle\na/c.txt:1: a needle\nb.txt:2: needle here"
    );
    assert_eq!(output.details, None);
    assert_eq!(
        lab.ok(&grep(), json!({"pattern": "needle", "path": "a"}))
            .await,
        "c.txt:1: a needle"
    );
    assert_eq!(
        lab.ok(&grep(), json!({"pattern": "needle", "path": "a/c.txt"}))
            .await,
        "c.txt:1: a needle"
    );
    assert_eq!(
        lab.ok(&grep(), json!({"pattern": "nothing"})).await,
        "No matches found"
    );
    assert_eq!(
        lab.err(&grep(), json!({"pattern": "x", "path": "no"}))
            .await,
        format!("Path not found: {}", lab.path("no").display())
    );
}

#[tokio::test]
async fn grep_takes_expressions_literals_and_case() {
    let lab = Lab::new();
    lab.file("f", "a.c\nabc\nABC\n");
    assert_eq!(
        lab.ok(&grep(), json!({"pattern": "a.c"})).await,
        "f:1: a.c\nf:2: abc"
    );
    assert_eq!(
        lab.ok(&grep(), json!({"pattern": "a.c", "literal": true}))
            .await,
        "f:1: a.c"
    );
    assert_eq!(
        lab.ok(&grep(), json!({"pattern": "^abc$", "ignoreCase": true}))
            .await,
        "f:2: abc\nf:3: ABC"
    );
    assert_eq!(
        lab.ok(&grep(), json!({"pattern": "-e", "literal": true}))
            .await,
        "No matches found"
    );
    assert!(
        lab.err(&grep(), json!({"pattern": "("}))
            .await
            .starts_with("Invalid search pattern: ")
    );
    assert!(
        lab.err(&grep(), json!({"pattern": "a\nb"}))
            .await
            .starts_with("Invalid search pattern: ")
    );
    assert_eq!(
        lab.ok(&grep(), json!({"pattern": "(", "literal": true}))
            .await,
        "No matches found"
    );
}

#[tokio::test]
async fn grep_shows_context_once() {
    let lab = Lab::new();
    lab.file("f", "1\n2\nx\n4\nx\n6\n7\n");
    assert_eq!(
        lab.ok(&grep(), json!({"pattern": "x", "context": 1})).await,
        "f-2- 2\nf:3: x\nf-4- 4\nf:5: x\nf-6- 6"
    );
}

#[tokio::test]
async fn grep_stops_at_the_limit() {
    let lab = Lab::new();
    lab.file("f", "x1\nx2\nx3\nx4\n");
    lab.file("g", "x5\n");
    let output = lab
        .run(&grep(), json!({"pattern": "x", "limit": 2}))
        .await
        .unwrap();
    assert_eq!(
        text(&output),
        "f:1: x1\nf:2: x2\n\n[2 matches limit reached. Use limit=4 for more, or refine pattern]"
    );
    assert_eq!(output.details, Some(json!({"matchLimitReached": 2})));
    let shown = lab
        .ok(&grep(), json!({"pattern": "x", "limit": 2, "context": 1}))
        .await;
    assert!(
        shown.starts_with("f:1: x1\nf:2: x2\nf-3- x3\n\n["),
        "{shown}"
    );
    let shown = lab.ok(&grep(), json!({"pattern": "x", "limit": -3})).await;
    assert!(
        shown.starts_with("f:1: x1\n\n[1 matches limit reached. Use limit=2"),
        "{shown}"
    );
    lab.file("many", "x\n".repeat(150));
    let shown = lab.ok(&grep(), json!({"pattern": "^x$"})).await;
    assert!(
        shown.contains("\nmany:100: x\n\n[100 matches limit reached. Use limit=200"),
        "{shown}"
    );
}

#[tokio::test]
async fn grep_cuts_lines_and_output() {
    let lab = Lab::new();
    lab.file("f", format!("x{}\n", "é".repeat(600)).repeat(90));
    let output = lab.run(&grep(), json!({"pattern": "x"})).await.unwrap();
    let shown = text(&output);
    assert!(shown.starts_with(&format!("f:1: x{}... [truncated]\n", "é".repeat(499))));
    assert!(
        shown.ends_with(
            "\n\n[50.0KB limit reached. Some lines truncated to 500 chars. Use read tool to see full lines]"
        ),
        "{}",
        &shown[shown.len() - 200..]
    );
    let details = output.details.unwrap();
    assert_eq!(details["linesTruncated"], true);
    assert_eq!(details["truncation"]["truncatedBy"], "bytes");
    assert!(details.get("matchLimitReached").is_none());
}

#[tokio::test]
async fn grep_honours_ignore_files_and_globs() {
    let lab = Lab::new();
    lab.file(".gitignore", "ignored/\n*.log\n");
    lab.file(".rgignore", "by-rg\n");
    for name in [
        "ignored/a",
        "b.log",
        "by-rg",
        "c.ts",
        "src/d.ts",
        "e.js",
        ".git/config",
    ] {
        lab.file(name, "needle");
    }
    assert_eq!(
        lab.ok(&grep(), json!({"pattern": "needle"})).await,
        "c.ts:1: needle\ne.js:1: needle\nsrc/d.ts:1: needle"
    );
    assert_eq!(
        lab.ok(&grep(), json!({"pattern": "needle", "glob": "*.ts"}))
            .await,
        "c.ts:1: needle\nsrc/d.ts:1: needle"
    );
    assert_eq!(
        lab.ok(&grep(), json!({"pattern": "needle", "glob": "src/**"}))
            .await,
        "src/d.ts:1: needle"
    );
    assert_eq!(
        lab.ok(&grep(), json!({"pattern": "needle", "glob": "!*.ts"}))
            .await,
        "e.js:1: needle"
    );
    assert!(
        lab.err(&grep(), json!({"pattern": "x", "glob": "{a"}))
            .await
            .starts_with("Invalid glob: ")
    );
    // A file that is named is searched even if it is ignored.
    assert_eq!(
        lab.ok(&grep(), json!({"pattern": "needle", "path": "b.log"}))
            .await,
        "b.log:1: needle"
    );
    assert_eq!(
        lab.ok(&grep(), json!({"pattern": "needle", "path": ".git"}))
            .await,
        "config:1: needle"
    );
}

#[tokio::test]
async fn grep_skips_binary_files_and_links_and_survives_long_lines() {
    let lab = Lab::new();
    lab.file("binary", b"needle\0needle\n");
    lab.file("text", "needle");
    std::os::unix::fs::symlink(lab.path("text"), lab.path("link")).unwrap();
    std::os::unix::fs::symlink(".", lab.path("loop")).unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(lab.path("fifo"))
        .status()
        .unwrap();
    assert!(made.success());
    let big = lab.file("big", "");
    std::fs::OpenOptions::new()
        .write(true)
        .open(&big)
        .unwrap()
        .set_len(100_000_000)
        .unwrap();
    assert_eq!(
        lab.ok(&grep(), json!({"pattern": "needle"})).await,
        "text:1: needle"
    );
}

#[tokio::test]
async fn grep_refuses_pipes_and_devices() {
    let lab = Lab::new();
    let made = std::process::Command::new("mkfifo")
        .arg(lab.path("fifo"))
        .status()
        .unwrap();
    assert!(made.success());
    let fifo = lab.path("fifo").display().to_string();
    for path in [fifo.as_str(), "/dev/zero"] {
        assert_eq!(
            lab.err(&grep(), json!({"pattern": "x", "path": path}))
                .await,
            format!("Not a regular file (pipe, device or socket): {path}")
        );
        assert_eq!(
            lab.err(&find(), json!({"pattern": "x", "path": path}))
                .await,
            format!("Not a directory: {path}")
        );
    }
}

#[tokio::test]
async fn grep_can_be_aborted() {
    let lab = Lab::new();
    let call = lab.call(json!({"pattern": "x"}));
    call.cancel.cancel();
    assert!(matches!(
        within(grep().execute(call)).await,
        Err(ToolError::Aborted)
    ));
}

struct NoSuchPath;

#[async_trait]
impl GrepOperations for NoSuchPath {
    async fn is_directory(&self, _path: &Path) -> Result<bool, OpError> {
        Err(OpError::other("not here"))
    }
}

#[tokio::test]
async fn grep_asks_its_operations_about_the_path() {
    let lab = Lab::new();
    let grep = GrepTool::new(Some(Arc::new(NoSuchPath)));
    assert!(
        lab.err(&grep, json!({"pattern": "x"}))
            .await
            .starts_with("Path not found: ")
    );
}

#[tokio::test]
async fn find_matches_names_and_paths() {
    let lab = Lab::new();
    for name in [
        "a.ts",
        "src/b.ts",
        "src/deep/c.ts",
        "src/deep/README.md",
        ".hidden/d.ts",
        "other/src/e.ts",
    ] {
        lab.file(name, "");
    }
    let find = find();
    for (pattern, expected) in [
        (
            "*.ts",
            ".hidden/d.ts\na.ts\nother/src/e.ts\nsrc/b.ts\nsrc/deep/c.ts",
        ),
        ("src/*.ts", "src/b.ts"),
        ("/src/*.ts", "src/b.ts"),
        ("./src/*.ts", "src/b.ts"),
        ("src/**/*.ts", "src/b.ts\nsrc/deep/c.ts"),
        ("**/src/*.ts", "other/src/e.ts\nsrc/b.ts"),
        ("deep", "src/deep/"),
        ("*/deep/", "src/deep/"),
        ("{a,b}.ts", "a.ts\nsrc/b.ts"),
        (
            "?.ts",
            ".hidden/d.ts\na.ts\nother/src/e.ts\nsrc/b.ts\nsrc/deep/c.ts",
        ),
        // Smart case.
        ("readme*", "src/deep/README.md"),
        ("Readme*", "No files found matching pattern"),
        (
            "*",
            ".hidden/\n.hidden/d.ts\na.ts\nother/\nother/src/\nother/src/e.ts\nsrc/\nsrc/b.ts\nsrc/deep/\nsrc/deep/README.md\nsrc/deep/c.ts",
        ),
    ] {
        assert_eq!(
            lab.ok(&find, json!({"pattern": pattern})).await,
            expected,
            "{pattern}"
        );
    }
    assert_eq!(
        lab.ok(&find, json!({"pattern": "*.ts", "path": "src"}))
            .await,
        "b.ts\ndeep/c.ts"
    );
    assert_eq!(
        lab.err(&find, json!({"pattern": "*", "path": "no"})).await,
        format!("Path not found: {}", lab.path("no").display())
    );
    assert!(
        lab.err(&find, json!({"pattern": "{a"}))
            .await
            .starts_with("Invalid glob pattern: ")
    );
    assert!(
        lab.err(&find, json!({"pattern": "*", "path": "a.ts"}))
            .await
            .starts_with("Not a directory: ")
    );
}

#[tokio::test]
async fn find_honours_ignore_files() {
    let lab = Lab::new();
    lab.file(".gitignore", "node_modules/\n");
    lab.file("sub/.ignore", "x\n");
    lab.file(".fdignore", "y\n");
    for name in ["node_modules/m.ts", "sub/x", "y", "z", ".git/HEAD"] {
        lab.file(name, "");
    }
    assert_eq!(
        lab.ok(&find(), json!({"pattern": "*"})).await,
        ".fdignore\n.gitignore\nsub/\nsub/.ignore\nz"
    );
}

#[tokio::test]
async fn find_stops_at_the_limit() {
    let lab = Lab::new();
    for n in 0..5 {
        lab.file(&format!("f{n}"), "");
    }
    let output = lab
        .run(&find(), json!({"pattern": "f*", "limit": 2}))
        .await
        .unwrap();
    assert_eq!(
        text(&output),
        "f0\nf1\n\n[2 results limit reached. Use limit=4 for more, or refine pattern]"
    );
    assert_eq!(output.details, Some(json!({"resultLimitReached": 2})));
    assert!(
        lab.ok(&find(), json!({"pattern": "f*", "limit": 0}))
            .await
            .starts_with("f0\n\n[1 results limit")
    );
    assert_eq!(
        lab.ok(&find(), json!({"pattern": "f*", "limit": 6})).await,
        "f0\nf1\nf2\nf3\nf4"
    );
}

#[tokio::test]
async fn find_cuts_after_50_kb() {
    let lab = Lab::new();
    for n in 0..300 {
        lab.file(&format!("{n:03}{}", "x".repeat(220)), "");
    }
    let output = lab.run(&find(), json!({"pattern": "*"})).await.unwrap();
    assert!(text(&output).ends_with("\n\n[50.0KB limit reached]"));
    assert_eq!(output.details.unwrap()["truncation"]["totalLines"], 300);
}

struct Elsewhere;

#[async_trait]
impl FindOperations for Elsewhere {
    async fn exists(&self, path: &Path) -> Result<bool, OpError> {
        Ok(!path.ends_with("no"))
    }
    async fn glob(
        &self,
        pattern: &str,
        cwd: &Path,
        options: GlobOptions,
    ) -> Result<Vec<String>, OpError> {
        assert_eq!(options.ignore, ["**/node_modules/**", "**/.git/**"]);
        assert_eq!(options.limit, 1000);
        let absolute = cwd.join("dir").display().to_string();
        Ok(vec![format!("{absolute}/"), format!("{pattern}/relative")])
    }
}

#[tokio::test]
async fn find_runs_through_other_executors() {
    let lab = Lab::new();
    let find = FindTool::new(Some(Arc::new(Elsewhere)));
    assert_eq!(
        lab.ok(&find, json!({"pattern": "p"})).await,
        "dir/\np/relative"
    );
    assert!(
        lab.err(&find, json!({"pattern": "p", "path": "no"}))
            .await
            .starts_with("Path not found: ")
    );
}
