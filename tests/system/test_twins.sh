#!/bin/sh
# Two containers that say that they are the same host: one is left over from the last try, or was told the other's name. The one
# that came later, or that nobody finds by the name, leaves at once, with words and 65; the job of the first one goes on. On containers with DRIVER=docker.
# shellcheck disable=SC2154  # lib.sh's variables
. "$(dirname "$0")/lib.sh"

all='algo-1,algo-2,algo-3'
span=2
# be HOST NAME [WORDS OF start]...: a host of the job, by that name; the program takes $span seconds.
be() {
    host=$1 name=$2
    shift 2
    hosts start "$host" -e "RINGMASTER_HOSTS=$all" -e "RINGMASTER_HOST=$name" "$@" -- train -- sleep "$span"
}

address_of() { hosts exec "$1" hostname -I | cut -d ' ' -f 1; }

# refused HOST NAME FIRST: it has left, and says which host has its name, and where both are.
refused() {
    all_end 20 65 "$1" || return
    story=$(failure_of "$1")
    check "its failure file names the first" holds "$story" "the name $2 is that of the host at $3, and this one is at "
    check "it says what to do" holds "$story" RINGMASTER_HOST
    own=$(printf '%s' "$story" | sed -n 's/.* and this one is at \([0-9.]*\);.*/\1/p')
    check "it says where it is itself" test -n "$own"
    check "that is another address" lacks "$own" "$3"
    [ "$DRIVER" != ns ] || check "that is its own address" equal "$own" "10.77.0.$1"
    check "its log says the same" holds "$(hosts log "$1")" "the name $2 is that of the host at"
}

# The job of hosts 1, 2 and 3 ends well, and none of them is hurt.
ends_well() {
    all_end 60 0 1 2 3 || return
    for host in 1 2 3; do
        check "host $host has no failure file" equal "$(failure_of "$host")" ''
    done
}

a_second_worker_leaves_while_hosts_join() {
    ring 4
    be 1 algo-1
    be 2 algo-2
    check "the first of both is here" wait_for 20 says 1 'algo-2 is here' || return
    be 4 algo-2 -a algo-2
    refused 4 algo-2 "$(address_of 2)"
    check "the master says so, too" holds "$(hosts log 1)" 'the name algo-2 is that of the host at'
    be 3 algo-3
    ends_well
}

a_second_worker_leaves_while_the_job_runs() {
    ring 4
    span=10
    for host in 1 2 3; do be "$host" "algo-$host" -e RINGMASTER_RESTARTS=1 -e RINGMASTER_SHRINK=1; done
    check "ranks have started" wait_for 20 says 1 'ranks have started' || return
    be 4 algo-2 -a algo-2
    refused 4 algo-2 "$(address_of 2)"
    ends_well
    check "the job has had one attempt" lacks "$(hosts log 1)" 'attempt 2'
    span=2
}

# Both have the name, so that others find the one or the other.
a_second_first_host_leaves() {
    ring 4
    be 1 algo-1
    check "the first waits" wait_for 20 says 1 'waiting for 2 hosts' || return
    be 4 algo-1 -a algo-1
    refused 4 algo-1 "$(address_of 1)"
    check "the first says so, too" wait_for 5 says 1 'the name algo-1 is that of the host at'
    be 2 algo-2
    be 3 algo-3
    ends_well
}

# The others are there before, and reach the one or the other first.
of_two_first_hosts_that_come_at_once_one_leaves() {
    ring 4
    be 2 algo-2
    be 3 algo-3
    be 1 algo-1 &
    be 4 algo-1 -a algo-1
    wait $!
    check "one of both leaves" wait_for 20 one_of_both_has_left || return
    stays=1 leaves=4
    [ "$(hosts code 4 2>/dev/null)" = 65 ] || stays=4 leaves=1
    all_end 60 0 "$stays" 2 3 || return
    all_end 20 65 "$leaves"
    check "it says why" holds "$(failure_of "$leaves")" 'the name algo-1 is that of the host at'
}
one_of_both_has_left() { [ "$(hosts code 1 2>/dev/null)" = 65 ] || [ "$(hosts code 4 2>/dev/null)" = 65 ]; }

# It should be algo-3, was told to be algo-1, and is there before that one.
a_host_with_the_first_ones_name_leaves_when_that_comes() {
    ring 4
    be 3 algo-1
    check "it waits" wait_for 20 says 3 'waiting for 2 hosts' || return
    be 1 algo-1
    check "the first waits" wait_for 20 says 1 'waiting for 2 hosts' || return
    refused 3 algo-1 "$(address_of 1)"
    be 2 algo-2
    be 3 algo-3
    ends_well
}

# node HOST RANK: of three that a platform counts; the first is where host 1 is.
node() {
    rm -f "$(config "$1")"/*
    hosts start "$1" -e RINGMASTER_PLATFORM=torch -e NNODES=3 -e "NODE_RANK=$2" -e MASTER_ADDR=algo-1 -- train -- sleep 2
}

two_nodes_with_rank_0_are_one_too_many() {
    ring 4
    node 1 0
    check "the first waits" wait_for 20 says 1 'waiting for 2 hosts' || return
    node 4 0
    refused 4 node-0 "$(address_of 1)"
    node 2 1
    node 3 2
    ends_well
}

CASES=${CASES:-a_second_worker_leaves_while_hosts_join a_second_worker_leaves_while_the_job_runs a_second_first_host_leaves
    of_two_first_hosts_that_come_at_once_one_leaves a_host_with_the_first_ones_name_leaves_when_that_comes
    two_nodes_with_rank_0_are_one_too_many}
run_cases
finish
