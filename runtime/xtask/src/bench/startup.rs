//! `bench startup`: time from spawning the process to the end of extension loading, for 0, 1 and 20
//! small extensions with a cold and a warm cache, and resident memory at that moment.
//!
//! The clock is the benchmark's own: it starts before the spawn and stops when the line that
//! `PIER_STARTUP_TRACE=1` asks for arrives, so dynamic linking and process start are inside. Every round
//! runs each case once, next to `node -e 0`, so that load on the machine hits all of them alike. Measures
//! only: it builds the development binary when there is none and changes nothing else.

use super::Options;
use super::stats::median;
use crate::paths::Workspace;
use crate::ui;
use anyhow::{Context, Result, bail};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

const TRACE_PREFIX: &str = "pier-startup ";
/// No start may take longer; a hang ends the benchmark with what was printed.
const LIMIT: Duration = Duration::from_secs(60);
const COUNTS: [usize; 3] = [0, 1, 20];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Cache {
    Cold,
    Warm,
}

struct Case {
    extensions: usize,
    cache: Cache,
    millis: Vec<f64>,
    rss_mib: Vec<f64>,
}

struct Sample {
    millis: f64,
    rss_mib: f64,
}

/// Runs all cases and prints the table.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let binary = super::choose_binary(workspace, options)?;
    ui::note(&format!("binary: {}", binary.display()));
    let bench = Bench::new(binary)?;
    let mut cases: Vec<Case> = COUNTS
        .into_iter()
        .flat_map(|extensions| {
            [Cache::Cold, Cache::Warm].map(|cache| Case {
                extensions,
                cache,
                millis: Vec::new(),
                rss_mib: Vec::new(),
            })
        })
        .collect();
    let mut node = Case {
        extensions: 0,
        cache: Cache::Warm,
        millis: Vec::new(),
        rss_mib: Vec::new(),
    };
    // One round that does not count: it brings the binaries into the page cache.
    bench.node()?;
    bench.pier(0)?;
    for round in 1..=options.runs {
        ui::note(&format!("round {round} of {}", options.runs));
        node.add(bench.node()?);
        for case in &mut cases {
            // A warm case comes right after its cold one, which filled the cache.
            if case.cache == Cache::Cold {
                bench.empty_cache()?;
            }
            case.add(bench.pier(case.extensions)?);
        }
    }
    print_table(&node, &cases)
}

impl Case {
    fn add(&mut self, sample: Sample) {
        self.millis.push(sample.millis);
        self.rss_mib.push(sample.rss_mib);
    }
}

/// A home of its own and twenty extensions, in a directory that goes away with this value.
struct Bench {
    binary: PathBuf,
    home: tempfile::TempDir,
    extensions: Vec<PathBuf>,
}

impl Bench {
    fn new(binary: PathBuf) -> Result<Self> {
        let home = tempfile::tempdir()?;
        let directory = home.path().join("extensions");
        fs::create_dir(&directory)?;
        let mut extensions = Vec::new();
        for index in 0..COUNTS.into_iter().max().unwrap_or_default() {
            let path = directory.join(format!("small-{index}.ts"));
            fs::write(&path, small_extension(index))?;
            extensions.push(path);
        }
        Ok(Self {
            binary,
            home,
            extensions,
        })
    }

    fn cache(&self) -> PathBuf {
        self.home.path().join("cache")
    }

    fn empty_cache(&self) -> Result<()> {
        match fs::remove_dir_all(self.cache()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).context("cannot empty the cache")
            }
            _ => Ok(()),
        }
    }

    /// One start in RPC mode, which needs no prompt and ends when its input does.
    fn pier(&self, extensions: usize) -> Result<Sample> {
        let mut command = Command::new(&self.binary);
        command.args([
            "--mode",
            "rpc",
            "--no-session",
            "--no-extensions",
            "--offline",
        ]);
        for extension in &self.extensions[..extensions] {
            command.arg("-e").arg(extension);
        }
        command
            .env("PIER_STARTUP_TRACE", "1")
            .env("HOME", self.home.path())
            .env("XDG_CACHE_HOME", self.cache())
            .env("PI_CODING_AGENT_DIR", self.home.path().join("agent"))
            .current_dir(self.home.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let start = Instant::now();
        let mut child = command.spawn().context("cannot start pier")?;
        let stderr = child
            .stderr
            .take()
            .context("pier's stderr was not captured")?;
        let traced = wait_for_trace(stderr, start);
        let rss = resident(child.id());
        stop(&mut child)?;
        Ok(Sample {
            millis: traced?,
            rss_mib: rss?,
        })
    }

    /// The reference: an empty program in Node, from spawn to exit, and Node's resident memory.
    fn node(&self) -> Result<Sample> {
        let start = Instant::now();
        let status = Command::new("node")
            .args(["-e", "0"])
            .status()
            .context("cannot start node")?;
        let millis = start.elapsed().as_secs_f64() * 1e3;
        if !status.success() {
            bail!("`node -e 0` ended with {status}");
        }
        let text = crate::proc::stdout(
            Command::new("node").args(["-e", "console.log(process.memoryUsage.rss())"]),
        )?;
        let bytes: f64 = text.trim().parse().context("node printed no number")?;
        Ok(Sample {
            millis,
            rss_mib: bytes / f64::from(1 << 20),
        })
    }
}

