#!/bin/sh
# Tests RINGMASTER_LOST_RANKS: up to that many ranks may fail, and the others go on. Each job has
# three hosts with two ranks each, which run until the test calls enough.
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"

works='echo $$ >"$TEST_SHARE/runs-$RINGMASTER_ATTEMPT-$RANK"
    until [ -e "$TEST_SHARE/enough" ]; do sleep 0.2; done'

# begin LOST SCRIPT [-e NAME=VALUE]...: starts a job whose ranks run SCRIPT.
begin() {
    lost=$1 script=$2
    shift 2
    ring 3
    start_all -e "RINGMASTER_LOST_RANKS=$lost" -e RINGMASTER_RANKS_PER_HOST=2 \
        -e "TEST_SHARE=$share" "$@" -- train -- sh -c "$script"
}
# run ATTEMPT RANK...: waits until these ranks run.
run() {
    attempt=$1
    shift
    for rank in "$@"; do
        check "rank $rank of attempt $attempt runs" wait_for "$PATIENCE" \
            test -s "$share/runs-$attempt-$rank" || return
    done
}
# lose ATTEMPT RANK...: kills these ranks at the same moment, each by a process on its host.
lose() {
    attempt=$1
    shift
    for rank in "$@"; do
        hosts exec $((rank / 2 + 1)) kill -s KILL "$(cat "$share/runs-$attempt-$rank")" &
        killers="${killers:-} $!"
    done
    # shellcheck disable=SC2086  # a list
    wait $killers
    killers=
}
enough() { : >"$share/enough"; }

one_is_lost_and_the_others_end_well() {
    begin 1 "$works" -e RINGMASTER_METRICS=1
    run 1 0 1 2 3 4 5 || return
    lose 1 3
    check "the loss is logged" wait_for "$PATIENCE" says 1 \
        'algo-2 rank 3: killed by signal 9 (SIGKILL).*; the others go on' || return
    enough
    all_end "$PATIENCE" 0 $everyone || return
    every_log_has 'done: 5 of 6 ranks ended with 0; 1 was lost, and RINGMASTER_LOST_RANKS is 1: rank 3 on algo-2 killed by signal 9 (SIGKILL)'
    check "an event" sh -c "grep -q '\"event\":\"rank_lost\"' '$(hosts opt 1)'/output/data/*"
    check "a metric" \
        sh -c "grep -q '^ringmaster_ranks_lost 1' '$(hosts opt 1)'/output/data/metrics-*"
    for host in $everyone; do
        check "no failure file on $host" equal "$(failure_of "$host")" ''
    done
}

# The lost ranks may be all ranks of a host, or the job's first rank.
two_are_lost_at_the_same_moment() {
    begin 3 "$works"
    run 1 0 1 2 3 4 5 || return
    lose 1 2 3
    check "both are logged" wait_for "$PATIENCE" says 1 'with 2 lost of 3' || return
    lose 1 0
    check "the first is logged" wait_for "$PATIENCE" says 1 \
        'algo-1 rank 0: .*with 3 lost of 3' || return
    enough
    all_end "$PATIENCE" 0 $everyone
    every_log_has 'done: 3 of 6 ranks ended with 0; 3 were lost'
}

two_at_the_same_moment_are_too_many_for_one() {
    begin 1 "$works"
    run 1 0 1 2 3 4 5 || return
    fault_begins
    lose 1 2 4
    all_end "$PATIENCE" 137 $everyone || return
    within "$FAILURE_MS" $everyone
    all_name '2 ranks failed, and RINGMASTER_LOST_RANKS is 1' $everyone
    all_name 'rank 2 on algo-2 killed by signal 9' $everyone
    all_name 'rank 4 on algo-3 killed by signal 9' $everyone
}

# The job's exit code is that of the last rank to fail, even where the one before has another.
one_too_many_ends_the_job() {
    begin 1 '[ "$RANK" != 5 ] || { sleep 1; exit 9; }
        [ "$RANK" != 1 ] || { sleep 13; exit 42; }
        '"$works"
    all_end "$PATIENCE" 42 $everyone || return
    all_name 'algo-1 rank 1: exited with 42; 2 ranks failed, and RINGMASTER_LOST_RANKS is 1' \
        $everyone
    all_name 'lost: rank 5 on algo-3 exited with 9, 1' $everyone
}

# A new attempt has all ranks again, and may lose as many.
another_attempt_begins_with_all() {
    begin 1 "$works" -e RINGMASTER_RESTARTS=1
    run 1 0 1 2 3 4 5 || return
    lose 1 3
    check "the loss is logged" wait_for "$PATIENCE" says 1 \
        'algo-2 rank 3: .*with 1 lost of 1' || return
    lose 1 4
    run 2 0 1 2 3 4 5 || return
    lose 2 4
    check "the next one, too" wait_for "$PATIENCE" says 1 \
        'algo-3 rank 4: .*with 1 lost of 1' || return
    enough
    all_end "$PATIENCE" 0 $everyone
    every_log_has \
    'done: 5 of 6 ranks ended with 0; 1 was lost, and RINGMASTER_LOST_RANKS is 1: rank 4 on algo-3'
}

a_lost_host_ends_the_job() {
    begin 5 "$works"
    run 1 0 1 2 3 4 5 || return
    hosts kill 3
    all_end "$PATIENCE" 73 1 2 || return
    all_name 'algo-3: lost: ' 1 2
    all_name 'RINGMASTER_LOST_RANKS lets ranks be lost, not hosts' 1 2
}

a_stop_after_a_loss_is_a_stop() {
    begin 1 "trap 'exit 143' TERM; $works"
    run 1 0 1 2 3 4 5 || return
    lose 1 3
    check "the loss is logged" wait_for "$PATIENCE" says 1 'with 1 lost of 1' || return
    hosts stop 2
    all_end "$PATIENCE" 143 $everyone
}

what_needs_mpirun_is_refused() {
    begin 1 true -e RINGMASTER_LAUNCHER=mpirun
    all_end "$PATIENCE" 65 $everyone || return
    all_name 'RINGMASTER_LOST_RANKS is 1, but RINGMASTER_LAUNCHER is mpirun' $everyone
    begin 6 true
    all_end "$PATIENCE" 65 $everyone || return
    all_name 'RINGMASTER_LOST_RANKS is 6, and the job has 6 ranks' $everyone
}

case_ends() { nothing_is_left; }
CASES=${CASES:-one_is_lost_and_the_others_end_well two_are_lost_at_the_same_moment
    two_at_the_same_moment_are_too_many_for_one one_too_many_ends_the_job
    another_attempt_begins_with_all a_lost_host_ends_the_job a_stop_after_a_loss_is_a_stop
    what_needs_mpirun_is_refused}
run_cases
finish
