#!/bin/sh
# Makes the files of a release, and publishes nothing.
#
#   sh docker/release.sh VERSION [FOLDER]
#
# VERSION is that of CMakeLists.txt; FOLDER is build/dist by default. It gets
#   ringmaster-VERSION-linux-ARCH.tar.gz     the static launcher, man page, completion, licences
#   ringmaster_VERSION_ARCH.deb              the same as a package without dependencies
#   ringmaster_launcher-VERSION-...whl       the same for `pip install`
#   ringmaster_sagemaker-VERSION-...whl      the package for SageMaker's SDK (sdk/)
# and ringmaster-VERSION-manifests.tar.gz (Kubernetes, Kubeflow, Grafana) and SHA256SUMS.
# The same commit gives the same bytes: times are those of SOURCE_DATE_EPOCH, or of the last commit.
# RELEASE_ARCHES lists the processors: "x86_64 aarch64" by default.
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
out=${2:-$top/build/dist}
arches=${RELEASE_ARCHES:-x86_64 aarch64}

fail() {
    echo "release.sh: $*" >&2
    exit 1
}

[ $# -ge 1 ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 64; }
version=$1
known=$(sed -n 's/^project(ringmaster VERSION \([0-9.]*\).*/\1/p' "$top/CMakeLists.txt")
[ "$version" = "$known" ] || fail "$version is asked for, and CMakeLists.txt says $known"
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$top" log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
umask 022
mkdir -p "$(dirname "$out")"
work=$(mktemp -d "$out.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/out"

# pack NAME: packs the folder $work/NAME as NAME.tar.gz.
pack() {
    tar -C "$work" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
        --format=gnu -cf "$work/$1.tar" "$1"
    gzip -9 -n <"$work/$1.tar" >"$work/out/$1.tar.gz"
}

# Prints the licences of all libraries that are linked in, as Debian collects them.
licences() {
    cat "$top/LICENSE"
    while read -r name number; do
        printf '\n======== %s %s ========\n\n' "$name" "$number"
        cat "$top/.cache/static/sources/$name"-[0-9]*/debian/copyright
    done <"$top/.cache/static/sources/list"
    printf '\n======== musl ========\n\n'
    cat "$top/.cache/static/zig/ziglang/lib/libc/musl/COPYRIGHT"
}

# installed FOLDER: installs the launcher's files into FOLDER/bin and FOLDER/share.
installed() {
    install -D -m 755 "$static/bin/ringmaster" "$1/bin/ringmaster"
    ln -s ringmaster "$1/bin/train"
    install -D -m 644 "$work/ringmaster.1" "$1/share/man/man1/ringmaster.1"
    for page in environment exit-codes; do
        install -D -m 644 "$work/ringmaster-$page.7" "$1/share/man/man7/ringmaster-$page.7"
    done
    install -D -m 644 "$work/ringmaster.bash" "$1/share/bash-completion/completions/ringmaster"
    install -D -m 644 "$work/licences" "$1/share/doc/ringmaster/copyright"
}

package() {
    case $1 in
    x86_64) debian=amd64 ;;
    aarch64) debian=arm64 ;;
    esac
    root=$work/deb-$1
    installed "$root/usr"
    gzip -9 -n "$root"/usr/share/man/man?/*
    mkdir "$root/DEBIAN"
    cat >"$root/DEBIAN/control" <<EOF
Package: ringmaster
Version: $version
Architecture: $debian
Maintainer: Ringmaster <ringmaster@users.noreply.github.com>
Section: net
Priority: optional
Recommends: openmpi-bin, ca-certificates
Description: turns a set of identical containers into one training job
 ringmaster is the first process of every container: it finds the others, starts
 all ranks, watches them, and ends the job with one story and one exit code.
EOF
    find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
    dpkg-deb --root-owner-group -Zxz --build "$root" \
        "$work/out/ringmaster_${version}_$debian.deb" >/dev/null
}

wheel() {
    PYTHONDONTWRITEBYTECODE=1 python3 "$top/docker/release/wheel.py" "$version" \
        "$static/bin/ringmaster" "$work/licences" \
        "manylinux_2_17_$1.manylinux2014_$1.musllinux_1_1_$1" "$work/out" >/dev/null
}

first=
for arch in $arches; do
    static=$top/build/static-$arch
    sh "$top/docker/static.sh" "$arch" "$static"
    if [ -z "$first" ]; then
        # Man pages and completion are the same for all processors; this machine is an x86-64.
        [ "$arch" = x86_64 ] || fail "RELEASE_ARCHES: x86_64 has to be the first"
        "$static/bin/ringmaster" man >"$work/ringmaster.1"
        for page in environment exit-codes; do
            "$static/bin/ringmaster" man "$page" >"$work/ringmaster-$page.7"
        done
        "$static/bin/ringmaster" completion >"$work/ringmaster.bash"
        licences >"$work/licences"
        first=$arch
    fi
    installed "$work/ringmaster-$version-linux-$arch"
    pack "ringmaster-$version-linux-$arch"
    package "$arch"
    wheel "$arch"
done

manifests=ringmaster-$version-manifests
mkdir "$work/$manifests"
cp -R "$top/examples/kubernetes" "$top/examples/grafana" "$work/$manifests/"
chmod -R u=rwX,go=rX "$work/$manifests"
pack "$manifests"

PYTHONDONTWRITEBYTECODE=1 python3 "$top/docker/release/sdk_wheel.py" "$version" "$top/sdk" \
    "$top/LICENSE" "$work/out" >/dev/null

(cd "$work/out" && sha256sum -- * >SHA256SUMS)
rm -rf "$out"
mv "$work/out" "$out"
cat "$out/SHA256SUMS"
