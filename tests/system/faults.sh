#!/bin/sh
# Tests every way in which a job of some hosts can go wrong, for one kind of program:
#
#   WORKLOAD=sh|mpi|ringtrain [HOSTS="3 8 16"] [DRIVER=ns|docker] [REPEAT=20] [CASES="..."] \
#       sh tests/system/faults.sh
#
# HOSTS is the number of hosts, three by default; all cases run for each of several numbers.
#
#   sh          a shell script without MPI
#   mpi         a program that repeats an all-reduce all the time
#   ringtrain   training on synthetic images
#
# In every case all hosts end by themselves, in time, with the exit code of the cause and with the
# cause in each failure file, and nothing still runs.
# shellcheck disable=SC2034,SC2154,SC2046  # variables of lib.sh; lists of hosts are split
. "$(dirname "$0")/lib.sh"

[ "$WORKLOAD" != ringtrain ] || [ "$DRIVER" != ns ] || [ -x "$RINGMASTER_BIN/ringtrain" ] ||
    skip "ringtrain is not built"

# The seconds of silence after which a host is lost, and the seconds without progress after which a
# trainer is ended; if empty, the launcher's default.
dead=
stall=

# start_on HOSTS READY AMOUNT [RANK FAULT...]: starts the program on those hosts, for AMOUNT seconds
# or, for training, AMOUNT steps. The hosts wait READY seconds for each other.
start_on() {
    on=$1 ready=$2 amount=$3
    shift 3
    case $WORKLOAD in
    sh) set -- -- train -- sh "$share/probe.sh" "$share" "$amount" "$@" ;;
    mpi) set -- -- train -- "$share/probe_mpi" "$share" "$amount" "$@" ;;
    ringtrain) set -- -- train --data synthetic --model resnet20 --image-size 32 --batch-size 8 \
        --steps "$amount" --report-every 1 --checkpoint-dir /opt/ml/checkpoints ;;
    esac
    [ -z "$dead" ] || set -- -e "RINGMASTER_DEAD_SECONDS=$dead" "$@"
    [ -z "$stall" ] || set -- -e "RINGMASTER_STALL_SECONDS=$stall" "$@"
    for host in $on; do
        if [ "$host" = "$odd_host" ] && [ -n "$odd" ]; then
            hosts start "$host" -e "RINGMASTER_READY_SECONDS=$ready" -p "$odd" "$@"
        else
            hosts start "$host" -e "RINGMASTER_READY_SECONDS=$ready" "$@"
        fi
    done
}

# Makes a fresh ring with the programs that it may run. Host $odd_host runs the script $odd first.
fresh() {
    odd=
    ring "$size"
    odd_host=$last
    cp "$system/probe.sh" "$share/"
    [ ! -e "$RINGMASTER_BIN/probe_mpi" ] || cp "$RINGMASTER_BIN/probe_mpi" "$share/"
}

# run [RANK FAULT...]: starts the job on every host and waits until all ranks are at work.
run() {
    fresh
    go "$@"
}

go() { at_work_for 120 1000000 "$@"; }

# The rank that is to fail fails now.
fails_now() {
    fault_begins
    : >"$share/fail"
}

# at_work_for SECONDS STEPS [RANK FAULT...]: starts the job and waits until all ranks are at work.
at_work_for() {
    amount=$1
    [ "$WORKLOAD" != ringtrain ] || amount=$2
    shift 2
    start_on "$everyone" 600 "$amount" "$@"
    check "all ranks are at work" wait_for $((PATIENCE + 5 * size)) at_work
}

# Open MPI connects ranks late; those that have met in an all-reduce have their connections.
at_work() {
    case $WORKLOAD in
    ringtrain) says 1 'train step=' ;;
    mpi) are_there met ;;
    *) are_there in-main ;;
    esac
}

are_there() { [ "$(find "$share" -name "$1-*" ! -name '*.part' | wc -l)" = "$size" ]; }

# but HOST...: prints all the other hosts.
but() {
    for host in $everyone; do
        case " $* " in *" $host "*) ;; *) echo "$host" ;; esac
    done
}

