//! From a source file to code that V8 can run: TypeScript and JSX erased, CommonJS recognised, imports of host modules listed.
//!
//! Pure: text in, text out. Files and caches are the loader's business.

use std::collections::BTreeMap;

use deno_ast::diagnostics::Diagnostic;
use deno_ast::swc::ast::{
    Decl, DefaultDecl, ImportSpecifier, ModuleDecl, ModuleExportName, ModuleItem, ObjectPatProp,
    Pat, Stmt, TsModuleRef,
};
use deno_ast::{
    DecoratorsTranspileOption, EmitOptions, MediaType, ModuleKind, ModuleSpecifier, ParseParams,
    ParsedSource, ProgramRef, SourceMapOption, SourceRangedForSpanned, TranspileModuleOptions,
    TranspileOptions,
};
use serde::{Deserialize, Serialize};

use crate::fault::Location;

/// A file that does not parse, with the place.
#[derive(Debug, Clone)]
pub(crate) struct SyntaxFault {
    pub(crate) message: String,
    pub(crate) location: Location,
}

/// One compiled file.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Compiled {
    #[serde(skip)]
    pub(crate) code: String,
    /// Absent when `code` is the source itself.
    #[serde(skip)]
    pub(crate) source_map: Option<Vec<u8>>,
    /// For CommonJS: what it exports.
    pub(crate) cjs: Option<CjsExports>,
    /// Names imported (or re-exported) by specifier, for the specifiers that the host provides.
    pub(crate) host_imports: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct CjsExports {
    pub(crate) exports: Vec<String>,
    pub(crate) reexports: Vec<String>,
}

/// How a file is to be read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CompileOptions {
    pub(crate) media_type: MediaType,
    /// The file may be CommonJS; its syntax decides.
    pub(crate) maybe_cjs: bool,
    /// The file is loaded by `require`, which compiles it as a function body.
    pub(crate) for_require: bool,
    /// Outside `node_modules`: an author's own file, which may use `require` and `__dirname` in a module.
    pub(crate) own: bool,
}

/// Compiles `source`. `is_host` tells which specifiers the host provides.
pub(crate) fn compile(
    specifier: &ModuleSpecifier,
    source: &str,
    options: CompileOptions,
    is_host: impl Fn(&str) -> bool,
) -> Result<Compiled, Box<SyntaxFault>> {
    let mut parsed = parse(specifier, source, options.media_type)?;
    let always_cjs =
        options.for_require || matches!(options.media_type, MediaType::Cjs | MediaType::Cts);
    let cjs = options.maybe_cjs && (always_cjs || parsed.compute_is_script());
    let mut compiled = Compiled {
        cjs: None,
        host_imports: BTreeMap::new(),
        ..Compiled::default()
    };
    if !cjs {
        if let Some(rewritten) = rewrite_import_equals(&parsed, source) {
            parsed = parse(specifier, &rewritten, options.media_type)?;
        }
        compiled.host_imports = host_imports(&parsed, is_host);
    } else {
        let analysis = parsed.analyze_cjs();
        compiled.cjs = Some(CjsExports {
            exports: analysis.exports,
            reexports: analysis.reexports,
        });
    }
    let prelude = if cjs || !options.own {
        String::new()
    } else {
        node_globals_prelude(&parsed)
    };
    if needs_emit(options.media_type, &parsed) {
        let kind = if cjs {
            ModuleKind::Cjs
        } else {
            ModuleKind::Esm
        };
        let (code, map) = emit(specifier, parsed, kind)?;
        compiled.code = code;
        compiled.source_map = map;
    } else {
        compiled.code = parsed.text().to_string();
    }
    if !prelude.is_empty() {
        // On the first line, so that line numbers stay true.
        compiled
            .code
            .insert_str(after_hashbang(&compiled.code), &prelude);
    }
    Ok(compiled)
}

