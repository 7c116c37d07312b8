#!/bin/sh
# Tests jobs of three hosts that fail and are launched again: only where that may help, from the
# job's own checkpoint, and with the hosts that are left.
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"

# Hosts see a rank's progress mark at one look and its age at the next: every three seconds with
# several hosts, every four with one alone.
LOOKS_MS=6000 LOOKS_ALONE_MS=8000

# train RESTARTS [-e NAME=VALUE]...: trains for five epochs of five steps with a checkpoint after
# each, and waits for the first. The second and the third host then pause until go_on.
train() {
    restarts=$1
    shift
    ring 3
    start_held 6 -e "RINGMASTER_RESTARTS=$restarts" "$@" -- train --data synthetic \
        --synthetic-images 120 --model resnet20 --image-size 32 --batch-size 8 --epochs 5 \
        --eval-every 0 --report-every 1 --resume none --checkpoint-dir /opt/ml/checkpoints
    check "there is a checkpoint" wait_for "$PATIENCE" has_checkpoint
    fault_begins
}
# start_held STEP [start's arguments]...: starts all hosts; all but the first pause at STEP (held).
start_held() {
    hold=$(held "$1")
    shift
    hosts start 1 "$@"
    # shellcheck disable=SC2086  # words
    for host in 2 3; do hosts start "$host" $hold "$@"; done
}
has_checkpoint() { [ -n "$(find "$(hosts opt 1)/checkpoints" -name 'step-*.safetensors')" ]; }

# went_on RANKS HOST...: these hosts exit with 0, and the second attempt resumed from a checkpoint.
went_on() {
    ranks=$1
    shift
    all_end 90 0 "$@" || return
    log=$(hosts log 1)
    together "$@"
    check "it went on from its checkpoint" holds "$log" 'resumed from /opt/ml/checkpoints/step-'
    check "it began once" equal "$(echo "$log" | grep -c 'train step=1 ')" 1
    check "with $ranks ranks" holds "$log" "all $ranks ranks ended with 0; attempt 2 of "
    check "the model is there" test -s "$(hosts opt 1)/model/model.safetensors"
    for host in "$@"; do
        check "host $host has no failure file" equal "$(failure_of "$host")" ''
    done
}

# run RESTARTS SCRIPT [-e NAME=VALUE]...: starts a job with a shell script for ranks.
run() {
    restarts=$1 script=$2
    shift 2
    ring 3
    start_all -e "RINGMASTER_RESTARTS=$restarts" -e "TEST_SHARE=$share" "$@" -- train -- \
        sh -c "$script"
}

a_killed_rank_is_made_good() {
    train 1
    signal_program 2 KILL ringtrain
    go_on
    went_on 3 1 2 3
    check "what the first attempt died of is in the log" holds "$(hosts log 1)" \
        'algo-2 rank 1: killed by signal 9'
}

a_stalled_rank_is_made_good() {
    train 1 -e RINGMASTER_STALL_SECONDS=12
    signal_program 3 STOP ringtrain
    go_on
    said_within $((12000 + LOOKS_MS)) 1 'no progress' || return
    went_on 3 1 2 3
    check "what the first attempt died of is in the log" holds "$(hosts log 1)" 'no progress'
}

# After steps of a second each, a minute without one is a stall, long before the usual limit. A
# warning comes first.
what_a_rank_has_shown_limits_its_silence() {
    run 0 'n=0
        while [ "$n" -lt 45 ] || [ "$RANK" != 1 ]; do
            n=$((n % 200 + 1))
            printf "\\$(printf %03o "$n")" | dd of="$RINGMASTER_PROGRESS" conv=notrunc 2>/dev/null
            sleep 1
        done
        echo "silent"; exec sleep 600' -e RINGMASTER_STALL_LEARNED=1
    check "a rank falls silent" wait_for 90 says 2 ' silent$' || return
    fault_begins
    check "it is logged" wait_for 60 says 2 \
        'rank 1 has reported no progress for 3[0-9] s, ten times as long as ever before' || return
    check "that ends nothing" equal "$(hosts code 1 2>/dev/null)" ''
    said_within $((60000 + LOOKS_MS)) 1 'algo-2 rank 1: no progress for 60 s' || return
    check "it is no sooner" at_least "$took" 54000
    all_end "$PATIENCE" 74 1 2 3
    all_name 'algo-2 rank 1' 1 2 3
}

