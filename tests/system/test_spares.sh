#!/bin/sh
# Spare hosts, which wait while the others run ranks and take the place of a lost host. The ranks of
# the other hosts keep their numbers. Jobs have three hosts and one spare unless a case says
# otherwise.
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"

# The promised time from a container's kill to the next attempt's first rank.
SPARE_MS=3000

# Each rank writes a file for its attempt: its host, the number of ranks, rank 0's address, the
# hosts. It ends when the share has the file `enough`.
works='
    echo "$HOST $WORLD_SIZE $MASTER_ADDR $SM_HOSTS" >"$TEST_SHARE/place-$RINGMASTER_ATTEMPT-$RANK"
    date +%s%3N >"$TEST_SHARE/begun-$RINGMASTER_ATTEMPT-$RANK"
    until [ -e "$TEST_SHARE/enough" ]; do sleep 0.2; done'

# begin SPARES [-e NAME=VALUE]...: starts four hosts with two ranks each, and waits until all ranks
# of the first attempt run.
begin() {
    spares=$1
    shift
    ring 4
    mkdir -p "$share/checkpoints"
    chmod 1777 "$share/checkpoints"
    start_all -e "RINGMASTER_SPARES=$spares" -e RINGMASTER_RESTARTS=5 \
        -e RINGMASTER_RANKS_PER_HOST=2 -e "TEST_SHARE=$share" \
        -e "RINGMASTER_CHECKPOINTS=file://$share/checkpoints" "$@" -- \
        train -- sh -c "HOST=\$(hostname); $works"
    runs 1 $((2 * (4 - spares)))
}
# runs ATTEMPT RANKS: all ranks of that attempt run, and there are no more.
runs() {
    last=$(($2 - 1))
    for rank in $(seq 0 "$last"); do
        check "rank $rank of attempt $1 runs" wait_for "$PATIENCE" \
            test -s "$share/begun-$1-$rank" || return
    done
    check "no rank is beyond them" test ! -e "$share/place-$1-$2"
}
on() { cut -d ' ' -f 1 "$share/place-$1-$2"; }
word() { cut -d ' ' -f "$3" "$share/place-$1-$2"; }
# keeps ATTEMPT HOST RANK...: these ranks of that attempt are on that host.
keeps() {
    attempt=$1 host=$2
    shift 2
    for rank in "$@"; do
        check "rank $rank of attempt $attempt is on algo-$host" equal \
            "$(on "$attempt" "$rank")" "algo-$host"
    done
}
# soon ATTEMPT RANKS: its first rank began in time after the fault.
soon() {
    runs "$1" "$2" || return
    took=$(($(cat "$share/begun-$1-"* | sort -n | head -n 1) - fault_at))
    lateness
    echo "  attempt $1 began after $took ms, $SPARE_MS promised; the machine was late by $late"
    in_time "the next attempt begins" "$took" "$SPARE_MS"
}
# ends_well HOST...: they leave with 0, together.
ends_well() {
    fault_begins
    : >"$share/enough"
    all_end "$PATIENCE" 0 "$@" || return
    together "$@"
}

takes_the_place() {
    begin 1 "$@" || return
    check "the spare runs no rank" lacks "$(hosts log 4)" ' rank '
    fault_begins
    hosts kill 2
    soon 2 6 || return
    keeps 2 1 0 1
    keeps 2 4 2 3
    keeps 2 3 4 5
    check "all know how many they are" equal "$(word 2 5 2)" 6
    check "and their hosts" equal "$(word 2 5 4)" '["algo-1","algo-4","algo-3"]'
    check "the log says so" holds "$(hosts log 1)" \
        'algo-4, which was a spare, runs ranks 2 to 3 now'
    ends_well 1 3 4
}
a_spare_takes_a_lost_hosts_place() { takes_the_place -e RINGMASTER_LAUNCHER=direct; }
a_spare_takes_a_lost_hosts_place_under_mpirun() { takes_the_place -e RINGMASTER_LAUNCHER=mpirun; }

failover="-e RINGMASTER_SHRINK=1 -e RINGMASTER_FAILOVER=1"
with_failover() {
    # shellcheck disable=SC2086  # words
    takes_the_place $failover -e RINGMASTER_LAUNCHER=direct
}

# Rank 0 moves to the spare, and the next host leads.
a_spare_takes_the_first_hosts_place() {
    # shellcheck disable=SC2086
    begin 1 $failover -e RINGMASTER_LAUNCHER=direct || return
    fault_begins
    hosts kill 1
    soon 2 6 || return
    keeps 2 4 0 1
    keeps 2 2 2 3
    keeps 2 3 4 5
    address=$(hosts exec 4 ip -4 -o address show eth0 | sed 's/.* inet \([0-9.]*\).*/\1/')
    check "all look for rank 0 where it is" equal "$(word 2 5 3)" "$address"
    ends_well 2 3 4
}

