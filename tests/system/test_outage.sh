#!/bin/sh
# Tests the control link through network outages that are shorter than RINGMASTER_DEAD_SECONDS: the
# job goes on, and messages sent meanwhile arrive exactly once.
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"

# Each rank works until the share has a file named enough, and then prints that it ends.
until_told='echo "rank $RANK works"
    until [ -e "$TEST_SHARE/enough" ]; do sleep 0.2; done
    echo "rank $RANK ends"'

# job HOSTS DEAD_SECONDS [-e NAME=VALUE]...: starts a job and waits until its ranks work.
job() {
    ring "$1"
    dead=$2
    shift 2
    start_all -e "RINGMASTER_DEAD_SECONDS=$dead" -e "TEST_SHARE=$share" "$@" -- train -- \
        sh -c "$until_told"
    for host in $everyone; do
        check "the rank of host $host works" wait_for "$PATIENCE" says "$host" \
            '] rank [0-9]* works' || return
    done
}

# mended_after SECONDS: fails where the fault lasted more than half a second longer than SECONDS.
# The excess, $longer, counts as the machine's lateness (too_late).
mended_after() {
    took=$(($(now_ms) - fault_at))
    longer=$((took - $1 * 1000))
    echo "  the fault lasted for $took ms"
    [ "$longer" -le 500 ] ||
        { proves_nothing "the fault lasted for $took ms, $1 s were meant"; return 1; }
}

# outage HOST SECONDS: cuts the host off for that time.
outage() {
    fault_begins
    hosts cut "$1"
    sleep "$2"
    hosts mend "$1"
    mended_after "$2"
}

# too_late: a host was lost because the machine was late. An outage leaves one second of
# DEAD_SECONDS. Half of it may have passed since the last heartbeat, and the link needs most of the
# other half to be restored.
too_late() {
    lateness
    late=$((late + longer))
    [ "$late" -gt 100 ] && ! lacks "$(hosts log 1)" 'is lost' >/dev/null || return
    proves_nothing "a host was lost, and the machine was late by $late ms"
}
goes_on() {
    : >"$share/enough"
    hosts wait "$PATIENCE" >/dev/null
    too_late && return 1
    all_end 60 0 $everyone || return
    check "no host was lost" lacks "$(hosts log 1)" 'is lost'
}

# outage_of SECONDS MOMENT: an outage a second shorter than RINGMASTER_DEAD_SECONDS. Cases differ in
# the MOMENT between two heartbeats.
outage_of() {
    job 3 $(($1 + 1)) || return
    sleep "$2"
    outage 2 "$1" || return
    goes_on || return
    check "the master says so" holds "$(hosts log 1)" \
        'the connection to algo-2 was interrupted and is restored'
    check "the host says so" holds "$(hosts log 2)" \
        'the connection to algo-1 was interrupted and is restored'
}
an_outage_of_four_seconds_is_survived() { outage_of 4 0.1; }
one_of_four_seconds_at_another_moment_is_survived() { outage_of 4 0.4; }
an_outage_of_nine_seconds_is_survived() { outage_of 9 0.1; }
one_of_nine_seconds_at_another_moment_is_survived() { outage_of 9 0.4; }

# All other hosts reconnect to the first host at once.
an_outage_of_the_first_host_is_survived() {
    job 4 10 || return
    outage 1 9 || return
    goes_on
}

# Only small packets get through: connections are made, but their handshakes do not complete.
an_outage_that_lets_small_packets_through_is_survived() {
    job 2 5 || return
    first=$(hosts pid 2)
    fault_begins
    nsenter -t "$first" -n iptables --wait -A INPUT -p tcp --sport 7070 \
        -m length --length 90: -j DROP
    nsenter -t "$first" -n iptables --wait -A OUTPUT -p tcp --dport 7070 \
        -m length --length 90: -j DROP
    sleep 4
    nsenter -t "$first" -n iptables --wait -F
    mended_after 4 || return
    goes_on
}

# The direction that carries the worker's messages to the master is blocked.
an_outage_of_one_direction_is_survived() {
    job 2 10 || return
    fault_begins
    nsenter -t "$(hosts pid 1)" -n iptables --wait -A INPUT -p tcp --dport 7070 -j DROP
    sleep 8
    nsenter -t "$(hosts pid 1)" -n iptables --wait -F
    mended_after 8 || return
    goes_on
}

# A rank that ends while its host is cut off is reported when the network is back.
what_is_said_in_an_outage_arrives() {
    job 2 10 || return
    hosts cut 2
    sleep 3
    : >"$share/enough" # rank 1 ends, and the master cannot be told
    sleep 3
    hosts mend 2
    all_end 60 0 $everyone || return
    check "all ranks have reported" holds "$(hosts log 1)" 'all 2 ranks ended with 0'
}

# The link is resumed again and again while log lines are sent over it.
outages_one_after_another_lose_no_line() {
    ring 2
    start_all -e RINGMASTER_DEAD_SECONDS=10 -e RINGMASTER_LOGS=master -e "TEST_SHARE=$share" -- \
        train -- sh -c '
        i=0
        while [ $i -lt 280 ]; do
            [ "$RANK" = 0 ] || echo "line $i of it"
            i=$((i + 1))
            sleep 0.05
        done'
    check "lines come" wait_for "$PATIENCE" says 1 'line 5 of it' || return
    for _ in 1 2 3; do
        hosts cut 2
        sleep 3
        at=$(last_line)
        hosts mend 2
        check "lines come again after $at" wait_for "$PATIENCE" lines_come_after "$at" || return
    done
    all_end 90 0 $everyone || return
    hosts log 1 | sed -n 's/.*\] line \([0-9]*\) of it$/\1/p' >"$share/got"
    seq 0 279 >"$share/wanted"
    check "each line is there once, in order" cmp "$share/got" "$share/wanted"
}
last_line() { hosts log 1 | sed -n 's/.*\] line \([0-9]*\) of it$/\1/p' | tail -n 1; }
lines_come_after() { [ "$1" = 279 ] || [ "$(last_line)" -gt "$1" ]; }

CASES=${CASES:-an_outage_of_four_seconds_is_survived
    one_of_four_seconds_at_another_moment_is_survived an_outage_of_nine_seconds_is_survived
    one_of_nine_seconds_at_another_moment_is_survived
    an_outage_of_the_first_host_is_survived an_outage_that_lets_small_packets_through_is_survived
    an_outage_of_one_direction_is_survived what_is_said_in_an_outage_arrives
    outages_one_after_another_lose_no_line}

# run_case calls this after each case.
case_ends() { nothing_is_left; }
run_cases_at_once
finish
