#!/bin/sh
# Tests random jobs with random faults (chaos/): a fixed list of seeds, and some that are new in
# every run. RINGMASTER_LONG=1 adds five hundred new ones.
#
#   SEED=7 sh tests/system/test_chaos.sh    runs that seed alone, and prints its plan and history
#   TIMES=5, JOBS=4, MINIMISE=10            runs of each seed, rounds at a time, and minutes to
#                                           reduce a plan that fails
# shellcheck disable=SC2154  # lib.sh's variables
. "$(dirname "$0")/lib.sh"

[ -x "$RINGMASTER_BIN/chaos_rank" ] || skip "$RINGMASTER_BIN/chaos_rank is not built"
[ "$DRIVER" = ns ] || skip "what is done to a host's processes is done from here"
command -v iptables >/dev/null || skip "no iptables"
command -v python3 >/dev/null || skip "no python3"

# These twenty cover nearly all kinds of faults and programs, use two to eight hosts, and end within
# half a minute each.
fixed='1 2 6 7 11 13 23 25 27 44 51 59 61 72 88 89 92 93 98 108'
random() {
    exec python3 "$system/chaos/chaos.py" --jobs "${JOBS:-4}" --times "${TIMES:-1}" \
        --minimise "${MINIMISE:-2}" "$@"
}

if [ -n "${SEED:-}" ]; then
    random --show "$SEED"
elif [ -n "${RINGMASTER_LONG:-}" ]; then
    # shellcheck disable=SC2086  # words
    random --minutes 80 $fixed new:500
else
    # shellcheck disable=SC2086  # words
    random --minutes 3 $fixed new:5
fi