# Trains Mask R-CNN in f32 on a COCO folder: where a rank is killed after the first checkpoint, the
# final weights are bit-identical to those of an undisturbed job.
a_detector_goes_on_to_the_bit() {
    kept=$(mktemp -d)
    for fate in whole killed; do
        ring 3
        "$RINGMASTER_BIN/ringtrain" prepare shapes --coco "$share/set" --train 12 \
            --validation 1 >/dev/null || return
        [ "$fate" = killed ] || go_on
        start_held 2 -e RINGMASTER_RESTARTS=1 -- train --model maskrcnn_tiny --data "$share/set" \
            --validation none --batch-size 1 --threads 1 --data-threads 1 --steps 5 \
            --warmup-steps 2 --report-every 1 --checkpoint-every 1 --resume none \
            --checkpoint-dir /opt/ml/checkpoints
        check "there is a checkpoint" wait_for "$PATIENCE" has_checkpoint
        fault_begins
        if [ "$fate" = killed ]; then
            signal_program 2 KILL ringtrain
            go_on
            went_on 3 1 2 3
        else
            all_end 90 0 1 2 3
        fi
        cp "$(hosts opt 1)/model/model.safetensors" "$kept/$fate"
    done
    check "the weights are the same" "$RINGMASTER_BIN/../tests/weights_compare" "$kept/whole" \
        "$kept/killed" exact ''
    rm -rf "$kept"
}

# trains RESTARTS LAST FLAGS [-e NAME=VALUE]...: trains to the end, after which each rank of the
# first attempt runs LAST, before ringmaster learns that training is done.
trains() {
    restarts=$1 last=$2 flags="--data synthetic --synthetic-images 120 --model resnet20
        --image-size 32 --batch-size 8 --threads 1 --data-threads 1 --report-every 1
        --checkpoint-dir /opt/ml/checkpoints $3"
    shift 3
    flags=$(echo "$flags" | tr -s '\n ' ' ')
    run "$restarts" "PATH=$RINGMASTER_BIN:\$PATH; ringtrain train $flags || exit
        [ \$RINGMASTER_ATTEMPT != 1 ] || { $last; }" "$@"
}

# published RANKS STEPS HOST...: the second attempt finds all steps done and writes the model again.
published() {
    ranks=$1 steps=$2
    shift 2
    all_end 90 0 "$@" || return
    log=$(hosts log 1)
    check "it went on from its checkpoint" holds "$log" 'resumed from /opt/ml/checkpoints/step-'
    check "nothing was left to train" holds "$log" "all $steps steps are done already"
    check "it began once" equal "$(echo "$log" | grep -c 'train step=1 ')" 1
    check "the model went out twice" equal "$(echo "$log" | grep -c 'model in /opt/ml/model')" 2
    check "with $ranks ranks" holds "$log" "all $ranks ranks ended with 0; attempt 2 of "
}

a_training_that_was_done_is_published_again() {
    trains 1 'kill -s KILL $$' '--epochs 2 --recipe imagenet-90 --resume none'
    published 3 10 1 2 3
}

# Two ranks take more steps for the same epochs.
a_training_that_was_done_is_published_with_less_hosts() {
    trains 1 'echo "this rank is done"; exec sleep 60' '--epochs 2' -e RINGMASTER_SHRINK=1
    for host in 1 2 3; do
        check "host $host is done" wait_for "$PATIENCE" says "$host" 'this rank is done'
    done
    hosts kill 2
    published 2 14 1 3
}

