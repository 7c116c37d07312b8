#!/bin/sh
# Tests MPICH programs on hosts without MPICH's launcher: ranks find each other by PMI-1
# (entrypoint/direct/pmi.h). The test needs Debian's libmpich-dev (mpicc.mpich), or in
# RINGMASTER_MPICH the folder that this package was unpacked to. Hosts must see that folder, so it
# cannot be below /tmp, /opt or /run, which are their own.
# shellcheck disable=SC2154  # lib.sh's variables
. "$(dirname "$0")/lib.sh"

[ "$DRIVER" = ns ] || skip "the image has no MPICH"
program=$(dirname "$RINGMASTER_BIN")/tests/probe_mpich
if command -v mpicc.mpich >/dev/null; then
    mpicc.mpich -O1 -o "$program" "$system/probe_mpich.c" || exit 1
elif [ -n "${RINGMASTER_MPICH:-}" ]; then
    header=$(find "$RINGMASTER_MPICH" -name mpi.h | head -n 1)
    library=$(find "$RINGMASTER_MPICH" -name libmpich.so | head -n 1)
    cc -O1 -I"$(dirname "$header")" -o "$program" "$system/probe_mpich.c" "$library" \
        -Wl,-rpath,"$(dirname "$library")" || exit 1
else
    skip "no MPICH here (Debian: libmpich-dev)"
fi

# joined RANKS: all ranks have met, and the first and the last have exchanged ping-pong messages.
joined() {
    for rank in $(seq 0 $(($1 - 1))); do
        check "rank $rank has met the others" holds "$(hosts log 1)$(hosts log 2)$(hosts log 3)" \
            "rank $rank of $1, sum $(($1 * ($1 - 1) / 2)), 100 times there and back"
    done
    check "the log says why" holds "$(hosts log 1)" 'each host starts its ranks itself, because'
    check "by its library" holds "$(hosts log 1)" 'libmpich.so.12, which needs no mpirun'
}

ranks_meet_without_a_launcher() {
    ring 3
    cp "$program" "$share/"
    start_all -- train -- "$share/probe_mpich"
    all_end "$PATIENCE" 0 $everyone || return
    together $everyone
    nothing_is_left
    joined 3
}

# Returns 0 where all six ranks have printed their last line, but their hosts do not end.
in_finalize() {
    hosts wait "$PATIENCE" >/dev/null && return 1
    [ "$(cat "$RING"/host-*/log | grep -c 'of 6, sum 15, 100 times there and back')" = 6 ]
}

ranks_of_a_host_share_its_memory() {
    ring 3
    cp "$program" "$share/"
    put hyperparameters.json '{"sagemaker_mpi_num_of_processes_per_host": "2"}'
    start_all -- train -- "$share/probe_mpich"
    # This is a bug of MPICH 4.0: https://github.com/pmodels/mpich/pull/6596
    ! in_finalize || { proves_nothing "MPICH hangs in MPI_Finalize"; return; }
    all_end "$PATIENCE" 0 $everyone || return
    joined 6
}

# The other ranks wait for this one in MPI_Init.
a_rank_that_fails_before_it_has_met_the_others_is_named() {
    ring 3
    cp "$program" "$share/"
    start_all -- train -- "$share/probe_mpich" 1
    all_end "$PATIENCE" 9 $everyone || return
    all_name 'algo-2 rank 1: exited with 9' $everyone
}

a_rank_that_never_comes_to_mpi_init_ends_the_job() {
    ring 3
    cp "$program" "$share/"
    start_all -e RINGMASTER_READY_SECONDS=5 -e RINGMASTER_LAUNCHER=direct -- train -- sh -c \
        '[ "$RANK" != 2 ] || exec sleep 1000; exec "$0"' "$share/probe_mpich"
    all_end "$PATIENCE" 70 $everyone || return
    all_name 'algo-3: not all ranks of this host came to a barrier of PMI within 5 s' $everyone
}

CASES=${CASES:-ranks_meet_without_a_launcher ranks_of_a_host_share_its_memory
    a_rank_that_fails_before_it_has_met_the_others_is_named
    a_rank_that_never_comes_to_mpi_init_ends_the_job}
run_cases
finish
