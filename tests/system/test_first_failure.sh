#!/bin/sh
# Tests jobs from the first failure to the end of all hosts: the rank that failed first is named,
# even when its report is late, and the other ranks end in time, whatever they do on signals.
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"

mark='mark() { echo "$$ $(date +%s%3N)" >"$0/$1.part" && mv "$0/$1.part" "$0/$1"; }'

# rank_2_fails SCRIPT: of three ranks, rank 2 fails on request and records when; the others run
# SCRIPT.
rank_2_fails() {
    ring 3
    start_all -- train -- sh -c "$mark"'; [ $RANK = 2 ] || { '"$1"'; }
        mark ready; until [ -e "$0/go" ]; do sleep 0.1; done; mark failed-2; exit 42' "$share"
    check "the culprit is ready" wait_for "$PATIENCE" test -e "$share/ready" || return
    sleep 1 # so that the others are ready, too
    fault_begins
    : >"$share/go"
    ended 42 'algo-3 rank 2: exited with 42' "$FAILURE_MS" 1 2 3
}

ranks_that_hear_signals() { rank_2_fails 'exec sleep 60'; }
ranks_that_do_not() { rank_2_fails 'trap "" TERM INT HUP; while :; do sleep 1; done'; }
# The culprit's supervisor is stopped while the culprit fails, so that its report comes more than
# 100 ms after its victim's. Reports are awaited for 300 ms: if the test itself takes most of that
# time, it proves nothing.
a_late_culprit_is_named() {
    ring 2
    start_all -- train -- sh -c "$mark"'
        if [ $RANK = 1 ]; then
            mark ready
            while [ ! -e "$0/go" ]; do sleep 0.02; done
            mark failed
            exit 7
        fi
        while [ ! -e "$0/gone" ]; do sleep 0.01; done
        mark out
        exit 9' "$share"
    check "the culprit is ready" wait_for "$PATIENCE" test -e "$share/ready" || return
    supervisor=$(hosts pid 2)
    kill -s STOP "$supervisor"
    touch "$share/go"
    check "it fails" wait_for "$PATIENCE" culprit_is_gone || return
    touch "$share/gone"
    check "its victim follows" wait_for "$PATIENCE" test -e "$share/out" || return
    sleep 0.1
    kill -s CONT "$supervisor"
    read -r _ victim_at <"$share/out"
    took=$(($(now_ms) - victim_at))
    echo "  the culprit's supervisor goes on $took ms after the victim's end"
    [ "$took" -le 220 ] || { proves_nothing "that is too late"; return; }
    all_end "$PATIENCE" 7 1 2
    all_name 'algo-2 rank 1: exited with 7' 1 2
}
culprit_is_gone() { read -r id _ <"$share/failed" && hosts exec 2 test ! -e "/proc/$id"; }

CASES=${CASES:-ranks_that_hear_signals ranks_that_do_not a_late_culprit_is_named}

# lib.sh calls this after each case.
case_ends() { nothing_is_left; }
run_cases
finish
