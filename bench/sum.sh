#!/bin/sh
# Measures all-reduce over MPI and over TCP in turns: 2, 4 and 8 ranks, from 4 KiB to 100 MB, on
# this machine. MPI runs with its fastest transport (shared memory on one host), and with TCP alone,
# as between hosts. Prints a line for each size, with the best times and their ratio.
#
#   RINGMASTER_BIN=build/release/bin sh bench/sum.sh [RANKS...]
set -eu
bench=${RINGMASTER_BIN:?names the folder of the programs}/../bench/bench_sum
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mpi="--allow-run-as-root --oversubscribe --bind-to none"
port=$((21000 + $$ % 20000))

# one KIND RANKS BYTES ROUNDS
one() {
    port=$((port + 1))
    with=
    [ "$1" != mpi-tcp ] || with="--mca btl tcp,self --mca pml ob1"
    # shellcheck disable=SC2086,SC2016  # lists; what the rank's shell expands
    timeout 300 mpirun $mpi $with -np "$2" sh -c '
        export RANK=$OMPI_COMM_WORLD_RANK WORLD_SIZE=$OMPI_COMM_WORLD_SIZE MASTER_ADDR=127.0.0.1
        exec "$@"' - env MASTER_PORT="$port" "$bench" "${1%-tcp}" "$3" "$4"
}
[ $# -gt 0 ] || set -- 2 4 8
for ranks in "$@"; do
    for row in 4096:200 262144:100 4000000:30 100000000:3; do
        for _ in 1 2 3; do
            for kind in mpi mpi-tcp tcp; do
                one "$kind" "$ranks" "${row%:*}" "${row#*:}" |
                    sed "s/^[a-z]*/$kind/" >>"$work/$ranks.${row%:*}"
            done
        done
        awk -v row="$ranks ranks, ${row%:*} bytes" '
            { split($4, ms, "="); if (!($1 in best) || ms[2] < best[$1]) best[$1] = ms[2] }
            END { printf "%s: mpi %.3f ms, mpi over tcp %.3f ms, tcp %.3f ms; " \
                  "tcp is %.2f times as fast as mpi over tcp\n",
                  row, best["mpi"], best["mpi-tcp"], best["tcp"],
                  best["mpi-tcp"] / best["tcp"] }' "$work/$ranks.${row%:*}"
    done
done