fn parse(
    specifier: &ModuleSpecifier,
    source: &str,
    media_type: MediaType,
) -> Result<ParsedSource, Box<SyntaxFault>> {
    let parsed = deno_ast::parse_program(ParseParams {
        specifier: specifier.clone(),
        text: source.into(),
        media_type,
        capture_tokens: false,
        scope_analysis: false,
        maybe_syntax: None,
    });
    let fault = |diagnostic: &deno_ast::ParseDiagnostic| {
        let position = diagnostic.display_position();
        Box::new(SyntaxFault {
            message: diagnostic.message().into_owned(),
            location: Location {
                file: file_name(specifier),
                line: u32::try_from(position.line_number).unwrap_or(u32::MAX),
                column: u32::try_from(position.column_number).unwrap_or(u32::MAX),
            },
        })
    };
    let parsed = parsed.map_err(|diagnostic| fault(&diagnostic))?;
    match parsed.diagnostics().first() {
        Some(diagnostic) => Err(fault(diagnostic)),
        None => Ok(parsed),
    }
}

/// A specifier as people write it: a path for files.
pub(crate) fn file_name(specifier: &ModuleSpecifier) -> String {
    match specifier.to_file_path() {
        Ok(path) => path.to_string_lossy().into_owned(),
        Err(()) => specifier.to_string(),
    }
}

fn needs_emit(media_type: MediaType, parsed: &ParsedSource) -> bool {
    // Decorators are the one syntax that plain JavaScript files use before engines do.
    media_type.is_emittable()
        || (matches!(
            media_type,
            MediaType::JavaScript | MediaType::Mjs | MediaType::Cjs
        ) && parsed.text().contains("\n@"))
}

fn emit(
    specifier: &ModuleSpecifier,
    parsed: ParsedSource,
    kind: ModuleKind,
) -> Result<(String, Option<Vec<u8>>), Box<SyntaxFault>> {
    let transpile = TranspileOptions {
        decorators: DecoratorsTranspileOption::LegacyTypeScript {
            emit_metadata: false,
        },
        ..TranspileOptions::default()
    };
    let emit = EmitOptions {
        source_map: SourceMapOption::Separate,
        inline_sources: false,
        ..EmitOptions::default()
    };
    let result = parsed
        .transpile(
            &transpile,
            &TranspileModuleOptions {
                module_kind: Some(kind),
            },
            &emit,
        )
        .map_err(|error| {
            Box::new(SyntaxFault {
                message: error.to_string(),
                location: Location {
                    file: file_name(specifier),
                    line: 1,
                    column: 1,
                },
            })
        })?;
    let emitted = result.into_source();
    Ok((emitted.text, emitted.source_map.map(String::into_bytes)))
}

/// `import x = require("y")` in a module means `const x = require("y")`. The replacement has the same length, so that positions hold.
fn rewrite_import_equals(parsed: &ParsedSource, source: &str) -> Option<String> {
    let ProgramRef::Module(module) = parsed.program_ref() else {
        return None;
    };
    let start = parsed.text_info_lazy().range().start;
    let mut text = None;
    for item in &module.body {
        let ModuleItem::ModuleDecl(ModuleDecl::TsImportEquals(import)) = item else {
            continue;
        };
        if import.is_type_only || !matches!(import.module_ref, TsModuleRef::TsExternalModuleRef(_))
        {
            continue;
        }
        let offset = import.range().start.as_byte_index(start);
        let text = text.get_or_insert_with(|| source.to_string());
        let keyword = text[offset..].find("import").map(|at| offset + at)?;
        text.replace_range(keyword..keyword + "import".len(), "const ");
    }
    text
}

fn host_imports(
    parsed: &ParsedSource,
    is_host: impl Fn(&str) -> bool,
) -> BTreeMap<String, Vec<String>> {
    let mut imports: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let ProgramRef::Module(module) = parsed.program_ref() else {
        return imports;
    };
    let mut add = |specifier: &str, name: String| {
        let names = imports.entry(specifier.to_string()).or_default();
        if !names.contains(&name) {
            names.push(name);
        }
    };
    for item in &module.body {
        match item {
            ModuleItem::ModuleDecl(ModuleDecl::Import(import)) if !import.type_only => {
                let from = import.src.value.to_string_lossy();
                if !is_host(&from) {
                    continue;
                }
                for specifier in &import.specifiers {
                    match specifier {
                        ImportSpecifier::Named(named) if !named.is_type_only => {
                            add(
                                &from,
                                named
                                    .imported
                                    .as_ref()
                                    .map_or_else(|| named.local.sym.to_string(), export_name),
                            );
                        }
                        ImportSpecifier::Default(_) => add(&from, "default".to_string()),
                        _ => {}
                    }
                }
            }
            ModuleItem::ModuleDecl(ModuleDecl::ExportNamed(export)) if !export.type_only => {
                let Some(from) = export.src.as_ref().map(|from| from.value.to_string_lossy())
                else {
                    continue;
                };
                if !is_host(&from) {
                    continue;
                }
                for specifier in &export.specifiers {
                    if let deno_ast::swc::ast::ExportSpecifier::Named(named) = specifier
                        && !named.is_type_only
                    {
                        add(&from, export_name(&named.orig));
                    }
                }
            }
            _ => {}
        }
    }
    imports
}