# The job's settings differ from those of the checkpoint it names. The second attempt resumes from
# one of the job's own checkpoints, which has the same settings.
new_settings_for_a_checkpoint_that_was_named_go_on() {
    ring 3
    first=$(hosts opt 1)
    "$RINGMASTER_BIN/ringtrain" train --data synthetic --synthetic-images 120 --model resnet20 \
        --image-size 32 --batch-size 24 --threads 1 --epochs 1 \
        --checkpoint-dir "$first/checkpoints" --model-dir "$share/model" >/dev/null 2>&1 || return
    start_held 8 -e RINGMASTER_RESTARTS=1 -- train --data synthetic --synthetic-images 120 \
        --model resnet20 --image-size 32 --batch-size 8 --epochs 4 --lr 0.01 --eval-every 0 \
        --report-every 1 --checkpoint-every 1 \
        --resume /opt/ml/checkpoints/step-000000005.safetensors --checkpoint-dir /opt/ml/checkpoints
    check "a step of this job is done" wait_for "$PATIENCE" says 1 \
        'checkpoint /opt/ml/checkpoints/step-000000006'
    fault_begins
    signal_program 2 KILL ringtrain
    go_on
    all_end 90 0 1 2 3 || return
    log=$(hosts log 1)
    check "it began once with step 6" equal "$(echo "$log" | grep -c 'train step=6 ')" 1
    check "the checkpoint that was named was read once" equal \
        "$(echo "$log" | grep -c 'resumed from .*step-000000005')" 1
    check "it went on from one of its own" equal "$(echo "$log" | grep -c 'resumed from ')" 2
    check "all ended well" holds "$log" 'all 3 ranks ended with 0; attempt 2 of 2'
}

a_lost_host_is_done_without() {
    train 1 -e RINGMASTER_SHRINK=1
    hosts kill 2
    go_on
    went_on 2 1 3
}

# The frozen host is thawed during the second attempt, and does not disturb it.
a_frozen_host_is_done_without() {
    train 1 -e RINGMASTER_SHRINK=1
    hosts freeze 3
    go_on
    check "the others go on" wait_for "$PATIENCE" says 1 'attempt 2 begins, with 2 ranks on 2 hosts'
    hosts thaw 3
    went_on 2 1 2
    all_end "$PATIENCE" 73 3
}

a_lost_host_is_missed() {
    run 2 'exec sleep 60'
    check "all ranks have started" wait_for "$PATIENCE" says 1 'all 3 ranks have started'
    fault_begins
    hosts kill 2
    ended 73 'attempt 1 of 3, no restart without a lost host unless RINGMASTER_SHRINK is 1' \
        "$SILENCE_MS" 1 3
}

too_few_hosts_are_left() {
    run 2 'exec sleep 60' -e RINGMASTER_SHRINK=1 -e RINGMASTER_MIN_HOSTS=3
    check "all ranks have started" wait_for "$PATIENCE" says 1 'all 3 ranks have started'
    fault_begins
    hosts kill 3
    ended 73 'no restart with 2 hosts, RINGMASTER_MIN_HOSTS is 3' "$SILENCE_MS" 1 2
}

# The master's machine refuses connections: the others try every second and give up after two
# seconds of refusals. A container's address disappears with it, so there they look for a minute.
the_master_is_lost() {
    run 2 'exec sleep 60' -e RINGMASTER_SHRINK=1
    check "all ranks have started" wait_for "$PATIENCE" says 1 'all 3 ranks have started'
    fault_begins
    hosts kill 1
    check "the loss is logged" wait_for "$PATIENCE" says 2 'the master, algo-1, is lost'
    if [ "$DRIVER" = docker ]; then
        all_end 80 73 2 3
        all_name 'found no master within 60 s' 2 3
    else
        ended 73 'nothing listens at its address any more' $((3000 + LEAVE_MS)) 2 3
    fi
}

# The other hosts may be the ones that are cut off, so they look for the master for a minute; their
# programs end at once.
the_master_is_silent() {
    run 2 'exec sleep 60' -e RINGMASTER_SHRINK=1
    check "all ranks have started" wait_for "$PATIENCE" says 1 'all 3 ranks have started'
    fault_begins
    hosts freeze 1
    check "the loss is logged" wait_for "$PATIENCE" says 2 'the master, algo-1, is lost'
    sleep 5
    check "nothing runs" equal \
        "$(for pid in $(hosts pids 2); do readlink "/proc/$pid/exe"; done | grep -c /sleep)" 0
    all_end 90 73 2 3 || return
    all_name 'found no master within 60 s' 2 3
    within $((60000 + SILENCE_MS)) 2 3
    hosts kill 1 # before it can leave by itself
    hosts thaw 1 2>/dev/null
    all_end "$PATIENCE" 137 1
}

