//! Loads the modules of one isolate: resolves, reads, compiles, caches, and remembers what error messages need.

mod cache;
mod cjs;
mod compile;
mod host_modules;
mod resolve;

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use deno_ast::MediaType;
use deno_core::error::ModuleLoaderError;
use deno_core::futures::FutureExt;
use deno_core::{
    ModuleLoadOptions, ModuleLoadReferrer, ModuleLoadResponse, ModuleLoader, ModuleSource,
    ModuleSourceCode, ModuleSpecifier, ModuleType, RequestedModuleType, ResolutionKind,
    SourceCodeCacheInfo,
};
use deno_error::JsErrorBox;
use deno_resolver::npm::DenoInNpmPackageChecker;
use node_resolver::analyze::{CjsModuleExportAnalyzer, NodeCodeTranslator, NodeCodeTranslatorMode};
use node_resolver::{DenoIsBuiltInNodeModuleChecker, InNpmPackageChecker};
use sys_traits::impls::RealSys;

pub(crate) use cache::DiskCache;
use cache::{CacheKey, Kind};
use cjs::ExportAnalyzer;
pub(crate) use cjs::RequireLoader;
use compile::{CompileOptions, Compiled, SyntaxFault};
use resolve::{Npm, Resolver};

use crate::fault::{JsFault, Location};
use crate::host::{HostServices, IsolateFault};
use crate::source_maps::SourceMaps;

type Translator = NodeCodeTranslator<
    ExportAnalyzer,
    DenoInNpmPackageChecker,
    DenoIsBuiltInNodeModuleChecker,
    Npm,
    RealSys,
>;

/// Files of one isolate: reading, compiling, and what was learnt from it.
pub(crate) struct Sources {
    pub(crate) resolver: Resolver,
    cache: Option<Arc<DiskCache>>,
    source_maps: Arc<SourceMaps>,
    /// Host modules that a module imports, with the names it asks for.
    host_imports: RefCell<HashMap<String, BTreeMap<String, Vec<String>>>>,
    /// Messages of loads that failed and their places, to give the exception that follows its place.
    load_faults: RefCell<Vec<(String, Location)>>,
    /// Folders that may be read besides what the permissions allow: the package itself.
    readable: RefCell<Option<Vec<PathBuf>>>,
}

impl Sources {
    pub(crate) fn new(cache: Option<Arc<DiskCache>>, source_maps: Arc<SourceMaps>) -> Rc<Self> {
        Rc::new(Self {
            resolver: Resolver::new(),
            cache,
            source_maps,
            host_imports: RefCell::default(),
            load_faults: RefCell::default(),
            readable: RefCell::new(None),
        })
    }

    /// Limits reading to `folders`; without a limit every file may be loaded.
    pub(crate) fn limit_reading(&self, folders: Vec<PathBuf>) {
        *self.readable.borrow_mut() = Some(folders);
    }

    fn is_readable(&self, path: &Path) -> bool {
        self.readable
            .borrow()
            .as_ref()
            .is_none_or(|folders| folders.iter().any(|folder| path.starts_with(folder)))
    }

    fn read(&self, specifier: &ModuleSpecifier) -> Result<String, JsErrorBox> {
        let bytes = self.read_bytes(specifier)?;
        let text = String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        Ok(match text.strip_prefix('\u{feff}') {
            Some(rest) => rest.to_string(),
            None => text,
        })
    }

    fn read_bytes(&self, specifier: &ModuleSpecifier) -> Result<Vec<u8>, JsErrorBox> {
        let path = specifier
            .to_file_path()
            .map_err(|()| JsErrorBox::generic(format!("Not a file: {specifier}")))?;
        if !self.is_readable(&path) {
            return Err(JsErrorBox::new(
                "NotCapable",
                format!(
                    "Cannot load {}: this extension may only load files of its package and project",
                    path.display()
                ),
            ));
        }
        std::fs::read(&path).map_err(|error| {
            JsErrorBox::generic(format!("Cannot read {}: {error}", path.display()))
        })
    }

