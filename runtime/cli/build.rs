//! Exports the Node-API symbols from the binary, so that native addons of extensions find them.

fn main() {
    deno_napi::print_linker_flags("pier");
}
