#!/usr/bin/env bash
# Builds librusty_v8.a from the sources inside the crate `v8`, on Linux x86-64 (Debian or a relative).
#
# Called by `cargo xtask v8-from-source`, which sets:
#   V8_CRATE        the unpacked crate
#   V8_WORK         directory of this build; a stopped build goes on in it
#   RUST_SYSROOT    sysroot of the rustc that is installed
#   RUSTC_VERSION   its version
#   CARGO           the cargo to use
# May be set by a person:
#   PIER_GN         a GN from 2026 or later
#   PIER_LLVM       an LLVM 22 prefix (default /usr/lib/llvm-22)
#   V8_JOBS         parallel compilers (default: number of cores)
#
# Each step leaves a mark and is skipped when it is there. The result is $V8_WORK/out/obj/librusty_v8.a.
# Takes one to two hours on two cores and 12 GB of disk. Never touches the crate itself.
set -euo pipefail

: "${V8_CRATE:?}" "${V8_WORK:?}" "${RUST_SYSROOT:?}" "${RUSTC_VERSION:?}" "${CARGO:?}"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
src=$V8_WORK/src
llvm=${PIER_LLVM:-/usr/lib/llvm-22}
total=8
current=0

say() { printf '    [v8 %d/%d] %s\n' "$current" "$total" "$*" >&2; }
fail() { printf 'v8-from-source: %s\n' "$*" >&2; exit 1; }

# step NAME FUNCTION: runs the function once; a mark in $V8_WORK/done says that it succeeded. The functions
# carry a prefix because some would otherwise hide the programs that they look for.
step() {
    current=$((current + 1))
    if [ -e "$V8_WORK/done/$2" ]; then
        say "$1: done before"
        return
    fi
    say "$1"
    "$2"
    touch "$V8_WORK/done/$2"
}

can_install() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }

do_tools() {
    local packages="clang-22 lld-22 llvm-22 libclang-22-dev libclang-rt-22-dev ninja-build python3"
    local missing=
    [ -x "$llvm/bin/clang++" ] || missing="$missing clang-22"
    [ -x "$llvm/bin/ld.lld" ] || missing="$missing lld-22"
    [ -x "$llvm/bin/llvm-ar" ] || missing="$missing llvm-22"
    compgen -G "$llvm/lib/libclang.so*" >/dev/null || missing="$missing libclang-22-dev"
    compgen -G "$llvm/lib/clang/22/lib/linux/libclang_rt.builtins-x86_64.a" >/dev/null || missing="$missing libclang-rt-22-dev"
    command -v ninja >/dev/null || missing="$missing ninja-build"
    command -v python3 >/dev/null || missing="$missing python3"
    [ -z "$missing" ] && return
    can_install || fail "missing:$missing. Install them (on Debian: sudo apt-get install $packages), or name an LLVM 22 in PIER_LLVM"
    say "installing$missing"
    apt-get -qq update
    # shellcheck disable=SC2086 # a list of words
    DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends $missing
}

# Whether a GN knows the newest thing that the build files use. Its version says nothing: distributions
# build without the history that it counts.
gn_is_recent() {
    "$1" --version >/dev/null 2>&1 && grep -q cc_module_name "${2:-$(readlink -f "$(command -v "$1")")}"
}

# Leaves a GN at $V8_WORK/gn/gn: the one that a person named, a recent one in PATH, or Debian's.
do_gn() {
    mkdir -p "$V8_WORK/gn"
    if [ -n "${PIER_GN:-}" ]; then
        gn_is_recent "$PIER_GN" || fail "PIER_GN names $PIER_GN, which does not run or is older than 2026"
        ln -sfn "$(command -v "$PIER_GN")" "$V8_WORK/gn/gn"
    elif command -v gn >/dev/null && gn_is_recent gn; then
        ln -sfn "$(command -v gn)" "$V8_WORK/gn/gn"
    else
        gn_from_debian
        gn_is_recent "$V8_WORK/gn/gn" "$V8_WORK/gn/root/usr/bin/gn" ||
            fail "the GN of Debian $gn_suite does not run here; name one from 2026 in PIER_GN"
    fi
}

# The first Debian release whose GN is recent enough.
gn_suite=forky

