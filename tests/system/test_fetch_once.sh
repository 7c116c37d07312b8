#!/bin/sh
# Tests that data that all hosts need is fetched from its source once, and then passed on from host
# to host.
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"

[ "$DRIVER" = ns ] || skip "the server stands in the namespaces' own network"
[ -x "$RINGMASTER_BIN/ringmaster-transfer" ] ||
    skip "this build fetches nothing: no libcurl, libarchive or Expat"

# begin HOSTS: makes a ring of so many hosts, and starts a server that records its requests.
begin() {
    ring_down
    server_down
    ring "$1"
    hub=rm-$(basename "$RING")-hub
    ip -n "$hub" address add 10.77.0.254/24 dev ring
    ip -n "$hub" link set lo up
    : >"$RING/asked"
    ip netns exec "$hub" python3 "$system/counting_s3.py" 10.77.0.254 5000 "$RING/asked" &
    server=$!
    wait_for 60 ip netns exec "$hub" python3 -c \
        'import socket; socket.create_connection(("10.77.0.254", 5000), 1)' ||
        check "the server is there" false
}

settings="-e AWS_ENDPOINT_URL_S3=http://10.77.0.254:5000 -e AWS_ACCESS_KEY_ID=AKID
    -e AWS_SECRET_ACCESS_KEY=canary-of-a-secret -e RINGMASTER_CHANNEL_TRAIN=s3://bucket/set
    -e RINGMASTER_READY_SECONDS=30"
# How long a host waits for one that passes nothing on: half of RINGMASTER_READY_SECONDS.
PASSING_MS=15000

# The job has an archive of code, too, which a host unpacks and removes before others ask for it.
with_code() {
    put hyperparameters.json \
        '{"sagemaker_program": "program.sh",
        "sagemaker_submit_directory": "s3://bucket/code.tar.gz"}'
}

all_have_the_same() {
    for host in $everyone; do
        check "host $host has the set" holds "$(hosts log "$host")" 'has 3234694681 19800000'
        check "nothing else of host $host is left" equal \
            "$(find "$(hosts opt "$host")" -name '.ringmaster-*' | wc -l)" 0
        check "no secret in the log of host $host" lacks "$(hosts log "$host")" canary-of-a-secret
    done
}

each_object_is_asked_for_once() {
    begin 5 || return
    with_code
    # shellcheck disable=SC2086  # words
    start_all $settings -e RINGMASTER_FETCH_ONCE=1 -- train
    all_end 120 0 $everyone || return
    all_have_the_same
    check "the source is asked for each once" \
        equal "$(sort "$RING/asked" | uniq -c | awk '{ print $1 }' | sort -u)" 1
    check "the source is asked for all" equal "$(wc -l <"$RING/asked")" 13
}

# Without RINGMASTER_FETCH_ONCE each host fetches everything, so the case above can fail.
each_host_fetches_without_it() {
    begin 2 || return
    with_code
    # shellcheck disable=SC2086  # words
    start_all $settings -- train
    all_end 120 0 $everyone || return
    all_have_the_same
    check "the source is asked for each by each" equal "$(wc -l <"$RING/asked")" 26
}

# counted HOST...: starts these hosts as on a platform that only counts hosts and gives the first
# one's address.
counted() {
    for host in "$@"; do
        rm "$(config "$host")/resourceconfig.json"
        # shellcheck disable=SC2086  # words
        hosts start "$host" $settings -e RINGMASTER_FETCH_ONCE=1 -e PET_NNODES="$count" \
            -e "PET_NODE_RANK=$((host - 1))" -e PET_MASTER_ADDR=10.77.0.1 -- train
    done
}

# Hosts 4 and 5 fetch from host 2, which they find through the first host.
each_is_asked_for_once_by_hosts_that_are_counted() {
    begin 5 || return
    with_code
    counted 5 4 3 2 1
    all_end 120 0 $everyone || return
    all_have_the_same
    check "the source is asked for each once" \
        equal "$(sort "$RING/asked" | uniq -c | awk '{ print $1 }' | sort -u)" 1
    check "the source is asked for all" equal "$(wc -l <"$RING/asked")" 13
    check "the fifth is one of them" holds "$(hosts log 5)" '[node-4 rank 4]'
}

# Host 4 waits for host 2, which starts too late.
who_is_not_told_whom_to_ask_fetches_for_itself() {
    begin 4 || return
    with_code
    fault_begins
    counted 1 3 4
    said_within $((PASSING_MS + 1000)) 4 'the upstream host did not connect in time' || return
    check "it waited for it" at_least "$took" "$PASSING_MS"
    counted 2
    all_end 120 0 $everyone || return
    all_have_the_same
    check "the source is asked by two" equal "$(wc -l <"$RING/asked")" 26
}

# Host 1 passes nothing on: hosts 2 and 3 wait for half of RINGMASTER_READY_SECONDS, and host 4 gets
# what host 2 fetches.
who_finds_nobody_fetches_for_itself() {
    begin 4 || return
    with_code
    fault_begins
    for host in $everyone; do
        once=1
        [ "$host" != 1 ] || once=0
        # shellcheck disable=SC2086  # words
        hosts start "$host" $settings -e RINGMASTER_FETCH_ONCE=$once -- train
    done
    for host in 2 3; do
        said_within $((PASSING_MS + 1000)) "$host" 'passes nothing on' || return
        check "host $host waited for it" at_least "$took" "$PASSING_MS"
    done
    all_end 120 0 $everyone || return
    all_have_the_same
    for host in 2 3; do
        check "host $host says that it fetches for itself" holds "$(hosts log "$host")" \
            "warning algo-$host: algo-1 passes nothing on"
    done
    check "the source is asked by three" equal "$(wc -l <"$RING/asked")" 39
}

# The first host's transfer process is killed while the source keeps it waiting and the other hosts
# wait for it.
one_that_is_killed_ends_the_job_and_is_named() {
    begin 3 || return
    kill -STOP "$server"
    # shellcheck disable=SC2086  # words
    start_all $settings -e RINGMASTER_FETCH_ONCE=1 -- train -- true
    wait_for "$PATIENCE" says 1 'downloading' ||
        check "it begins to fetch" false || return
    check "the first host's child is found" wait_for "$PATIENCE" its_child || return
    check "it is killed" kill -KILL "$victim" || return
    all_end "$PATIENCE" 70 $everyone || return
    all_name 'the transfer process was killed by signal 9' $everyone
}
its_child() {
    victim=$(for pid in $(hosts pids 1); do
        [ "$(cat "/proc/$pid/comm")" != ringmaster-tran ] || echo "$pid"
    done)
    [ -n "$victim" ]
}

CASES=${CASES:-each_object_is_asked_for_once each_is_asked_for_once_by_hosts_that_are_counted
    who_is_not_told_whom_to_ask_fetches_for_itself each_host_fetches_without_it
    who_finds_nobody_fetches_for_itself one_that_is_killed_ends_the_job_and_is_named}
run_cases
finish
