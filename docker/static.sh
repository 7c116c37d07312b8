#!/bin/sh
# Builds the launcher as one program that needs no shared library: `ringmaster`, with the links
# `train` and `ringmaster-transfer` to it.
#
#   sh docker/static.sh [x86_64|aarch64] [FOLDER]
#
# The first argument is the processor of the image, x86_64 by default. FOLDER is
# build/static-ARCHITECTURE by default, and its bin/ has the program. The compiler comes from PyPI
# (docker/static/zig.lock) with the C library musl; the other libraries are built from Debian's
# sources. All of it is kept in .cache/static, so that the first call takes minutes and the next
# ones take seconds.
#
# The program depends on neither this machine nor the time: the same tree gives the same bytes.
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
arch=${1:-x86_64}
build=${2:-$top/build/static-$arch}
cache=$top/.cache/static
size_max=6000000

fail() {
    echo "static.sh: $*" >&2
    exit 1
}

case $arch in
x86_64 | aarch64) ;;
*) fail "$arch: expected x86_64 or aarch64" ;;
esac
for program in cmake ninja perl make pkg-config; do
    command -v $program >/dev/null ||
        fail "$program is missing (sh docker/packages.sh install static)"
done
mkdir -p "$cache"

# One call at a time fetches, and one at a time builds for each architecture.
locked() {
    flock -w 3600 9 || fail "another build has held $cache/lock$1 for an hour"
}
exec 9>"$cache/lock"
locked ""
sh "$top/docker/static/compiler.sh" "$arch" "$cache"
sh "$top/docker/static/sources.sh" "$cache/sources"
exec 9>"$cache/lock-$arch"
locked "-$arch"

tools=$cache/tools-$arch
prefix=$cache/$arch
state=$(cat "$cache/sources/list" "$top/docker/static/zig.lock" "$top/docker/static/libraries.sh" |
    sha256sum)
if [ "$(cat "$prefix/state" 2>/dev/null)" != "$state" ]; then
    rm -rf "$prefix"
    sh "$top/docker/static/libraries.sh" "$arch" "$cache/sources" "$tools" "$prefix"
    echo "$state" >"$prefix/state"
fi

# The paths are made relative: the cache may be moved with its tree, or shared with another tree.
sed -i "s|/[^ ]*/static/$arch|\${pcfiledir}/../..|g" "$prefix"/lib/pkgconfig/*.pc

# pkg-config finds only the libraries of the prefix, with their own dependencies.
PKG_CONFIG_LIBDIR=$prefix/lib/pkgconfig
PKG_CONFIG_SYSROOT_DIR=
export PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR
mkdir -p "$build" # its parent is the folder of the log
unset CMAKE_C_COMPILER_LAUNCHER # the compiler has a cache of its own
cmake -S "$top" -B "$build" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$top/docker/static/toolchain.cmake" \
    -DRINGMASTER_TOOLS="$tools" -DRINGMASTER_PREFIX="$prefix" -DRINGMASTER_ARCH="$arch" \
    -DRINGMASTER_ONE_FILE=ON -DRINGMASTER_TESTS=OFF -DRINGMASTER_SOURCES=ON >"$build.log" 2>&1 ||
    { tail -n 20 "$build.log" >&2; fail "cmake: see above"; }
ninja -C "$build" ringmaster >>"$build.log" 2>&1 ||
    { grep -A 8 -E 'error|FAILED' "$build.log" | tail -n 40 >&2; fail "see above and $build.log"; }
ln -sf ringmaster "$build/bin/ringmaster-transfer"

size=$(wc -c <"$build/bin/ringmaster")
[ "$size" -le $size_max ] || fail "the program has $size bytes, more than $size_max"
echo "static.sh: $build/bin/ringmaster, $size bytes"
