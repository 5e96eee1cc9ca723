//! CommonJS: what a module exports, so that `import` can offer it by name, and how `require` reads files.

use std::borrow::Cow;
use std::path::Path;
use std::rc::Rc;

use deno_ast::MediaType;
use deno_core::url::Url;
use deno_core::{FastString, ModuleSpecifier};
use deno_error::JsErrorBox;
use deno_runtime::deno_node::NodeRequireLoader;
use deno_runtime::deno_permissions::{OpenAccessKind, PermissionsContainer};
use node_resolver::analyze::{CjsAnalysis, CjsAnalysisExports, CjsCodeAnalyzer, EsmAnalysisMode};
use node_resolver::errors::PackageJsonLoadError;

use super::Sources;
use super::compile::CompileOptions;

/// Answers from compiled files, so that a file is parsed once.
pub(crate) struct ExportAnalyzer(pub(crate) Rc<Sources>);

#[async_trait::async_trait(?Send)]
impl CjsCodeAnalyzer for ExportAnalyzer {
    async fn analyze_cjs<'a>(
        &self,
        specifier: &Url,
        source: Option<Cow<'a, str>>,
        _mode: EsmAnalysisMode,
    ) -> Result<CjsAnalysis<'a>, JsErrorBox> {
        let source = match source {
            Some(source) => source,
            None => Cow::Owned(self.0.read(specifier)?),
        };
        let media_type = MediaType::from_specifier(specifier);
        if media_type == MediaType::Json {
            return Ok(CjsAnalysis::Cjs(CjsAnalysisExports {
                exports: Vec::new(),
                reexports: Vec::new(),
                member_reexports: Vec::new(),
            }));
        }
        let compiled = self.0.compile(specifier, &source, media_type, false)?;
        Ok(match compiled.cjs {
            Some(cjs) => CjsAnalysis::Cjs(CjsAnalysisExports {
                exports: cjs.exports,
                reexports: cjs.reexports,
                member_reexports: Vec::new(),
            }),
            None => CjsAnalysis::Esm(source, None),
        })
    }

    async fn analyze_cjs_member_props<'a>(
        &self,
        _specifier: &Url,
        _source: Option<Cow<'a, str>>,
        _member: &str,
    ) -> Result<Option<Vec<String>>, JsErrorBox> {
        // Not narrowed: the whole inner module is offered, which is what Node does.
        Ok(None)
    }
}

/// What `require` needs: reading and compiling files, and whether a file is CommonJS.
pub(crate) struct RequireLoader(pub(crate) Rc<Sources>);

impl NodeRequireLoader for RequireLoader {
    fn ensure_read_permission<'a>(
        &self,
        permissions: &mut PermissionsContainer,
        path: Cow<'a, Path>,
    ) -> Result<Cow<'a, Path>, JsErrorBox> {
        if self.0.is_readable(&path) {
            return Ok(path);
        }
        let checked = permissions
            .check_open(path, OpenAccessKind::ReadNoFollow, Some("require()"))
            .map_err(JsErrorBox::from_err)?;
        Ok(checked.into_path())
    }

    fn load_text_file_lossy(&self, path: &Path) -> Result<FastString, JsErrorBox> {
        let specifier = ModuleSpecifier::from_file_path(path).map_err(|()| {
            JsErrorBox::generic(format!(
                "require needs an absolute path, got {}",
                path.display()
            ))
        })?;
        let source = self.0.read(&specifier)?;
        let media_type = MediaType::from_specifier(&specifier);
        if !media_type.is_emittable() {
            return Ok(source.into());
        }
        let options = CompileOptions {
            media_type,
            maybe_cjs: self.is_maybe_cjs_from_require(&specifier).unwrap_or(true),
            for_require: true,
            own: false,
        };
        Ok(self.0.compile_as(&specifier, &source, options)?.code.into())
    }

    fn is_maybe_cjs(&self, specifier: &Url) -> Result<bool, PackageJsonLoadError> {
        self.0
            .resolver
            .cjs
            .is_maybe_cjs(specifier, MediaType::from_specifier(specifier))
    }

    fn is_maybe_cjs_from_require(&self, specifier: &Url) -> Result<bool, PackageJsonLoadError> {
        self.0
            .resolver
            .cjs
            .is_maybe_cjs_from_require(specifier, MediaType::from_specifier(specifier))
    }
}
