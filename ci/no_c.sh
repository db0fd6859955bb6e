#!/usr/bin/env bash
# Fails if a dependency, of any target, brings a crate that compiles or links C: such a crate needs a C toolchain for
# every target, which a check for macOS on Linux has not.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly C_CRATES='^(cc|cmake|bindgen|autotools|autocxx|cxx-build|meson|nasm-rs|pkg-config|vcpkg) '

tree=$(cargo tree --locked --target all --edges normal,build,dev --prefix none --format '{p}')
crates=$(sort -u <<<"$tree" | wc -l)
found=$(grep -E "$C_CRATES" <<<"$tree" | sort -u || true)
if [ "$crates" -lt 20 ]; then
    echo "no_c: cargo tree lists $crates crates only; is the search broken?" >&2
    exit 1
fi
if [ -n "$found" ]; then
    echo "no_c: these crates compile or link C:" >&2
    while read -r name version _; do
        echo "  $name $version, brought by:" >&2
        cargo tree --locked --target all --edges normal,build,dev --invert "$name@${version#v}" >&2
    done <<<"$found"
    exit 1
fi
echo "no_c: none of $crates crates compiles or links C"
