#!/bin/sh
# Tests docker/release.sh: it makes the same bytes twice, and a wheel that pip installs into an
# environment of its own, whose ringmaster and train then run. The test runs only in
# `sh tests/run.sh long`, as docker/static.sh downloads its compiler.
# shellcheck disable=SC2154  # check.sh's variables
set -u
cd "$(dirname "$0")/../.." || exit 70
# shellcheck source=/dev/null
. tests/check.sh
[ -n "${RINGMASTER_LONG:-}" ] || { echo "skipped: in sh tests/run.sh long alone"; exit 77; }
for program in cmake ninja perl pkg-config dpkg-deb; do
    command -v $program >/dev/null || { echo "skipped: no $program"; exit 77; }
done
version=$(sed -n 's/^project(ringmaster VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
# Both releases have the date of one commit, whatever is committed meanwhile.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
arches=${RELEASE_ARCHES:-x86_64 aarch64}

made() {
    sh docker/release.sh "$version" "$1" >"$work/said" 2>&1 || { tail -n 5 "$work/said"; return 1; }
}
# compiled_anew ARCH: the second release had nothing left to compile, so this compiles a copy of the
# sources, which shares the libraries, and compares the program.
compiled_anew() {
    [ -d "$work/tree" ] || {
        mkdir "$work/tree" && git ls-files -z | xargs -0 cp --parents -t "$work/tree" &&
            ln -s "$PWD/.cache" "$work/tree/.cache"
    } || return 1
    sh "$work/tree/docker/static.sh" "$1" >"$work/said" 2>&1 ||
        { tail -n 5 "$work/said"; return 1; }
    cmp "$work/tree/build/static-$1/bin/ringmaster" "build/static-$1/bin/ringmaster"
    same=$?
    # The wrappers that call the compiler then name this tree again.
    sh docker/static.sh "$1" >"$work/said" 2>&1 && return $same
}
# pip_takes FOLDER PLATFORM: pip finds a wheel of the launcher for that platform, and puts it into
# FOLDER.
pip_takes() {
    says "$work/venv/bin/pip" download --quiet --no-index --no-deps --find-links "$work/one" \
        --platform "$2" --only-binary :all: --dest "$work/$1" ringmaster-launcher
}
# emulate PROGRAM: runs it in QEMU, which is downloaded.
emulate() {
    sh tests/system/arm64_emulator.sh "$PWD/.cache/static/qemu" || return
    check "the program for arm64 runs" says "$PWD/.cache/static/qemu/qemu-aarch64" "$1" --version
    check "it is that version" said "^ringmaster $version\$"
}
all_have_sums() {
    sed 's/.*  //' "$work/one/SHA256SUMS" | sort >"$work/named"
    find "$work/one" -type f ! -name SHA256SUMS -printf '%f\n' | sort | diff - "$work/named"
}
refuses() { ! "$@" >"$work/said" 2>&1; }
refused() {
    ! sh docker/release.sh "$1" "$work/none" >"$work/said" 2>&1 && grep -q "$2" "$work/said"
}
says() { "$@" >"$work/said" 2>&1 || { cat "$work/said"; return 1; }; }
said() { grep -q "$1" "$work/said" || { cat "$work/said"; return 1; }; }

check "a version that the sources do not have is refused" refused 99.0.0 'CMakeLists.txt says'
check "it is made" made "$work/one" || exit 1
check "it is made again" made "$work/two"
check "twice are the same bytes" diff -r "$work/one" "$work/two"
for arch in $arches; do
    check "compiled anew in another folder, too, for $arch" compiled_anew "$arch"
done
check "its sums are right" sh -c "cd '$work/one' && sha256sum --quiet -c SHA256SUMS"
check "each file has its sum" all_have_sums

tar -C "$work" -xzf "$work/one/ringmaster-$version-linux-x86_64.tar.gz"
check "the tarball's program runs" says "$work/ringmaster-$version-linux-x86_64/bin/ringmaster" \
    --version
check "as that version" said "^ringmaster $version\$"
check "licences of all libraries are with it" grep -q 'openssl' \
    "$work/ringmaster-$version-linux-x86_64/share/doc/ringmaster/copyright"
check "the package needs no other" \
    sh -c "! dpkg-deb -f '$work/one/ringmaster_${version}_amd64.deb' Depends | grep ."

for arch in $arches; do
    case $arch in
    x86_64) debian=amd64 machine=X86-64 ;;
    *) debian=arm64 machine=AArch64 ;;
    esac
    package=$work/one/ringmaster_${version}_$debian.deb
    wheel=$(echo "$work/one/ringmaster_launcher-$version"-py3-none-*"_$arch.whl")
    check "the package for $arch is one" test "$(dpkg-deb -f "$package" Architecture)" = $debian
    dpkg-deb -x "$package" "$work/deb-$arch"
    mkdir "$work/tar-$arch" "$work/wheel-$arch"
    tar -C "$work/tar-$arch" --strip-components 1 \
        -xzf "$work/one/ringmaster-$version-linux-$arch.tar.gz"
    python3 -m zipfile -e "$wheel" "$work/wheel-$arch"
    check "the tarball's program is for $arch" \
        sh -c "readelf -h '$work/tar-$arch/bin/ringmaster' | grep -q 'Machine:.*$machine'"
    check "the package has the same one" cmp "$work/tar-$arch/bin/ringmaster" \
        "$work/deb-$arch/usr/bin/ringmaster"
    check "the wheel has the same one" cmp "$work/tar-$arch/bin/ringmaster" \
        "$work/wheel-$arch/ringmaster_launcher-$version.data/scripts/ringmaster"
    [ $arch != aarch64 ] || emulate "$work/tar-$arch/bin/ringmaster"
    for tag in manylinux2014 musllinux_1_1; do
        check "the wheel is tagged $tag for $arch" grep -qx "Tag: py3-none-${tag}_$arch" \
            "$work/wheel-$arch/ringmaster_launcher-$version.dist-info/WHEEL"
    done
