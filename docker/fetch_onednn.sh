#!/bin/sh
# Makes an installation prefix of oneDNN 3 (include/, lib/libdnnl.so.3, licenses) if the
# distribution has none. The build finds it by cmake/FindOneDNN.cmake.
#
#   sh docker/fetch_onednn.sh [PREFIX]     default .cache/onednn; does nothing if oneDNN 3 is
#                                          already installed, in PREFIX or in the system
#   sh docker/fetch_onednn.sh --wheels     only fetches the two wheels into docker/wheels/
#
# The wheels come from PyPI by pip, verified against docker/onednn.lock; wheels that are already in
# docker/wheels/ are used without any network. The wheel has three copies of the library, the prefix
# gets one.
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
wheels=$top/docker/wheels
lock=$top/docker/onednn.lock

fail() {
    echo "fetch_onednn: $*" >&2
    exit 1
}

# has_v3 FOLDER: succeeds if FOLDER has oneDNN's header of version 3.
has_v3() {
    grep -q '^#define DNNL_VERSION_MAJOR 3$' "$1/oneapi/dnnl/dnnl_version.h" 2>/dev/null
}

# locked_hash WHEEL: prints the lock's hash for a wheel file. The package's name is the file's up to
# the version, with - for _.
locked_hash() {
    name=$(basename "$1" | sed 's/-[0-9].*//; s/_/-/g')
    sed -n "s/^$name==.*--hash=sha256:\([0-9a-f]*\)\$/\1/p" "$lock"
}

wheels_are_good() {
    [ "$(find "$wheels" -name 'onednn*.whl' 2>/dev/null | wc -l)" -eq 2 ] || return 1
    for wheel in "$wheels"/onednn*.whl; do
        [ "$(sha256sum "$wheel" | cut -d ' ' -f 1)" = "$(locked_hash "$wheel")" ] ||
            fail "$wheel is not what docker/onednn.lock says; remove it"
    done
}

# The wheels contain no Python code; with a generic platform any Python can fetch them.
download() {
    python3 -m pip download --quiet --no-deps --require-hashes --only-binary :all: \
        --implementation py --abi none --platform manylinux1_x86_64 \
        --dest "$wheels" --requirement "$lock"
}

bring_wheels() {
    wheels_are_good && return 0
    python3 -m pip --version >/dev/null 2>&1 ||
        fail "pip is missing (Debian: apt-get install python3-pip), or put the wheels of docker/onednn.lock into docker/wheels/"
    mkdir -p "$wheels"
    # Networks with a proxy may have certificates of their own, see docker/build.sh.
    [ -z "${RINGMASTER_CA:-}" ] || export PIP_CERT="$RINGMASTER_CA"
    # pip retries if a server does not answer, but not if a connection breaks within a file.
    download || download || fail "the download failed"
    wheels_are_good || fail "the download is incomplete"
}

unpack() {
    if command -v unzip >/dev/null 2>&1; then
        unzip -q -o "$1" -d "$2"
    elif command -v cmake >/dev/null 2>&1; then
        mkdir -p "$2" && (cd "$2" && cmake -E tar xf "$1")
    else
        python3 -m zipfile -e "$1" "$2"
    fi
}

# number FOLDER PART: prints the version's PART (MAJOR, MINOR, PATCH) from the header in FOLDER.
number() {
    sed -n "s/^#define DNNL_VERSION_$2 //p" "$1/include/oneapi/dnnl/dnnl_version.h"
}

# describe PREFIX: writes what docker/contents.sh lists of oneDNN: name, version, licence, purl and
# file, separated by tabs.
describe() {
    head -n 2 "$1/share/doc/onednn/LICENSE" | grep -q 'Apache License' ||
        fail "oneDNN has another licence"
    printf 'oneDNN\t%s.%s.%s\tApache-2.0\tpkg:pypi/onednn-cpu-gomp@%s\tlib/libdnnl.so.3\n' \
        "$(number "$1" MAJOR)" "$(number "$1" MINOR)" "$(number "$1" PATCH)" \
        "$(sed -n 's/^onednn-cpu-gomp==\([0-9.]*\) .*/\1/p' "$lock")" \
        >"$1/share/doc/onednn/package"
}

[ "$(uname -m)" = x86_64 ] ||
    fail "$(uname -m): Ringmaster is for x86-64 alone, and so are these wheels"
if [ "${1:-}" = --wheels ]; then
    bring_wheels
    exit 0
fi
prefix=${1:-$top/.cache/onednn}
if has_v3 "$prefix/include" && [ -e "$prefix/lib/libdnnl.so.3" ]; then
    # Only a prefix made from our wheels has the licence there; any other is left alone.
    [ -e "$prefix/share/doc/onednn/package" ] ||
        [ ! -w "$prefix/share/doc/onednn/LICENSE" ] || describe "$prefix"
    exit 0
fi
if has_v3 /usr/include || has_v3 "/usr/include/$(uname -m)-linux-gnu"; then
    echo "fetch_onednn: the system has oneDNN 3"
    exit 0
fi

bring_wheels
mkdir -p "$(dirname "$prefix")"
work=$(mktemp -d "$prefix.XXXXXX")
trap 'rm -rf "$work"' EXIT
for wheel in "$wheels"/onednn*.whl; do
    unpack "$wheel" "$work/unpacked"
done
mkdir -p "$work/prefix/lib" "$work/prefix/share/doc"
mv "$work"/unpacked/onednn_devel_cpu_gomp-*.data/data/include "$work/prefix/include"
mv "$work"/unpacked/onednn_cpu_gomp-*.data/data/lib/libdnnl.so.3 "$work/prefix/lib/"
mv "$work"/unpacked/onednn_cpu_gomp-*.data/data/share/doc/onednn "$work/prefix/share/doc/"
ln -s libdnnl.so.3 "$work/prefix/lib/libdnnl.so"
describe "$work/prefix"
chmod -R u=rwX,go=rX "$work/prefix"
rm -rf "$prefix"
mv "$work/prefix" "$prefix"
echo "fetch_onednn: oneDNN $(number "$prefix" MAJOR).$(number "$prefix" MINOR) in $prefix"