fn export_name(name: &ModuleExportName) -> String {
    match name {
        ModuleExportName::Ident(ident) => ident.sym.to_string(),
        ModuleExportName::Str(text) => text.value.to_string_lossy().into_owned(),
    }
}

/// `require`, `__filename` and `__dirname` for a module that uses but does not declare them.
fn node_globals_prelude(parsed: &ParsedSource) -> String {
    let text = parsed.text();
    let used = |name: &str| mentions(text, name) && !declares(parsed, name);
    let mut prelude = String::new();
    if used("require") {
        prelude.push_str(
            "import { createRequire as __pierCreateRequire } from \"node:module\"; const require = __pierCreateRequire(import.meta.url); ",
        );
    }
    if used("__filename") {
        prelude.push_str("const __filename = import.meta.filename; ");
    }
    if used("__dirname") {
        prelude.push_str("const __dirname = import.meta.dirname; ");
    }
    prelude
}

/// Whether `name` stands in `text` as a word and not as a member.
fn mentions(text: &str, name: &str) -> bool {
    let is_word =
        |character: char| character.is_alphanumeric() || character == '_' || character == '$';
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(|c| is_word(c) || c == '.') && !after.is_some_and(is_word)
    })
}

fn declares(parsed: &ParsedSource, name: &str) -> bool {
    let ProgramRef::Module(module) = parsed.program_ref() else {
        return false;
    };
    module.body.iter().any(|item| match item {
        ModuleItem::ModuleDecl(ModuleDecl::Import(import)) => {
            import.specifiers.iter().any(|specifier| {
                let local = match specifier {
                    ImportSpecifier::Named(named) => &named.local,
                    ImportSpecifier::Default(default) => &default.local,
                    ImportSpecifier::Namespace(namespace) => &namespace.local,
                };
                local.sym == name
            })
        }
        ModuleItem::ModuleDecl(ModuleDecl::ExportDecl(export)) => {
            declaration_binds(&export.decl, name)
        }
        ModuleItem::ModuleDecl(ModuleDecl::ExportDefaultDecl(export)) => match &export.decl {
            DefaultDecl::Fn(function) => function
                .ident
                .as_ref()
                .is_some_and(|ident| ident.sym == name),
            DefaultDecl::Class(class) => {
                class.ident.as_ref().is_some_and(|ident| ident.sym == name)
            }
            DefaultDecl::TsInterfaceDecl(_) => false,
        },
        ModuleItem::Stmt(Stmt::Decl(declaration)) => declaration_binds(declaration, name),
        _ => false,
    })
}

fn declaration_binds(declaration: &Decl, name: &str) -> bool {
    match declaration {
        Decl::Var(variables) => variables
            .decls
            .iter()
            .any(|variable| pattern_binds(&variable.name, name)),
        Decl::Fn(function) => function.ident.sym == name,
        Decl::Class(class) => class.ident.sym == name,
        _ => false,
    }
}

fn pattern_binds(pattern: &Pat, name: &str) -> bool {
    match pattern {
        Pat::Ident(ident) => ident.id.sym == name,
        Pat::Array(array) => array
            .elems
            .iter()
            .flatten()
            .any(|element| pattern_binds(element, name)),
        Pat::Object(object) => object.props.iter().any(|property| match property {
            ObjectPatProp::KeyValue(pair) => pattern_binds(&pair.value, name),
            ObjectPatProp::Assign(assign) => assign.key.sym == name,
            ObjectPatProp::Rest(rest) => pattern_binds(&rest.arg, name),
        }),
        Pat::Assign(assign) => pattern_binds(&assign.left, name),
        Pat::Rest(rest) => pattern_binds(&rest.arg, name),
        _ => false,
    }
}

fn after_hashbang(code: &str) -> usize {
    if code.starts_with("#!") {
        code.find('\n').map_or(code.len(), |end| end + 1)
    } else {
        0
    }
}
