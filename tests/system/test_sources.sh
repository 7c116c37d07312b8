#!/bin/sh
# Code and channels fetched from S3, as moto (PyPI) plays it, with every signature checked, and from
# file; and what is said where that fails. moto is installed into build/moto once.
# shellcheck disable=SC2154,SC2016,SC2034  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"

. "$system/moto.sh"

parameters() {
    for host in $everyone; do
        printf '%s' "$1" >"$(hosts opt "$host")/input/config/hyperparameters.json"
    done
}

# One page of a listing holds 1,000; moto takes minutes for as many.
the_sdks_code_and_channels_are_fetched() {
    many=40
    [ -z "${RINGMASTER_LONG:-}" ] || many=1010
    ring 2
    check "moto is there" server_up "$many" || return
    parameters '{"epochs": "3", "sagemaker_program": "\"program.sh\"",
        "sagemaker_submit_directory": "\"s3://jobs/job-1/source/sourcedir.tar.gz\""}'
    start RINGMASTER_CHANNEL_TRAIN=s3://jobs/set RINGMASTER_CHANNEL_SHARE=s3://jobs/set/many \
        RINGMASTER_SHARDED=share -- train
    all_end 120 0 $everyone || return
    total=0
    for host in $everyone; do
        check "host $host runs it" holds "$(hosts log "$host")" \
            'the fetched program runs in /opt/ml/code args: --epochs 3'
        data=$(hosts opt "$host")/input/data
        check "host $host has all of the set" equal "$(find "$data/train" -type f | wc -l)" $((many + 6))
        check "a file of host $host is whole" equal "$(cat "$data/train/many/0017")" 17
        check "the large file of host $host is whole" equal "$(tr -d y <"$data/train/large" | wc -c)" 5242880
        for odd in 'a b' plus+plus pro%cent käse deep/er/file; do
            check "host $host has $odd" equal "$(cat "$data/train/odd/$odd")" "$odd"
        done
        share=$(find "$data/share" -type f | wc -l)
        check "host $host has its share" equal "$share" $((many / 2))
        total=$((total + share))
    done
    check "no file of the shares is on two hosts" equal "$(for host in $everyone; do
        ls "$(hosts opt "$host")/input/data/share"; done | sort -u | wc -l)" "$total"
    no_secret_anywhere
    server_down
}

what_cannot_be_fetched_ends_the_job_with_its_name() {
    ring 2
    check "moto is there" server_up 3 || return
    parameters '{"sagemaker_program": "program.sh", "sagemaker_submit_directory": "s3://jobs/evil.tar.gz"}'
    start -- train
    all_end 120 66 $everyone || return
    all_name '"../../evil" is no path for a file' $everyone
    no_secret_anywhere

    ring 2
    server_down
    check "moto is there" server_up 3 || return
    start RINGMASTER_CHANNEL_TRAIN=s3://jobs/absent -- train -- true
    all_end 120 66 $everyone || return
    all_name 's3://jobs/absent: there is no such object' $everyone
    server_down
}

a_wrong_secret_is_refused_and_told() {
    ring 1
    check "moto is there" server_up 3 || return
    id=$id secret=wrong-canary-secret
    start RINGMASTER_CHANNEL_TRAIN=s3://jobs/set -- train -- true
    all_end 120 66 $everyone || return
    all_name 'the server answers 403' $everyone
    no_secret_anywhere
    server_down
}

a_folder_of_the_host_becomes_a_channel() {
    ring 1
    start_all -e RINGMASTER_CHANNEL_TRAIN=file:///etc -- train -- sh -c \
        'test -e "$SM_CHANNEL_TRAIN/passwd" && echo "channels $SM_CHANNELS"'
    all_end 60 0 1 || return
    check "it is seen as a channel" holds "$(hosts log 1)" 'channels ["train"]'
}

# A stop while a server keeps us waiting.
a_stop_ends_fetching() {
    ring 1
    hub=rm-$(basename "$RING")-hub
    ip -n "$hub" address add 10.77.0.254/24 dev ring
    s3=http://10.77.0.254:5000 id=AKID secret=canary-of-a-stop
    ip netns exec "$hub" python3 -c '
import socket
listener = socket.create_server(("10.77.0.254", 5000))
kept = []
while True:
    kept.append(listener.accept())' &
    server=$!
    start RINGMASTER_CHANNEL_TRAIN=s3://jobs/set -- train -- true
    wait_for 30 says 1 'fetching what the job needs' ||
        check "it begins to fetch" false || return
    hosts stop 1
    all_end 30 143 1
    no_secret_anywhere
    server_down
}

CASES=${CASES:-the_sdks_code_and_channels_are_fetched what_cannot_be_fetched_ends_the_job_with_its_name
    a_wrong_secret_is_refused_and_told a_folder_of_the_host_becomes_a_channel a_stop_ends_fetching}
run_cases
finish
