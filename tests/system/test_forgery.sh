#!/bin/sh
# Tests a rank's program that attacks the job through ringmaster's sockets, environment and files:
# it cannot change what is reported about other ranks, and a job that succeeds still succeeds.
# Ringmaster does not prevent what the program may do as its user with kill and ptrace
# (docs/security/threat-model.md).
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"

# job FAILING-RANK SCRIPT: two hosts have two ranks each. Rank 0 runs SCRIPT, with $folder, $socket
# and $forge set; FAILING-RANK exits with 7 when that is done, and the others end with 0.
job() {
    ring 2
    printf '%s\n' "$2" >"$share/script"
    cp "$RINGMASTER_BIN/probe_forge" "$share/"
    for host in $everyone; do
        echo '{"sagemaker_mpi_num_of_processes_per_host": "2"}' \
            >"$(hosts opt "$host")/input/config/hyperparameters.json"
    done
    start_all -e "FAILS=$1" -- train -- sh -c '
        if [ "$RANK" = 0 ]; then
            folder=$(find /run /dev/shm /tmp -maxdepth 1 -name "ringmaster-run-*" \
                -exec test -S {}/socket \; -print)
            socket=$folder/socket forge=$0/probe_forge
            [ -S "$socket" ] || { echo "no socket"; exit 3; }
            . "$0/script"
            : >"$0/done"
        elif [ "$RANK" = "$FAILS" ]; then
            until [ -e "$0/done" ]; do sleep 0.1; done
            echo "the true story"; exit 7
        else
            sleep 3
        fi' "$share"
}
fails_with_7() {
    all_end "$PATIENCE" 7 1 2 || return
    all_name "$1: exited with 7" 1 2
    all_name 'the true story' 1 2
}

another_hosts_rank_keeps_its_failure() {
    job 2 '"$forge" "$socket" report 2; echo "report: $?"'
    fails_with_7 'algo-2 rank 2'
    check "the forger was sent away" holds "$(hosts log 1)" '] report: 1'
    check "the log says so" holds "$(hosts log 1)" 'tried to register as rank 2 and was refused'
}
a_neighbour_keeps_its_failure() {
    job 1 '"$forge" "$socket" report 1; echo "report: $?"'
    fails_with_7 'algo-1 rank 1'
    check "the forger was sent away" holds "$(hosts log 1)" '] report: 1'
}
its_own_failure_stays() {
    job none '"$forge" "$socket" report 0; exit 9'
    all_end "$PATIENCE" 9 1 2 && all_name 'algo-1 rank 0: exited with 9' 1 2
}

agents() {
    for host in 10.77.0.1 10.77.0.2 algo-2; do
        printf '%s\n' "\"\$forge\" \"\$socket\" frame \\
            '\"type\":\"agent\",\"attempt\":1,\"host\":\"$host\",\"command\":\"$1\"'" \
            'echo "agent: $?"'
    done
}
an_agents_words_are_refused() {
    job none "$(agents 'touch x'; agents 'orted -mca ess env')"
    all_end "$PATIENCE" 0 1 2 || return
    check "each was sent away" equal "$(hosts log 1 | grep -c '] agent: 1')" 6
    check "the log says so" holds "$(hosts log 1)" 'asked for a daemon on algo-1 and was refused'
}

# the_run_folder_may_go FAILING-RANK: rank 0 truncates its run folder's files and its own open
# descriptors, and removes the folder.
the_run_folder_may_go() {
    job "$1" 'for file in "$folder"/* /proc/self/fd/*; do (: >"$file") 2>/dev/null; done
        rm -rf "$folder"; echo gone'
    check "it is gone" wait_for "$PATIENCE" says 1 '] gone'
}
files_taken_away_change_nothing() {
    the_run_folder_may_go none
    all_end "$PATIENCE" 0 1 2
}
files_taken_away_hide_nothing() {
    the_run_folder_may_go 3
    fails_with_7 'algo-2 rank 3'
}

# The rank tries to resize its shared memory of progress, and overwrites it with random bytes.
progress_cannot_be_taken_away() {
    job 1 'truncate -s 0 "$RINGMASTER_PROGRESS"; echo "truncated: $?"
        truncate -s 9999 "$RINGMASTER_PROGRESS"
        dd if=/dev/urandom of="$RINGMASTER_PROGRESS" bs=64 count=1 conv=notrunc; true'
    fails_with_7 'algo-1 rank 1'
    check "it was not cut" holds "$(hosts log 1)" '] truncated: 1'
}
a_neighbours_progress_is_nowhere() {
    job none 'find /run /tmp /var/tmp /dev/shm | grep progress | sed "s/^/found: /"; echo looked'
    all_end 60 0 1 2 || return
    check "it looked" holds "$(hosts log 1)" '] looked'
    check "no file holds progress" lacks "$(hosts log 1)" '] found:'
}

five_hundred_connections_are_no_flood() {
    job 2 'for i in 1 2 3; do "$forge" "$socket" flood 500; echo "flood: $?"; done
        : >"$0/done"; sleep 5'
    fails_with_7 'algo-2 rank 2'
    check "three floods came in" equal "$(hosts log 1 | grep -c '] flood: 0$')" 3
}

# This case always runs unprivileged, as root may look into every process.
a_shim_cannot_be_looked_into() {
    export UNPRIVILEGED=1
    ring 2
    start_all -- train -- sh -c '
        cat /proc/$PPID/environ >/dev/null && echo "environment read"
        cat /proc/$PPID/mem </dev/null >/dev/null 2>&1 && echo "memory read"
        ls /proc/$PPID/fd >/dev/null && echo "descriptors read"
        echo tried'
    all_end "$PATIENCE" 0 1 2 || return
    for host in 1 2; do
        check "host $host tried" holds "$(hosts log "$host")" '] tried'
        check "host $host read nothing" lacks "$(hosts log "$host")" ' read'
    done
}

CASES=${CASES:-another_hosts_rank_keeps_its_failure a_neighbour_keeps_its_failure
    its_own_failure_stays an_agents_words_are_refused files_taken_away_change_nothing
    files_taken_away_hide_nothing progress_cannot_be_taken_away a_neighbours_progress_is_nowhere
    five_hundred_connections_are_no_flood a_shim_cannot_be_looked_into}

# lib.sh calls this after each case.
case_ends() { nothing_is_left; }
run_cases
finish
