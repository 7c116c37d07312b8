#!/bin/sh
# Builds the libraries of the static launcher from the sources that sources.sh has fetched.
#
#   sh docker/static/libraries.sh ARCH SOURCES TOOLS PREFIX    puts headers and archives into PREFIX
#
# They contain only what the launcher uses: HTTPS in libcurl, tar with its four compressions in
# libarchive.
set -eu

arch=$1
sources=$2
tools=$3
prefix=$4
# The folder is always the same, as its name gets into the objects; docker/static.sh runs one build
# at a time.
work=$prefix.build
rm -rf "$work"
mkdir -p "$work"
trap 'rm -rf "$work"' EXIT
jobs=${JOBS:-$(nproc)}
# Libraries in the machine's own folders must not be found.
export PKG_CONFIG_LIBDIR="$prefix/lib/pkgconfig"
export PATH="$tools:$PATH" CC=cc AR=ar RANLIB=ranlib
export CFLAGS="-O2 -fPIE -ffunction-sections -fdata-sections -g0"
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-0}"

# quietly NAME COMMAND...: shows the command's output only if it fails.
quietly() {
    echo "libraries.sh: $1${place:-}"
    shift
    "$@" >"$work/log" 2>&1 || { tail -n 30 "$work/log" >&2; exit 1; }
}

# source_of NAME: copies the sources to a folder named without a version, so that no object contains
# the version.
source_of() {
    rm -rf "${work:?}/$1"
    cp -a "$sources/$1"-[0-9]* "$work/$1"
}

# with_cmake NAME FOLDER OPTION...
with_cmake() {
    name=$1
    folder=$2
    shift 2
    quietly "$name" sh -e -c '
        cmake -S "$1" -B "$2" -G "Unix Makefiles" "$@" >/dev/null
        make -C "$2" -j "$jobs" "${target:-install}"' sh "$work/$folder" "$work/$name-build" \
        -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR="$arch" -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_C_FLAGS_RELEASE=-DNDEBUG \
        -DCMAKE_C_COMPILER="$tools/cc" -DCMAKE_AR="$tools/ar" -DCMAKE_RANLIB="$tools/ranlib" \
        -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_PREFIX_PATH="$prefix" \
        -DCMAKE_FIND_ROOT_PATH="$prefix" -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY \
        -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY -DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=ONLY \
        -DBUILD_SHARED_LIBS=OFF -DBUILD_TESTING=OFF "$@"
}
export jobs

# described NAME VERSION LIBRARIES: writes NAME.pc for pkg-config. The one that CMake writes names
# the compiler's own files.
described() {
    mkdir -p "$prefix/lib/pkgconfig"
    printf 'Name: %s\nDescription: %s\nVersion: %s\nLibs: -L%s %s\nCflags: -I%s\n' "$1" "$1" "$2" \
        "$prefix/lib" "$3" "$prefix/include" >"$prefix/lib/pkgconfig/$1.pc"
}

build_zlib() {
    source_of zlib
    cd "$work/zlib"
    quietly zlib sh -e -c './configure --static --prefix="$0" >/dev/null
        make -j "$jobs" libz.a
        install -D -m 644 -t "$0/lib" libz.a
        install -D -m 644 -t "$0/include" zlib.h zconf.h
        install -D -m 644 -t "$0/lib/pkgconfig" zlib.pc' "$prefix"
}

build_bzip2() {
    source_of bzip2
    cd "$work/bzip2"
    quietly bzip2 sh -e -c 'make -j "$jobs" CC=cc AR=ar RANLIB=ranlib CFLAGS="$CFLAGS" libbz2.a
        install -D -m 644 -t "$0/lib" libbz2.a
        install -D -m 644 -t "$0/include" bzlib.h' "$prefix"
}

build_xz() {
    source_of xz-utils
    with_cmake xz xz-utils
}

build_zstd() {
    source_of libzstd
    with_cmake zstd libzstd/build/cmake -DZSTD_BUILD_PROGRAMS=OFF -DZSTD_BUILD_SHARED=OFF \
        -DZSTD_BUILD_TESTS=OFF -DZSTD_MULTITHREAD_SUPPORT=OFF -DZSTD_LEGACY_SUPPORT=OFF
}

build_jansson() {
    source_of jansson
    with_cmake jansson jansson -DJANSSON_BUILD_DOCS=OFF -DJANSSON_WITHOUT_TESTS=ON \
        -DJANSSON_EXAMPLES=OFF
}

