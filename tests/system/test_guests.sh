#!/bin/sh
# Tests unchanged frameworks, which do not know of ringmaster, on two hosts with two ranks each:
# PyTorch's FSDP, Accelerate, the Trainer of transformers, Lightning with and without mpi4py,
# DeepSpeed, Composer, JAX, TensorFlow and mpi4py. Each rank prints its number and a sum that is
# right only where all four ranks are in one job. The test runs in `sh tests/run.sh long` and where
# CASES names cases; a case is skipped where its packages cannot be had from PyPI.
#
#   LAUNCHER=direct|mpirun     what starts the ranks; the default is direct, as in an image without
#                              Open MPI
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"
[ -n "${RINGMASTER_LONG:-}${CASES:-}" ] || skip "takes many minutes: sh tests/run.sh long"
[ "$DRIVER" = ns ] || skip "test_frameworks.sh runs frameworks in containers"

LAUNCHER=${LAUNCHER:-direct}
guests=$system/guests
# in_venv NAME PACKAGE...: makes the virtual environment build/NAME, or skips the case.
in_venv() {
    venv=$top/build/$1
    VENV_SECONDS=${VENV_SECONDS:-3000} sh "$top/tests/venv.sh" "$@" && return
    skip_case "$1: no way to its packages"
    return 1
}

# runs PROGRAM [ARGUMENT]...: runs it as four ranks, as in a container with a user who has no name.
runs() {
    program=$1
    shift
    as_root_for "$venv/bin/python3"
    ring 2
    # shellcheck disable=SC2086  # words
    start_all ${variables:-} -e RINGMASTER_RANKS_PER_HOST=2 \
        -e "PATH=$RINGMASTER_BIN:$venv/bin:/usr/bin:/bin" -e HOME=/opt/ml/home -e USER=guest \
        -e OMP_NUM_THREADS=1 -e PYTHONDONTWRITEBYTECODE=1 -- \
        train -- python3 "$guests/$program" "$@"
    all_end 400 0 $everyone || return
    nothing_is_left
    for rank in 0 1 2 3; do
        check "rank $rank knows its place" holds "$(hosts log $((rank / 2 + 1)))" \
            ": rank $rank of 4, local $((rank % 2)), sum 10"
    done
    check "there are four" equal "$(cat "$RING"/host-*/log | grep -c '\] guest .*: rank . of 4')" 4
    hosts log 1 | sed -n 's/.*\] guest \(.*\): rank 0 .*/  \1/p'
    hosts log 1 |
        sed -n 's/.*\(\(mpirun starts the ranks\|each host starts its ranks itself\),.*\)/  \1/p'
}

torch="torch lightning accelerate transformers mpi4py"
fsdp() { in_venv guests $torch && runs fsdp.py; }
accelerate() { in_venv guests $torch && runs with_accelerate.py; }
transformers_trainer() { in_venv guests $torch && runs hf_trainer.py; }
lightning() {
    in_venv guests $torch && runs with_lightning.py 2 2 &&
        check "it knows torchrun" holds "$(hosts log 1)" 'environment TorchElasticEnvironment'
}
lightning_without_mpi4py() {
    in_venv guests $torch && runs with_lightning.py 2 2 without &&
        check "it knows torchrun" holds "$(hosts log 1)" 'environment TorchElasticEnvironment'
}
deepspeed() {
    in_venv guests-deepspeed torch deepspeed && variables="-e DS_ACCELERATOR=cpu" &&
        runs with_deepspeed.py
    variables=
}
composer() { in_venv guests-composer mosaicml && runs with_composer.py; }
jax() {
    in_venv guests-jax jax && variables="-e JAX_PLATFORMS=cpu" && runs with_jax.py
    variables=
}
tensorflow() {
    in_venv guests-tensorflow tensorflow-cpu && variables="-e RINGMASTER_TF_CONFIG=1" &&
        runs with_tensorflow.py
    variables=
}
mpi4py() {
    command -v mpirun >/dev/null || { skip_case "no mpirun"; return; }
    in_venv guests $torch || return
    launcher=$LAUNCHER LAUNCHER=mpirun
    runs with_mpi4py.py
    LAUNCHER=$launcher
}

CASES=${CASES:-fsdp accelerate transformers_trainer lightning lightning_without_mpi4py deepspeed
    composer jax tensorflow mpi4py}
run_cases
finish
