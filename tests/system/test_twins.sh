#!/bin/sh
# Two containers that claim to be the same host: one is left over from the last try, or was given
# the other one's name. The one that came later, or that is not found under the name, exits at once
# with 65 and a message; the other one's job goes on. With DRIVER=docker the hosts are containers.
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"

all='algo-1,algo-2,algo-3'
program='sleep 2'
# be HOST NAME [OPTION OF start]...: starts a host of the job under that name, which runs $program.
be() {
    host=$1 name=$2
    shift 2
    hosts start "$host" -e "RINGMASTER_HOSTS=$all" -e "RINGMASTER_HOST=$name" \
        -e "TEST_SHARE=$share" "$@" -- train -- sh -c "$program"
}

address_of() { hosts exec "$1" hostname -I | cut -d ' ' -f 1; }

# refused HOST NAME FIRST: the host has left, and names the host that has its name and the addresses
# of both.
refused() {
    all_end "$PATIENCE" 65 "$1" || return
    story=$(failure_of "$1")
    check "its failure file names the first" holds "$story" \
        "the name $2 is that of the host at $3, and this one is at "
    check "it says what to do" holds "$story" RINGMASTER_HOST
    own=$(printf '%s' "$story" | sed -n 's/.* and this one is at \([0-9.]*\);.*/\1/p')
    check "it says where it is itself" test -n "$own"
    check "that is another address" lacks "$own" "$3"
    [ "$DRIVER" != ns ] || check "that is its own address" equal "$own" "10.77.0.$1"
    check "its log says the same" holds "$(hosts log "$1")" "the name $2 is that of the host at"
}

# The job of hosts 1, 2 and 3 succeeds, and none of them has a failure file.
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
    check "the first of both is here" wait_for "$PATIENCE" says 1 'algo-2 is here' || return
    be 4 algo-2 -a algo-2
    refused 4 algo-2 "$(address_of 2)"
    check "the master says so, too" wait_for "$PATIENCE" says 1 \
        'the name algo-2 is that of the host at'
    be 3 algo-3
    ends_well
}

a_second_worker_leaves_while_the_job_runs() {
    ring 4
    program='until [ -e "$TEST_SHARE/enough" ]; do sleep 0.2; done'
    for host in 1 2 3; do
        be "$host" "algo-$host" -e RINGMASTER_RESTARTS=1 -e RINGMASTER_SHRINK=1
    done
    check "ranks have started" wait_for "$PATIENCE" says 1 'ranks have started' || return
    be 4 algo-2 -a algo-2
    program='sleep 2'
    refused 4 algo-2 "$(address_of 2)"
    : >"$share/enough"
    ends_well
    check "the job has had one attempt" lacks "$(hosts log 1)" 'attempt 2'
}

# Both hosts have the name, so that others find one or the other.
a_second_first_host_leaves() {
    ring 4
    be 1 algo-1
    check "the first waits" wait_for "$PATIENCE" says 1 'waiting for 2 hosts' || return
    be 4 algo-1 -a algo-1
    refused 4 algo-1 "$(address_of 1)"
    check "the first says so, too" wait_for "$PATIENCE" says 1 \
        'the name algo-1 is that of the host at'
    be 2 algo-2
    be 3 algo-3
    ends_well
}

# The other hosts start first, and reach one or the other of the two first.
of_two_first_hosts_that_come_at_once_one_leaves() {
    ring 4
    be 2 algo-2
    be 3 algo-3
    be 1 algo-1 &
    be 4 algo-1 -a algo-1
    wait $!
    check "one of both leaves" wait_for "$PATIENCE" one_of_both_has_left || return
    stays=1 leaves=4
    [ "$(hosts code 4 2>/dev/null)" = 65 ] || stays=4 leaves=1
    all_end 60 0 "$stays" 2 3 || return
    all_end "$PATIENCE" 65 "$leaves"
    check "it says why" holds "$(failure_of "$leaves")" 'the name algo-1 is that of the host at'
}
one_of_both_has_left() {
    [ "$(hosts code 1 2>/dev/null)" = 65 ] || [ "$(hosts code 4 2>/dev/null)" = 65 ]
}

