#!/bin/sh
# Code and channels that are downloaded from S3, which moto (PyPI) emulates with every signature
# checked, and from file URLs; code as an archive in a channel; and the messages where that fails.
# moto is installed into build/moto once.
# shellcheck disable=SC2154,SC2016,SC2034  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"

. "$system/moto.sh"

parameters() {
    for host in $everyone; do
        printf '%s' "$1" >"$(hosts opt "$host")/input/config/hyperparameters.json"
    done
}

# A page of a listing holds 1,000 objects, which moto takes minutes to make: only RINGMASTER_LONG=1
# has more than a page.
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
        check "host $host has all of the set" equal "$(find "$data/train" -type f | wc -l)" \
            $((many + 6))
        check "a file of host $host is whole" equal "$(cat "$data/train/many/0017")" 17
        check "the large file of host $host is whole" equal \
            "$(tr -d y <"$data/train/large" | wc -c)" 5242880
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
    parameters \
        '{"sagemaker_program": "program.sh", "sagemaker_submit_directory": "s3://jobs/evil.tar.gz"}'
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

# code_channel COMMAND...: puts the code into a channel of its own as sourcedir.tar.gz, as jobs get
# it that may not use the network. COMMAND packs it, in a folder that has program.sh.
submitted=/opt/ml/input/data/code/sourcedir.tar.gz
code_channel() {
    mkdir -p "$share/code/lib"
    printf '%s\n' '. ./lib/words.sh' 'echo "$words $(pwd) args: $*"' >"$share/code/program.sh"
    echo "words='the packed program runs in'" >"$share/code/lib/words.sh"
    for host in $everyone; do
        mkdir -p "$(hosts opt "$host")/input/data/code"
        (cd "$share/code" && "$@") >"$(hosts opt "$host")/input/data/code/${submitted##*/}"
    done
    put inputdataconfig.json '{"code": {"TrainingInputMode": "File"}}'
}

an_archive_in_a_channel_is_unpacked() {
    ring 2
    code_channel tar -czf - program.sh lib
    parameters '{"epochs": "3", "sagemaker_program": "\"program.sh\"",
        "sagemaker_submit_directory": "\"'$submitted'\""}'
    start_all -- train
    all_end 60 0 $everyone || return
    every_log_has 'code: 2 files unpacked into /opt/ml/code'
    every_log_has 'the packed program runs in /opt/ml/code args: --epochs 3'
}

# The code is unpacked already, or named by a file:// URL.
code_in_a_channel_is_run_from_there() {
    ring 1
    code_channel cat program.sh
    for part in program.sh lib; do
        cp -R "$share/code/$part" "$(hosts opt 1)/input/data/code"
    done
    parameters '{"sagemaker_program": "program.sh"}'
    start_all -- train
    all_end 60 0 1 || return
    every_log_has 'the packed program runs in /opt/ml/input/data/code args:'

    ring 1
    code_channel tar -czf - .
    parameters \
        '{"sagemaker_program": "program.sh", "sagemaker_submit_directory": "file://'$submitted'"}'
    start_all -- train
    all_end 60 0 1 || return
    every_log_has 'the packed program runs in /opt/ml/code args:'
}

an_archive_that_cannot_be_unpacked_ends_the_job_with_its_name() {
    for fault in missing damaged evil; do
        ring 2
        case $fault in
        missing) words="file://$submitted: No such file or directory" ;;
        damaged)
            code_channel sh -c 'tar -czf - . | head -c 100'
            words='code: the archive cannot be read: '
            ;;
        evil)
            code_channel tar -czPf - ../code/program.sh
            words='"../code/program.sh" is no path for a file'
            ;;
        esac
        parameters \
            '{"sagemaker_program": "program.sh", "sagemaker_submit_directory": "'$submitted'"}'
        start_all -- train
        all_end 60 66 $everyone || return
        all_name "$words" $everyone
    done
}

# The job is stopped while the server does not answer.
a_stop_ends_fetching() {
    ring 1
    hub=rm-$(basename "$RING")-hub
    ip -n "$hub" address add 10.77.0.254/24 dev ring
    ip -n "$hub" link set lo up
    s3=http://10.77.0.254:5000 id=AKID secret=canary-of-a-stop
    ip netns exec "$hub" python3 -c '
import socket
listener = socket.create_server(("10.77.0.254", 5000))
kept = []
while True:
    kept.append(listener.accept())' &
    server=$!
    check "the server is there" wait_for "$PATIENCE" ip netns exec "$hub" python3 -c \
        'import socket; socket.create_connection(("10.77.0.254", 5000), 1)' || return
    start RINGMASTER_CHANNEL_TRAIN=s3://jobs/set -- train -- true
    wait_for "$PATIENCE" says 1 'downloading' ||
        check "it begins to fetch" false || return
    fault_begins
    hosts stop 1
    all_end "$PATIENCE" 143 1 || return
    within "$LEAVE_MS" 1
    no_secret_anywhere
    server_down
}

CASES=${CASES:-the_sdks_code_and_channels_are_fetched
    what_cannot_be_fetched_ends_the_job_with_its_name a_wrong_secret_is_refused_and_told
    a_folder_of_the_host_becomes_a_channel an_archive_in_a_channel_is_unpacked
    code_in_a_channel_is_run_from_there
    an_archive_that_cannot_be_unpacked_ends_the_job_with_its_name a_stop_ends_fetching}
run_cases
finish
