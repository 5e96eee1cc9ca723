//! Builds the Deno worker of an isolate. Everything that is only known once the isolate has an owner is filled in by `adopt`.

use std::fs::File;
use std::rc::Rc;
use std::sync::Arc;

use deno_core::{ModuleSpecifier, v8};
use deno_resolver::npm::DenoInNpmPackageChecker;
use deno_runtime::deno_io::{Stdio, StdioPipe};
use deno_runtime::deno_node::NodeExtInitServices;
use deno_runtime::deno_permissions::{
    Permissions as DenoPermissions, PermissionsContainer, PermissionsOptions,
};
use deno_runtime::permissions::RuntimePermissionDescriptorParser;
use deno_runtime::worker::{MainWorker, WorkerOptions, WorkerServiceOptions};
use deno_runtime::{BootstrapOptions, WorkerLogLevel};
use sys_traits::impls::RealSys;

use crate::loader::{PierLoader, RequireLoader};
use crate::options::Permissions;
use crate::{buffers, ops, snapshot};

/// The young generation's limit, in bytes: without one it grows to a multiple of what extensions ever use and stays there.
const YOUNG_GENERATION: usize = 4 * 1024 * 1024;

pub(crate) fn build(
    loader: &Rc<PierLoader>,
    output: File,
    heap_limit: usize,
) -> std::io::Result<MainWorker> {
    let resolver = &loader.sources.resolver;
    let node_services = NodeExtInitServices {
        node_require_loader: Rc::new(RequireLoader(loader.sources.clone())),
        node_resolver: resolver.node.clone(),
        pkg_json_resolver: resolver.package_json.clone(),
        sys: RealSys,
    };
    let services = WorkerServiceOptions::<DenoInNpmPackageChecker, _, RealSys> {
        blob_store: Arc::new(deno_runtime::deno_web::BlobStore::default()),
        broadcast_channel: Default::default(),
        deno_rt_native_addon_loader: None,
        feature_checker: Default::default(),
        fs: Arc::new(deno_runtime::deno_fs::RealFs),
        module_loader: loader.clone(),
        node_services: Some(node_services),
        npm_process_state_provider: None,
        permissions: PermissionsContainer::allow_all(parser()),
        root_cert_store_provider: None,
        fetch_dns_resolver: Default::default(),
        shared_array_buffer_store: None,
        compiled_wasm_module_store: None,
        v8_code_cache: None,
        bundle_provider: None,
    };
    let create_params = v8::CreateParams::default()
        .heap_limits(0, heap_limit)
        .array_buffer_allocator(buffers::allocator(heap_limit).make_shared())
        .set_max_young_generation_size_in_bytes(YOUNG_GENERATION);
    let options = WorkerOptions {
        bootstrap: BootstrapOptions {
            log_level: WorkerLogLevel::Warn,
            user_agent: concat!("Pier/", env!("CARGO_PKG_VERSION")).to_string(),
            has_node_modules_dir: true,
            args: std::env::args().skip(1).collect(),
            argv0: std::env::args().next(),
            ..BootstrapOptions::default()
        },
        startup_snapshot: Some(snapshot::BYTES),
        residual_lazy_js_sources: snapshot::LAZY_SCRIPTS,
        residual_lazy_esm_sources: snapshot::LAZY_MODULES,
        skip_op_registration: true,
        extensions: vec![ops::pier::init()],
        create_params: Some(create_params),
        stdio: Stdio {
            stdin: StdioPipe::file(File::open("/dev/null")?),
            stdout: StdioPipe::file(output.try_clone()?),
            stderr: StdioPipe::file(output),
        },
        ..WorkerOptions::default()
    };
    Ok(MainWorker::bootstrap_from_options(
        &main_module()?,
        services,
        options,
    ))
}

/// Replaces the permissions that the worker was built with. Must happen before any extension code runs.
pub(crate) fn set_permissions(
    worker: &mut MainWorker,
    permissions: &Permissions,
) -> Result<(), String> {
    let Permissions::ReadOnly(folders) = permissions else {
        return Ok(());
    };
    let read = folders
        .iter()
        .map(|folder| folder.to_string_lossy().into_owned())
        .collect();
    let parser = parser();
    let options = PermissionsOptions {
        allow_read: Some(read),
        prompt: false,
        ..PermissionsOptions::default()
    };
    let permissions = DenoPermissions::from_options(parser.as_ref(), &options)
        .map_err(|error| error.to_string())?;
    let state = worker.js_runtime.op_state();
    state
        .borrow_mut()
        .put(PermissionsContainer::new(parser, permissions));
    Ok(())
}

fn parser() -> Arc<RuntimePermissionDescriptorParser<RealSys>> {
    Arc::new(RuntimePermissionDescriptorParser::new(RealSys))
}

/// Nothing is loaded from here: an extension's entry is a side module. Deno wants a name for `Deno.mainModule`.
fn main_module() -> std::io::Result<ModuleSpecifier> {
    let dir = std::env::current_dir()?;
    ModuleSpecifier::from_file_path(dir.join("$pier.mjs"))
        .map_err(|()| std::io::Error::other("the working directory is not an absolute path"))
}
