#!/bin/sh
# Uploads of what a job leaves to S3, which moto (PyPI) emulates with every signature checked: at
# the end, while the job runs, and after a stop; the download by the next start; and the messages
# where an upload fails.
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"
. "$system/moto.sh"

# bucket COMMAND...: runs moto_look.py on the server, with the user's credentials.
bucket() {
    ip netns exec "$hub" "$moto/bin/python" "$system/moto_look.py" "$s3" "$id" "$secret" "$@"
}

# A program that writes a checkpoint of 20 MiB at each step and resumes from the newest one; its sum
# depends on all steps. An unfinished file has another name.
steps='
cd /opt/ml/checkpoints || exit 9
sum=0 step=0
for file in state-*; do
    [ ! -e "$file" ] || { step=${file#state-} && sum=$(head -n 1 "$file"); }
done
echo "begins behind step $step with sum $sum"
trap "exit 1" TERM
[ "$RANK" = 0 ] || {
    while [ ! -e /opt/ml/checkpoints/done ] && [ "$step" -lt "$LAST" ]; do
        sleep 1
        step=$((step + 1))
    done
    exit 0
}
while [ "$step" -lt "$LAST" ]; do
    step=$((step + 1))
    sum=$(((sum * 31 + step) % 65521))
    { echo "$sum" && head -c 20971520 /dev/zero; } >.state
    mv .state "state-$step"
    [ ! -e "state-$((step - 2))" ] || rm "state-$((step - 2))"
    [ "$step" != "$STOP_AT" ] || { echo "here it stands"; sleep 600; }
done
mkdir -p /opt/ml/model/deep
echo "$sum" >/opt/ml/model/sum
echo x >"/opt/ml/model/deep/a b+c%"
echo half >/opt/ml/model/.half
echo "of $(hostname)" >/opt/ml/output/data/words
'

a_job_uploads_what_it_leaves() {
    ring 2
    check "moto is there" server_up 1 || return
    start RINGMASTER_OUTPUT=s3://jobs/left/ LAST=3 STOP_AT=0 -- train -- sh -c \
        "mkdir -p /opt/ml/checkpoints /opt/ml/output/data; $steps"
    all_end 120 0 $everyone || return
    sum=$(cat "$(hosts opt 1)/model/sum")
    check "the model is there" equal "$(bucket get left/model/sum)" "$sum"
    check "an odd name is there" equal "$(bucket get 'left/model/deep/a b+c%')" x
    check "each host's data and event log are there, nothing else, no half file" equal \
        "$(bucket list left/ | tr '\n' ',')" \
        "left/model/deep/a b+c%,left/model/sum,left/output/algo-1/data/events-algo-1.jsonl,left/output/algo-1/data/words,left/output/algo-2/data/events-algo-2.jsonl,"
    no_secret_anywhere
    server_down
}

# The job is stopped in the middle; new containers with empty disks resume from what was uploaded.
a_stopped_job_goes_on_elsewhere() {
    ring 2
    check "moto is there" server_up 1 || return
    start LAST=6 STOP_AT=0 -- train -- sh -c \
        "mkdir -p /opt/ml/checkpoints /opt/ml/output/data; $steps"
    all_end 120 0 $everyone || return
    whole=$(cat "$(hosts opt 1)/model/sum")
    for host in $everyone; do
        rm -rf "$(hosts opt "$host")/checkpoints" "$(hosts opt "$host")/model"
    done

    start RINGMASTER_CHECKPOINTS=s3://jobs/state LAST=6 STOP_AT=4 -- train -- sh -c \
        "mkdir -p /opt/ml/output/data; $steps"
    wait_for 60 says 1 'here it stands' || check "it stands" false || return
    wait_for 60 in_bucket state/state-4 || check "it is uploaded while it runs" false
    hosts stop 2
    all_end 60 143 $everyone || return
    check "what has gone here has gone there" equal "$(bucket list state/ | tr '\n' ',')" \
        "state/state-3,state/state-4,"
    check "no upload is left unfinished" equal "$(bucket unfinished)" ""
    for host in $everyone; do
        rm -rf "$(hosts opt "$host")/checkpoints"
    done

    start RINGMASTER_CHECKPOINTS=s3://jobs/state/ LAST=6 STOP_AT=0 -- train -- sh -c \
        "mkdir -p /opt/ml/output/data; $steps"
    all_end 120 0 $everyone || return
    check "it goes on" holds "$(hosts log 1)" 'begins behind step 4'
    check "it ends with what an unbroken one has" equal "$(cat "$(hosts opt 1)/model/sum")" "$whole"
    no_secret_anywhere
    server_down
}

# Both ranks write their state on the stop signal, and not before. Its upload has several parts.
the_last_state_after_a_stop_is_there_within_its_time() {
    ring 2
    check "moto is there" server_up 1 || return
    start RINGMASTER_CHECKPOINTS=s3://jobs/last RINGMASTER_OUTPUT=s3://jobs/out \
        RINGMASTER_STOP_SECONDS=40 -- train -- sh -c '
        last() {
            { echo "last of $RANK" && head -c 20971520 /dev/zero; } >/opt/ml/checkpoints/.state
            mv /opt/ml/checkpoints/.state "/opt/ml/checkpoints/state-$RANK"
            mkdir -p /opt/ml/model && echo "model of $RANK" >/opt/ml/model/model
            exit 1
        }
        trap last TERM
        echo "it runs and has written nothing"
        while :; do sleep 0.2; done'
    for host in $everyone; do
        wait_for 60 says $host 'has written nothing' ||
            check "it runs on host $host" false || return
    done
    check "nothing is there yet" equal "$(bucket list last/)" ""
    fault_begins
    hosts stop 2
    all_end 60 143 $everyone || return
    within 40000 $everyone
    check "the last state of each is there" equal "$(bucket list last/ | tr '\n' ',')" \
        "last/state-0,last/state-1,"
    for rank in 0 1; do
        check "that of rank $rank is whole" equal \
            "$(bucket get "last/state-$rank" | tr -d '\0' | wc -l -c | tr -s ' ')" " 1 10"
    done
    check "the model is there" equal "$(bucket get out/model/model)" 'model of 0'
    check "that of the other host is, too" equal "$(bucket get out/output/algo-2/model/model)" \
        'model of 1'
    check "no upload is left unfinished" equal "$(bucket unfinished)" ""
    server_down
}

in_bucket() { bucket list "$1" | grep -q .; }

# Each host is the first of a job of its own, and neither overwrites the other one's model.
hosts_that_are_jobs_of_their_own_share_no_folder() {
    ring 2
    check "moto is there" server_up 1 || return
    for host in $everyone; do
        echo '{"sagemaker_mpi_enabled": "false"}' \
            >"$(hosts opt "$host")/input/config/hyperparameters.json"
    done
    start RINGMASTER_CHECKPOINTS=s3://jobs/state RINGMASTER_OUTPUT=s3://jobs/own -- train -- sh -c '
        mkdir -p /opt/ml/model && cd /opt/ml
        echo "of $SM_CURRENT_HOST" | tee model/it >checkpoints/it'
    all_end 60 0 $everyone || return
    for name in algo-1 algo-2; do
        check "the model of $name is there" equal "$(bucket get "own/$name/model/it")" "of $name"
        check "the state of $name is there" equal "$(bucket get "state/$name/it")" "of $name"
    done
    check "nothing lies where all would meet" equal \
        "$(bucket list own/model)$(bucket list state/it)" ""
    no_secret_anywhere
    server_down
}

a_failure_is_uploaded_and_stays_the_story() {
    ring 2
    check "moto is there" server_up 1 || return
    start RINGMASTER_OUTPUT=s3://jobs/failed -- train -- sh -c \
        'mkdir -p /opt/ml/output/data; echo x >/opt/ml/output/data/x
        [ $RANK = 0 ] || exit 42; sleep 60'
    all_end 60 42 $everyone || return
    all_name 'exited with 42' $everyone
    for host in algo-1 algo-2; do
        check "the failure file of $host is there" holds \
            "$(bucket get "failed/output/$host/failure")" 'exited with 42'
        check "the data of $host is there" equal "$(bucket get "failed/output/$host/data/x")" x
    done
    server_down
}

# The target refuses at the start, before anything is computed, or is gone at the end.
a_target_that_refuses_is_told() {
    ring 1
    check "moto is there" server_up 1 || return
    start RINGMASTER_OUTPUT=s3://no-such-bucket/x -- train -- echo it runs
    all_end 60 65 1 || return
    all_name 's3://no-such-bucket/x/' 1
    check "nothing was computed" lacks "$(hosts log 1)" 'it runs'

    ring 2
    server_down
    check "moto is there" server_up 1 || return
    start RINGMASTER_OUTPUT=s3://jobs/y RINGMASTER_UPLOAD_SECONDS=8 -- train -- sh -c \
        'mkdir -p /opt/ml/model; echo x >/opt/ml/model/x; echo it runs
        while [ ! -e /opt/ml/model/go ]; do sleep 0.2; done'
    wait_for "$PATIENCE" says 2 'it runs' || check "it runs" false || return
    server_down
    fault_begins
    for host in $everyone; do : >"$(hosts opt "$host")/model/go"; done
    all_end "$PATIENCE" 75 $everyone || return
    within $((8000 + LEAVE_MS)) $everyone
    all_name "uploading the job's output" $everyone
    check "what it left is still here" equal "$(cat "$(hosts opt 1)/model/x")" x
}

CASES=${CASES:-a_job_uploads_what_it_leaves a_stopped_job_goes_on_elsewhere
    the_last_state_after_a_stop_is_there_within_its_time
    hosts_that_are_jobs_of_their_own_share_no_folder
    a_failure_is_uploaded_and_stays_the_story a_target_that_refuses_is_told}
run_cases
finish
