#!/bin/sh
# Tests that on machines other than x86-64 the build, and the script that fetches libraries for it,
# say so and fail before they make anything.
# shellcheck disable=SC2154  # check.sh's variables
set -u
cd "$(dirname "$0")/../.." || exit 70
# shellcheck source=/dev/null
. tests/check.sh
words='Ringmaster is for x86-64 alone'

# refused PROCESSOR COMMAND...: COMMAND fails with a message about PROCESSOR.
refused() {
    processor=$1
    shift
    "$@" >"$work/said" 2>&1 && return 1
    tr -s ' \n' ' ' <"$work/said" | grep -q "$processor: $words" || { cat "$work/said"; return 1; }
}

# build_for PROCESSOR: configures a build without optional parts.
build_for() {
    cmake -S . -B "$work/$1" -DRINGMASTER_TESTS=OFF -DRINGMASTER_ENTRYPOINT=OFF \
        -DRINGMASTER_SOURCES=OFF -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR="$1"
}
goes_on() {
    build_for "$1" >"$work/said" 2>&1 || { cat "$work/said"; return 1; }
    ! grep -q "$words" "$work/said"
}

for processor in aarch64 arm64 armv7l riscv64 ppc64le; do
    check "no build for $processor" refused "$processor" build_for "$processor"
    check "nothing was made for $processor" \
        test ! -e "$work/$processor/Makefile" -a ! -e "$work/$processor/build.ninja"
done
check "x86_64 goes on" goes_on x86_64

# setarch makes the kernel report another processor.
if [ "$(setarch i686 uname -m 2>/dev/null)" = i686 ]; then
    check "no build on i686" refused i686 setarch i686 cmake -S . -B "$work/i686"
    check "no libraries for i686" refused i686 setarch i686 sh docker/fetch_onednn.sh "$work/onednn"
    check "no wheels for i686" refused i686 setarch i686 sh docker/fetch_onednn.sh --wheels
    check "no folder for i686" test ! -e "$work/onednn"
else
    echo "skipped: setarch does not make this machine another one"
fi
exit $failed