# The job shrinks to the master alone, where it goes on as one process without mpirun.
two_hosts_are_lost() {
    run 3 '[ $WORLD_SIZE -gt 1 ] || { echo "alone with $SM_HOSTS"; exit 0; }; exec sleep 60' \
        -e RINGMASTER_SHRINK=1
    check "all ranks have started" wait_for "$PATIENCE" says 1 'all 3 ranks have started'
    hosts kill 3
    check "two go on" wait_for "$PATIENCE" says 1 'all 2 ranks have started'
    hosts kill 2
    all_end "$PATIENCE" 0 1
    check "the last one knows that it is alone" holds "$(hosts log 1)" 'alone with ["algo-1"]'
}

restarts_run_out() {
    run 1 'echo "this is attempt $RINGMASTER_ATTEMPT"
        said=$TEST_SHARE/said-$RINGMASTER_ATTEMPT; : >"$said-$RANK"
        [ $RANK != 1 ] || {
            until [ -e "$said-0" ] && [ -e "$said-2" ]; do sleep 0.1; done
            kill -s SEGV $$
        }
        exec sleep 60'
    all_end "$PATIENCE" 139 1 2 3 || return
    all_name 'algo-2 rank 1: killed by signal 11 (SIGSEGV); attempt 2 of 2' 1 2 3
    check "the failure file is the last attempt's" holds "$(failure_of 3)" 'this is attempt 2'
    check "each host had both" holds "$(hosts log 3)" '] this is attempt 1'
}

an_exit_code_is_final() {
    run 2 '[ $RANK != 2 ] || { sleep 1; echo "$$ $(date +%s%3N)" >"$TEST_SHARE/failed-2"; exit 42; }
        exec sleep 60'
    fault_begins
    ended 42 \
        'algo-3 rank 2: exited with 42; attempt 1 of 3, no restart after this kind of failure' \
        "$FAILURE_MS" 1 2 3
}

an_exit_code_is_worth_a_restart_where_that_is_said() {
    run 2 'echo "attempt $RINGMASTER_ATTEMPT of rank $RANK"
        [ $RINGMASTER_ATTEMPT = 1 ] || exit 0
        [ $RANK != 1 ] || { sleep 1; exit 44; }
        exec sleep 60' -e RINGMASTER_RESTART_CODES=3,40-49
    all_end "$PATIENCE" 0 1 2 3 || return
    check "the second attempt is the last" holds "$(hosts log 1)" \
        'all 3 ranks ended with 0; attempt 2 of 3'
    check "what the first one died of is in the log" holds "$(hosts log 1)" \
        'algo-2 rank 1: exited with 44'
    # A shell exits with 137 where its program was killed by SIGKILL.
    run 1 '[ $RINGMASTER_ATTEMPT = 1 ] || exit 0
        [ $RANK != 1 ] || { sleep 1; sh -c "kill -9 \$\$"; exit $?; }
        exec sleep 60' -e RINGMASTER_RESTART_CODES=137
    all_end "$PATIENCE" 0 1 2 3 || return
    check "it died of the shell's code" holds "$(hosts log 1)" 'algo-2 rank 1: exited with 137'
    run 2 '[ $RANK != 1 ] || { sleep 1; exit 50; }; exec sleep 60' \
        -e RINGMASTER_RESTART_CODES=3,40-49
    all_end "$PATIENCE" 50 1 2 3 || return
    all_name \
        'algo-2 rank 1: exited with 50; attempt 1 of 3, no restart after this kind of failure' 1 2 3
}

# mark STEP [PATIENCE]: reports a shell script's one progress mark, a step below 8, with a patience
# in seconds, an octal byte (1 by default). Where ranks wait for one that fails, it is longer, lest
# the job count as stalled when that failure is late.
mark='mark() {
    printf "\\1\\0\\0\\0\\0\\0\\0\\0\\$1\\0\\0\\0\\0\\0\\0\\0\\${2:-1}" |
        dd of=$RINGMASTER_PROGRESS conv=notrunc 2>/dev/null
}'

# The pauses between the attempts are 1, 2 and 4 s.
attempts_that_get_no_further_end_the_job() {
    run 9 "$mark"'; mark 5 74; [ $RANK = 0 ] || exec sleep 60; sleep 1; exit 42' \
        -e RINGMASTER_RESTART_CODES=42
    all_end 90 42 1 2 3 || return
    all_name 'attempt 4 of 10, no restart, as 3 attempts in a row got no further than step 5' 1 2 3
}

