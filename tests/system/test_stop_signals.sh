#!/bin/sh
# Signals of the user's choice: the one that stops ranks and the one that warns them before, with
# both launchers.
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"

# each LAUNCHER [-e NAME=VALUE]...: starts ranks on two hosts that print each signal they catch;
# SIGUSR2 and SIGTERM end them with 0.
each() {
    launcher=$1
    shift
    ring 2
    start_all -e "RINGMASTER_LAUNCHER=$launcher" -e RINGMASTER_RANKS_PER_HOST=2 "$@" -- \
        train -- sh -c '
        trap "echo heard USR1" USR1
        trap "echo heard USR2; exit 0" USR2
        trap "echo heard TERM; exit 0" TERM
        echo ready
        while :; do sleep 0.05; done'
    check "all ranks run" wait_for "$PATIENCE" all_ready
}
all_ready() { [ "$(for host in $everyone; do hosts log "$host"; done | grep -c '] ready$')" = 4 ]; }
heard() { for host in $everyone; do hosts log "$host"; done | grep -c "rank .*] heard $1" || true; }

stops_by_the_chosen_signal() {
    each "$1" -e RINGMASTER_STOP_SIGNAL=USR2 || return
    kill -s TERM "$(hosts pid 2)"
    all_end "$PATIENCE" 143 1 2
    check "all ranks hear the signal" equal "$(heard USR2)" 4
    check "none hears SIGTERM" equal "$(heard TERM)" 0
    all_name 'stopped on request at algo-2' 1 2
}
a_stop_is_the_chosen_signal() { stops_by_the_chosen_signal direct; }
a_stop_is_the_chosen_signal_under_mpirun() { stops_by_the_chosen_signal mpirun; }

warns_before_it_stops() {
    each "$1" -e RINGMASTER_WARN_SIGNAL=USR1@2 || return
    stopped=$(now_ms)
    kill -s TERM "$(hosts pid 1)"
    all_end "$PATIENCE" 143 1 2
    check "all ranks are warned" equal "$(heard USR1)" 4
    check "and stopped" equal "$(heard TERM)" 4
    check "two seconds later" at_least $(($(last_ended 1 2) - stopped)) 2000
    every_log_has 'heard USR1'
}
a_stop_warns_first() { warns_before_it_stops direct; }
a_stop_warns_first_under_mpirun() { warns_before_it_stops mpirun; }

# The time limit itself stops nothing: the platform does that, here after the warning has arrived.
the_time_limit_is_told_before() {
    each direct -e RINGMASTER_TIME_LIMIT=70 -e RINGMASTER_WARN_SIGNAL=SIGUSR1@60 || return
    for host in $everyone; do
        check "host $host is warned" wait_for "$PATIENCE" says "$host" '] heard USR1' || return
    done
    check "the first host says why" holds "$(hosts log 1)" \
        'the platform ends the job in 60 s: all ranks are sent SIGUSR1'
    kill -s TERM "$(hosts pid 1)"
    fault_begins
    all_end "$PATIENCE" 143 1 2
    within "$LEAVE_MS" 1 2 # no second warning delays the stop signal
    check "all ranks are warned once" equal "$(heard USR1)" 4
    check "and stopped" equal "$(heard TERM)" 4
}

CASES=${CASES:-a_stop_is_the_chosen_signal a_stop_is_the_chosen_signal_under_mpirun
    a_stop_warns_first a_stop_warns_first_under_mpirun the_time_limit_is_told_before}
run_cases
finish
