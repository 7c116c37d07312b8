#!/bin/sh
# Which mistakes would the tests not notice? Changes one line of a source at a time, as PyPI's
# universalmutator thinks them up, and says which of these mutants no test has killed.
#
#   sh tests/mutate.sh [ROOM|FILE...]       default: common
#
#   ROOM     a folder of sources (common, graph, backend/cpu), with all below it; FILE a source
#   COUNT    how many mutants of each ROOM or FILE count, default 60: those that compile, to other
#            machine code. At most one of a line
#   SEED     which ones; default 1
#   JOBS     mutants or tests at a time, default 2
#   AGAIN=1  what was killed the last time with the same ROOM and SEED counts as killed: only what
#            survived, or was not judged as that run was ended or had fewer, meets the tests
#   WHOLE_JOBS=1  whole jobs, too, where they are the tests of a room (tests/train for app)
#
# A mutant is held against its twin test, then the room's that include its header and those that have
# its name, then the room's others and MORE_TESTS (tests/mutation/mutate.py): each is linked with its
# object in front of the libraries. A test that fails, or takes far longer, counts if it passes without
# the mutant right afterwards. Who survives meets the scripts, and the first two again under
# AddressSanitizer, which are built with it. Each test runs in namespaces of its own that can write to
# /tmp alone (tests/mutation/box.c), since a mutant may signal or delete whatever it reaches. All
# happens in .cache/mutate, in a copy of the working tree. A mutant is drawn by its line and the one
# above: who changes others gets the same ones again.
#
# Sources that no test of the preset release reaches are left out, and named (tests/mutation/elsewhere.txt).
# The last lines are the survivors and a line for each room. Those that change nothing that can be
# seen belong in tests/mutation/equivalent.txt, with the reason: at most one in ten. The status is 0 if
# every mutant was killed.
set -u

cd "$(dirname "$0")/.." || exit 70
fail() {
    echo "mutate.sh: $*" >&2
    exit 1
}
case ${1:-} in -h | --help) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 64 ;; esac
[ "$(id -u)" = 0 ] || fail "mutants run in namespaces of their own: that takes root"
case $PWD/ in /tmp/* | /run/*) fail "the tests of a mutant have a /tmp and a /run of their own: move the repository" ;; esac

cache=.cache/mutate
tools="universalmutator==1.14.1 ninja==1.13.2"
if ! "$cache/venv/bin/python" -c 'import ninja, universalmutator.mutator' 2>/dev/null; then
    mkdir -p "$cache"
    python3 -m venv "$cache/venv" || fail "no Python environment (package python3-venv)"
    # What universalmutator depends on serves its other programs.
    # shellcheck disable=SC2086
    "$cache/venv/bin/pip" install -q --no-deps $tools || fail "pip cannot install $tools"
fi
PATH=$PWD/$cache/venv/bin:$PATH PYTHONDONTWRITEBYTECODE=1 exec "$cache/venv/bin/python" tests/mutation/mutate.py "$@"
