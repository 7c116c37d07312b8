#!/bin/sh
# Mutation testing: which mistakes would the tests not notice? Changes one line of a source at a
# time, with changes that PyPI's universalmutator generates, and lists the mutants that no test has
# killed.
#
#   sh tests/mutation/run.sh [ROOM|FILE...]       default: common
#
#   ROOM     a folder of sources (common, graph, backend/cpu), with all below it; FILE a source
#   COUNT    how many mutants of each ROOM or FILE to try; default 60. Those count that compile, to
#            different machine code; at most one per line
#   SEED     which mutants are drawn; default 1
#   JOBS     how many mutants or tests run at a time; default 2
#   AGAIN=1  run the tests only with the mutants that survived or were not judged in the last run
#            with the same ROOM and SEED; those killed there count as killed
#   WHOLE_JOBS=1  run whole jobs as well, where they are the tests of a room (tests/train for app)
#
# The tests of a mutant are its twin test, then the room's tests that include its header or have its
# name, then the room's others and MORE_TESTS (tests/mutation/mutate.py). Each is linked with the
# mutant's object before the libraries. A test that fails or takes far longer kills the mutant if it
# passes without it right afterwards. Survivors are then built with the tests that are scripts, and
# with the first two groups again under AddressSanitizer. Each test runs in its own namespaces and
# can only write to /tmp and /run (tests/mutation/box.c), since a mutant may signal or delete
# whatever it reaches. Everything happens in .cache/mutate, in a copy of the working tree. A mutant
# is drawn by its line and the line above, so that changes to other lines do not change the choice.
#
# Sources that no test of the preset release reaches are named and left out
# (tests/mutation/elsewhere.txt). The last lines list the survivors, and a summary for each room.
# Mutants that change nothing that can be observed belong in tests/mutation/equivalent.txt, with the
# reason: at most one in ten. The exit code is 0 if every mutant was killed.
set -u

cd "$(dirname "$0")/../.." || exit 70
fail() {
    echo "mutation/run.sh: $*" >&2
    exit 1
}
case ${1:-} in -h | --help) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 64 ;; esac
[ "$(id -u)" = 0 ] || fail "mutants run in namespaces of their own: that takes root"
case $PWD/ in
/tmp/* | /run/*)
    fail "the tests of a mutant have a /tmp and a /run of their own: move the repository" ;;
esac

cache=.cache/mutate
tools="universalmutator==1.14.1 ninja==1.13.2"
if ! "$cache/venv/bin/python" -c 'import ninja, universalmutator.mutator' 2>/dev/null; then
    mkdir -p "$cache"
    python3 -m venv "$cache/venv" || fail "no Python environment (package python3-venv)"
    # The dependencies of universalmutator are only for its other programs.
    # shellcheck disable=SC2086
    "$cache/venv/bin/pip" install -q --no-deps $tools || fail "pip cannot install $tools"
fi
PATH=$PWD/$cache/venv/bin:$PATH PYTHONDONTWRITEBYTECODE=1 \
    exec "$cache/venv/bin/python" tests/mutation/mutate.py "$@"
