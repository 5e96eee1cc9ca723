//! Makes the V8 snapshot: Deno's runtime, the Node modules that extensions import most, js-api and the host modules that are safe to
//! evaluate ahead of time. Also writes the tables of what stayed out of it.

#[path = "src/fault.rs"]
mod fault;
#[path = "src/ops.rs"]
mod ops;

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use deno_core::ExtensionFileSource;
use deno_runtime::ops::bootstrap::SnapshotOptions;
use deno_runtime::snapshot::{
    CreateRuntimeSnapshotOutput, LazyExtensionFileKind, create_runtime_snapshot,
};

/// Node modules evaluated at build time. `node:crypto` cannot be among them: it creates garbage-collected Rust objects when it loads.
const NODE_MODULES: &[&str] = &[
    "path",
    "events",
    "util",
    "url",
    "os",
    "buffer",
    "fs",
    "child_process",
    "stream",
    "module",
    "process",
    "fs/promises",
    "timers",
    "readline",
    "string_decoder",
    "assert",
    "zlib",
];

/// More of what `hidden_modules` describes: loaded by getters while `node:fs` evaluates. The test
/// `functions_in_the_snapshot_have_their_own_source` tells when this list must grow.
const HIDDEN_BEHIND_GETTERS: &[&str] = &[
    "ext:deno_node/internal/fs/promises.ts",
    "ext:deno_node/internal/fs/streams.mjs",
    "ext:deno_node/internal/fs/handle.ts",
    "ext:deno_node/internal/streams/fast-utf8-stream.js",
];

/// Host modules evaluated at build time: the ones that most extensions import. Each must be marked fit for it in the manifest.
const HOST_MODULES: &[&str] = &[
    "typebox",
    "typebox/value",
    "@sinclair/typebox",
    "@sinclair/typebox/value",
    "pi-tui",
    "pi-ai",
    "pi-agent-core",
    "pi-utils",
    "coding-agent",
    "coding-agent/xcsh",
];

#[derive(serde::Deserialize)]
struct Manifest {
    core: Module,
    modules: BTreeMap<String, Module>,
}

#[derive(serde::Deserialize)]
struct Module {
    file: String,
    /// The file and all it imports, in the order of evaluation.
    files: Vec<String>,
    /// Whether evaluation touches nothing of its environment.
    snapshot: bool,
    #[serde(default)]
    exports: Vec<String>,
}

