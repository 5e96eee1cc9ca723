//! From a specifier to a URL: Node's built-ins, then files, then `node_modules`. Host modules come before all of it, in the loader.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use deno_core::ModuleSpecifier;
use deno_core::url::Url;
use deno_error::JsErrorBox;
use deno_resolver::cjs::{CjsTracker, CjsTrackerRc, IsCjsResolutionMode};
use deno_resolver::npm::{
    ByonmNpmResolverCreateOptions, CreateInNpmPkgCheckerOptions, DenoInNpmPackageChecker,
    NpmResolver, NpmResolverCreateOptions,
};
use node_resolver::cache::NodeResolutionSys;
use node_resolver::{
    DenoIsBuiltInNodeModuleChecker, IsBuiltInNodeModuleChecker, NodeResolution, NodeResolutionKind,
    NodeResolver, NodeResolverOptions, NodeResolverRc, PackageJsonResolver, PackageJsonResolverRc,
    PackageJsonThreadLocalCache, ResolutionMode,
};
use sys_traits::impls::RealSys;

use super::host_modules;

pub(crate) type Npm = NpmResolver<RealSys>;
pub(crate) type Node =
    NodeResolverRc<DenoInNpmPackageChecker, DenoIsBuiltInNodeModuleChecker, Npm, RealSys>;

/// Source files that an extensionless import may mean, in the order they are tried.
const SUFFIXES: &[&str] = &["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs", "json"];

/// What an import spelled with a JavaScript suffix may mean on disk.
const SPELLINGS: &[(&str, &[&str])] = &[
    ("js", &["ts", "tsx", "jsx"]),
    ("jsx", &["tsx"]),
    ("mjs", &["mts"]),
    ("cjs", &["cts"]),
    ("ts", &["js"]),
];

pub(crate) struct Resolver {
    pub(crate) node: Node,
    pub(crate) package_json: PackageJsonResolverRc<RealSys>,
    pub(crate) npm: Npm,
    pub(crate) in_npm: DenoInNpmPackageChecker,
    pub(crate) cjs: CjsTrackerRc<DenoInNpmPackageChecker, RealSys>,
}

impl Resolver {
    pub(crate) fn new() -> Self {
        let package_json: PackageJsonResolverRc<RealSys> = Arc::new(PackageJsonResolver::new(
            RealSys,
            Some(Arc::new(PackageJsonThreadLocalCache)),
        ));
        let in_npm = DenoInNpmPackageChecker::new(CreateInNpmPkgCheckerOptions::Byonm);
        let npm = Npm::new(NpmResolverCreateOptions::Byonm(
            ByonmNpmResolverCreateOptions {
                root_node_modules_dir: None,
                search_stop_dir: None,
                sys: NodeResolutionSys::new(RealSys, None),
                pkg_json_resolver: package_json.clone(),
            },
        ));
        let node = NodeResolver::new(
            in_npm.clone(),
            DenoIsBuiltInNodeModuleChecker,
            npm.clone(),
            package_json.clone(),
            NodeResolutionSys::new(RealSys, None),
            NodeResolverOptions::default(),
        );
        let cjs = CjsTracker::new(
            in_npm.clone(),
            package_json.clone(),
            IsCjsResolutionMode::ImplicitTypeCommonJs,
            Vec::new(),
        );
        Self {
            node: Arc::new(node),
            package_json,
            npm,
            in_npm,
            cjs: Arc::new(cjs),
        }
    }

    /// Resolves everything but host modules, which the loader handles because they depend on what the importer asks for.
    pub(crate) fn resolve(
        &self,
        specifier: &str,
        referrer: &str,
    ) -> Result<ModuleSpecifier, JsErrorBox> {
        if let Some(name) = specifier.strip_prefix("node:") {
            return builtin(name).ok_or_else(|| not_found(specifier, referrer));
        }
        if let Some(url) = builtin(specifier) {
            return Ok(url);
        }
        if let Ok(url) = Url::parse(specifier) {
            return match url.scheme() {
                "file" => resolve_file(url, referrer),
                "data" | "blob" => Ok(url),
                "npm" | "jsr" | "http" | "https" => Err(JsErrorBox::generic(format!(
                    "Cannot import '{specifier}' from {}: modules are loaded from files and node_modules only; install the package and import it by name",
                    display(referrer)
                ))),
                _ => Err(not_found(specifier, referrer)),
            };
        }
        let base = Url::parse(referrer).map_err(|_| not_found(specifier, referrer))?;
        if specifier.starts_with("./")
            || specifier.starts_with("../")
            || specifier.starts_with('/')
            || specifier == "."
            || specifier == ".."
        {
            let url = base
                .join(specifier)
                .map_err(|_| not_found(specifier, referrer))?;
            return if url.scheme() == "file" {
                resolve_file(url, referrer)
            } else {
                Ok(url)
            };
        }
        if base.scheme() != "file" {
            return Err(not_found(specifier, referrer));
        }
        let mode = self.cjs.get_referrer_kind(&base);
        match self
            .node
            .resolve(specifier, &base, mode, NodeResolutionKind::Execution)
        {
            Ok(NodeResolution::BuiltIn(name)) => builtin(name.trim_start_matches("node:"))
                .ok_or_else(|| not_found(specifier, referrer)),
            Ok(NodeResolution::Module(target)) => {
                let url = target.into_url().map_err(JsErrorBox::from_err)?;
                resolve_file(url, referrer)
            }
            Err(error) if mode == ResolutionMode::Import => {
                // A package that names only `require` conditions still loads through `import`, as it does in Node.
                match self.node.resolve(
                    specifier,
                    &base,
                    ResolutionMode::Require,
                    NodeResolutionKind::Execution,
                ) {
                    Ok(NodeResolution::Module(target)) => {
                        resolve_file(target.into_url().map_err(JsErrorBox::from_err)?, referrer)
                    }
                    _ => Err(JsErrorBox::from_err(error)),
                }
            }
            Err(error) => Err(JsErrorBox::from_err(error)),
        }
    }
}

