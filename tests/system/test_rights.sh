#!/bin/sh
# The rights of hosts. In all system tests they have none, unless a case says why: no root, no
# capabilities and no way to gain any, and a file system that is read-only but for a few folders
# (hosts.sh). This test checks that. SageMaker starts containers as root, so the most common jobs
# are tried as root, too. lib.sh explains DRIVER.
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
export UNPRIVILEGED=1
. "$(dirname "$0")/lib.sh"

# Hosts have none of the rights that the header names.
hosts_have_no_rights() {
    ring 2
    start_all -- train -- sh -c 'id -u; grep -E "^(CapEff|CapBnd|NoNewPrivs)" /proc/self/status
        for file in /etc/x /usr/x /run/x /x; do
            touch $file 2>/dev/null && echo "$file can be written to"
        done
        echo "first $(grep ^CapBnd /proc/1/status)"'
    all_end 60 0 $everyone || return
    for host in $everyone; do
        log=$(hosts log "$host")
        check "a user without a name" holds "$log" '] 4321'
        check "no capability" holds "$log" 'CapEff:	0000000000000000'
        check "none to be had" holds "$log" 'first CapBnd:	0000000000000000'
        check "no new ones" holds "$log" 'NoNewPrivs:	1'
        check "nothing to write to" lacks "$log" 'can be written to'
        check "that the user has no name worries nobody" lacks "$log" 'unhandled shell'
    done
}

ranks_meet_by_mpi() {
    as_root "as SageMaker does it"
    ring 3
    cp "$RINGMASTER_BIN/probe_mpi" "$share/" 2>/dev/null ||
        cp "$(command -v true)" "$share/probe_mpi"
    for host in $everyone; do
        echo '{"sagemaker_mpi_num_of_processes_per_host": "2"}' \
            >"$(config "$host")/hyperparameters.json"
    done
    start_all -- train -- "$share/probe_mpi" "$share" 1
    all_end 60 0 $everyone || return
    check "rank 5 has joined" holds "$(hosts log 3)" '[algo-3 rank 5] rank 5 of 6 has joined'
    nothing_is_left
}

# The model belongs to the user that the trainer runs as.
ringtrain_trains() {
    train_as 4321
    as_root "as SageMaker does it"
    train_as 0
}
train_as() {
    ring 2
    start_all -- train --data synthetic --model resnet20 --batch-size 8 --steps 3 --report-every 1
    all_end 120 0 $everyone || return
    check "rank 0 reports" holds "$(hosts log 1)" '[algo-1 rank 0] train step=3 '
    check "the model is there" test -s "$(hosts opt 1)/model/model.safetensors"
    check "its owner" equal "$(stat -c %u "$(hosts opt 1)/model/model.safetensors")" "$1"
}

a_rank_fails() {
    as_root "as SageMaker does it"
    ring 3
    start_all -- train -- sh -c '[ $RANK != 1 ] || { sleep 1; exit 42; }; exec sleep 60'
    all_end 60 42 $everyone || return
    all_name 'algo-2 rank 1: exited with 42' $everyone
    nothing_is_left
}

a_stop_reaches_every_rank() {
    as_root "as SageMaker does it"
    ring 3
    start_all -- train -- sh -c \
        'trap "echo heard; exit 0" TERM; echo ready; while :; do sleep 0.1; done'
    for host in $everyone; do
        check "host $host is ready" wait_for "$PATIENCE" says $host ready
    done
    hosts stop 2
    all_end 60 143 $everyone || return
    for host in $everyone; do
        check "host $host has heard" holds "$(hosts log "$host")" heard
    done
}

a_killed_rank_is_made_good() {
    as_root "as SageMaker does it"
    ring 2
    start_all -e RINGMASTER_RESTARTS=1 -- train -- sh -c \
        '[ $RANK$RINGMASTER_ATTEMPT != 11 ] || kill -KILL $$
        sleep 1; echo "attempt $RINGMASTER_ATTEMPT"'
    all_end 60 0 $everyone || return
    check "the second attempt went well" holds "$(hosts log 2)" '[algo-2 rank 1] attempt 2'
}