# Its own CMake files leave out options that the code needs.
build_expat() {
    source_of expat
    cd "$work/expat/expat/lib"
    quietly expat sh -e -c '
        : >expat_config.h # all definitions follow below
        for file in xmlparse xmlrole xmltok; do
            cc $CFLAGS -fno-strict-aliasing -DXML_DTD=1 -DXML_NS=1 -DXML_CONTEXT_BYTES=1024 \
                -DBYTEORDER=1234 -DHAVE_GETRANDOM -DHAVE_SYSCALL_GETRANDOM -DXML_STATIC \
                -I. -c $file.c
        done
        ar rcs libexpat.a xmlparse.o xmlrole.o xmltok.o
        install -D -m 644 -t "$0/lib" libexpat.a
        install -D -m 644 -t "$0/include" expat.h expat_external.h' "$prefix"
    described expat 2 -lexpat
}

build_pcre2() {
    source_of pcre2
    with_cmake pcre2 pcre2 -DPCRE2_BUILD_PCRE2_8=ON -DPCRE2_SUPPORT_UNICODE=OFF \
        -DPCRE2_SUPPORT_JIT=OFF -DPCRE2_BUILD_TESTS=OFF -DPCRE2_BUILD_PCRE2GREP=OFF
    described libpcre2-8 "$("$prefix/bin/pcre2-config" --version)" -lpcre2-8
}

# It has TLS 1.2 and 1.3 with the ciphers and curves that are common on the web, and hashes.
build_openssl() {
    source_of openssl
    cd "$work/openssl"
    # Its objects contain the folders that it was configured for, so these name no build folder.
    quietly "openssl (some minutes)" sh -e -c '
        ./Configure "linux-$1" --prefix=/usr --libdir=lib --openssldir=/etc/ssl no-shared \
            no-module \
            no-dso no-engine no-tests no-legacy no-comp no-dtls no-srp no-cms no-ts no-cmp no-gost \
            no-idea no-seed no-camellia no-aria no-bf no-cast no-rc2 no-rc4 no-sm2 no-sm3 no-sm4 \
            no-whirlpool no-rmd160 no-mdc2 no-md4 no-siphash no-blake2 no-ec2m no-ocb no-siv \
            no-srtp no-ct no-rfc3779 no-ui-console no-capieng no-afalgeng
        make -j "$jobs" build_generated
        make -j "$jobs" libcrypto.a libssl.a
        make install_dev DESTDIR="$0/openssl-root"
        sed -i "s|^prefix=.*|prefix=$0|" "$0"/openssl-root/usr/lib/pkgconfig/*.pc
        cp -a "$0"/openssl-root/usr/. "$0"
        rm -rf "$0/openssl-root"' "$prefix" "$arch"
}

build_curl() {
    source_of curl
    with_cmake curl curl -DHTTP_ONLY=ON -DBUILD_CURL_EXE=OFF -DCURL_USE_OPENSSL=ON \
        -DOPENSSL_ROOT_DIR="$prefix" -DOPENSSL_USE_STATIC_LIBS=ON -DCURL_USE_LIBSSH2=OFF \
        -DUSE_NGHTTP2=OFF -DUSE_LIBIDN2=OFF -DCURL_USE_LIBPSL=OFF -DCURL_DISABLE_NTLM=ON \
        -DENABLE_MANUAL=OFF -DENABLE_UNIX_SOCKETS=OFF -DCURL_CA_BUNDLE=none -DCURL_CA_PATH=none \
        -DCURL_DISABLE_ALTSVC=ON -DCURL_DISABLE_HSTS=ON
    described libcurl "$(sed -n 's/^#define LIBCURL_VERSION "\([0-9.]*\).*/\1/p' \
        "$prefix/include/curl/curlver.h")" "-lcurl -lssl -lcrypto -lz"
}

# Its own install target needs the shared library.
build_libarchive() {
    source_of libarchive
    export target=archive_static
    with_cmake libarchive libarchive -DENABLE_TEST=OFF -DENABLE_TAR=OFF -DENABLE_CPIO=OFF \
        -DENABLE_CAT=OFF -DENABLE_OPENSSL=OFF -DENABLE_LIBB2=OFF -DENABLE_LZ4=OFF -DENABLE_LZO=OFF \
        -DENABLE_EXPAT=OFF -DENABLE_LIBXML2=OFF -DENABLE_NETTLE=OFF -DENABLE_MBEDTLS=OFF \
        -DENABLE_ACL=OFF -DENABLE_XATTR=OFF -DENABLE_WERROR=OFF
    install -D -m 644 -t "$prefix/lib" "$work/libarchive-build/libarchive/libarchive.a"
    install -D -m 644 -t "$prefix/include" "$work/libarchive/libarchive/archive.h" \
        "$work/libarchive/libarchive/archive_entry.h"
    described libarchive 3 "-larchive -lbz2 -llzma -lzstd -lz"
}

mkdir -p "$prefix"
libraries=${LIBRARIES:-zlib bzip2 xz zstd jansson pcre2 expat openssl curl libarchive}
all=$(echo "$libraries" | wc -w)
at=0
for library in $libraries; do
    at=$((at + 1))
    place=", $at of $all"
    (build_$library)
done