# signal_rank HOST SIGNAL: sends it to the program itself, on a host with one rank.
# shellcheck disable=SC2016  # expanded on the host
signal_rank() {
    case $WORKLOAD in
    ringtrain) signal_program "$1" "$2" ringtrain ;;
    *) read -r id rest <"$share/in-main-$(($1 - 1))"
        hosts exec "$1" sh -c 'kill -s "$0" "$1"' "$2" "$id" ;;
    esac
}

a_rank_exits_with_42() {
    run $((size - 1)) exit 42
    fails_now
    ended 42 "algo-$last rank $((last - 1)): exited with 42" "$FAILURE_MS" $everyone
}

a_rank_segfaults() {
    if [ "$WORKLOAD" = ringtrain ]; then
        run
        fault_begins
        signal_rank "$last" SEGV
    else
        run $((size - 1)) segv
        fails_now
    fi
    ended 139 "algo-$last rank $((last - 1))" "$FAILURE_MS" $everyone
}

# mpirun reports the abort, and ends all ranks.
a_rank_aborts() {
    run $((size - 1)) abort 42
    fails_now
    ended 42 "algo-$last rank $((last - 1)): exited with 42" "$FAILURE_MS" $everyone
    mpirun_told "MPI_ABORT was invoked on rank $((last - 1)) in communicator MPI_COMM_WORLD"
    all_name '(ringmaster explain MPI_ABORT)' $everyone
}

# The rank itself prints no error, but Open MPI reports one through mpirun.
a_rank_breaks_a_rule_of_mpi() {
    run $((size - 1)) truncate
    fails_now
    ended 15 "algo-$last rank $((last - 1)): exited with 15" "$FAILURE_MS" $everyone
    mpirun_told 'An error occurred in MPI_Recv; MPI_ERR_TRUNCATE: message truncated'
    all_name '(ringmaster explain mpi:15)' $everyone
    check "the log has it, too" holds "$(hosts log 1)" '*** MPI_ERR_TRUNCATE: message truncated'
}

mpirun_told() { all_name "mpirun: $1" $everyone; }

# How long a program takes until it has used up the memory is not promised; then it is a failure
# like any other.
# shellcheck disable=SC2016  # expanded on the host
a_rank_runs_out_of_memory() {
    fresh
    [ "$DRIVER" = ns ] && control_group memory 300M || {
        skip_case "no control group for memory here"
        return
    }
    odd="echo \$\$ >$control/cgroup.procs"
    go $((size - 1)) memory
    fails_now
    check "the kernel ends it" wait_for "$PATIENCE" memory_ran_out || return
    rm -f "$share"/failed-* # that time is when it began to take memory, not when it failed
    fault_begins
    ended 137 \
    "algo-$last rank $((last-1)): killed by signal 9 (SIGKILL); out of memory: the kernel killed" \
        "$FAILURE_MS" $everyone
}

# Control groups of both versions count the processes that ran out of memory.
memory_ran_out() {
    cat "$control/memory.events" "$control/memory.oom_control" 2>/dev/null |
        grep -q '^oom_kill [1-9]'
}

# The failing rank fills the disk that its host's failure file is to be written to.
a_rank_fails_on_a_full_disk() {
    fresh
    [ "$DRIVER" = ns ] || { skip_case "these hosts mount file systems of their own"; return; }
    odd='mount -t tmpfs -o size=64k full /opt/ml/output'
    go $((size - 1)) full
    fails_now
    all_end "$PATIENCE" 42 $everyone || return
    all_name "algo-$last rank $((last - 1)): exited with 42" $(but "$last")
    within "$FAILURE_MS" $everyone
    together $everyone
    check "its own log tells the cause" holds "$(hosts log "$last")" \
        "algo-$last rank $((last - 1)): exited with 42"
}

a_rank_is_killed() {
    run
    fault_begins
    signal_rank 2 KILL
    ended 137 'algo-2 rank 1' "$FAILURE_MS" $everyone
}