done

# A package for another machine is refused, with the reason.
if [ "$arches" = "x86_64 aarch64" ]; then
    check "dpkg refuses the package for arm64 here" refuses \
        dpkg --dry-run -i "$work/one/ringmaster_${version}_arm64.deb"
    check "for its architecture" said 'package architecture (arm64) does not match system (amd64)'
fi

sdk=ringmaster_sagemaker-$version-py3-none-any.whl
check "the SDK's package has its sum" grep -q " $sdk\$" "$work/one/SHA256SUMS"
mkdir "$work/sdk"
python3 -m zipfile -e "$work/one/$sdk" "$work/sdk"
check "it is what lies in sdk" diff -r -x __pycache__ sdk/ringmaster_sagemaker \
    "$work/sdk/ringmaster_sagemaker"
check "it says which SDK it is for" \
    grep -qx "Requires-Dist: $(sed -n 's/^dependencies = \["\(.*\)"\]/\1/p' sdk/pyproject.toml)" \
    "$work/sdk/ringmaster_sagemaker-$version.dist-info/METADATA"

python3 -m venv "$work/venv"
check "pip takes the wheel" says "$work/venv/bin/pip" install --quiet --no-index \
    "$work"/one/ringmaster_launcher-"$version"-*_x86_64.whl
for arch in $arches; do
    for platform in manylinux2014 manylinux_2_17 musllinux_1_1; do
        check "pip takes a wheel on ${platform}_$arch" pip_takes "for-$platform-$arch" \
            "${platform}_$arch"
        check "it is the one for $arch" test -e "$work/for-$platform-$arch"/*"_$arch.whl"
    done
done
check "ringmaster is on its PATH" says "$work/venv/bin/ringmaster" --version
check "as that version" said "^ringmaster $version\$"
[ "$arches" = x86_64 ] || {
    check "pip refuses the wheel for arm64 here" refuses "$work/venv/bin/pip" install --no-index \
        "$work"/one/ringmaster_launcher-"$version"-*_aarch64.whl
    check "for its platform" said 'is not a supported wheel on this platform'
}
check "pip takes the SDK's package" says "$work/venv/bin/pip" install --quiet --no-index \
    --no-deps "$work/one/$sdk"
check "it is there as that version" says "$work/venv/bin/pip" show ringmaster-sagemaker
check "by pip, too" said "^Version: $version\$"
job() {
    env -i PATH="$work/venv/bin:/usr/bin:/bin" SAGEMAKER_BASE_DIR="$work/ml" \
        "$work/venv/bin/train" -- "$@" >"$work/said" 2>&1
}
# shellcheck disable=SC2016  # expanded by the rank
check "a job of one host ends well" job sh -c 'echo "rank $RANK of $WORLD_SIZE"'
check "its rank has run" said 'rank 0\] rank 0 of 1'
job sh -c 'exit 7'
check "a failing one has its code" test $? = 7
exit $failed
