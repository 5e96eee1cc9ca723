//! The V8 snapshot that every isolate starts from, made by `build.rs`: Deno's runtime, part of its Node layer, js-api and host modules.

/// The snapshot itself.
pub(crate) static BYTES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/snapshot.bin"));

/// Sources of Deno's lazily loaded scripts that the snapshot did not consume, by specifier.
pub(crate) static LAZY_SCRIPTS: &[(&str, &str)] =
    include!(concat!(env!("OUT_DIR"), "/lazy_scripts.rs"));

/// The same for lazily loaded modules.
pub(crate) static LAZY_MODULES: &[(&str, &str)] =
    include!(concat!(env!("OUT_DIR"), "/lazy_modules.rs"));
