#!/bin/sh
# From the first failure to the end of all hosts: who failed first is named, also when its report is
# late, and the rest is ended in time, whatever it thinks of signals.
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"

mark='mark() { echo "$$ $(date +%s%3N)" >"$0/$1.part" && mv "$0/$1.part" "$0/$1"; }'

# after FILE: from the time in it to the last host's end, ms.
after() {
    gone=$(for host in $everyone; do hosts ended "$host"; done | sort -n | tail -n 1)
    echo $((gone - $(cut -d ' ' -f 2 "$share/$1")))
}

# in_time SCRIPT: of three runs of SCRIPT on three hosts, which marks `failed` before its rank 2 exits with
# 42, the fastest is in time. The machine may be busy with other things.
in_time() {
    best=999999
    for _ in 1 2 3; do
        ring 3
        start_all -- train -- sh -c "$mark; $1" "$share"
        all_end 30 42 1 2 3 || return
        all_name 'algo-3 rank 2: exited with 42' 1 2 3
        took=$(after failed)
        [ "$took" -ge "$best" ] || best=$took
    done
    echo "  $best ms"
    check "all hosts are out in time" at_most "$best" "$FAILURE_MS"
}

ranks_that_hear_signals() { in_time '[ $RANK = 2 ] || exec sleep 60; sleep 1; mark failed; exit 42'; }
ranks_that_do_not() {
    in_time 'trap "" TERM INT HUP; [ $RANK = 2 ] || while :; do sleep 1; done; sleep 1; mark failed; exit 42'
}
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
    wait_for 5 test -e "$share/failed"
    sleep 0.3
    kill -s CONT "$(hosts pid 2)"
    all_end 30 7 1 2
    all_name 'algo-2 rank 1: exited with 7' 1 2
}

CASES=${CASES:-ranks_that_hear_signals ranks_that_do_not a_late_culprit_is_named}

# After each case.
case_ends() { check "nothing is left running" equal "$(hosts left)" 0; }
run_cases
finish