a_worker_is_killed() {
    run
    fault_begins
    hosts kill 2
    ended 73 'algo-2' "$SILENCE_MS" $(but 2)
    check "the killed host's code" equal "$(hosts code 2)" 137
}

the_master_is_killed() {
    run
    fault_begins
    hosts kill 1
    ended 73 'algo-1' "$SILENCE_MS" $(but 1)
}

a_worker_is_cut_off() {
    run
    fault_begins
    hosts cut "$last"
    ended 73 "algo-$last" "$SILENCE_MS" $(but "$last")
    lonely_too "$SILENCE_MS" 'the master is lost'
}

# lonely_too MS TEXT: the host that the others have lost ends as well, within MS of the fault, with
# TEXT in its failure file.
lonely_too() {
    all_end "$PATIENCE" 73 "$last"
    within "$1" "$last"
    all_name "$2" "$last"
}

a_worker_is_frozen() {
    run
    fault_begins
    hosts freeze "$last"
    ended 73 "algo-$last" "$SILENCE_MS" $(but "$last")
    fault_begins
    hosts thaw "$last"
    ended 73 'the master is lost' "$FAILURE_MS" "$last"
}

# Hosts with a lease of 5 s are lost after 5 s on both sides of a cut.
hosts_are_lost_after_5_s() {
    dead=5
    usual=$SILENCE_MS
    SILENCE_MS=$((5000 + LEAVE_MS))
    a_worker_is_frozen
    check "it logged that" holds "$(hosts log 1)" 'no heartbeat for 5 s'
    a_worker_is_cut_off
    check "the other side logged that" holds "$(hosts log "$last")" 'no heartbeat from it for 5 s'
    SILENCE_MS=$usual
    dead=
}

# The master has lost the others while it was frozen, and says so.
the_master_is_frozen() {
    run
    fault_begins
    hosts freeze 1
    ended 73 'the master is lost' "$SILENCE_MS" $(but 1)
    fault_begins
    hosts thaw 1
    ended 73 'lost' "$FAILURE_MS" 1
}

# What the worker sends is lost. It receives one more heartbeat of the master: the master's kernel
# sends nothing more until that one is acknowledged.
a_worker_is_not_heard() {
    run
    fault_begins
    hosts mute "$last"
    ended 73 "algo-$last" "$SILENCE_MS" $(but "$last")
    lonely_too $((SILENCE_MS + 3000)) 'lost'
}

# The worker receives nothing, but what it sends arrives.
a_worker_does_not_hear() {
    run
    fault_begins
    hosts deafen "$last"
    ended 73 "algo-$last" "$SILENCE_MS" $(but "$last")
    lonely_too "$SILENCE_MS" 'the master is lost'
}

# Four seconds are shorter than the lease, whenever the last heartbeat was: no host is lost.
a_link_breaks_and_heals() {
    fresh
    at_work_for 12 1000000
    began=$(now_ms)
    hosts cut "$last"
    sleep 4
    hosts mend "$last"
    took=$(($(now_ms) - began))
    echo "  the link was broken for $took ms"
    [ "$took" -le 6000 ] || { proves_nothing "the link was broken for $took ms"; return; }
    if [ "$WORKLOAD" = ringtrain ]; then # how many steps it makes meanwhile depends on the machine
        check "training goes on" wait_for "$PATIENCE" says 1 "train step=$(($(step_of 1) + 3)) "
        hosts stop 1
        all_end "$PATIENCE" 143 $everyone
    else
        all_end "$PATIENCE" 0 $everyone
    fi
    for host in $everyone; do
        check "host $host tells of no loss" \
            lacks "$(hosts log "$host" | grep -v ' goodput ')" ' lost'
    done
}

