#!/bin/sh
# Installs what is missing, builds, runs the tests and prints a summary.
#
#   sh tests/run.sh [--no-install] [all|unit|system|gpu|long|build] [PRESET]
#                                                      default: all release; gpu: cuda
#
#   unit     everything that runs in one process: unit tests, operators, plans, lint
#   system   hosts made of namespaces (root), and containers if an engine runs or can be started
#   gpu      tests that need a CUDA device, with what the machine has: nothing is installed for
#            them. bench/gpu_all.sh runs these and the timings, from programs built elsewhere
#   long     all, and what takes too long for every change: every system test also on containers,
#            and each case of the system tests REPEAT times (3)
#   build    only builds what `unit` would build
#   --no-install   installs and fetches nothing: names what is missing, and goes on without it
#   PRESET   one of CMakePresets.json: release debug asan ubsan tsan cuda. With tsan only the rooms
#            that use threads or child processes are built and run, with cuda and unit only what the
#            other presets do not have.
#
# The last lines list what could not be tested on this machine, and `N passed, N failed`, with
# `, N skipped` if tests were skipped. The exit code is 0 only if nothing failed and something ran.
set -u

install=yes
[ "${1:-}" != --no-install ] || { install=no && shift; }
what=${1:-all}
preset=${2:-}
[ -n "$preset" ] || { preset=release; [ "$what" = gpu ] && preset=cuda; }
cd "$(dirname "$0")/.." || exit 70
build=build/$preset
cores=$(nproc)

case $what in
all) labels='.' ;;
long) labels='.' FULL=1 REPEAT=${REPEAT:-3} RINGMASTER_LONG=1
    export FULL REPEAT RINGMASTER_LONG ;;
unit | build) labels='^(unit|ops|plans)$' ;;
system) labels='^system$' ;;
gpu) labels='^gpu$' ;;
*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 64 ;;
esac

fail() {
    echo "run.sh: $*" >&2
    exit 1
}

packages="build fetch test mpi"
# shellcheck disable=SC2086  # a list
if [ "$install" = no ]; then
    missing=$(sh docker/packages.sh missing $packages)
    [ -z "$missing" ] || echo "not installed, as --no-install says: $missing"
elif [ "$what" != gpu ]; then
    sh docker/packages.sh install $packages || fail "packages are missing"
    sh docker/fetch_onednn.sh || fail "no oneDNN"
fi

. tests/building.sh
mkdir -p "$build"
exec 9>"$build.lock" # only one process at a time builds in a folder
flock 9
cmake --preset "$preset" >"build-$preset.log" 2>&1 ||
    { cat "build-$preset.log"; fail "cmake failed"; }
mv "build-$preset.log" "$build/configure.log"
chosen=.
built=all
if [ "$preset" = tsan ]; then
    rooms='unit_(os|wire|job|outcome|mpi|host|master|entrypoint|data|comm|checkpoint)'
    chosen="^${rooms}_"
    built=$(targets "$build" "$rooms(_.*)?|ringmaster")
    # libgomp is not built with the sanitizer: its barriers look like races. The limit also applies
    # to programs that request more threads.
    export OMP_NUM_THREADS=1 OMP_THREAD_LIMIT=1
fi
# Programs that only run on a device are built as well, to find errors before a machine has one.
if [ "$preset" = cuda ] && [ "$labels" = '^(unit|ops|plans)$' ]; then
    chosen='cuda|nccl'
    built="ringtrain $(targets "$build" \
        '((unit_backend|ops|plans|gpu)_cuda|unit_comm_nccl|bench_gpu)(_.*)?')"
fi
if [ "$what" = gpu ]; then
    built="ringtrain weights_compare $(targets "$build" 'gpu_cuda_.*')"
fi
echo "building $preset"
# shellcheck disable=SC2086  # a list
cmake --build "$build" --parallel "$cores" --target $built >"$build/build.log" 2>&1 ||
    { tail -n 50 "$build/build.log"; fail "the build failed (whole log: $build/build.log)"; }
exec 9>&-
[ "$what" != build ] || exit 0

# The sets of real pictures are fetched once; RINGMASTER_DATA names another folder with them. A test
# is skipped if its set is missing. With --no-install only archives that are here are unpacked.
if [ -z "${RINGMASTER_DATA:-}" ]; then
    export RINGMASTER_DATA="$PWD/build/data"
    [ "$install" = yes ] || export GITHUB=
    sh tests/data/fetch.sh "$RINGMASTER_DATA"
    case $? in
    0) ;;
    77) echo "tests that need these sets are skipped" ;;
    *) fail "the sets of tests/data/sets.txt are not as they should be" ;;
    esac
fi

# A python3 that is itself a script, such as pyenv's, takes a multiple of the time to start.
python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null) &&
    PATH=$(dirname "$python"):$PATH

# Tests share the cores: threads that wait for others sleep.
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=1:abort_on_error=0}"
export \
    LSAN_OPTIONS="${LSAN_OPTIONS:-suppressions=$PWD/tests/support/lsan.supp:print_suppressions=0}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"
export TSAN_OPTIONS="${TSAN_OPTIONS:-halt_on_error=0 exitcode=66}"

# Most tests wait, so six run per core. cmake/Room.cmake limits how many compute at a time.
rm -f "$build/tests.xml"
ctest --test-dir "$build" -L "$labels" -R "$chosen" -j $((6 * cores)) --output-on-failure \
    --resource-spec-file "$PWD/$build/cores.json" \
    --no-tests=ignore --output-junit tests.xml --test-output-size-passed 1048576
status=$?
[ -f "$build/tests.xml" ] || fail "ctest left no results"

# count NAME: prints a count of the suite; the head of the file has one attribute per line.
count() {
    sed -n "s/^[[:space:]]*$1=\"\([0-9]*\)\"\$/\1/p" "$build/tests.xml" | head -n 1
}

# Print what was skipped: the messages of whole tests, of their cases and of parts.
awk '/<testcase / { name = $0; sub(/.* name="/, "", name); sub(/".*/, "", name) }
    { sub(/.*<system-out>/, "") }
    /^ *skipped: / {
        sub(/^ */, "")
        gsub(/&apos;/, "\047")
        gsub(/&quot;/, "\"")
        gsub(/<\/.*/, "")
        print name " " $0
    }' "$build/tests.xml"
total=$(count tests)
failed=$(count failures)
skipped=$(($(count skipped) + $(count disabled)))
passed=$((${total:-0} - ${failed:-0} - skipped))
[ "$status" -eq 0 ] || [ "$failed" -gt 0 ] || failed=1
if [ "$skipped" -gt 0 ]; then
    echo "$passed passed, $failed failed, $skipped skipped"
else
    echo "$passed passed, $failed failed"
fi
# Without a device all tests for one are skipped, which is no failure.
[ "$failed" -eq 0 ] && { [ "$passed" -gt 0 ] || { [ "$what" = gpu ] && [ "$skipped" -gt 0 ]; }; }
