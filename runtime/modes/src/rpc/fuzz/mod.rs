//! Fuzzing of everything that a client's bytes reach first: the record reader and the answers to dialogs.
//!
//! A target is a function that takes bytes, drives the real code with them and checks what must always hold. Ordinary
//! tests replay the kept corpus (`tests/fuzz/corpus`); `cargo xtask fuzz TARGET --seconds N` mutates it for as long as told.
//! An input whose behaviour was not seen before joins the corpus; one that panics is kept in `tests/fuzz/crashes`.

mod mutate;
mod record;
mod ui_answer;

use std::collections::HashSet;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mutate::Mutator;

/// What a target did with one line, in a few words. Inputs that do nothing new are forgotten.
type Behaviour = String;

struct Target {
    name: &'static str,
    run: fn(&[u8]) -> Vec<Behaviour>,
}

const TARGETS: [Target; 2] = [
    Target {
        name: "record",
        run: record::run,
    },
    Target {
        name: "ui-answer",
        run: ui_answer::run,
    },
];

/// Inputs of the corpus are small, so that everybody can read them.
const MAX_KEPT_BYTES: usize = 1024;
/// Most inputs that a run adds to the corpus on disk.
const MAX_NEW: usize = 100;

fn folder(kind: &str, target: &str) -> PathBuf {
    let crate_dir = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it for tests");
    Path::new(&crate_dir)
        .join("../../tests/fuzz")
        .join(kind)
        .join(target)
}

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = folder("corpus", target);
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    files
        .iter()
        .map(|file| std::fs::read(file).expect("readable"))
        .collect()
}

fn replay(target: &Target) {
    let inputs = corpus(target.name);
    assert!(inputs.len() >= 10, "the corpus of {} is gone", target.name);
    for input in inputs {
        (target.run)(&input);
    }
}

#[test]
fn the_record_corpus_replays() {
    replay(&TARGETS[0]);
}

#[test]
fn the_ui_answer_corpus_replays() {
    replay(&TARGETS[1]);
}

/// Run by `cargo xtask fuzz`, which names the target and the time.
#[test]
#[ignore = "runs for as long as it is told; see `cargo xtask fuzz`"]
fn explore() {
    let word = std::env::var("PIER_FUZZ_TARGET").expect("PIER_FUZZ_TARGET names the target");
    let seconds = std::env::var("PIER_FUZZ_SECONDS").expect("PIER_FUZZ_SECONDS says how long");
    let limit = Duration::from_secs(seconds.parse().expect("whole seconds"));
    let target = TARGETS
        .iter()
        .find(|target| target.name == word)
        .unwrap_or_else(|| panic!("no target {word}; there are: record, ui-answer"));
    let mut pool = corpus(target.name);
    let mut seen: HashSet<Behaviour> = pool.iter().flat_map(|input| (target.run)(input)).collect();
    let now = std::time::UNIX_EPOCH.elapsed().expect("a clock");
    let mut mutator = Mutator::new(now.as_secs() ^ u64::from(now.subsec_nanos()) << 32);
    // A fault that ends the process leaves the input here.
    let current = std::env::temp_dir().join(format!("pier-fuzz-{}", std::process::id()));
    let (started, mut executions, mut lines, mut new) = (Instant::now(), 0u64, 0usize, 0usize);
    while started.elapsed() < limit {
        let input = mutator.mutate(&pool);
        std::fs::write(&current, &input).expect("written");
        let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| (target.run)(&input)));
        executions += 1;
        match outcome {
            Ok(behaviours) => {
                lines += behaviours.len();
                let fresh = behaviours.iter().any(|behaviour| !seen.contains(behaviour));
                if input.len() <= MAX_KEPT_BYTES && fresh {
                    seen.extend(behaviours);
                    if new < MAX_NEW {
                        keep("corpus", target.name, &input);
                    }
                    new += 1;
                    pool.push(input);
                }
            }
            Err(_) => {
                let file = keep("crashes", target.name, &input);
                panic!(
                    "{executions} executions, then a crash; the input is {}",
                    file.display()
                );
            }
        }
    }
    let _ = std::fs::remove_file(&current);
    eprintln!(
        "fuzz {}: {executions} executions with {lines} records in {} s, {} behaviours, {new} new inputs, no crash",
        target.name,
        started.elapsed().as_secs(),
        seen.len(),
    );
}

fn keep(kind: &str, target: &str, input: &[u8]) -> PathBuf {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    input.hash(&mut hasher);
    let folder = folder(kind, target);
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join(format!("{:016x}", hasher.finish()));
    std::fs::write(&file, input).expect("written");
    file
}

/// The words of a text without what differs between alike inputs: digits, quoted pieces, and anything long.
fn words(text: &str) -> String {
    // What an unknown command is called makes no difference.
    if let Some((before, _)) = text.split_once("Unknown command: ") {
        return format!("{before}unknown command");
    }
    let mut words = String::new();
    let mut quoted = false;
    for letter in text.chars() {
        match letter {
            '"' => quoted = !quoted,
            _ if quoted => {}
            letter if letter.is_ascii_alphabetic() || letter == ' ' => words.push(letter),
            _ => {}
        }
        if words.len() > 80 {
            break;
        }
    }
    words
}
