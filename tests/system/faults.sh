#!/bin/sh
# Every way a job of three hosts can go wrong, for one kind of program:
#
#   WORKLOAD=sh|mpi|ringtrain [DRIVER=ns|docker] [REPEAT=20] [CASES="..."] sh tests/system/faults.sh
#
#   sh          a shell script without MPI
#   mpi         a program that meets in an all-reduce all the time
#   ringtrain   training on synthetic images
#
# In every case all hosts end by themselves, in time, with the code of the cause, with the cause in
# each failure file, and nothing still running.
# shellcheck disable=SC2154  # share, system, failures: lib.sh
. "$(dirname "$0")/lib.sh"

[ "$WORKLOAD" != ringtrain ] || [ "$DRIVER" != ns ] || [ -x "$RINGMASTER_BIN/ringtrain" ] ||
    skip "ringtrain is not built"

# start_on HOSTS READY AMOUNT [RANK FAULT...]: the program on those hosts, for AMOUNT seconds or, of
# training, steps. They wait READY seconds for each other.
start_on() {
    on=$1 ready=$2 amount=$3
    shift 3
    case $WORKLOAD in
    sh) set -- -- sh "$share/probe.sh" "$share" "$amount" "$@" ;;
    mpi) set -- -- "$share/probe_mpi" "$share" "$amount" "$@" ;;
    ringtrain) set -- --data synthetic --model resnet20 --image-size 32 --batch-size 8 \
        --steps "$amount" --report-every 1 --checkpoint-dir /opt/ml/checkpoints ;;
    esac
    for host in $on; do
        hosts start "$host" -e "RINGMASTER_READY_SECONDS=$ready" -- train "$@"
    done
}

# A fresh ring with the programs it may run.
fresh() {
    ring 3
    cp "$system/probe.sh" "$share/"
    [ ! -e "$RINGMASTER_BIN/probe_mpi" ] || cp "$RINGMASTER_BIN/probe_mpi" "$share/"
}

# run [RANK FAULT...]: starts the job on every host and waits until all ranks are at work.
run() {
    fresh
    amount=120
    [ "$WORKLOAD" != ringtrain ] || amount=1000000
    start_on "$everyone" 600 "$amount" "$@"
    check "all ranks are at work within 30 s" wait_for 30 at_work
}

at_work() {
    case $WORKLOAD in
    ringtrain) hosts log 1 | grep -q 'train step=' ;;
    *) [ -e "$share/in-main-0" ] && [ -e "$share/in-main-1" ] && [ -e "$share/in-main-2" ] ;;
    esac
}

# signal_rank HOST SIGNAL: to the program itself, on a host with one rank.
# shellcheck disable=SC2016  # expanded on the host
signal_rank() {
    case $WORKLOAD in
    ringtrain) signal_program "$1" "$2" ringtrain ;;
    *) read -r id rest <"$share/in-main-$(($1 - 1))"
        hosts exec "$1" sh -c 'kill -s "$0" "$1"' "$2" "$id" ;;
    esac
}

a_rank_exits_with_42() {
    run 2 exit 42
    fault_begins
    ended 42 'algo-3 rank 2: exited with 42' "$FAILURE_MS" 1 2 3
}

a_rank_segfaults() {
    if [ "$WORKLOAD" = ringtrain ]; then
        run
        fault_begins
        signal_rank 3 SEGV
    else
        run 2 segv
        fault_begins
    fi
    ended 139 'algo-3 rank 2' "$FAILURE_MS" 1 2 3
}

a_rank_is_killed() {
    run
    fault_begins
    signal_rank 2 KILL
    ended 137 'algo-2 rank 1' "$FAILURE_MS" 1 2 3
}

a_worker_is_killed() {
    run
    fault_begins
    hosts kill 2
    ended 73 'algo-2' "$SILENCE_MS" 1 3
    check "the killed host's code" equal "$(hosts code 2)" 137
}

the_master_is_killed() {
    run
    fault_begins
    hosts kill 1
    ended 73 'algo-1' "$SILENCE_MS" 2 3
}

a_worker_is_cut_off() {
    run
    fault_begins
    hosts cut 3
    ended 73 'algo-3' "$SILENCE_MS" 1 2
    check "the lonely host ends too" hosts wait "$PATIENCE" 3
    within "$SILENCE_MS" 3
    check "the lonely host's code" equal "$(hosts code 3)" 73
}

a_worker_is_frozen() {
    run
    fault_begins
    hosts freeze 3
    ended 73 'algo-3' "$SILENCE_MS" 1 2
    fault_begins
    hosts thaw 3
    ended 73 'the master is lost' "$FAILURE_MS" 3
}

stopped() {
    run
    fault_begins
    hosts stop "$1"
    all_end 30 143 1 2 3
    fault_ends
    check "the hosts leave together" at_most "$(spread 1 2 3)" $((LEAVE_MS + $(cat "$RING/lag")))
    [ "$WORKLOAD" != ringtrain ] || goes_on_from_its_checkpoint
}

# The checkpoint is valid: the same job started again takes it up and does two steps more.
goes_on_from_its_checkpoint() {
    file=$(find "$(hosts opt 1)/checkpoints" -name 'step-*.safetensors' | sort | tail -n 1)
    check "there is a checkpoint" test -s "$file" || return
    steps=$(basename "$file" .safetensors | sed 's/step-0*//')
    start_on "$everyone" 600 $((steps + 2))
    all_end 60 0 1 2 3 || return
    check "it goes on after step $steps" holds "$(hosts log 1)" "train step=$((steps + 1)) "
    check "it does not begin again" lacks "$(hosts log 1)" 'train step=1 '
}
the_master_is_stopped() { stopped 1; }
a_worker_is_stopped() { stopped 3; }

a_host_is_stopped_at_once() {
    ring 3
    start_all -- train -- sleep 60
    check "there is somebody to stop" wait_for 10 hosts stop 2
    all_end "$PATIENCE" 143 1 2 3 || return
    all_name stopped 1 2 3
}

a_host_is_missing() {
    fresh
    start_on '1 3' 3 60
    fault_begins
    ended 69 'algo-2' $((3000 + LEAVE_MS)) 1 3
    check "the log says who is missing" holds "$(hosts log 1)" 'algo-2'
}

a_host_is_late() {
    fresh
    start_on '1 3' 600 2
    sleep 4
    start_on 2 600 2
    all_end "$PATIENCE" 0 1 2 3
}

# Nothing makes ringtrain leave with a code of our choice.
exits=a_rank_exits_with_42
[ "$WORKLOAD" != ringtrain ] || exits=
CASES=${CASES:-$exits a_rank_segfaults a_rank_is_killed a_worker_is_killed
    the_master_is_killed a_worker_is_cut_off a_worker_is_frozen the_master_is_stopped
    a_worker_is_stopped a_host_is_stopped_at_once a_host_is_missing a_host_is_late}

# After each case.
case_ends() { check "nothing is left running" equal "$(hosts left)" 0; }
run_cases
finish
