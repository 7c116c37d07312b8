#!/bin/sh
# Fuzzes every target for a while, each from its seeds in tests/fuzz/corpus.
#
#   sh tests/fuzz/run.sh [SECONDS] [TARGET...]      default: 30 s each of all targets
#
# It builds the preset fuzz, which needs clang. What a target finds, and inputs that break a promise
# (crash-*, leak-*, timeout-*), stay in build/fuzz/found/TARGET. The exit code is 1 if a target
# failed.
set -u
cd "$(dirname "$0")/../.." || exit 70
case ${1:-} in -h | --help) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 64 ;; esac
seconds=${1:-30}
case $seconds in
'' | *[!0-9]*) echo "run.sh: SECONDS is a number, not '$seconds'" >&2 && exit 64 ;;
esac
[ $# -eq 0 ] || shift
command -v clang >/dev/null || { echo "run.sh: no clang (package clang)" >&2; exit 69; }
if [ $# -eq 0 ]; then
    for source in tests/fuzz/fuzz_*.c; do
        target=${source#tests/fuzz/fuzz_}
        set -- "$@" "${target%.c}"
    done
fi

. tests/building.sh
cmake --preset fuzz >build-fuzz.log 2>&1 || { cat build-fuzz.log; exit 70; }
mv build-fuzz.log build/fuzz/configure.log
# shellcheck disable=SC2046  # a list
cmake --build build/fuzz --parallel --target $(printf 'fuzz_%s ' "$@") >build/fuzz/build.log 2>&1 ||
    { tail -n 50 build/fuzz/build.log; exit 70; }

export OMP_NUM_THREADS=1
failed=0
for target in "$@"; do
    found=$PWD/build/fuzz/found/$target
    mkdir -p "$found"
    # Without names of new functions: targets that end all of a host's processes end the one that
    # libFuzzer asks for names, too.
    if "build/fuzz/tests/fuzz_$target" -max_total_time="$seconds" -timeout=25 -print_funcs=0 \
        -artifact_prefix="$found/" -print_final_stats=1 "$found" "tests/fuzz/corpus/$target" \
        >"$found.log" 2>&1; then
        # A forked process that ends prints statistics, too; the target's own come last.
        inputs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$found.log" | tail -n 1)
        echo "$target: $inputs inputs"
    else
        failed=1
        tail -n 30 "$found.log"
        echo "FAILED: $target (whole log: $found.log)"
    fi
done
exit $failed