    fn compile(
        &self,
        specifier: &ModuleSpecifier,
        source: &str,
        media_type: MediaType,
        for_require: bool,
    ) -> Result<Compiled, JsErrorBox> {
        let own = !self.resolver.in_npm.in_npm_package(specifier);
        let maybe_cjs = self
            .resolver
            .cjs
            .is_maybe_cjs(specifier, media_type)
            .map_err(JsErrorBox::from_err)?;
        if !own && !maybe_cjs && !media_type.is_emittable() && !mentions_host_modules(source) {
            return Ok(Compiled {
                code: source.to_string(),
                ..Compiled::default()
            });
        }
        self.compile_as(
            specifier,
            source,
            CompileOptions {
                media_type,
                maybe_cjs,
                for_require,
                own,
            },
        )
    }

    /// Compiles through the disk cache and registers the source map.
    fn compile_as(
        &self,
        specifier: &ModuleSpecifier,
        source: &str,
        options: CompileOptions,
    ) -> Result<Compiled, JsErrorBox> {
        let shape = [
            options.maybe_cjs as u8,
            options.for_require as u8,
            options.own as u8,
        ];
        let key = CacheKey::of(&[specifier.as_str().as_bytes(), &shape, source.as_bytes()]);
        let cached = self
            .cache
            .as_ref()
            .and_then(|cache| cache.read(&key, Kind::Transpiled))
            .and_then(|bytes| decode(&bytes, source));
        let compiled = match cached {
            Some(compiled) => compiled,
            None => {
                let compiled = compile::compile(specifier, source, options, |name| {
                    host_modules::find(name)
                        .or_else(|| host_modules::fallback(name))
                        .is_some()
                })
                .map_err(|fault| self.syntax_error(*fault))?;
                if let Some(cache) = &self.cache {
                    cache.write(&key, Kind::Transpiled, &encode(&compiled, source));
                }
                compiled
            }
        };
        if let Some(map) = &compiled.source_map {
            self.source_maps
                .insert(&[specifier.as_str(), &compile::file_name(specifier)], map);
        }
        self.resolver
            .cjs
            .is_cjs_with_known_is_script(specifier, options.media_type, compiled.cjs.is_some())
            .map_err(JsErrorBox::from_err)?;
        Ok(compiled)
    }

    fn syntax_error(&self, fault: SyntaxFault) -> JsErrorBox {
        self.note_fault(fault.message.clone(), fault.location);
        JsErrorBox::new("SyntaxError", fault.message)
    }

    /// The import that could not be resolved, with its place in the importing file.
    fn unresolved(&self, specifier: &str, referrer: &str, error: JsErrorBox) -> JsErrorBox {
        let place = ModuleSpecifier::parse(referrer).ok().and_then(|url| {
            let (line, column) = find_import(&self.read(&url).ok()?, specifier)?;
            Some(Location {
                file: compile::file_name(&url),
                line,
                column,
            })
        });
        if let Some(place) = place {
            self.note_fault(error.to_string(), place);
        }
        error
    }

    fn note_fault(&self, message: String, place: Location) {
        self.load_faults.borrow_mut().push((message, place));
    }

    /// Gives a fault that a failed load caused the place of that failure.
    pub(crate) fn place(&self, fault: &mut JsFault) {
        let faults = self.load_faults.borrow();
        if let Some((_, place)) = faults
            .iter()
            .rev()
            .find(|(message, _)| fault.message.contains(message))
        {
            fault.location = Some(place.clone());
        }
    }
}