fn main() {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let here = PathBuf::from(
        std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"),
    );
    let dist = here.join("../../js-api/dist");
    let manifest_path = dist.join("host-modules.json");
    for watched in [
        "build.rs",
        "js/file_modes.js",
        "js/host.js",
        "src/ops.rs",
        "src/fault.rs",
    ] {
        println!("cargo:rerun-if-changed={watched}");
    }
    println!("cargo:rerun-if-changed={}", manifest_path.display());
    let Ok(text) = std::fs::read_to_string(&manifest_path) else {
        panic!(
            "{} is missing: run `cargo xtask setup` first, it builds the JavaScript half",
            manifest_path.display()
        );
    };
    let manifest: Manifest = serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("{}: {error}", manifest_path.display()));

    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    let in_snapshot = snapshot_files(&manifest);
    let with_default: HashSet<&str> = manifest
        .modules
        .values()
        .filter(|module| module.exports.iter().any(|name| name == "default"))
        .map(|module| module.file.as_str())
        .collect();
    let mut esm = Vec::new();
    let mut entry = String::new();
    // In this order: the first changes functions that the second and the Node modules take over.
    for script in ["file_modes.js", "host.js"] {
        let specifier = format!("ext:pier/{script}");
        esm.push(source(&specifier, &read(&here.join("js").join(script))));
        let _ = writeln!(entry, "import {specifier:?};");
    }
    for module in NODE_MODULES {
        let _ = writeln!(entry, "import \"node:{module}\";");
    }
    for file in &in_snapshot {
        let code = read(&dist.join(file));
        code.hash(&mut hasher);
        println!("cargo:rerun-if-changed={}", dist.join(file).display());
        esm.push(source(&format!("ext:pier/{file}"), &ascii(&code)));
        esm.push(source(
            &format!("node:pier/{file}"),
            &facade(file, with_default.contains(file)),
        ));
        let _ = writeln!(entry, "import \"node:pier/{file}\";");
    }
    write(&out.join("snapshot_files.rs"), &format!("{in_snapshot:?}"));

    let mut sources = String::from("[\n");
    for file in all_files(&dist)
        .iter()
        .filter(|file| !in_snapshot.contains(&file.as_str()))
    {
        let path = dist.join(file);
        read(&path).hash(&mut hasher);
        println!("cargo:rerun-if-changed={}", path.display());
        let path = path.canonicalize().expect("the file was just read");
        let _ = writeln!(sources, "({file:?}, include_str!({path:?})),");
    }
    sources.push(']');
    write(&out.join("host_sources.rs"), &sources);
    println!(
        "cargo:rustc-env=PIER_HOST_MODULES_JSON={}",
        manifest_path
            .canonicalize()
            .expect("the file was just read")
            .display()
    );
    println!(
        "cargo:rustc-env=PIER_HOST_MODULES_HASH={:016x}",
        hasher.finish()
    );
    println!(
        "cargo:rustc-env=PIER_V8_VERSION={}",
        deno_core::v8::VERSION_STRING
    );

    let snapshot = out.join("snapshot.bin");
    let mut imported_first: Vec<String> = HIDDEN_BEHIND_GETTERS
        .iter()
        .map(ToString::to_string)
        .collect();
    let made = loop {
        let mut modules = esm.clone();
        let hidden: String = imported_first
            .iter()
            .map(|specifier| format!("import {specifier:?};\n"))
            .collect();
        modules.push(source("ext:pier/main.js", &format!("{hidden}{entry}")));
        let mut extension = ops::pier::init();
        extension.esm_files = modules.into();
        extension.esm_entry_point = Some("ext:pier/main.js");
        let options = SnapshotOptions {
            ts_version: "n/a".to_string(),
            v8_version: deno_core::v8::VERSION_STRING,
            target: std::env::var("TARGET").expect("cargo sets TARGET"),
        };
        let made = create_runtime_snapshot(snapshot.clone(), options, vec![extension]);
        let hidden = hidden_modules(&made);
        if hidden
            .iter()
            .all(|specifier| imported_first.contains(specifier))
        {
            break made;
        }
        imported_first.extend(hidden);
    };
    write_lazy_tables(&out, &made);
}

/// Modules that the snapshot holds but does not know it holds: a script loaded them with a lazy loader that it called at once. `deno_core`
/// counts them as unused and drops their text, and a function that is compiled later then reads somebody else's. Importing them plainly, before
/// the script runs, is counted.
fn hidden_modules(made: &CreateRuntimeSnapshotOutput) -> Vec<String> {
    let files: BTreeMap<&str, &PathBuf> = made
        .lazy_extension_files
        .iter()
        .map(|file| (file.specifier.as_str(), &file.path))
        .collect();
    let mut pending: Vec<String> = made.consumed_lazy_specifiers.clone();
    let mut seen: HashSet<String> = pending.iter().cloned().collect();
    let mut hidden = Vec::new();
    while let Some(specifier) = pending.pop() {
        let Some(path) = files.get(specifier.as_str()) else {
            continue;
        };
        for target in loaded_at_once(&read(path)) {
            if files.contains_key(target.as_str()) && seen.insert(target.clone()) {
                hidden.push(target.clone());
                pending.push(target);
            }
        }
    }
    hidden
}

/// Targets of `createLazyLoader("...")()` in statements at the top level, which start at the margin.
fn loaded_at_once(code: &str) -> Vec<String> {
    let mut targets = Vec::new();
    for (at, call) in code.match_indices("createLazyLoader") {
        let statement = &code[code[..at].rfind('\n').map_or(0, |end| end + 1)..at];
        if statement.starts_with([' ', '/', '*']) {
            continue;
        }
        let rest = &code[at + call.len()..];
        let Some(open) = rest.find('(') else { continue };
        let mut quoted = rest[open + 1..].trim_start().splitn(3, '"');
        let (Some(""), Some(target), Some(after)) = (quoted.next(), quoted.next(), quoted.next())
        else {
            continue;
        };
        let after: String = after
            .chars()
            .filter(|character| !character.is_whitespace())
            .take(4)
            .collect();
        if after.starts_with(")()") || after.starts_with(",)()") {
            targets.push(target.to_string());
        }
    }
    targets
}