# Host 3 should be algo-3, is configured as algo-1, and starts before the real algo-1.
a_host_with_the_first_ones_name_leaves_when_that_comes() {
    ring 4
    be 3 algo-1
    check "it waits" wait_for "$PATIENCE" says 3 'waiting for 2 hosts' || return
    be 1 algo-1
    check "the first waits" wait_for "$PATIENCE" says 1 'waiting for 2 hosts' || return
    refused 3 algo-1 "$(address_of 1)"
    be 2 algo-2
    be 3 algo-3
    ends_well
}

# node HOST RANK: starts one of three nodes that the platform numbers, with host 1 as MASTER_ADDR.
node() {
    rm -f "$(config "$1")"/*
    hosts start "$1" -e RINGMASTER_PLATFORM=torch -e NNODES=3 -e "NODE_RANK=$2" \
        -e MASTER_ADDR=algo-1 -- train -- sleep 2
}

two_nodes_with_rank_0_are_one_too_many() {
    ring 4
    node 1 0
    check "the first waits" wait_for "$PATIENCE" says 1 'waiting for 2 hosts' || return
    node 4 0
    refused 4 node-0 "$(address_of 1)"
    node 2 1
    node 3 2
    ends_well
}

# --- one /opt/ml for both ------------------------------------------------------------------------

# shared HOST OWNER NAME [OPTION OF start]...: like be, with /opt/ml of the host OWNER.
shared() {
    host=$1 place=$(lent "$2") name=$3
    shift 3
    be "$host" "$name" -p "$place" "$@"
}
# lent HOST: prints a script that mounts that host's /opt/ml, which other hosts see read-only.
lent() { echo "mount --bind '$(hosts opt "$1")' /opt/ml; mount -o remount,bind,rw /opt/ml"; }
sharing() {
    [ "$DRIVER" = ns ] || { skip_case "these hosts have folders of their own"; return 1; }
    ring 4
}

# left_alone HOST TEXT: it has left with 65 and says why, and has put no failure file into the
# folder, as another host has it.
left_alone() {
    all_end "$PATIENCE" 65 "$1" || return
    check "its log says why" holds "$(hosts log "$1")" "$2"
    check "its log says where that is not" holds "$(hosts log "$1")" \
        'the failure file was not written: another running host has this output directory'
    check "the folder has no failure" equal "$(failure_of 2)" ''
}

# one_success HOST: the job ends well, and leaves its mark of success in that host's folder.
one_success() {
    ends_well
    check "success is marked" test -f "$(hosts opt "$1")/output/success"
}

a_second_worker_in_the_first_ones_folder_leaves_it_alone() {
    sharing || return
    echo 'of an earlier run' >"$(hosts opt 2)/output/failure"
    be 1 algo-1
    be 2 algo-2
    check "the first of both is here" wait_for "$PATIENCE" says 1 'algo-2 is here' || return
    check "the earlier run's file is gone" wait_for "$PATIENCE" is_gone 2 || return
    shared 4 2 algo-2 -a algo-2
    left_alone 4 'the name algo-2 is that of the host at'
    be 3 algo-3
    one_success 2
}
is_gone() { [ ! -e "$(hosts opt "$1")/output/failure" ]; }

# It has the folder first, and leaves it to the job's own host.
a_second_worker_that_has_the_folder_first_leaves_it_too() {
    sharing || return
    shared 4 2 algo-2
    check "it has the folder" wait_for "$PATIENCE" owns 2 || return
    hosts freeze 4
    be 1 algo-1
    be 2 algo-2 -a algo-2
    check "the job's own is here" wait_for "$PATIENCE" says 1 'algo-2 is here' || return
    hosts thaw 4
    left_alone 4 'the name algo-2 is that of the host at'
    be 3 algo-3
    one_success 2
}
owns() { [ -e "$(hosts opt "$1")/output/.failure-owner" ]; }

# The failure of the job's own host is written to the folder, and not that of the other one.
the_jobs_own_failure_comes_to_a_folder_that_two_have() {
    sharing || return
    be 1 algo-1
    be 2 algo-2
    check "the first of both is here" wait_for "$PATIENCE" says 1 'algo-2 is here' || return
    shared 4 2 algo-2 -a algo-2
    left_alone 4 'the name algo-2 is that of the host at'
    hosts start 3 -e "RINGMASTER_HOSTS=$all" -e RINGMASTER_HOST=algo-3 -- train -- sh -c 'exit 42'
    all_end 60 65 1 2 3 || return # its command differs from theirs
    all_name 'algo-3' 1 2 3
}

# alone HOST COMMAND...: starts a job of that host alone, with the folder of host 1.
alone() {
    host=$1
    shift
    hosts start "$host" -p "$(lent 1)" -e "TEST_SHARE=$share" -e "RINGMASTER_HOSTS=algo-$host" -- \
        train -- "$@"
}
when_told='until [ -e "$TEST_SHARE/$0" ]; do sleep 0.2; done; exit "$1"'

# The outcome of the second host's job is not written to the folder of the first one's.
of_two_jobs_in_one_folder_the_first_has_it() {
    sharing || return
    alone 1 sh -c "$when_told" first 0
    check "the first one works" wait_for "$PATIENCE" says 1 'the only rank has started' || return
    alone 4 sh -c 'exit 42'
    all_end "$PATIENCE" 42 4 || return
    check "the folder has no failure" equal "$(failure_of 1)" ''
    : >"$share/first"
    all_end "$PATIENCE" 0 1
    check "the folder has no failure" equal "$(failure_of 1)" ''
    check "success is marked" test -f "$(hosts opt 1)/output/success"
}

# The second job has the folder from then on: it writes a failure file where there is none, and
# keeps one that is there.
a_folder_whose_owner_is_gone_is_the_next_ones() {
    sharing || return
    alone 1 sleep 60
    check "the first one works" wait_for "$PATIENCE" says 1 'the only rank has started' || return
    alone 4 sh -c "$when_told" second 42
    check "the second one works" wait_for "$PATIENCE" says 4 'the only rank has started' || return
    hosts kill 1
    check "the first one is gone" wait_for "$PATIENCE" hosts code 1 || return
    : >"$share/second"
    all_end "$PATIENCE" 42 4
    all_name 'algo-4 rank 0: exited with 42' 1
    sharing || return
    alone 1 sh -c "$when_told" first 43
    check "the first one works" wait_for "$PATIENCE" says 1 'the only rank has started' || return
    alone 4 sh -c "$when_told" second 0
    check "the second one works" wait_for "$PATIENCE" says 4 'the only rank has started' || return
    : >"$share/first"
    all_end "$PATIENCE" 43 1
    : >"$share/second"
    all_end "$PATIENCE" 0 4
    all_name 'algo-1 rank 0: exited with 43' 1
    check "success is not marked" test ! -e "$(hosts opt 1)/output/success"
}

CASES=${CASES:-a_second_worker_leaves_while_hosts_join a_second_worker_leaves_while_the_job_runs
    a_second_first_host_leaves of_two_first_hosts_that_come_at_once_one_leaves
    a_host_with_the_first_ones_name_leaves_when_that_comes two_nodes_with_rank_0_are_one_too_many
    a_second_worker_in_the_first_ones_folder_leaves_it_alone
    a_second_worker_that_has_the_folder_first_leaves_it_too
    the_jobs_own_failure_comes_to_a_folder_that_two_have of_two_jobs_in_one_folder_the_first_has_it
    a_folder_whose_owner_is_gone_is_the_next_ones}
run_cases
finish