/// Line and column, 1-based, of the quoted `specifier` in `source`.
fn find_import(source: &str, specifier: &str) -> Option<(u32, u32)> {
    let quoted = ['"', '\'', '`'].map(|quote| format!("{quote}{specifier}{quote}"));
    let at = quoted
        .iter()
        .filter_map(|quoted| source.find(quoted))
        .min()?;
    let before = &source[..at];
    let line = before.matches('\n').count() + 1;
    let column = before
        .rsplit('\n')
        .next()
        .unwrap_or_default()
        .encode_utf16()
        .count()
        + 1;
    Some((u32::try_from(line).ok()?, u32::try_from(column).ok()?))
}

/// Where the host module is that `specifier` means; for `require`, which does not go through the loader.
pub(crate) fn host_module_url(specifier: &str) -> Option<String> {
    host_modules::find(specifier).map(host_modules::Module::url)
}

/// A quick look before parsing a dependency only to list its host imports.
fn mentions_host_modules(source: &str) -> bool {
    ["pi-", "typebox", "xcsh"]
        .iter()
        .any(|word| source.contains(word))
}

/// `lengths of header and code, header, code, map`; the code is left out when it is the source.
fn encode(compiled: &Compiled, source: &str) -> Vec<u8> {
    let header = serde_json::to_vec(compiled).unwrap_or_default();
    let same = compiled.code == source;
    let code = if same {
        &[][..]
    } else {
        compiled.code.as_bytes()
    };
    let mut bytes = Vec::with_capacity(16 + header.len() + code.len());
    bytes.extend((header.len() as u32).to_le_bytes());
    bytes.extend((if same { u32::MAX } else { code.len() as u32 }).to_le_bytes());
    bytes.extend(header);
    bytes.extend(code);
    bytes.extend(compiled.source_map.as_deref().unwrap_or_default());
    bytes
}

fn decode(bytes: &[u8], source: &str) -> Option<Compiled> {
    let header_len = u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
    let code_len = u32::from_le_bytes(bytes.get(4..8)?.try_into().ok()?);
    let rest = bytes.get(8..)?;
    let mut compiled: Compiled = serde_json::from_slice(rest.get(..header_len)?).ok()?;
    let rest = rest.get(header_len..)?;
    let map = if code_len == u32::MAX {
        compiled.code = source.to_string();
        rest
    } else {
        compiled.code = String::from_utf8(rest.get(..code_len as usize)?.to_vec()).ok()?;
        rest.get(code_len as usize..)?
    };
    compiled.source_map = (!map.is_empty()).then(|| map.to_vec());
    Some(compiled)
}

/// The module loader of one isolate.
pub(crate) struct PierLoader {
    pub(crate) sources: Rc<Sources>,
    translator: Translator,
    host: RefCell<Option<Arc<dyn HostServices>>>,
    reported: RefCell<Vec<(String, String)>>,
    /// Keys of code whose cache V8 may hand over later; it hands back only a short hash.
    code_keys: RefCell<HashMap<String, CacheKey>>,
}

