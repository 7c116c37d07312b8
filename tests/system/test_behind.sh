#!/bin/sh
# Tests ranks that do not wait for each other, and sleep between their steps: the first host's log
# names the rank that falls behind, once, and a host reports its own rank as late when it is silent
# for much longer than before.
# shellcheck disable=SC2154  # lib.sh's variables
. "$(dirname "$0")/lib.sh"

# The program marks its steps, and no rank waits for another.
a_rank_that_falls_behind_is_named() {
    ring 2
    start_all -e "TEST_PAUSE=0.05" -- train -- python3 "$system/steps.py"
    check "it is named" wait_for "$((2 * NAMED))" says 1 \
        'straggler on algo-2: rank 1 is behind: step '
    sleep "$WINDOW"
    named_once
}

# The only host's first process has fast clocks (haste.c): it takes eight seconds of steps for
# eighty, and learns from them how long its rank is usually silent. It logs the longer silence once
# and ends nothing.
a_rank_that_is_late_is_told_of() {
    ring 1
    start_all -e LD_PRELOAD="$(dirname "$RINGMASTER_BIN")/tests/haste.so" \
        -e RINGMASTER_STALL_SECONDS=7200 \
        -e TEST_PAUSE=0.1 -e "TEST_REST=$share/enough" -- train -- python3 "$system/steps.py"
    check "it is logged" wait_for "$PATIENCE" says 1 \
        'rank 0 has reported no progress for [0-9]* s, ten times as long as ever before; its threads: pid [0-9]* python3: '
    sleep 1
    : >"$share/enough"
    all_end "$PATIENCE" 0 1
    hosts log 1 | grep 'no progress' | cut -c 1-120 | sed 's/^/  /'
    check "it is logged once" equal "$(hosts log 1 | grep -c 'ten times as long')" 1
}

CASES=${CASES:-a_rank_that_falls_behind_is_named
    $([ "$DRIVER" = docker ] || echo a_rank_that_is_late_is_told_of)}
run_cases
finish
