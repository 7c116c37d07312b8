#!/bin/sh
# Tests a parameter server on the last of three hosts (--strategy ps-async). With one slow worker,
# training comes as far as with allreduce; the images per second of both are printed, not judged. A
# stop ends all ranks with one exit code and a checkpoint. With RINGMASTER_LOST_RANKS the others go
# on without a lost worker.
# shellcheck disable=SC2034,SC2154  # variables for servers.sh, and of lib.sh
. "$(dirname "$0")/lib.sh"

[ -x "$RINGMASTER_BIN/ringtrain" ] || skip "$RINGMASTER_BIN/ringtrain is not built"
# Containers have their own ringtrain.
trainer=$RINGMASTER_BIN/ringtrain
[ "$DRIVER" = ns ] || trainer=ringtrain

# trains NAME FLAGS...: trains with one rank per host; that of host 2 is stopped half of the time.
# $with has options for start, and $slow names another slow rank, or none.
trains() {
    name=$1
    shift
    mkdir -m 1777 "$share/$name"
    cp "$system/slow_rank.sh" "$share/slow_rank.sh"
    [ -d "$share/shapes" ] ||
        "$RINGMASTER_BIN/ringtrain" prepare shapes "$share/shapes" --train 64 --validation 8 \
        --classes 4 --side 40 >/dev/null
    # shellcheck disable=SC2086  # a list
    start_all ${with:-} -- ringmaster train -- sh "$share/slow_rank.sh" "${slow:-1}" "$trainer" \
        train --data "$share/shapes" --model resnet20 --batch-size 8 --threads 1 --data-threads 1 \
        --validation none --augment center --flip false --lr 0.2 --warmup-epochs 1 --log metrics \
        --report-every 1 --comm tcp --model-dir "$share/$name/model" \
        --checkpoint-dir "$share/$name/steps" "$@"
}
# loss prints the mean loss of the last twelve steps, and speed the images per second in the log.
loss() {
    hosts log 1 | sed -n 's/.*train step=.* loss=\([0-9.]*\) .*/\1/p' | tail -n 12 |
        awk '{ s += $1 } END { print s / NR }'
}
speed() { hosts log 1 | sed -n 's/.* of it waiting for other ranks, \([0-9.]*\) images.*/\1/p'; }
less() {
    awk -v a="$1" -v b="$2" 'BEGIN { exit !(a < b) }' ||
        { echo "  $1 is not less than $2"; return 1; }
}

a_slow_host_learns_with_the_others() {
    ring 2
    trains together --steps 100
    all_end "$PATIENCE" 0 $everyone || return
    together=$(loss) told=$(speed)
    ring 3
    trains apart --steps 100 --strategy ps-async --server-hosts 1
    all_end "$PATIENCE" 0 $everyone || return
    apart=$(loss)
    echo "  one of two workers slow: allreduce $told images/s, loss $together; ps-async $(speed) images/s, loss $apart"
    check "allreduce learns" less "$together" 1
    check "ps-async learns" less "$apart" 1
    check "as far" less "$apart" "$(awk -v a="$together" 'BEGIN { print a + 0.5 }')"
}

# loses NAME RANKS FLAGS...: starts a training of which RANKS ranks may be lost, and waits for its
# first step. It pauses at step 10 until go_on.
loses() {
    ring 3
    name=$1 with="-e RINGMASTER_LOST_RANKS=$2 $(held 10)" slow=none
    shift 2
    trains "$name" --strategy ps-async "$@"
    with='' slow=''
    check "it trains" wait_for "$PATIENCE" says 1 'train step='
}

a_lost_worker_costs_only_itself() {
    loses alone 1 --server-hosts 1 --steps 200 || return
    signal_program 2 KILL ringtrain
    check "the loss is logged" wait_for "$PATIENCE" says 1 \
        'algo-2 rank 1: killed by signal 9 .*the others go on' || return
    go_on
    check "the trainer knows" wait_for "$PATIENCE" says 1 'rank 1 is lost after step'
    all_end "$PATIENCE" 0 $everyone || return
    every_log_has \
    'done: 2 of 3 ranks ended with 0; 1 was lost, and RINGMASTER_LOST_RANKS is 1: rank 1 on algo-2'
    echo "  a worker lost: $(hosts log 1 | grep -c 'train step=') lines of steps, loss $(loss)"
    check "the other one learns" less "$(loss)" 1
}

# Two of five workers are killed, which is one too many.
one_worker_too_many_ends_the_job() {
    with_two="-e RINGMASTER_RANKS_PER_HOST=2"
    loses many "1 $with_two" --servers 1 --steps 100000 || return
    signal_program 2 KILL ringtrain
    all_end "$PATIENCE" 137 $everyone || return
    all_name '2 ranks failed, and RINGMASTER_LOST_RANKS is 1' $everyone
    all_name 'rank 2 on algo-2 killed by signal 9' $everyone
    all_name 'rank 3 on algo-2 killed by signal 9' $everyone
}

# No worker can go on without the server: they fail, and the failure file names the server as the
# cause.
a_lost_server_ends_the_job_under_its_own_name() {
    loses server 1 --server-hosts 1 --steps 100000 || return
    signal_program 3 KILL ringtrain
    all_end "$PATIENCE" 137 $everyone || return
    all_name 'algo-3 rank 2: killed by signal 9 (SIGKILL)' $everyone
    all_name 'lost: rank 2 on algo-3 killed by signal 9 (SIGKILL), ' $everyone
    all_name 'later rank 0 on algo-1 exited with 70' $everyone
}

strategy=ps-async stopped_host=2
. "$system/servers.sh"

CASES=${CASES:-a_slow_host_learns_with_the_others a_stop_ends_servers_and_workers
    a_lost_server_ends_the_attempt a_lost_worker_costs_only_itself one_worker_too_many_ends_the_job
    a_lost_server_ends_the_job_under_its_own_name}
run_cases
finish
