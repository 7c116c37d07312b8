#!/bin/sh
# The control link through outages of the network that are shorter than RINGMASTER_DEAD_SECONDS: the job goes on, and what was
# said meanwhile arrives, once.
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"

# Each rank goes on until it is told to, and then says so.
until_told='echo "rank $RANK works"; until [ -e "$TEST_SHARE/enough" ]; do sleep 0.05; done; echo "rank $RANK ends"'

# job HOSTS DEAD_SECONDS [-e NAME=VALUE]...: whose ranks work.
job() {
    ring "$1"
    dead=$2
    shift 2
    start_all -e "RINGMASTER_DEAD_SECONDS=$dead" -e "TEST_SHARE=$share" "$@" -- train -- sh -c "$until_told"
    for host in $everyone; do
        check "the rank of host $host works" wait_for "$PATIENCE" says "$host" '] rank [0-9]* works' || return
    done
}

# The fault is over that was to last SECONDS: false where it lasted half a second longer. By how much it was longer counts as
# the machine's lateness.
mended_after() {
    took=$(($(now_ms) - fault_at))
    longer=$((took - $1 * 1000))
    echo "  the fault lasted for $took ms"
    [ "$longer" -le 500 ] || { proves_nothing "the fault lasted for $took ms, $1 s were meant"; return 1; }
}

# outage HOST SECONDS
outage() {
    fault_begins
    hosts cut "$1"
    sleep "$2"
    hosts mend "$1"
    mended_after "$2"
}

# An outage leaves a second of DEAD_SECONDS. Half of it may have gone by since the last heartbeat, and the link needs most of
# the other half to be restored.
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

# outages_of SECONDS: a second shorter than RINGMASTER_DEAD_SECONDS, at any moment between two heartbeats.
outages_of() {
    for moment in 0.1 0.4; do
        job 3 $(($1 + 1)) || return
        sleep "$moment"
        outage 2 "$1" || return
        goes_on || return
        check "the master says so" holds "$(hosts log 1)" 'the connection to algo-2 was interrupted and is restored'
        check "the host says so" holds "$(hosts log 2)" 'the connection to algo-1 was interrupted and is restored'
    done
}
an_outage_of_four_seconds_is_survived() { outages_of 4; }
an_outage_of_nine_seconds_is_survived() { outages_of 9; }

# Of the first host, to which all others dial anew at once.
an_outage_of_the_first_host_is_survived() {
    job 4 10 || return
    outage 1 9 || return
    goes_on
}

# Only small packets get through: connections are made, and their handshakes are not.
an_outage_that_lets_small_packets_through_is_survived() {
    job 2 5 || return
    first=$(hosts pid 2)
    fault_begins
    nsenter -t "$first" -n iptables --wait -A INPUT -p tcp --sport 7070 -m length --length 90: -j DROP
    nsenter -t "$first" -n iptables --wait -A OUTPUT -p tcp --dport 7070 -m length --length 90: -j DROP
    sleep 4
    nsenter -t "$first" -n iptables --wait -F
    mended_after 4 || return
    goes_on
}

# The half of a link that carries the workers' words.
an_outage_of_one_direction_is_survived() {
    job 2 10 || return
    fault_begins
    nsenter -t "$(hosts pid 1)" -n iptables --wait -A INPUT -p tcp --dport 7070 -j DROP
    sleep 8
    nsenter -t "$(hosts pid 1)" -n iptables --wait -F
    mended_after 8 || return
    goes_on
}

# A stop that is asked for while its host is cut off, and the ranks' reports, come when the network is back.
what_is_said_in_an_outage_arrives() {
    job 2 10 || return
    hosts cut 2
    sleep 3
    : >"$share/enough" # rank 1 ends while nobody hears of it
    sleep 3
    hosts mend 2
    all_end 60 0 $everyone || return
    check "all ranks have reported" holds "$(hosts log 1)" 'all 2 ranks ended with 0'
}

# Resumed again and again, with a log that flows over the link.
outages_one_after_another_lose_no_line() {
    ring 2
    start_all -e RINGMASTER_DEAD_SECONDS=10 -e RINGMASTER_LOGS=master -e "TEST_SHARE=$share" -- train -- sh -c '
        i=0; while [ $i -lt 400 ]; do [ "$RANK" = 0 ] || echo "line $i of it"; i=$((i + 1)); sleep 0.05; done'
    check "lines come" wait_for "$PATIENCE" says 1 'line 5 of it' || return
    for _ in 1 2 3; do
        hosts cut 2
        sleep 3
        hosts mend 2
        sleep 1
    done
    all_end 90 0 $everyone || return
    hosts log 1 | sed -n 's/.*\] line \([0-9]*\) of it$/\1/p' >"$share/got"
    seq 0 399 >"$share/wanted"
    check "each line is there once, in order" cmp "$share/got" "$share/wanted"
}

CASES=${CASES:-an_outage_of_four_seconds_is_survived an_outage_of_nine_seconds_is_survived
    an_outage_of_the_first_host_is_survived an_outage_that_lets_small_packets_through_is_survived an_outage_of_one_direction_is_survived what_is_said_in_an_outage_arrives outages_one_after_another_lose_no_line}

# After each case.
case_ends() { nothing_is_left; }
run_cases_at_once
finish