# mpirun gives the first ranks to its own host.
a_spare_takes_the_first_hosts_place_under_mpirun() {
    # shellcheck disable=SC2086
    begin 1 $failover -e RINGMASTER_LAUNCHER=mpirun || return
    hosts kill 1
    runs 2 6 || return
    keeps 2 2 0 1
    keeps 2 4 2 3
    keeps 2 3 4 5
    ends_well 2 3 4
}

a_lost_spare_is_a_line_in_the_log() {
    begin 1 || return
    hosts kill 4
    check "the first host says so" wait_for "$PATIENCE" says 1 'algo-4, a spare, is lost' || return
    sleep 1
    ends_well 1 2 3
    check "there was one attempt" lacks "$(hosts log 1)" 'attempt 2'
}

without_a_spare_the_rules_are_the_usual_ones() {
    begin 1 || return
    hosts kill 4
    check "the spare is lost" wait_for "$PATIENCE" says 1 'algo-4, a spare, is lost' || return
    hosts kill 3
    all_end "$PATIENCE" 73 1 2
    all_name 'no spare is left for a lost host' 1 2
    begin 1 -e RINGMASTER_SHRINK=1 || return
    hosts kill 4
    check "the spare is lost" wait_for "$PATIENCE" says 1 'algo-4, a spare, is lost' || return
    hosts kill 2
    runs 2 4 || return
    keeps 2 1 0 1
    keeps 2 3 2 3
    ends_well 1 3
}

two_spares_take_two_places() {
    begin 2 || return
    hosts kill 2
    runs 2 4 || return
    keeps 2 3 2 3
    hosts kill 3
    runs 3 4 || return
    keeps 3 1 0 1
    keeps 3 4 2 3
    ends_well 1 4
}

# A lost host that is restarted waits as a spare, and replaces another host when that is lost.
a_host_that_is_back_is_a_spare() {
    begin 1 || return
    hosts kill 2
    runs 2 6 || return
    check "its container is gone" hosts wait "$PATIENCE" 2 || return
    hosts start 2 -e RINGMASTER_SPARES=1 -e RINGMASTER_RESTARTS=5 -e RINGMASTER_RANKS_PER_HOST=2 \
        -e "TEST_SHARE=$share" -e "RINGMASTER_CHECKPOINTS=file://$share/checkpoints" -- \
        train -- sh -c "HOST=\$(hostname); $works"
    check "it waits" wait_for "$PATIENCE" says 2 'waits for its next attempt' || return
    hosts kill 3
    runs 3 6 || return
    keeps 3 1 0 1
    keeps 3 4 2 3
    keeps 3 2 4 5
    ends_well 1 2 4
}

# Spares leave with the job, whatever its outcome is.
the_verdict_reaches_spares() {
    ring 4
    start_all -e RINGMASTER_SPARES=1 -e RINGMASTER_RESTARTS=1 -- train -- sh -c \
        '[ "$RANK" != 2 ] || exit 42; sleep 60'
    all_end "$PATIENCE" 42 1 2 3 4
    all_name 'algo-3 rank 2: exited with 42' 1 2 3 4
}

a_stop_of_a_spare_stops_the_job() {
    begin 1 || return
    kill -s TERM "$(hosts pid 4)"
    all_end "$PATIENCE" 143 1 2 3 4
    all_name 'stopped on request at algo-4' 1 2 3 4
}

settings_that_leave_no_rank_are_refused() {
    ring 2
    start_all -e RINGMASTER_SPARES=2 -e RINGMASTER_RESTARTS=1 -- train -- true
    all_end 60 65 1 2
    all_name 'RINGMASTER_SPARES=2: the job has 2 hosts, which leaves none for ranks' 1
    ring 2
    start_all -e RINGMASTER_SPARES=1 -- train -- true
    all_end 60 65 1 2
    all_name 'RINGMASTER_SPARES=1 needs RINGMASTER_RESTARTS' 1
}

CASES=${CASES:-a_spare_takes_a_lost_hosts_place a_spare_takes_a_lost_hosts_place_under_mpirun
    with_failover a_spare_takes_the_first_hosts_place
    a_spare_takes_the_first_hosts_place_under_mpirun a_lost_spare_is_a_line_in_the_log
    without_a_spare_the_rules_are_the_usual_ones two_spares_take_two_places
    a_host_that_is_back_is_a_spare the_verdict_reaches_spares a_stop_of_a_spare_stops_the_job
    settings_that_leave_no_rank_are_refused}
run_cases
finish