# A trainer reports its progress and is ended when it hangs. Other programs may wait as long as no
# limit is set (test_hangs.sh): if one pauses for longer than the lease, its host still sends
# heartbeats, and the job goes on.
a_rank_is_paused() {
    [ "$WORKLOAD" != ringtrain ] || stall=12
    fresh
    at_work_for 20 1000000
    stall=
    fault_begins
    signal_rank "$last" STOP
    if [ "$WORKLOAD" = ringtrain ]; then
        ended 74 'no progress within its limit' \
            $((12000 + LOOK_MS + GATHER_MS + LEAVE_MS)) $everyone
        return
    fi
    sleep 15
    fault_ends
    check "nobody has given up" equal "$(hosts_ended)" ''
    signal_rank "$last" CONT
    all_end "$PATIENCE" 0 $everyone
}
GATHER_MS=10000 # how long evidence may take before a stall ends the ranks
LOOK_MS=4000 # how often a host looks at ranks' marks

# step_of HOST: prints the last step in its log.
step_of() { hosts log "$1" | sed -n 's/.*train step=\([0-9]*\) .*/\1/p' | tail -n 1; }

# Prints the exit codes of the hosts that have ended.
hosts_ended() { for host in $everyone; do hosts code "$host" 2>/dev/null; done; }

# The ranks and the daemon of the host go on; only its heartbeats are missing.
a_supervisor_is_frozen() {
    run
    fault_begins
    first=$(hosts pid "$last")
    kill -s STOP "$first"
    ended 73 "algo-$last" "$SILENCE_MS" $(but "$last")
    fault_begins
    kill -s CONT "$first"
    ended 73 'the master is lost' "$FAILURE_MS" "$last"
}

# The hosts of the second half reach only each other: neither side goes on alone.
the_hosts_are_parted() {
    run
    fault_begins
    far=$(seq -s ' ' $((size / 2 + 1)) "$size")
    hosts part $far
    ended 73 'algo-' "$SILENCE_MS" $(but "$far")
    check "the far hosts end too" hosts wait "$PATIENCE" $far
    within "$SILENCE_MS" $far
    for host in $far; do
        check "the code of far host $host" equal "$(hosts code "$host")" 73
    done
    all_name 'the master is lost' $far
}

# The clock is set an hour ahead, then one late: deadlines use a clock that nobody sets. Training is
# stopped after the time of the other programs, as its number of steps depends on the machine.
clock_steps() {
    fresh
    [ "$DRIVER" = ns ] || { skip_case "no library of ours can be loaded there"; return; }
    odd_host=$1
    odd="set -- LD_PRELOAD=$(
        dirname "$RINGMASTER_BIN")/tests/clock.so CLOCK_STEP=$share/step \"\$@\""
    at_work_for 12 1000000
    for step in 3600 -3600; do
        echo "$step" >"$share/step"
        check "the first process of host $1 looks at a clock" \
            wait_for "$PATIENCE" test -e "$share/step-$step"
    done
    code=0
    if [ "$WORKLOAD" = ringtrain ]; then
        code=143
        sleep 12
        check "nobody has given up" equal "$(hosts_ended)" ''
        hosts stop 1
    fi
    all_end "$PATIENCE" "$code" $everyone
    said=$(hosts log "$1" | sed -n 's/^\(20[0-9TZ:.-]*\) .*/\1/p' | tail -n 1)
    check "host $1 says so an hour ago: $said" \
        at_most "$(date -d "$said" +%s)" $(($(date +%s) - 3000))
}
the_masters_clock_steps() { clock_steps 1; }
a_workers_clock_steps() { clock_steps "$last"; }

# Programs end as soon as they are asked to (ringtrain after the current step and a checkpoint) and
# record when: the hosts have two seconds from then on.
told_its_end() {
    if [ "$WORKLOAD" = ringtrain ]; then
        said=$(hosts log 1 | sed -n \
            's/^\[algo-1 rank 0\] \(20[0-9TZ:.-]*\) .* stopped on request after step .*/\1/p')
        check "training says that it has stopped" test -n "$said" || return
        fault_at=$(date -d "$said" +%s%3N)
        return
    fi
    check "all ranks left on request" \
        equal "$(find "$share" -name 'out-*' ! -name '*.part' | wc -l)" "$size" || return
    from_the_last_rank
}

