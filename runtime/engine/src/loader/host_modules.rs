//! The modules that the host provides: which specifiers mean them, what they export and where their code is.
//!
//! The table comes from the js-api build (`dist/host-modules.json`). A file in the snapshot is reached through a facade named
//! `node:pier/<file>` (V8 lets extension code import `node:` but not `ext:` modules); every other file is compiled on demand under
//! `pier:///<file>`.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use serde::Deserialize;

/// Scheme and prefix of files that are compiled on demand.
pub(crate) const ON_DEMAND: &str = "pier:///";
/// Prefix under which files of the build import each other.
pub(crate) const BUILD_PREFIX: &str = "ext:pier/";
/// Prefix of the facades of snapshotted files.
pub(crate) const IN_SNAPSHOT: &str = "node:pier/";
/// Prefix of the generated modules that stand in for names a host module lacks.
pub(crate) const MISSING: &str = "pier:///~missing/";

#[derive(Debug, Deserialize)]
pub(crate) struct Module {
    file: String,
    exports: HashSet<String>,
}

#[derive(Debug, Default, Deserialize)]
struct Manifest {
    modules: HashMap<String, Module>,
    /// Exact specifiers.
    aliases: HashMap<String, String>,
    /// Specifiers by their beginning, longest first.
    prefixes: Vec<Prefix>,
    /// Packages that only the host provides: an unknown subpath of one is an error, never a look-up on disk.
    packages: HashSet<String>,
    /// Specifiers that the file system may answer first.
    fallbacks: HashMap<String, String>,
}

#[derive(Debug, Deserialize)]
struct Prefix {
    prefix: String,
    module: String,
}

static MANIFEST: LazyLock<Manifest> = LazyLock::new(|| {
    serde_json::from_str(include_str!(env!("PIER_HOST_MODULES_JSON"))).unwrap_or_else(|error| {
        // The build script has parsed the same text; an empty table still leaves a working engine.
        tracing::error!("the table of host modules is damaged: {error}");
        Manifest::default()
    })
});

/// Files of the js-api build that the snapshot holds.
static SNAPSHOT: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    include!(concat!(env!("OUT_DIR"), "/snapshot_files.rs"))
        .into_iter()
        .collect()
});

static SOURCES: LazyLock<HashMap<&'static str, &'static str>> = LazyLock::new(|| {
    include!(concat!(env!("OUT_DIR"), "/host_sources.rs"))
        .into_iter()
        .collect()
});

/// The module that `specifier` means, whatever is on disk.
pub(crate) fn find(specifier: &str) -> Option<&'static Module> {
    let manifest = &*MANIFEST;
    let id = manifest.aliases.get(specifier).or_else(|| {
        manifest
            .prefixes
            .iter()
            .find(|entry| specifier.starts_with(&entry.prefix))
            .map(|entry| &entry.module)
    })?;
    manifest.modules.get(id)
}

/// The module that stands in for `specifier` when no installed package answers it.
pub(crate) fn fallback(specifier: &str) -> Option<&'static Module> {
    MANIFEST.modules.get(MANIFEST.fallbacks.get(specifier)?)
}

/// Whether `specifier` names something below a package that only the host provides.
pub(crate) fn is_host_package(specifier: &str) -> bool {
    let parts = if specifier.starts_with('@') { 2 } else { 1 };
    let package: Vec<&str> = specifier.split('/').take(parts).collect();
    MANIFEST.packages.contains(&package.join("/"))
}

/// The URL of a file of the js-api build, for importers outside the snapshot.
pub(crate) fn url_of(file: &str) -> String {
    if SNAPSHOT.contains(file) {
        format!("{IN_SNAPSHOT}{file}")
    } else {
        format!("{ON_DEMAND}{file}")
    }
}

/// Whether `name` (without `node:`) is the facade of a snapshotted file.
pub(crate) fn is_snapshot_facade(name: &str) -> bool {
    name.strip_prefix("pier/")
        .is_some_and(|file| SNAPSHOT.contains(file))
}

/// The code behind a `pier:///` URL.
pub(crate) fn source(file: &str) -> Option<&'static str> {
    SOURCES.get(file).copied()
}

impl Module {
    /// Those of `names` that the module does not export.
    pub(crate) fn lacking(&self, names: &[String]) -> Vec<String> {
        names
            .iter()
            .filter(|name| !self.exports.contains(name.as_str()))
            .cloned()
            .collect()
    }

    /// Where the module is.
    pub(crate) fn url(&self) -> String {
        url_of(&self.file)
    }

    pub(crate) fn has_default(&self) -> bool {
        self.exports.contains("default")
    }
}

/// The code of a module that offers all of `module` and, for each name in `missing`, a value that throws when it is used.
pub(crate) fn stand_in(specifier: &str, module: &Module, missing: &[String]) -> String {
    let target = serde_json::Value::from(module.url());
    let mut code = format!("export * from {target};\n");
    if module.has_default() {
        code.push_str(&format!("export {{ default }} from {target};\n"));
    }
    code.push_str(
        "const lacking = (message) => {\n  const fail = () => { throw new Error(message); };\n  \
         return new Proxy(function () {}, { get: fail, set: fail, has: fail, apply: fail, construct: fail, ownKeys: fail, getOwnPropertyDescriptor: fail });\n};\n",
    );
    for (index, name) in missing.iter().enumerate() {
        let message = serde_json::Value::from(format!(
            "\"{name}\" is not available from {specifier} in this host"
        ));
        let quoted = serde_json::Value::from(name.as_str());
        code.push_str(&format!(
            "const missing{index} = lacking({message});\nexport {{ missing{index} as {quoted} }};\n"
        ));
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_names_files_that_exist() {
        assert!(!MANIFEST.modules.is_empty());
        for (id, module) in &MANIFEST.modules {
            let known = SNAPSHOT.contains(module.file.as_str()) || source(&module.file).is_some();
            assert!(known, "{id}: no code for {}", module.file);
        }
        for (alias, id) in MANIFEST.aliases.iter().chain(&MANIFEST.fallbacks) {
            assert!(
                MANIFEST.modules.contains_key(id),
                "{alias} means {id}, which does not exist"
            );
        }
    }

    #[test]
    fn knows_the_packages_of_the_host() {
        assert!(find("@earendil-works/pi-tui").is_some());
        assert!(find("@mariozechner/pi-tui").is_some());
        assert!(is_host_package("@earendil-works/pi-tui/nothing/here"));
        assert!(find("left-pad").is_none() && !is_host_package("left-pad"));
    }
}