/// Waits for the trace line; the rest of stderr is kept for the error message.
fn wait_for_trace(stderr: ChildStderr, start: Instant) -> Result<f64> {
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            if sender.send((start.elapsed(), line)).is_err() {
                return;
            }
        }
    });
    let mut seen = String::new();
    loop {
        let left = LIMIT.saturating_sub(start.elapsed());
        match lines.recv_timeout(left) {
            Ok((elapsed, line)) if line.starts_with(TRACE_PREFIX) => {
                return Ok(elapsed.as_secs_f64() * 1e3);
            }
            Ok((_, line)) => seen.push_str(&format!("{line}\n")),
            Err(_) => bail!(
                "pier printed no `{}` line; its stderr was:\n{seen}",
                TRACE_PREFIX.trim()
            ),
        }
    }
}

fn resident(pid: u32) -> Result<f64> {
    let path = format!("/proc/{pid}/status");
    if !Path::new(&path).exists() {
        return Ok(f64::NAN); // Not Linux, or the process died; the trace says which.
    }
    let text = fs::read_to_string(&path)?;
    let line = text.lines().find(|line| line.starts_with("VmRSS:"));
    let kib = line
        .and_then(|line| line.split_whitespace().nth(1))
        .context("no VmRSS in /proc")?;
    Ok(kib.parse::<f64>()? / 1024.0)
}

/// Ends the process by closing its input; one that does not end is killed and reported.
fn stop(child: &mut Child) -> Result<()> {
    drop(child.stdin.take());
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            if !status.success() {
                bail!("pier ended with {status}");
            }
            return Ok(());
        }
        if start.elapsed() > LIMIT {
            child.kill()?;
            child.wait()?;
            bail!(
                "pier did not end within {} s of the end of its input",
                LIMIT.as_secs()
            );
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A typical small extension: one import of a host module, one tool, one command, one handler.
fn small_extension(index: usize) -> String {
    format!(
        r#"import {{ Type }} from "typebox";

interface Greeting {{ name: string }}

export default function (pi: any): void {{
	pi.registerTool({{
		name: "small_{index}",
		label: "Small {index}",
		description: "Greets somebody",
		parameters: Type.Object({{ name: Type.String() }}),
		async execute(_id: string, {{ name }}: Greeting) {{
			return {{ content: [{{ type: "text", text: `Hello, ${{name}}, from {index}` }}] }};
		}},
	}});
	pi.registerCommand("small-{index}", {{ description: "Says so", handler: async (_args: string, ctx: any) => ctx.ui.notify("{index}") }});
	pi.on("session_start", async () => {{}});
}}
"#
    )
}

fn print_table(node: &Case, cases: &[Case]) -> Result<()> {
    let node_millis = median(&node.millis).context("no sample of node")?;
    let node_rss = median(&node.rss_mib).context("no sample of node")?;
    println!(
        "{:<24} {:>10} {:>8} {:>10} {:>8}",
        "case", "median ms", "x node", "RSS MiB", "x node"
    );
    println!(
        "{:<24} {node_millis:>10.1} {:>8} {node_rss:>10.1} {:>8}",
        "node -e 0", "1.00", "1.00"
    );
    for case in cases {
        let name = format!(
            "{} extension{}, {}",
            case.extensions,
            if case.extensions == 1 { "" } else { "s" },
            if case.cache == Cache::Cold {
                "cold"
            } else {
                "warm"
            },
        );
        let millis = median(&case.millis).context("no sample")?;
        let rss = median(&case.rss_mib).context("no sample")?;
        println!(
            "{name:<24} {millis:>10.1} {:>8.2} {rss:>10.1} {:>8.2}",
            millis / node_millis,
            rss / node_rss,
        );
    }
    println!("medians over {} runs", node.millis.len());
    Ok(())
}