# Unpacks GN and the libraries it needs from that release into a folder, and starts it through that
# release's dynamic loader. Nothing of it is installed into the system.
gn_from_debian() {
    command -v apt-get >/dev/null || fail "no recent GN; name one from 2026 in PIER_GN"
    [ "$(. /etc/os-release && echo "${ID:-}")" = debian ] || fail "no recent GN, and this is not Debian; name one from 2026 in PIER_GN"
    local site root apt
    site=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -v security | head -n 1)
    [ -n "$site" ] || fail "apt-get names no package source to take GN from; name a GN in PIER_GN"
    say "GN from Debian $gn_suite"
    root=$V8_WORK/gn
    mkdir -p "$root/apt/lists/partial" "$root/apt/cache/archives/partial" "$root/debs" "$root/root"
    echo "deb $site $gn_suite main" >"$root/apt/sources.list"
    apt=(apt-get -qq
        -o "Dir::Etc::sourcelist=$root/apt/sources.list" -o Dir::Etc::sourceparts=-
        -o "Dir::State::lists=$root/apt/lists" -o "Dir::Cache=$root/apt/cache"
        -o APT::Sandbox::User=root)
    "${apt[@]}" update
    (cd "$root/debs" && "${apt[@]}" download generate-ninja libc6 libstdc++6 libgcc-s1)
    local deb
    for deb in "$root"/debs/*.deb; do dpkg -x "$deb" "$root/root"; done
    local loader
    loader=$(find "$root/root" -name 'ld-linux-x86-64.so.2' | head -n 1)
    [ -n "$loader" ] || fail "Debian $gn_suite's libc6 holds no dynamic loader"
    cat >"$root/gn" <<WRAPPER
#!/bin/sh
exec "$loader" --library-path "$root/root/usr/lib/x86_64-linux-gnu:$root/root/lib/x86_64-linux-gnu" "$root/root/usr/bin/gn" "\$@"
WRAPPER
    chmod +x "$root/gn"
}

do_bindgen() {
    local root=$V8_WORK/bindgen
    "$CARGO" install --quiet --locked --root "$root" --version 0.72.1 bindgen-cli
    ln -sfn "$RUST_SYSROOT/bin/rustfmt" "$root/bin/rustfmt"
    mkdir -p "$root/lib"
    local library
    for library in "$llvm"/lib/libclang*.so*; do ln -sfn "$library" "$root/lib/"; done
}

do_sources() {
    rm -rf "$src"
    mkdir -p "$src"
    cp -a "$V8_CRATE/." "$src/"
    chmod -R u+w "$src"
    # It would make rustup fetch another toolchain.
    rm -f "$src/rust-toolchain.toml"
    ln -sfn "$RUST_SYSROOT" "$src/third_party/rust-toolchain"
    local data
    data=$("$CARGO" metadata --format-version 1 --locked --manifest-path "$here/../../../Cargo.toml" |
        python3 -c 'import json,sys,os
packages = json.load(sys.stdin)["packages"]
print(next((os.path.dirname(p["manifest_path"]) for p in packages if p["name"] == "deno_core_icudata"), ""))')
    [ -f "$data/src/icudtl.dat" ] || fail "the crate deno_core_icudata, which has ICU's data, is not in the workspace's lock file"
    mkdir -p "$src/third_party/icu/common"
    cp "$data/src/icudtl.dat" "$src/third_party/icu/common/icudtl.dat"
}

# An LLVM prefix in the layout that the build files expect: runtime libraries in a folder named after the
# target and without the architecture in their names. Everything is a link.
do_toolchain() {
    local root=$V8_WORK/llvm resource=lib/clang/22 entry name
    rm -rf "$root"
    mkdir -p "$root/$resource/lib/x86_64-unknown-linux-gnu"
    for entry in "$llvm"/*; do [ "$(basename "$entry")" = lib ] || ln -s "$entry" "$root/"; done
    for entry in "$llvm"/lib/*; do [ "$(basename "$entry")" = clang ] || ln -s "$entry" "$root/lib/"; done
    for entry in "$llvm/$resource"/*; do [ "$(basename "$entry")" = lib ] || ln -s "$entry" "$root/$resource/"; done
    for entry in "$llvm/$resource"/lib/linux/*-x86_64*; do
        name=$(basename "$entry")
        ln -s "$entry" "$root/$resource/lib/x86_64-unknown-linux-gnu/${name/-x86_64/}"
    done
}

do_crates() {
    python3 "$here/vendor_crates.py" "$CARGO" "$src/third_party/rust" "$V8_WORK/crates"
}

# Flags of a newer Clang than Debian has.
do_flags() {
    local compiler=$src/build/config/compiler/BUILD.gn sanitizers=$src/build/config/sanitizers/sanitizers.gni
    sed -i -e 's/"-fno-lifetime-dse"//' -e 's/"-fdiagnostics-show-inlining-chain"//' "$compiler"
    sed -i -E '/-fsanitize(-trap|-ignore-for-ubsan-feature)?=\$\{invoker\.sanitizer\}"/d' "$sanitizers"
    if grep -q -e '"-fno-lifetime-dse"' -e '"-fdiagnostics-show-inlining-chain"' "$compiler" ||
        grep -q 'ignore-for-ubsan-feature=' "$sanitizers"; then
        fail "the build files changed: a flag that Clang 22 does not know could not be removed"
    fi
}

do_compile() {
    export RUSTC_BOOTSTRAP=1
    local out=$V8_WORK/out
    mkdir -p "$out"
    cat >"$out/args.gn" <<ARGS
is_debug=false
use_custom_libcxx=true
v8_enable_sandbox=false
v8_enable_pointer_compression=false
v8_enable_v8_checks=false
rusty_v8_enable_simdutf=true
v8_monolithic_for_shared_library=true
clang_base_path="$V8_WORK/llvm"
clang_version="22"
treat_warnings_as_errors=false
rust_sysroot_absolute="$RUST_SYSROOT"
rustc_version="$RUSTC_VERSION"
rust_bindgen_root="$V8_WORK/bindgen"
use_lld=true
symbol_level=0
use_glib=false
ARGS
    (cd "$src" && "$V8_WORK/gn/gn" --script-executable="$(command -v python3)" --root="$src" gen "$out")
    # Ninja prints one status line a finished edge; %f/%t is the honest progress.
    NINJA_STATUS='    [v8 8/8] %f of %t, %es ' ninja -C "$out" -j "${V8_JOBS:-$(nproc)}" rusty_v8
    [ -f "$out/obj/librusty_v8.a" ] || fail "ninja succeeded but made no librusty_v8.a"
}

[ "$(uname -sm)" = "Linux x86_64" ] || fail "this script builds for Linux x86-64 only"
mkdir -p "$V8_WORK/done"
step "tools (Clang 22, lld, ninja, Python)" do_tools
step "recent GN" do_gn
step "bindgen" do_bindgen
step "copy of the crate's sources, ICU data" do_sources
step "LLVM prefix in the expected layout" do_toolchain
step "Rust crates that Temporal needs" do_crates
step "flags that Clang 22 does not know" do_flags
step "compile (one to two hours on two cores)" do_compile
