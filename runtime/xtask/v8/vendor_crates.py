"""Fetches the Rust crates that V8's Temporal needs and that the crate `v8` leaves out.

usage: vendor_crates.py CARGO THIRD_PARTY_RUST WORK

Each BUILD.gn below THIRD_PARTY_RUST names its crate and exact version, and the directory where its
sources are expected. Starting from temporal_capi, this follows the build files' own dependencies, lets
cargo fetch the crates, and copies them to those directories. Never edits a build file.
"""

import json
import os
import re
import shutil
import subprocess
import sys

VENDOR = "//third_party/rust/chromium_crates_io/vendor/"


def build_files(root):
    """BUILD.gn files that temporal_capi reaches, as {label directory: text}."""
    found = {}
    waiting = ["temporal_capi/v0_2", "temporal_capi"]
    while waiting:
        label = waiting.pop()
        path = os.path.join(root, label, "BUILD.gn")
        if label in found or not os.path.isfile(path):
            continue
        with open(path, encoding="utf-8") as file:
            found[label] = file.read()
        waiting += re.findall(r'"//third_party/rust/([^":]+):[^"]*"', found[label])
    return found


def crate_of(text):
    """(name, version, vendor directory) of a build file, or None if it is no vendored crate."""
    name = re.search(r'cargo_pkg_name = "([^"]+)"', text)
    version = re.search(r'cargo_pkg_version = "([^"]+)"', text)
    directory = re.search(re.escape(VENDOR) + r'([^/"]+)/', text)
    if name and version and directory:
        return name[1], version[1], directory[1]
    return None


def main():
    cargo, root, work = sys.argv[1:4]
    crates = sorted({crate for text in build_files(root).values() if (crate := crate_of(text))})
    if not crates:
        sys.exit(f"vendor_crates: no build file below {root} names a crate; did the layout change?")
    print(f"    {len(crates)} crates", file=sys.stderr)

    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(os.path.join(work, "src"))
    open(os.path.join(work, "src/lib.rs"), "w").close()
    with open(os.path.join(work, "Cargo.toml"), "w", encoding="utf-8") as manifest:
        manifest.write('[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n[dependencies]\n')
        for index, (name, version, _) in enumerate(crates):
            manifest.write(f'c{index} = {{ package = "{name}", version = "={version}", default-features = false }}\n')
    text = subprocess.run(
        [cargo, "metadata", "--format-version", "1"], cwd=work, check=True, stdout=subprocess.PIPE
    ).stdout
    sources = {
        (package["name"], package["version"]): os.path.dirname(package["manifest_path"])
        for package in json.loads(text)["packages"]
    }
    vendor = os.path.join(root, "chromium_crates_io/vendor")
    for name, version, directory in crates:
        source = sources.get((name, version))
        if source is None:
            sys.exit(f"vendor_crates: cargo fetched no {name} {version}")
        shutil.copytree(source, os.path.join(vendor, directory), dirs_exist_ok=True)


if __name__ == "__main__":
    main()