a_lost_host_is_told() {
    as_root "as SageMaker does it"
    ring 3
    start_all -- train -- sh -c 'echo ready; exec sleep 60'
    check "host 3 is at work" wait_for "$PATIENCE" says 3 ready
    hosts kill 3
    all_end 60 73 1 2
}

another='RINGMASTER_USER needs root to become another user'

# The hosts run as root, but the job's programs do not, and cannot reach the processes that do.
programs_run_as_another_user() {
    as_root "$another"
    ring 2
    cp "$RINGMASTER_BIN/probe_mpi" "$share/" 2>/dev/null ||
        cp "$(command -v true)" "$share/probe_mpi"
    for host in $everyone; do
        echo '{"sagemaker_mpi_num_of_processes_per_host": "2"}' \
            >"$(config "$host")/hyperparameters.json"
        hosts start "$host" -e RINGMASTER_USER=4321 -- train -- sh -c '
            echo "runs as $(id -u):$(id -g) at $HOME, the first one as $(stat -c %u /proc/1)"
            cat /proc/1/environ >/dev/null 2>&1 && echo "reads its variables"
            kill -0 1 2>/dev/null && echo "may end it"
            echo mine >/opt/ml/model/rank-$RANK || echo "cannot write"
            exec "$@"' sh "$share/probe_mpi" "$share" 1
    done
    all_end 60 0 $everyone || return
    for host in $everyone; do
        log=$(hosts log "$host")
        check "it is another user" holds "$log" 'runs as 4321:4321 at /, the first one as 0'
        check "PID 1 is out of its reach" lacks "$log" 'reads its variables'
        check "PID 1 is not its to end" lacks "$log" 'may end it'
        check "the job's folders are its own" lacks "$log" 'cannot write'
    done
    check "they meet by MPI" holds "$(hosts log 2)" '[algo-2 rank 3] rank 3 of 4 has joined'
    check "the file is its own" equal "$(stat -c %u "$(hosts opt 2)/model/rank-3")" 4321
    check "no file is left behind" equal \
        "$(find "$RING"/host-*/root/run "$RING"/host-*/root/tmp -name 'ringmaster-*')" ""
}

another_user_fails_and_is_stopped() {
    as_root "$another"
    ring 2
    for host in $everyone; do
        hosts start "$host" -e RINGMASTER_USER=4321:100 -e RINGMASTER_RESTARTS=1 -- train -- \
            sh -c '[ $RANK$RINGMASTER_ATTEMPT != 11 ] || kill -KILL $$
                trap "echo heard; exit 0" TERM; echo "again as $(id -g)"
                while :; do sleep 0.1; done'
    done
    check "the second attempt is at work" wait_for "$PATIENCE" says 2 'rank 1. again as 100'
    hosts stop 1
    all_end 60 143 $everyone || return
    check "the program has heard" holds "$(hosts log 2)" heard
    nothing_is_left
}

a_user_who_is_none_is_told() {
    ring 1
    hosts start 1 -e RINGMASTER_USER=1 -- train -- true
    all_end 60 65 1 || return
    all_name 'only root can start programs as "1"' 1
    as_root "$another"
    ring 2
    start_all -e RINGMASTER_USER=no-such-user -- train -- true
    all_end 60 65 $everyone || return
    all_name 'RINGMASTER_USER: there is no user "no-such-user"' 1
}

hosts_are_checked() {
    ring 2
    start_all -- ringmaster check
    all_end 60 0 $everyone || return
    check "all is well" holds "$(hosts log 1)" '2 hosts can run 2 ranks'
    as_root "$another"
    ring 2
    start_all -e RINGMASTER_USER=4321 -- ringmaster check
    all_end 60 0 $everyone || return
    check "so it is for another user" holds "$(hosts log 1)" '2 hosts can run 2 ranks'
}

CASES=${CASES:-hosts_have_no_rights ranks_meet_by_mpi ringtrain_trains a_rank_fails
    a_stop_reaches_every_rank a_killed_rank_is_made_good a_lost_host_is_told hosts_are_checked
    programs_run_as_another_user another_user_fails_and_is_stopped a_user_who_is_none_is_told}
run_cases
finish