impl PierLoader {
    pub(crate) fn new(cache: Option<Arc<DiskCache>>, source_maps: Arc<SourceMaps>) -> Rc<Self> {
        let sources = Sources::new(cache, source_maps);
        let resolver = &sources.resolver;
        let exports = CjsModuleExportAnalyzer::new(
            ExportAnalyzer(sources.clone()),
            resolver.in_npm.clone(),
            resolver.node.clone(),
            resolver.npm.clone(),
            resolver.package_json.clone(),
            RealSys,
        );
        #[allow(
            clippy::arc_with_non_send_sync,
            reason = "the translator's signature asks for an Arc; it stays on this thread"
        )]
        let translator =
            NodeCodeTranslator::new(Arc::new(exports), NodeCodeTranslatorMode::ModuleLoader);
        Rc::new(Self {
            sources,
            translator,
            host: RefCell::new(None),
            reported: RefCell::default(),
            code_keys: RefCell::default(),
        })
    }

    /// Missing exports are reported to `host` from now on.
    pub(crate) fn set_host(&self, host: Arc<dyn HostServices>) {
        *self.host.borrow_mut() = Some(host);
    }

    fn resolve_host_module(
        &self,
        specifier: &str,
        module: &host_modules::Module,
        referrer: &str,
    ) -> Result<ModuleSpecifier, JsErrorBox> {
        let url = module.url();
        let asked = self
            .sources
            .host_imports
            .borrow()
            .get(referrer)
            .and_then(|imports| imports.get(specifier))
            .cloned()
            .unwrap_or_default();
        let missing = module.lacking(&asked);
        if missing.is_empty() {
            return ModuleSpecifier::parse(&url).map_err(JsErrorBox::from_err);
        }
        self.report_missing(specifier, referrer, &missing);
        let mut stand_in =
            ModuleSpecifier::parse(host_modules::MISSING).map_err(JsErrorBox::from_err)?;
        stand_in
            .query_pairs_mut()
            .append_pair("of", specifier)
            .extend_pairs(missing.iter().map(|name| ("name", name)));
        Ok(stand_in)
    }

    fn report_missing(&self, specifier: &str, referrer: &str, names: &[String]) {
        let seen = (specifier.to_string(), referrer.to_string());
        if self.reported.borrow().contains(&seen) {
            return;
        }
        self.reported.borrow_mut().push(seen);
        if let Some(host) = &*self.host.borrow() {
            let importer = ModuleSpecifier::parse(referrer)
                .map_or_else(|_| referrer.to_string(), |url| compile::file_name(&url));
            host.report(IsolateFault::MissingExports {
                specifier: specifier.to_string(),
                importer,
                names: names.to_vec(),
            });
        }
    }

    fn load_file(
        &self,
        specifier: &ModuleSpecifier,
        requested: &RequestedModuleType,
    ) -> Result<ModuleSource, JsErrorBox> {
        let media_type = MediaType::from_specifier(specifier);
        let module = |kind, code: ModuleSourceCode| ModuleSource::new(kind, code, specifier, None);
        match requested {
            RequestedModuleType::Text => {
                return Ok(module(
                    ModuleType::Text,
                    ModuleSourceCode::String(self.sources.read(specifier)?.into()),
                ));
            }
            RequestedModuleType::Bytes => {
                return Ok(module(
                    ModuleType::Bytes,
                    ModuleSourceCode::Bytes(
                        self.sources
                            .read_bytes(specifier)?
                            .into_boxed_slice()
                            .into(),
                    ),
                ));
            }
            RequestedModuleType::Json => {
                return Ok(module(
                    ModuleType::Json,
                    ModuleSourceCode::String(self.sources.read(specifier)?.into()),
                ));
            }
            RequestedModuleType::None | RequestedModuleType::Other(_) => {}
        }
        match media_type {
            MediaType::Json => {
                // A bare JSON import: the attribute is optional for authors, but not for V8.
                let text = self.sources.read(specifier)?;
                let value: serde_json::Value = serde_json::from_str(&text).map_err(|error| {
                    JsErrorBox::new(
                        "SyntaxError",
                        format!(
                            "{} is not valid JSON: {error}",
                            compile::file_name(specifier)
                        ),
                    )
                })?;
                let literal = serde_json::Value::from(value.to_string());
                return Ok(module(
                    ModuleType::JavaScript,
                    ModuleSourceCode::String(
                        format!("export default JSON.parse({literal});").into(),
                    ),
                ));
            }
            MediaType::Wasm => {
                return Ok(module(
                    ModuleType::Wasm,
                    ModuleSourceCode::Bytes(
                        self.sources
                            .read_bytes(specifier)?
                            .into_boxed_slice()
                            .into(),
                    ),
                ));
            }
            _ => {}
        }
        if specifier.path().ends_with(".node") {
            return Err(JsErrorBox::generic(format!(
                "Cannot import the native addon {}: load it with require()",
                compile::file_name(specifier)
            )));
        }
        let source = self.sources.read(specifier)?;
        let compiled = self
            .sources
            .compile(specifier, &source, media_type, false)?;
        if !compiled.host_imports.is_empty() {
            self.sources
                .host_imports
                .borrow_mut()
                .insert(specifier.to_string(), compiled.host_imports);
        }
        let code = if compiled.cjs.is_some() {
            // Everything the translator awaits is synchronous, so it is done at the first poll.
            let translated = self
                .translator
                .translate_cjs_to_esm(specifier, Some(Cow::Owned(source)))
                .now_or_never();
            translated
                .ok_or_else(|| JsErrorBox::generic("the CommonJS translation did not finish"))?
                .map_err(JsErrorBox::from_err)?
                .into_owned()
        } else {
            compiled.code
        };
        Ok(self.with_code_cache(specifier, code))
    }

    fn load_on_demand(&self, specifier: &ModuleSpecifier) -> Result<ModuleSource, JsErrorBox> {
        if specifier.as_str().starts_with(host_modules::MISSING) {
            let of = specifier
                .query_pairs()
                .find(|(key, _)| key == "of")
                .map(|(_, of)| of.into_owned())
                .unwrap_or_default();
            let names: Vec<String> = specifier
                .query_pairs()
                .filter(|(key, _)| key == "name")
                .map(|(_, name)| name.into_owned())
                .collect();
            let module = host_modules::find(&of).ok_or_else(|| {
                JsErrorBox::generic(format!("'{of}' is not a module of this host"))
            })?;
            let code = host_modules::stand_in(&of, module, &names);
            return Ok(ModuleSource::new(
                ModuleType::JavaScript,
                ModuleSourceCode::String(code.into()),
                specifier,
                None,
            ));
        }
        let file = specifier
            .as_str()
            .trim_start_matches(host_modules::ON_DEMAND);
        let code = host_modules::source(file)
            .ok_or_else(|| JsErrorBox::generic(format!("this host has no module '{file}'")))?;
        Ok(self.with_code_cache(specifier, code.to_string()))
    }

    fn with_code_cache(&self, specifier: &ModuleSpecifier, code: String) -> ModuleSource {
        let cache = self.code_cache(specifier, &code);
        ModuleSource::new(
            ModuleType::JavaScript,
            ModuleSourceCode::String(code.into()),
            specifier,
            cache,
        )
    }

    fn code_cache(&self, specifier: &ModuleSpecifier, code: &str) -> Option<SourceCodeCacheInfo> {
        let cache = self.sources.cache.as_ref()?;
        let key = CacheKey::of(&[b"v8", specifier.as_str().as_bytes(), code.as_bytes()]);
        let data = cache.read(&key, Kind::V8Code).map(Cow::Owned);
        self.code_keys
            .borrow_mut()
            .insert(specifier.to_string(), key);
        Some(SourceCodeCacheInfo {
            hash: key.short(),
            data,
        })
    }
}

