#!/bin/sh
# Programs that know nothing of us, on three hosts. What is not installed is skipped:
#
#   hpcc (Debian)                  HPC Challenge
#   mpi4py, MPI4PY_TESTS           its own tests; the folder test/ of its source. MPI4PY_PYTHON is a Python that
#                                  has it, Debian's where not told. What fails is held against mpirun over ssh,
#                                  where sshd is installed
#   TORCH_PYTHON                   a Python that has torch: DistributedDataParallel over Gloo
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/bare.sh"

[ -n "${RINGMASTER_LONG:-}${CASES:-}" ] || skip "takes many minutes: sh tests/run.sh long"
[ "$DRIVER" = ns ] || skip "what is installed here is not in the image"

# Three hosts end with 0 before SECONDS are over. The program is alone in what it says: nothing of ours fails.
ends_well() {
    all_end "$1" 0 $everyone
    for host in $everyone; do
        check "host $host has no failure file" equal "$(failure_of "$host")" ''
    done
}

hpc_challenge() {
    command -v hpcc >/dev/null || { skip_case "hpcc is not installed"; return; }
    example=/usr/share/doc/hpcc/examples/_hpccinf.txt
    ring 3
    for host in $everyone; do
        work=$(hosts opt "$host")/model
        # A matrix of 200, on a grid of 1 x 3 ranks.
        sed 's/^1000  *Ns/200 Ns/; s/^2  *Ps/1 Ps/; s/^2  *Qs/3 Qs/' "$example" >"$work/hpccinf.txt"
    done
    start_all -- train -- sh -c 'cd /opt/ml/model && exec hpcc'
    ends_well 600
    result=$(cat "$(hosts opt 1)/model/hpccoutf.txt")
    check "it has three ranks" holds "$result" 'CommWorldProcs=3'
    check "it finds its own results right" holds "$result" 'Success=1'
}

# Its tests in a log that did not pass, whatever rank says so.
not_passed() { grep -E '^(ERROR|FAIL): ' "$1" | sort -u; }

# mpi4pys START...: its tests on a fresh ring, without those of processes that a program starts itself, which our hosts
# do not let in.
mpi4pys() {
    ring 3
    cp -r "$MPI4PY_TESTS" "$share/test"
    [ "$1" != bare_mpirun ] || bare_start
    "$@" env PYTHONDONTWRITEBYTECODE=1 "TMPDIR=$share" "$python" "$share/test/runtests.py" -v --no-builddir \
        --exclude test_spawn --exclude test_dynproc
}

mpi4pys_own_tests() {
    python=${MPI4PY_PYTHON:-/usr/bin/python3}
    [ -e "${MPI4PY_TESTS:-}/runtests.py" ] && "$python" -c 'import mpi4py' 2>/dev/null ||
        { skip_case "MPI4PY_TESTS leads to no tests, or mpi4py is not installed"; return; }
    mpi4pys start_all -e RINGMASTER_RANK_LOGS=64 -- train --
    check "they end" hosts wait 3600 || return
    log=$(hosts opt 1)/output/data/rank-0.log
    check "they ran" holds "$(tail -n 5 "$log")" 'Ran '
    ours=$(not_passed "$log")
    [ -n "$ours" ] || { ends_well 1; return; }
    has_sshd || { skip_case "some do not pass, and sshd is not installed to try mpirun: $ours"; return; }
    mpi4pys bare_mpirun
    check "those fail that fail with mpirun alone" equal "$ours" "$(not_passed "$share/mpirun.log")"
}

distributed_data_parallel() {
    "${TORCH_PYTHON:-false}" -c 'import torch' 2>/dev/null || { skip_case "TORCH_PYTHON has no torch"; return; }
    ring 3
    start_all -- train -- "$TORCH_PYTHON" "$system/ddp.py" 20
    ends_well 300
    for rank in 0 1 2; do
        check "rank $rank has learnt" holds "$(hosts log $((rank + 1)))" "rank $rank of 3 has learnt from all"
    done
}

# One that was written for mpirun alone.
open_mpis_names_alone() {
    ring 3
    start_all -- train -- env -u RANK -u WORLD_SIZE -u LOCAL_RANK sh -c '
        echo "$OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE, $OMPI_COMM_WORLD_LOCAL_RANK of $OMPI_COMM_WORLD_LOCAL_SIZE"'
    ends_well 60
    for rank in 0 1 2; do
        check "rank $rank knows its place" holds "$(hosts log $((rank + 1)))" "$rank of 3, 0 of 1"
    done
}

CASES=${CASES:-open_mpis_names_alone hpc_challenge distributed_data_parallel mpi4pys_own_tests}
run_cases
finish