/// The files of `HOST_MODULES` and of the core, each once, dependencies first.
fn snapshot_files(manifest: &Manifest) -> Vec<&str> {
    let mut files: Vec<&str> = Vec::new();
    let modules = HOST_MODULES.iter().map(|id| {
        manifest
            .modules
            .get(*id)
            .unwrap_or_else(|| panic!("host-modules.json has no module {id}"))
    });
    for module in std::iter::once(&manifest.core).chain(modules) {
        assert!(module.snapshot, "{} is not fit for a snapshot", module.file);
        for file in &module.files {
            if !files.contains(&file.as_str()) {
                files.push(file);
            }
        }
    }
    files
}

/// Every script below `dist`, by its path there: dynamic imports are in no closure.
fn all_files(dist: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut pending = vec![dist.to_path_buf()];
    while let Some(dir) = pending.pop() {
        for entry in
            std::fs::read_dir(&dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()))
        {
            let path = entry.expect("a directory entry").path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|suffix| suffix == "js") {
                found.push(
                    path.strip_prefix(dist)
                        .expect("below dist")
                        .to_string_lossy()
                        .into_owned(),
                );
            }
        }
    }
    found.sort();
    found
}

/// Re-exports a snapshotted file under a name that extension code may import.
fn facade(file: &str, has_default: bool) -> String {
    let mut code = format!("export * from \"ext:pier/{file}\";\n");
    if has_default {
        let _ = writeln!(code, "export {{ default }} from \"ext:pier/{file}\";");
    }
    code
}

/// Lazily loaded files that the snapshot did not consume must travel in the binary, transpiled.
fn write_lazy_tables(out: &Path, made: &CreateRuntimeSnapshotOutput) {
    let consumed: HashSet<&str> = made
        .consumed_lazy_specifiers
        .iter()
        .map(String::as_str)
        .collect();
    let lazy_dir = out.join("lazy");
    std::fs::create_dir_all(&lazy_dir).expect("OUT_DIR is writable");
    let mut scripts = String::from("&[\n");
    let mut modules = String::from("&[\n");
    let mut files: Vec<_> = made.lazy_extension_files.iter().collect();
    // Looked up by binary search.
    files.sort_by_key(|file| file.specifier.as_str());
    for (index, file) in files.into_iter().enumerate() {
        if consumed.contains(file.specifier.as_str()) {
            continue;
        }
        let code = read(&file.path);

        let (code, _map) = deno_runtime::transpile::maybe_transpile_source(
            file.specifier.clone().into(),
            code.into(),
        )
        .unwrap_or_else(|error| panic!("{}: {error}", file.path.display()));
        let path = lazy_dir.join(format!("{index}.js"));
        let (table, code) = match file.kind {
            // Scripts run as the body of a function.
            LazyExtensionFileKind::Js => (&mut scripts, deno_core::wrap_lazy_ext_script(&code)),
            LazyExtensionFileKind::Esm => (&mut modules, code.to_string()),
        };
        assert!(
            code.is_ascii(),
            "{} is not ASCII, which V8 needs for a source it does not copy",
            file.specifier
        );
        write(&path, &code);
        let _ = writeln!(table, "({:?}, include_str!({path:?})),", file.specifier);
    }
    scripts.push(']');
    modules.push(']');
    write(&out.join("lazy_scripts.rs"), &scripts);
    write(&out.join("lazy_modules.rs"), &modules);
}

fn source(specifier: &str, code: &str) -> ExtensionFileSource {
    ExtensionFileSource::new_computed(
        Box::leak(specifier.to_string().into_boxed_str()),
        Arc::from(code),
    )
}

/// `deno_core` takes ASCII sources only. The bundler escapes strings; what is left stands in regular expressions, where an escape means the same.
fn ascii(code: &str) -> String {
    let mut escaped = String::with_capacity(code.len());
    for character in code.chars() {
        if character.is_ascii() {
            escaped.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        }
    }
    escaped
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()))
}

fn write(path: &Path, text: &str) {
    std::fs::write(path, text)
        .unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
}