impl ModuleLoader for PierLoader {
    fn resolve(
        &self,
        specifier: &str,
        referrer: &str,
        _kind: ResolutionKind,
    ) -> Result<ModuleSpecifier, ModuleLoaderError> {
        if let Some(module) = host_modules::find(specifier) {
            return self.resolve_host_module(specifier, module, referrer);
        }
        if host_modules::is_host_package(specifier) {
            let error = JsErrorBox::generic(format!("'{specifier}' is not a module of this host"));
            return Err(self.sources.unresolved(specifier, referrer, error));
        }
        if specifier.starts_with(host_modules::ON_DEMAND) {
            return ModuleSpecifier::parse(specifier).map_err(JsErrorBox::from_err);
        }
        // Files of the js-api build import each other under the names they have in the snapshot.
        let from_build = [
            host_modules::ON_DEMAND,
            host_modules::BUILD_PREFIX,
            host_modules::IN_SNAPSHOT,
        ];
        if from_build.iter().any(|prefix| referrer.starts_with(prefix))
            && let Some(file) = specifier.strip_prefix(host_modules::BUILD_PREFIX)
        {
            return ModuleSpecifier::parse(&host_modules::url_of(file))
                .map_err(JsErrorBox::from_err);
        }
        self.sources
            .resolver
            .resolve(specifier, referrer)
            .or_else(|error| match host_modules::fallback(specifier) {
                Some(module) => self.resolve_host_module(specifier, module, referrer),
                None => Err(self.sources.unresolved(specifier, referrer, error)),
            })
    }

