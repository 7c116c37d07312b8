#!/bin/sh
# Tests programs that were written without ringmaster in mind, on three hosts: HPC Challenge,
# mpi4py's own tests, a PyTorch training that uses only env://, and one that uses only Open MPI's
# variables. Runs in `sh tests/run.sh long`, or where CASES names some of them.
#
# The script installs what they need: Debian's packages (docker/packages.sh), with DRIVER=docker in
# an image derived from ours; and from PyPI, into build/foreign, mpi4py's tests and what the
# training's requirements.txt asks for.
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/bare.sh"
. "$(dirname "$0")/derived.sh"

[ -n "${RINGMASTER_LONG:-}${CASES:-}" ] || skip "takes many minutes: sh tests/run.sh long"

# HPC Challenge alone needs no Python.
set_of_packages=hpc
for wanted in ${CASES:-all}; do
    case $wanted in hpc_challenge*) ;; *) set_of_packages=foreign ;; esac
done
python=/usr/bin/python3 # Debian's, which has its packages
packages="sh $top/docker/packages.sh"
if [ "$DRIVER" = docker ]; then
    foreign_image=${RINGMASTER_FOREIGN_IMAGE:-ringmaster-foreign:test}
    # shellcheck disable=SC2046  # words
    derived "$foreign_image" $($packages list foreign) || exit
    in_image() { docker run --rm --network none "$foreign_image" "$@"; }
else
    $packages install "$set_of_packages" || skip "no way to Debian's packages"
    in_image() { "$@"; }
fi

three() { ring 3 ${foreign_image:+--image "$foreign_image"}; }
# As in an image with a Python of its own, that Python is found first, and it installs packages
# where an unprivileged user may write.
environment="-e HOME=/opt/ml/home -e PYTHONUSERBASE=/opt/ml/user -e PIP_USER=1
    -e PYTHONDONTWRITEBYTECODE=1"
[ "$DRIVER" = docker ] || environment="$environment -e PATH=$RINGMASTER_BIN:/usr/bin:/bin"
# shellcheck disable=SC2086  # words
start() { start_all $environment "$@"; }

# from_pypi WHAT OPTIONS...: downloads the file of WHAT into build/foreign, once.
from_pypi() {
    what=$1
    shift
    folder=$top/build/foreign/$what
    [ ! -e "$folder/ready" ] || return 0
    rm -rf "$folder"
    mkdir -p "$folder"
    timeout 900 "$python" -m pip download -q --disable-pip-version-check --no-deps \
        -d "$folder" "$@" "$what" &&
        : >"$folder/ready"
}

# ends_well SECONDS: all hosts end with 0 within SECONDS, and none has a failure file.
ends_well() {
    all_end "$1" 0 $everyone
    for host in $everyone; do
        check "host $host has no failure file" equal "$(failure_of "$host")" ''
    done
}

hpc_challenge() {
    three
    for host in $everyone; do cp "$top/tests/data/hpccinf.txt" "$(hosts opt "$host")/model/"; done
    start -- train -- sh -c 'cd /opt/ml/model && exec hpcc'
    ends_well 600
    result=$(cat "$(hosts opt 1)/model/hpccoutf.txt")
    check "it has three ranks" holds "$result" 'CommWorldProcs=3'
    check "it finds its own results right" holds "$result" 'Success=1'
    check "it has solved the equations, too" \
        holds "$result" ' 1 tests completed and passed residual checks'
}

# Ranks that do not find each other would be three jobs of one rank, each with correct results: none
# of them may succeed.
hpc_challenge_needs_mpirun() {
    three
    start -e RINGMASTER_LAUNCHER=direct -- train -- hpcc
    all_end 60 65 $everyone
    all_name 'is linked against MPI' $everyone
    all_name 'set RINGMASTER_LAUNCHER to auto or mpirun' $everyone
    three # ringmaster cannot examine a program that a shell starts
    for host in $everyone; do cp "$top/tests/data/hpccinf.txt" "$(hosts opt "$host")/model/"; done
    start -e RINGMASTER_LAUNCHER=direct -- train -- sh -c 'cd /opt/ml/model && exec hpcc'
    check "all end" hosts wait 60 $everyone
    for host in $everyone; do
        check "host $host has failed" lacks " $(hosts code "$host") " ' 0 '
        check "host $host has no results" test ! -s "$(hosts opt "$host")/model/hpccoutf.txt"
    done
    every_log_has 'MPI-needs-mpirun--set-RINGMASTER_LAUNCHER=mpirun'
}

