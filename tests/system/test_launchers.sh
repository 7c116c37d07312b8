#!/bin/sh
# Tests what starts the ranks of a job, and that MPI ranks that are started without mpirun never
# become jobs of their own.
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"

# Makes a folder for PATH that has no mpirun, as in an image without Open MPI.
without_mpirun() {
    mkdir -p "$share/bin"
    for tool in sh sleep env true; do ln -sf "$(command -v $tool)" "$share/bin/$tool"; done
    for program in ringmaster train; do
        ln -sf "$RINGMASTER_BIN/ringmaster" "$share/bin/$program"
    done
    cp "$RINGMASTER_BIN/probe_mpi" "$share/"
}

an_image_without_mpirun_starts_ranks_directly() {
    ring 3
    without_mpirun
    start_all -e "PATH=$share/bin" -- train -- sh -c 'echo "rank $RANK of $WORLD_SIZE"'
    all_end "$PATIENCE" 0 $everyone || return
    together $everyone
    nothing_is_left
    check "rank 2 runs on its host" holds "$(hosts log 3)" '[algo-3 rank 2] rank 2 of 3'
    check "the log says why" holds "$(hosts log 1)" \
        'each host starts its ranks itself, because no mpirun is in PATH'
}

an_mpirun_in_the_image_is_taken() {
    ring 2
    start_all -- train -- true
    all_end "$PATIENCE" 0 $everyone || return
    check "the log says why" holds "$(hosts log 1)" 'mpirun starts the ranks, because it is in PATH'
}

mpi_without_mpirun_is_refused() {
    ring 2
    without_mpirun
    start_all -e "PATH=$share/bin" -- train -- "$share/probe_mpi" "$share" 1
    all_end "$PATIENCE" 127 $everyone || return
    all_name 'probe_mpi is linked against MPI (libmpi.so.40), but mpirun is not in PATH' $everyone
    ring 2
    without_mpirun
    start_all -e RINGMASTER_LAUNCHER=direct -- train -- "$share/probe_mpi" "$share" 1
    all_end "$PATIENCE" 65 $everyone || return
    all_name 'RINGMASTER_LAUNCHER is direct, but' $everyone
    all_name 'probe_mpi is linked against MPI' $everyone
}

# Nothing shows that this script uses MPI before it runs.
mpi_behind_a_script_fails_with_words() {
    ring 2
    without_mpirun
    start_all -e RINGMASTER_LAUNCHER=direct -- \
        train -- sh -c '"$0" "$1" 1' "$share/probe_mpi" "$share"
    all_end "$PATIENCE" 1 $everyone || return
    all_name '(ringmaster explain mpi-init)' $everyone
    for host in $everyone; do
        check "no rank of host $host is a job of its own" lacks "$(hosts log "$host")" 'has joined'
    done
    logs=$(hosts log 1)$(hosts log 2)
    check "the log says what to do" holds "$logs" 'MPI-needs-mpirun--set-RINGMASTER_LAUNCHER=mpirun'
}

# A single rank has no others to meet, so it needs no mpirun.
one_rank_of_mpi_is_started_directly() {
    ring 1
    cp "$RINGMASTER_BIN/probe_mpi" "$share/"
    start_all -e RINGMASTER_LAUNCHER=direct -- train -- "$share/probe_mpi" "$share" 1
    all_end "$PATIENCE" 0 1 || return
    check "it has joined itself" holds "$(hosts log 1)" 'rank 0 of 1 has joined'
}

hosts_with_two_launchers_do_not_join() {
    ring 2
    hosts start 1 -e RINGMASTER_LAUNCHER=direct -- train -- true
    hosts start 2 -e RINGMASTER_LAUNCHER=mpirun -- train -- true
    all_end "$PATIENCE" 65 $everyone || return
    all_name 'algo-2: it starts ranks by mpirun, the master by direct' $everyone
}

CASES=${CASES:-an_image_without_mpirun_starts_ranks_directly an_mpirun_in_the_image_is_taken
    mpi_without_mpirun_is_refused mpi_behind_a_script_fails_with_words
    one_rank_of_mpi_is_started_directly hosts_with_two_launchers_do_not_join}
run_cases
finish
