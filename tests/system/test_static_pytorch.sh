#!/bin/sh
# PyTorch's DistributedDataParallel (examples/pytorch/train.py, over gloo) on three hosts without
# Open MPI, in root directories of Debian 12 and 13 as debootstrap makes them, with Debian's
# PyTorch. Only the example and the static launcher are copied in. Jobs succeed, fail, are stopped,
# and lose a rank or a host, and each reports the right cause. Runs only in `sh tests/run.sh long`,
# as all of it comes from the network; CASES="..." selects cases.
# shellcheck disable=SC2034,SC2154,SC2016  # lib.sh's and roots.sh's variables; scripts for hosts
dynamic=${RINGMASTER_BIN:-$(cd "$(dirname "$0")/../.." && pwd)/build/release/bin}
. "$(dirname "$0")/lib.sh"

[ "$DRIVER" = ns ] || skip "test_frameworks.sh runs PyTorch in containers"
[ -n "${RINGMASTER_LONG:-}${CASES:-}" ] || skip "takes many minutes: sh tests/run.sh long"
. "$system/roots.sh"
take_static_launcher debootstrap

# begin HOST [-e NAME=VALUE]...: starts the example as its image would. Debian's PyTorch is built
# without libuv.
begin() {
    host=$1
    shift
    in_root "$host" -e USE_LIBUV=0 -e OMP_NUM_THREADS=1 -e PYTHONDONTWRITEBYTECODE=1 "$@" -- \
        train -- python3 /train.py
}
begin_all() { for host in $everyone; do begin "$host" "$@"; done; }
all_say() {
    for host in $everyone; do
        check "host $host says '$1'" wait_for 120 says "$host" "$1" || return
    done
}
# at_work [-e NAME=VALUE]...: a training without end runs, in which all ranks have met.
at_work() {
    ring 3
    begin_all -e STEPS=100000000 "$@"
    all_say ' of 3 begins at step 0' && check "it learns" wait_for 120 says 1 'rank 0\] train step='
}
# story WHAT HOST: prints the host's failure file for readers of the test's output.
story() {
    echo "  $1:"
    failure_of "$2" | sed 's/^/    /'
}

ends_well() {
    ring 3
    begin_all
    all_end 300 0 $everyone || return
    all_say ' of 3 begins at step 0'
    check "rank 0 learns" holds "$(hosts log 1)" 'rank 0] train step=100 loss='
    check "its checkpoint is there" test -s "$(hosts opt 1)/checkpoints/last.pt"
    for host in $everyone; do
        check "host $host has no failure to tell of" equal "$(failure_of "$host")" ''
    done
    check "no mpirun is needed" holds "$(hosts log 1)" 'each host starts its ranks itself'
}

a_rank_fails() {
    ring 3
    begin 1
    begin 2 -e STEPS=many
    begin 3
    all_end 120 1 $everyone || return
    story "STEPS=many on the second host" 1
    all_name 'program: algo-2 rank 1: exited with 1' $everyone
    all_name "ValueError: invalid literal for int() with base 10: 'many'" $everyone
    ring 3 # this one fails under @record, during the training
    begin 1 -e CHECKPOINT=/proc/none/last.pt
    begin 2
    begin 3
    all_end 120 1 $everyone || return
    story "no checkpoint can be written" 3
    all_name 'program: algo-1 rank 0: exited with 1' $everyone
    all_name 'exception: FileNotFoundError: [Errno 2] No such file or directory' $everyone
}

is_stopped() {
    at_work || return
    hosts stop 2
    all_end 60 143 $everyone || return
    story "SIGTERM to the second host" 1
    all_name 'stopped on request at algo-2' $everyone
}

is_killed() {
    at_work || return
    signal_program 3 KILL "$(basename "$(readlink -f "$root/usr/bin/python3")")"
    all_end 60 137 $everyone || return
    story "SIGKILL to the rank of the third host" 1
    all_name 'algo-3 rank 2: killed by signal 9 (SIGKILL)' $everyone
    at_work || return
    hosts kill 3
    all_end 60 73 1 2 || return
    story "the third host is killed" 1
    all_name 'algo-3' 1 2
    # With a restart and RINGMASTER_SHRINK the other hosts resume from the checkpoint.
    at_work -e RINGMASTER_RESTARTS=1 -e RINGMASTER_SHRINK=1 || return
    hosts kill 3
    for host in 1 2; do
        check "host $host goes on" wait_for 120 says "$host" ' of 2 begins at step [1-9]' || return
    done
    hosts stop 1
    all_end 60 143 1 2
}

on() {
    enter "$1-pytorch" || return 0
    cp "$top/examples/pytorch/train.py" "$root/train.py"
    check "there is no Open MPI" lacks "$(ls "$root/usr/bin")" mpirun
    ends_well && a_rank_fails && is_stopped && is_killed
}
debian_12() { on debian-12; }
debian_13() { on debian-13; }

CASES=${CASES:-debian_12 debian_13}
run_cases
finish