    fn load(
        &self,
        specifier: &ModuleSpecifier,
        _referrer: Option<&ModuleLoadReferrer>,
        options: ModuleLoadOptions,
    ) -> ModuleLoadResponse {
        ModuleLoadResponse::Sync(match specifier.scheme() {
            "file" => self.load_file(specifier, &options.requested_module_type),
            "pier" => self.load_on_demand(specifier),
            "data" => load_data_url(specifier),
            scheme => Err(JsErrorBox::generic(format!(
                "Cannot load '{specifier}': modules with the scheme '{scheme}:' are not supported"
            ))),
        })
    }

    fn code_cache_ready(
        &self,
        specifier: ModuleSpecifier,
        hash: u64,
        code_cache: &[u8],
    ) -> std::pin::Pin<Box<dyn std::future::Future<Output = ()>>> {
        let key = self.code_keys.borrow().get(specifier.as_str()).copied();
        if let (Some(cache), Some(key)) = (&self.sources.cache, key)
            && key.short() == hash
        {
            cache.write(&key, Kind::V8Code, code_cache);
        }
        std::future::ready(()).boxed_local()
    }

    /// For Node modules outside the snapshot, such as `node:crypto`.
    fn get_code_cache(
        &self,
        specifier: &ModuleSpecifier,
        source: &str,
    ) -> Option<SourceCodeCacheInfo> {
        self.code_cache(specifier, source)
    }

    fn get_source_map(&self, file_name: &str) -> Option<Cow<'_, [u8]>> {
        self.sources.source_maps.get(file_name).map(Cow::Owned)
    }

    fn get_source_mapped_source_line(&self, file_name: &str, line_number: usize) -> Option<String> {
        let path = ModuleSpecifier::parse(file_name)
            .ok()?
            .to_file_path()
            .ok()?;
        std::fs::read_to_string(path)
            .ok()?
            .lines()
            .nth(line_number)
            .map(str::to_string)
    }
}

fn load_data_url(specifier: &ModuleSpecifier) -> Result<ModuleSource, JsErrorBox> {
    let url = deno_core::url::Url::clone(specifier);
    let (mime, data) = url
        .path()
        .split_once(',')
        .ok_or_else(|| JsErrorBox::generic("a data: URL needs a comma before its data"))?;
    let decoded: Vec<u8> = if mime.ends_with(";base64") {
        use base64::Engine;
        base64::engine::general_purpose::STANDARD
            .decode(data)
            .map_err(|error| JsErrorBox::generic(format!("bad base64 in a data: URL: {error}")))?
    } else {
        percent_decode(data)
    };
    let text = String::from_utf8_lossy(&decoded).into_owned();
    let kind = if mime.starts_with("application/json") {
        ModuleType::Json
    } else {
        ModuleType::JavaScript
    };
    Ok(ModuleSource::new(
        kind,
        ModuleSourceCode::String(text.into()),
        specifier,
        None,
    ))
}

fn percent_decode(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = bytes
            .get(at + 1..at + 3)
            .and_then(|pair| std::str::from_utf8(pair).ok())
            .and_then(|pair| u8::from_str_radix(pair, 16).ok());
        match (bytes[at], hex) {
            (b'%', Some(byte)) => {
                decoded.push(byte);
                at += 3;
            }
            (byte, _) => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    decoded
}
