#!/bin/sh
# Tests jobs in which all ranks return 0 while a host is stopped or cut off for less than
# RINGMASTER_DEAD_SECONDS: every host ends with 0. Also tests that another attempt makes up for
# signals from outside that end mpirun, its daemons or the ranks.
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"

# until_told N [-e NAME=VALUE]...: starts N hosts with a rank each; ranks return 0 after end_ranks.
until_told() {
    ring "$1"
    shift
    start_all -e "TEST_SHARE=$share" "$@" -- train -- sh -c \
        ': >"$TEST_SHARE/in-$RANK"; while [ ! -e "$TEST_SHARE/end" ]; do sleep 0.1; done'
    check "all ranks run" wait_for "$PATIENCE" all_run
}
all_run() { for host in $everyone; do [ -e "$share/in-$((host - 1))" ] || return; done; }
end_ranks() { : >"$share/end"; }

# all_well HOST...: they all end with 0, without a failure file.
all_well() {
    all_end "$PATIENCE" 0 "$@"
    for host in "$@"; do
        check "host $host has no failure file" equal "$(failure_of "$host")" ''
    done
}

a_host_that_stands_still_at_the_end_is_waited_for() {
    until_told 2
    kill -s STOP "$(hosts pid 2)"
    end_ranks
    sleep 4
    kill -s CONT "$(hosts pid 2)"
    all_well 1 2
}

# The reports of the host arrive, or the verdict reaches it, when it is connected again.
a_host_that_is_cut_off_at_the_end_is_waited_for() {
    for how in cut mute deafen; do
        until_told 3
        hosts "$how" 2
        end_ranks
        sleep 3
        hosts mend 2
        all_well 1 2 3 || return
    done
}

# As with a container engine, the network of the first host ends with its first process.
the_first_host_stays_until_all_have_heard() {
    until_told 2
    hosts deafen 2
    end_ranks
    sleep 3
    [ ! -e "$RING/host-1/code" ] || hosts cut 1
    hosts mend 2
    all_well 1 2
}

# The reports of the other hosts reach the first host too late: they have given it up.
a_first_host_that_stood_still_for_too_long_has_no_end_of_its_own() {
    until_told 3 -e RINGMASTER_DEAD_SECONDS=5
    kill -s STOP "$(hosts pid 1)"
    end_ranks
    check "the others give it up" wait_for "$PATIENCE" says 2 'the master.* is lost' || return
    kill -s CONT "$(hosts pid 1)"
    all_end "$PATIENCE" 73 1 2 3
}

# Whether another attempt follows, or the host that comes back learns the verdict: all hosts end
# alike.
a_first_host_that_stood_still_for_too_long_goes_on_with_the_others() {
    until_told 2 -e RINGMASTER_DEAD_SECONDS=5 -e RINGMASTER_RESTARTS=2 -e RINGMASTER_SHRINK=1
    kill -s STOP "$(hosts pid 1)"
    end_ranks
    check "the other one gives it up" wait_for "$PATIENCE" says 2 'the master.* is lost' || return
    kill -s CONT "$(hosts pid 1)"
    all_well 1 2
}

# SIGSTOP and SIGCONT to all processes have the effect of a container engine's pause: mpirun does
# not forward them to ranks.
a_launch_survives_a_pause_of_the_first_host() {
    for time in 1 2 3 4 5; do
        ring 2
        start_all -- train -- sleep 0.3
        check "mpirun starts" wait_for "$PATIENCE" says 1 'starting 2 ranks' || return
        # shellcheck disable=SC2046  # numbers
        kill -s STOP $(hosts pids 1)
        sleep 0.8
        # shellcheck disable=SC2046
        kill -s CONT $(hosts pids 1)
        all_well 1 2 || { echo "  time $time"; return; }
    done
}

# in_the_first_attempt RESTARTS SCRIPT: the ranks of two hosts run SCRIPT in the first attempt, and
# return 0 in later ones.
in_the_first_attempt() {
    restarts=$1 script=$2
    ring 2
    start_all -e "RINGMASTER_RESTARTS=$restarts" -e "TEST_SHARE=$share" -- train -- sh -c \
        "[ \$RINGMASTER_ATTEMPT = 1 ] || exit 0; : >\$TEST_SHARE/in-\$RANK; $script; exec sleep 60"
    check "all ranks run" wait_for "$PATIENCE" all_run
}

# The kernel may kill a daemon when memory is short.
a_killed_daemon_is_made_good() {
    in_the_first_attempt 1 :
    signal_program 2 KILL orted
    all_well 1 2
    check "it is named" \
        holds "$(hosts log 1)" 'signal: algo-2: orted was killed by signal 9 (SIGKILL)'
}

a_killed_mpirun_is_made_good() {
    in_the_first_attempt 1 :
    signal_program 1 KILL orterun
    all_well 1 2
    check "it is named" \
        holds "$(hosts log 1)" 'signal: algo-1: mpirun was killed by signal 9 (SIGKILL)'
    in_the_first_attempt 0 :
    signal_program 1 KILL orterun
    all_end "$PATIENCE" 137 1 2
    all_name 'signal: algo-1: mpirun was killed by signal 9 (SIGKILL)' 1 2
}

# A rank's program signals every process that it may, including ringmaster's tools on its host.
a_signal_to_all_of_a_hosts_processes_is_made_good() {
    for rank in 0 1; do
        in_the_first_attempt 1 "[ \$RANK != $rank ] || { trap '' TERM; kill -TERM -1; }"
        all_well 1 2 || return
        check "it is logged" holds "$(hosts log 1)" 'though no'
    done
}

CASES=${CASES:-a_launch_survives_a_pause_of_the_first_host
    a_host_that_stands_still_at_the_end_is_waited_for
    a_host_that_is_cut_off_at_the_end_is_waited_for the_first_host_stays_until_all_have_heard
    a_first_host_that_stood_still_for_too_long_has_no_end_of_its_own
    a_first_host_that_stood_still_for_too_long_goes_on_with_the_others a_killed_daemon_is_made_good
    a_killed_mpirun_is_made_good a_signal_to_all_of_a_hosts_processes_is_made_good}

# lib.sh calls this after each case.
case_ends() { nothing_is_left; }
run_cases
finish