fn builtin(name: &str) -> Option<Url> {
    if !DenoIsBuiltInNodeModuleChecker.is_builtin_node_module(name)
        && !host_modules::is_snapshot_facade(name)
    {
        return None;
    }
    Url::parse(&format!("node:{name}")).ok()
}

/// The file that `url` means: itself, another spelling of its suffix, with a suffix added, or the index of a directory. Links are followed, so
/// that one file is one module.
fn resolve_file(url: Url, referrer: &str) -> Result<ModuleSpecifier, JsErrorBox> {
    let Ok(path) = url.to_file_path() else {
        return Err(not_found(url.as_str(), referrer));
    };
    let Some(found) = probe(&path) else {
        return Err(not_found(&path.to_string_lossy(), referrer));
    };
    let real = std::fs::canonicalize(&found).unwrap_or(found);
    let Ok(mut real_url) = Url::from_file_path(&real) else {
        return Err(not_found(&path.to_string_lossy(), referrer));
    };
    real_url.set_query(url.query());
    real_url.set_fragment(url.fragment());
    Ok(real_url)
}

fn probe(path: &Path) -> Option<PathBuf> {
    if path.is_file() {
        return Some(path.to_path_buf());
    }
    let suffix = path
        .extension()
        .and_then(|suffix| suffix.to_str())
        .unwrap_or_default();
    let respelled = SPELLINGS
        .iter()
        .filter(|(written, _)| *written == suffix)
        .flat_map(|(_, real)| real.iter())
        .map(|real| path.with_extension(real));
    let with_suffix = SUFFIXES.iter().map(|suffix| {
        let mut name = path.as_os_str().to_owned();
        name.push(".");
        name.push(suffix);
        PathBuf::from(name)
    });
    let index = SUFFIXES
        .iter()
        .map(|suffix| path.join(format!("index.{suffix}")));
    respelled
        .chain(with_suffix)
        .chain(index)
        .find(|candidate| candidate.is_file())
}

fn not_found(specifier: &str, referrer: &str) -> JsErrorBox {
    JsErrorBox::generic(format!(
        "Cannot find module '{specifier}' imported from {}",
        display(referrer)
    ))
}

fn display(referrer: &str) -> String {
    Url::parse(referrer).map_or_else(
        |_| referrer.to_string(),
        |url| super::compile::file_name(&url),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(dir: &Path, name: &str) -> PathBuf {
        let path = dir.join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        std::fs::write(&path, "").expect("a file");
        path
    }

    #[test]
    fn finds_the_spellings_people_use() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let helper = touch(dir.path(), "helper.ts");
        let index = touch(dir.path(), "lib/index.ts");
        let module = touch(dir.path(), "m.mts");
        assert_eq!(probe(&dir.path().join("helper.js")), Some(helper.clone()));
        assert_eq!(probe(&dir.path().join("helper")), Some(helper));
        assert_eq!(probe(&dir.path().join("lib")), Some(index));
        assert_eq!(probe(&dir.path().join("m.mjs")), Some(module));
        assert_eq!(probe(&dir.path().join("nothing.js")), None);
    }

    #[test]
    fn built_ins_need_no_prefix() {
        let resolver = Resolver::new();
        for name in [
            "fs",
            "node:fs",
            "fs/promises",
            "node:sqlite",
            "child_process",
        ] {
            let url = resolver.resolve(name, "file:///x.ts").expect(name);
            assert_eq!(url.scheme(), "node", "{name}");
        }
        let error = resolver
            .resolve("./gone.js", "file:///dir/x.ts")
            .expect_err("the file does not exist");
        assert!(
            error.to_string().contains("/dir/gone.js") && error.to_string().contains("/dir/x.ts"),
            "{error}"
        );
    }
}
