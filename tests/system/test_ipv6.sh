#!/bin/sh
# Tests jobs on hosts that have only IPv6 addresses, listed by name and by address; a host with an
# address of the other family is named.
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"

[ "$DRIVER" = ns ] || skip "a ring of containers has IPv4"
[ -x "$RINGMASTER_BIN/probe_mpi" ] || skip "probe_mpi is not built: no mpicc"
[ -e /proc/net/if_inet6 ] || skip "this kernel has no IPv6"

six() {
    ring "$1" --network ipv6
    cp "$RINGMASTER_BIN/probe_mpi" "$share/"
}

all_well() {
    all_end 60 0 $everyone || return
    nothing_is_left
}

names_lead_to_ipv6() {
    six 3
    for host in $everyone; do
        echo '{"sagemaker_mpi_num_of_processes_per_host": "2"}' \
            >"$(config "$host")/hyperparameters.json"
    done
    start_all -- train -- "$share/probe_mpi" "$share" 0
    all_well || return
    check "all six ranks meet" holds "$(hosts log 3)" '[algo-3 rank 5] rank 5 of 6 has joined'
    check "the network is logged" holds "$(hosts log 2)" "the job's network is fd00:77::/64 on eth0"
}

programs_hear_of_the_master() {
    six 2
    start_all -- train -- sh -c 'echo "place $RANK $WORLD_SIZE $MASTER_ADDR"'
    all_well || return
    check "by its address" holds "$(hosts log 2)" 'place 1 2 fd00:77::1'
}

machines_of_one_name() {
    six 3
    start_all -p 'hostname aws' -- train -- "$share/probe_mpi" "$share" 0
    # A host finds itself by its kernel host name only where nothing else names it.
    all_well
}

addresses_are_listed() {
    six 2
    rm "$(config 1)"/* "$(config 2)"/*
    start_all -e 'RINGMASTER_HOSTS=fd00:77::1,[FD00:77:0::2]:2' -- \
        train -- "$share/probe_mpi" "$share" 0
    all_well || return
    check "slots are those of the list" holds "$(hosts log 2)" \
        '[fd00:77::2 rank 2] rank 2 of 3 has joined'
}

a_rank_that_fails_is_told_and_started_again() {
    six 3
    start_all -e RINGMASTER_RESTARTS=1 -- train -- sh -c '
        [ "$RANK" != 1 ] || [ -e "$0/again" ] || { : >"$0/again"; kill -9 $$; }
        exec "$0/probe_mpi" "$0" 0' "$share"
    all_well || return
    check "the second attempt's ranks meet" holds "$(hosts log 2)" \
        '[algo-2 rank 1] rank 1 of 3 has joined'
    six 2
    start_all -- train -- sh -c '[ "$RANK" = 0 ] || exit 9; sleep 60'
    all_end "$PATIENCE" 9 $everyone || return
    check "the story names the host" holds "$(failure_of 1)" algo-2
}

# The master has addresses of both families, and each of the other hosts of one.
families_do_not_mix() {
    six 3
    ip -n "$(ip netns list | sed -n "s/^\(rm-$(basename "$RING")-1\)\b.*/\1/p")" \
        address add 10.77.0.1/24 dev eth0
    ip -n "$(ip netns list | sed -n "s/^\(rm-$(basename "$RING")-3\)\b.*/\1/p")" \
        address add 10.77.0.3/24 dev eth0
    hosts start 1 -- train -- true
    hosts start 2 -- train -- true
    # The hosts share one /etc/hosts, which host 3 changes: the others have read it by then.
    wait_for "$PATIENCE" grep -q 'algo-2 is here' "$RING/host-1/log"
    hosts start 3 -p 'ip -6 address flush dev eth0
        sed "/algo-1/d" /etc/hosts >/tmp/hosts && echo "10.77.0.1 algo-1" >>/tmp/hosts
        cat /tmp/hosts >/etc/hosts' -- train -- true
    all_end "$PATIENCE" 65 $everyone || return
    check "the story names both" holds "$(failure_of 1)" \
        'algo-1 is at fd00:77::1 and algo-3 at 10.77.0.3'
}

CASES=${CASES:-names_lead_to_ipv6 programs_hear_of_the_master machines_of_one_name
    addresses_are_listed a_rank_that_fails_is_told_and_started_again families_do_not_mix}
run_cases
finish