# mpi4py_ring: makes a ring with mpi4py's tests for the installed version; $tests is the command
# that runs them, except those that spawn processes, which ringmaster does not admit.
mpi4py_ring() {
    version=$(in_image "$python" -c 'import mpi4py; print(mpi4py.__version__)') ||
        check "mpi4py is there" false || return
    from_pypi "mpi4py==$version" --no-binary :all: || {
        skip_case "no way to mpi4py's source on PyPI"
        return 1
    }
    three
    tar -C "$share" --strip-components 1 \
        -xzf "$top/build/foreign/mpi4py==$version/mpi4py-$version.tar.gz" ||
        check "it has tests" false || return
    tests="env PYTHONDONTWRITEBYTECODE=1 TMPDIR=$share $python $share/test/runtests.py -v
        --no-builddir --exclude test_spawn --exclude test_dynproc"
}

# not_passed LOG: prints the tests that did not pass on any rank that wrote to LOG.
not_passed() { grep -E '^(ERROR|FAIL): ' "$1" | sort -u; }

# run_tests OPTION...: runs the tests under ringmaster; $log is the log of rank 0.
run_tests() {
    # shellcheck disable=SC2086  # words
    start -e RINGMASTER_RANK_LOGS=64 -- train -- $tests "$@"
    check "they end" hosts wait 3600 || return
    log=$(hosts opt 1)/output/data/rank-0.log
    check "they ran" grep -q '^Ran ' "$log"
}

# By default mpi4py initialises MPI with threads. Debian's Open MPI then has no windows for
# one-sided communication between hosts, except over RDMA networks: the tests of windows fail under
# mpirun alone as well.
mpi4pys_own_tests() {
    mpi4py_ring || return
    run_tests || return
    ours=$(not_passed "$log")
    [ -n "$ours" ] || { ends_well 1; return; }
    mpi4py_ring || return
    check "mpirun has a way to its hosts" bare_by_python "$python" || return
    # Each rank has a log of its own, as mpirun mixes the lines of ranks.
    # shellcheck disable=SC2086  # words
    bare_mpirun sh -c 'exec "$@" >"$0-$OMPI_COMM_WORLD_RANK.log" 2>&1' "$share/bare" $tests
    check "they ran by mpirun alone" grep -q '^Ran ' "$share/bare-0.log" || return
    check "those fail that fail with mpirun alone" equal "$ours" "$(not_passed "$share/bare-0.log")"
}

# The component pt2pt has windows, but allows only one thread at a time: with it, nothing fails.
mpi4pys_own_tests_with_windows() {
    mpi4py_ring || return
    put hyperparameters.json '{"sagemaker_mpi_custom_mpi_options": "--mca osc pt2pt"}'
    run_tests --thread-level=serialized || return
    check "windows between hosts are there" \
        holds "$(cat "$log")" 'testPutGet (test_rma.TestRMAWorld.testPutGet) ... ok'
    check "all pass" equal "$(not_passed "$log")" ''
    ends_well 1
}

# The job has code and its requirements, as SageMaker's SDK sends them.
env_alone_and_requirements() {
    from_pypi tqdm==4.67.1 --only-binary :all: || { skip_case "no way to tqdm on PyPI"; return; }
    three
    for host in $everyone; do
        code=$(hosts opt "$host")/code
        mkdir -p "$code/wheels"
        cp "$system/ddp.py" "$system/ddp_learning.py" "$code/"
        cp "$top/build/foreign/tqdm==4.67.1/"*.whl "$code/wheels/"
        printf -- '--no-index\n--find-links wheels\ntqdm==4.67.1\n' >"$code/requirements.txt"
    done
    put hyperparameters.json \
        '{"sagemaker_program": "ddp.py", "sagemaker_submit_directory": "/opt/ml/code",
        "steps": "20"}'
    start -- train
    ends_well 300
    for rank in 0 1 2; do
        log=$(hosts log $((rank + 1)))
        check "its host installs what it asks for" \
            holds "$log" 'pip] Successfully installed tqdm-4.67.1'
        check "rank $rank has learnt" holds "$log" "rank $rank of 3 has learnt from all in 20 steps"
    done
}

# The training was written for mpirun: it runs without the variables that other programs use, with
# two ranks per host.
open_mpis_names_alone() {
    three
    cp "$system/ddp_mpirun.py" "$system/ddp_learning.py" "$share/"
    put hyperparameters.json '{"sagemaker_mpi_num_of_processes_per_host": "2"}'
    start -- train -- env -u RANK -u WORLD_SIZE -u LOCAL_RANK -u LOCAL_WORLD_SIZE \
        -u MASTER_ADDR -u MASTER_PORT \
        "$python" "$share/ddp_mpirun.py" --steps 20 --dist-url "file://$share/meeting"
    ends_well 300
    for rank in 0 1 2 3 4 5; do
        log=$(hosts log $((rank / 2 + 1)))
        check "rank $rank knows its place" holds "$log" "rank $rank is $((rank % 2)) of 2 here"
        check "rank $rank has learnt" holds "$log" "rank $rank of 6 has learnt from all in 20 steps"
    done
}

CASES=${CASES:-open_mpis_names_alone env_alone_and_requirements hpc_challenge
    hpc_challenge_needs_mpirun mpi4pys_own_tests
    mpi4pys_own_tests_with_windows}
run_cases
finish