# Here each attempt gets one step further than the last.
attempts_that_get_further_go_on() {
    run 4 "$mark"'; mark $RINGMASTER_ATTEMPT 74; [ $RANK = 0 ] || exec sleep 60; sleep 1; exit 42' \
        -e RINGMASTER_RESTART_CODES=42
    all_end 90 42 1 2 3 || return
    all_name 'algo-1 rank 0: exited with 42; attempt 5 of 5' 1 2 3
}

what_a_stalled_rank_waits_in_is_in_the_story() {
    run 0 "$mark"'; [ $RANK != 1 ] || { mark 5; echo marked; exec sleep 61; }; exec sleep 60'
    check "it has shown a mark" wait_for "$PATIENCE" says 2 '] marked' || return
    fault_begins
    ended 74 'algo-2 rank 1: no progress within its limit' $((1000 + LOOKS_MS + FAILURE_MS)) 1 2 3
    all_name 'threads: pid ' 1 2 3
    all_name ' sleep: 1 S ' 1 2 3
}

all_marked() { [ "$(hosts log 1 | grep -c '] marked')" = 3 ]; }

# All ranks stall at the same time: the log, the events and the failure file say where each of them
# waits.
what_each_stalled_rank_waits_in_is_told() {
    ring 1
    put hyperparameters.json '{"sagemaker_mpi_num_of_processes_per_host": "3"}'
    start_all -- train -- sh -c "$mark"'; mark 5; echo marked
        [ $RANK != 1 ] || exec cat /dev/zero >/dev/null
        exec sleep 60'
    check "all have shown a mark" wait_for "$PATIENCE" all_marked || return
    fault_begins
    ended 74 'no progress within its limit' $((1000 + LOOKS_ALONE_MS + FAILURE_MS)) 1
    events=$(hosts opt 1)/output/data/events-algo-1.jsonl
    for rank in 0 1 2; do
        where=' sleep: 1 S '
        [ $rank != 1 ] || where=' cat: 1 R'
        check "the log tells of rank $rank" \
            holds "$(hosts log 1 | grep "rank $rank: no progress for 1 s; its threads: pid ")" \
            "$where"
        check "so do the events" \
            holds "$(grep "\"event\":\"stalled\",.*\"rank\":$rank," "$events")" "$where"
        check "and the failure file" holds "$(failure_of 1)" "$where"
    done
    check "all of them are in the failure file" equal \
        "$(failure_of 1 | grep -c 'pid [0-9]* \(sleep\|cat\): ')" 3
}

# in_the_pause COMMAND...: runs it in the pause of four seconds after the third attempt. Where the
# test is late and the pause is over, the case proves nothing.
in_the_pause() {
    check "a pause begins" wait_for "$PATIENCE" says 3 'attempt 3 is over' || return
    fault_begins
    "$@"
    ! says 1 'attempt 4 begins' || { proves_nothing "the pause was over behind '$*'"; return 1; }
}

a_stop_between_attempts() {
    run 9 'kill -s KILL $$'
    in_the_pause hosts stop 3 || return
    ended 143 'algo-3: stopped on request between two attempts; attempt 3 of 10' "$FAILURE_MS" 1 2 3
}

a_host_lost_in_the_pause_is_done_without() {
    run 9 '[ $WORLD_SIZE = 2 ] && exit 0; kill -s KILL $$' -e RINGMASTER_SHRINK=1
    in_the_pause hosts kill 2 || return
    all_end 60 0 1 3
    check "two went on" holds "$(hosts log 1)" 'attempt 4 begins, with 2 ranks on 2 hosts'
}

a_host_lost_in_the_pause_is_missed() {
    run 9 'kill -s KILL $$'
    in_the_pause hosts kill 2 || return
    ended 73 'lost between two attempts' "$SILENCE_MS" 1 3
}

a_stop_of_the_second_attempt() {
    run 9 '[ $RINGMASTER_ATTEMPT = 2 ] || kill -s KILL $$
        trap "echo saved; exit 0" TERM; echo trapped; while :; do sleep 0.1; done'
    for host in 1 2 3; do
        check "the rank of host $host runs" wait_for "$PATIENCE" says "$host" '] trapped'
    done
    fault_begins
    hosts stop 2
    ended 143 'stopped on request at algo-2; attempt 2 of 10' "$FAILURE_MS" 1 2 3
    check "the program heard it" holds "$(hosts log 3)" '] saved'
}