stopped() {
    run
    fault_begins
    hosts stop "$1"
    all_end "$PATIENCE" 143 $everyone || return
    told_its_end || return
    within "$LEAVE_MS" $everyone
    together $everyone
    [ "$WORKLOAD" != ringtrain ] || goes_on_from_its_checkpoint
}

# The checkpoint is valid: the same job, started again, resumes from it and makes two more steps.
goes_on_from_its_checkpoint() {
    file=$(find "$(hosts opt 1)/checkpoints" -name 'step-*.safetensors' | sort | tail -n 1)
    check "there is a checkpoint" test -s "$file" || return
    steps=$(basename "$file" .safetensors | sed 's/step-0*//')
    start_on "$everyone" 600 $((steps + 2))
    all_end $((PATIENCE + 10 * size)) 0 $everyone || return
    check "it goes on after step $steps" holds "$(hosts log 1)" "train step=$((steps + 1)) "
    check "it does not begin again" lacks "$(hosts log 1)" 'train step=1 '
}
the_master_is_stopped() { stopped 1; }
a_worker_is_stopped() { stopped "$last"; }

JOIN_MS=5000 # how long hosts that have not joined yet have to join, so that all learn of a stop
a_host_is_stopped_at_once() {
    ring "$size"
    start_all -- train -- sleep 60
    check "there is somebody to stop" wait_for "$PATIENCE" hosts stop 2
    fault_begins
    all_end "$PATIENCE" 143 $everyone || return
    within $((JOIN_MS + LEAVE_MS)) $everyone
    all_name stopped $everyone
}

a_host_is_missing() {
    fresh
    start_on "$(but 2)" 6 60
    fault_begins
    ended 69 'algo-2' $((6000 + LEAVE_MS)) $(but 2)
    check "the log says who is missing" holds "$(hosts log 1)" 'algo-2'
}

a_host_is_late() {
    fresh
    start_on "$(but 2)" 600 2
    sleep 4
    start_on 2 600 2
    fault_begins # for the lag: only the time until the hosts are out is promised, not the job's
    all_end "$PATIENCE" 0 $everyone || return
    [ "$WORKLOAD" = ringtrain ] || from_the_last_rank
    [ "$WORKLOAD" = ringtrain ] || within "$LEAVE_MS" $everyone
}

# ringtrain cannot be made to exit with a chosen code. As it needs the whole machine, the cases that
# do not depend on the program run with the others only; with RINGMASTER_LONG each program has all.
silent='the_master_is_frozen a_worker_is_not_heard a_worker_does_not_hear'
passing='a_link_breaks_and_heals a_rank_is_paused'
lone='hosts_are_lost_after_5_s the_hosts_are_parted a_supervisor_is_frozen'
# A preloaded library sets the clock, and a static launcher loads none (test_static_jobs.sh).
[ -n "${RINGMASTER_STATIC:-}" ] || lone="$lone the_masters_clock_steps a_workers_clock_steps"
case $WORKLOAD${RINGMASTER_LONG:+-long} in
sh) told="$lone $silent" ;;
mpi) told="$lone $passing" ;;
ringtrain) told=a_rank_is_paused ;;
*) told="$lone $silent $passing" ;;
esac
case $WORKLOAD in
sh) told="a_rank_exits_with_42 a_rank_runs_out_of_memory a_rank_fails_on_a_full_disk $told" ;;
mpi) told="a_rank_exits_with_42 a_rank_aborts a_rank_breaks_a_rule_of_mpi
    a_rank_runs_out_of_memory $told" ;;
esac
CASES=${CASES:-$told a_rank_segfaults a_rank_is_killed a_worker_is_killed
    the_master_is_killed a_worker_is_cut_off a_worker_is_frozen the_master_is_stopped
    a_worker_is_stopped a_host_is_stopped_at_once a_host_is_missing a_host_is_late}

# Runs after each case.
case_ends() { nothing_is_left; }
for size in ${HOSTS:-3}; do
    last=$size
    echo "$size hosts:"
    run_cases
done
finish
