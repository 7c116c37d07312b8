#!/bin/sh
# From the first failure to the end of all hosts: who failed first is named, also when its report is
# late, and the rest is ended in time, whatever it thinks of signals.
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"

mark='mark() { echo "$$ $(date +%s%3N)" >"$0/$1.part" && mv "$0/$1.part" "$0/$1"; }'

# rank_2_fails SCRIPT: three hosts, of which rank 2 fails a second after it is ready, and says when; the others run SCRIPT.
rank_2_fails() {
    ring 3
    start_all -- train -- sh -c "$mark"'; [ $RANK = 2 ] || { '"$1"'; }
        mark ready; sleep 1; mark failed-2; exit 42' "$share"
    check "the culprit is ready" wait_for 20 test -e "$share/ready" || return
    fault_begins
    ended 42 'algo-3 rank 2: exited with 42' "$FAILURE_MS" 1 2 3
}

ranks_that_hear_signals() { rank_2_fails 'exec sleep 60'; }
ranks_that_do_not() { rank_2_fails 'trap "" TERM INT HUP; while :; do sleep 1; done'; }
# The culprit's supervisor stands still while it fails: its report comes 200 ms after its victim's.
a_late_culprit_is_named() {
    ring 2
    start_all -- train -- sh -c "$mark"'
        if [ $RANK = 1 ]; then
            mark ready
            while [ ! -e "$0/go" ]; do sleep 0.02; done
            mark failed
            exit 7
        fi
        while [ ! -e "$0/failed" ]; do sleep 0.01; done
        sleep 0.1
        exit 9' "$share"
    check "the culprit is ready" wait_for 20 test -e "$share/ready" || return
    kill -s STOP "$(hosts pid 2)"
    touch "$share/go"
    check "it fails" wait_for 5 test -e "$share/failed" || return
    sleep 0.3
    kill -s CONT "$(hosts pid 2)"
    all_end 30 7 1 2
    all_name 'algo-2 rank 1: exited with 7' 1 2
}

CASES=${CASES:-ranks_that_hear_signals ranks_that_do_not a_late_culprit_is_named}

# After each case.
case_ends() { nothing_is_left; }
run_cases
finish