# A program that empties the folders for temporary files removes what the launcher made there when
# it started.
empties='rm -rf /dev/shm/* /run/* /tmp/* "$TEST_RUN" 2>/dev/null
    [ "$RINGMASTER_ATTEMPT" = 2 ] || kill -s KILL $$'
what_a_program_removes_is_made_anew() {
    run 1 "$empties"
    all_end 60 0 $everyone || return
    check "the second attempt ended well" holds "$(hosts log 1)" \
        'all 3 ranks ended with 0; attempt 2 of 2'
}
what_another_user_s_program_removes_is_made_anew() {
    as_root "RINGMASTER_USER needs root to become another user"
    run 1 "$empties" -e RINGMASTER_USER=4321
    all_end 60 0 $everyone || return
    check "the second attempt ended well" holds "$(hosts log 1)" \
        'all 3 ranks ended with 0; attempt 2 of 2'
}
a_folder_that_was_named_is_made_anew_with_what_it_lay_in() {
    as_root "what root has made only root removes"
    ring 3
    start_all -p 'mkdir -p /tmp/named/run && chmod 1777 /tmp/named /tmp/named/run' \
        -e RINGMASTER_RESTARTS=1 -e RINGMASTER_RUN=/tmp/named/run -e TEST_RUN=/tmp/named -- \
        train -- sh -c "$empties"
    all_end 60 0 $everyone
}

# MPI's ports and shared memory of one attempt do not disturb the next ones.
mpi_meets_again_and_again() {
    ring 3
    cp "$RINGMASTER_BIN/probe_mpi" "$share/"
    for host in $everyone; do
        echo '{"sagemaker_mpi_num_of_processes_per_host": "2"}' \
            >"$(hosts opt "$host")/input/config/hyperparameters.json"
    done
    start_all -e RINGMASTER_RESTARTS=3 -- train -- "$share/probe_mpi" "$share" 600
    for time in 1 2 3; do
        check "all ranks meet, time $time" wait_for "$PATIENCE" met 1 "$time" || return
        signal_program "$time" KILL probe_mpi
    done
    check "all ranks meet, time 4" wait_for "$PATIENCE" met 1 4 || return
    for host in $everyone; do
        check "host $host has no memory of earlier ranks" equal \
            "$(hosts exec "$host" find /dev/shm -name '*_segment.*' | wc -l)" 2
    done
    signal_program 1 TERM probe_mpi
    all_end 60 0 $everyone || return
    check "the fourth attempt is the last" holds "$(hosts log 1)" 'ended with 0; attempt 4 of 4'
}
met() { [ "$(hosts log "$1" | grep -c 'of 6 has joined')" -eq $((2 * $2)) ]; }

# Only mpirun starts programs of Open MPI.
with_mpirun=
[ "${LAUNCHER:-}" = direct ] || with_mpirun=mpi_meets_again_and_again

CASES=${CASES:-a_killed_rank_is_made_good a_stalled_rank_is_made_good a_detector_goes_on_to_the_bit
    a_training_that_was_done_is_published_again
    a_training_that_was_done_is_published_with_less_hosts
    new_settings_for_a_checkpoint_that_was_named_go_on a_lost_host_is_done_without
    a_frozen_host_is_done_without a_lost_host_is_missed too_few_hosts_are_left the_master_is_lost
    the_master_is_silent two_hosts_are_lost a_host_lost_in_the_pause_is_done_without
    a_host_lost_in_the_pause_is_missed restarts_run_out an_exit_code_is_final
    an_exit_code_is_worth_a_restart_where_that_is_said attempts_that_get_no_further_end_the_job
    attempts_that_get_further_go_on what_a_stalled_rank_waits_in_is_in_the_story
    what_each_stalled_rank_waits_in_is_told a_stop_between_attempts a_stop_of_the_second_attempt
    $with_mpirun what_a_program_removes_is_made_anew
    what_another_user_s_program_removes_is_made_anew
    a_folder_that_was_named_is_made_anew_with_what_it_lay_in
    ${RINGMASTER_LONG:+what_a_rank_has_shown_limits_its_silence}}

# run_case calls this after each case.
case_ends() { nothing_is_left; }
run_cases
finish
