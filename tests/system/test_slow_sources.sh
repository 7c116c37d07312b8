#!/bin/sh
# Hosts that take longer than others to download what they need: downloading is a state of joining,
# in which a host may stay as long as it makes progress, and no longer.
# shellcheck disable=SC2034,SC2154,SC2016  # lib.sh's variables; scripts that the hosts expand
. "$(dirname "$0")/lib.sh"

[ "$DRIVER" = ns ] || skip "the server stands in the namespaces' own network"
[ -x "$RINGMASTER_BIN/ringmaster-transfer" ] ||
    skip "this build fetches nothing: no libcurl, libarchive or Expat"

# A download that drips takes nine seconds (slow_s3.py).
READY_MS=6000

# begin BUCKET [-e NAME=VALUE]...: starts two hosts, each with its share of the bucket's files,
# which wait for READY_MS.
begin() {
    bucket=$1
    shift
    serve 2 || return
    for host in $everyone; do
        begin_one "$host" "$@"
    done
}
# serve HOSTS: makes a ring of so many hosts and starts the server that they download from.
serve() {
    ring_down
    server_down
    ring "$1"
    hub=rm-$(basename "$RING")-hub
    ip -n "$hub" address add 10.77.0.254/24 dev ring
    ip -n "$hub" link set lo up
    ip netns exec "$hub" python3 "$system/slow_s3.py" 10.77.0.254 5000 "$share/failed-source" \
        "$share/go-on" &
    server=$!
    wait_for 60 ip netns exec "$hub" python3 -c \
        'import socket; socket.create_connection(("10.77.0.254", 5000), 1)' ||
        check "the server is there" false
}
begin_one() {
    one=$1
    shift
    hosts start "$one" -e AWS_ENDPOINT_URL_S3=http://10.77.0.254:5000 -e AWS_ACCESS_KEY_ID=AKID \
        -e AWS_SECRET_ACCESS_KEY=canary -e RINGMASTER_READY_SECONDS=$((READY_MS / 1000)) \
        -e RINGMASTER_CHANNEL_TRAIN="s3://$bucket/set" -e RINGMASTER_SHARDED=train "$@" \
        -- train -- sh -c \
        'echo "has $(cat "$SM_CHANNEL_TRAIN"/* | wc -c) bytes"; exec sleep "${TEST_STAYS:-0}"'
}

a_worker_that_fetches_longer_is_waited_for() {
    begin second-drips || return
    all_end 60 0 $everyone || return
    every_log_has 'has 45 bytes'
    check "the first host sees it fetch" holds "$(hosts log 1)" \
        'algo-2 is here and downloads what it needs'
}

a_master_that_fetches_longer_is_waited_for() {
    begin first-drips || return
    all_end 60 0 $everyone || return
    every_log_has 'has 45 bytes'
    check "the other host says whom it waits for" holds "$(hosts log 2)" \
        'waiting for algo-1, which is here and not ready yet'
}

one_that_stands_still_ends_the_job() {
    begin second-stands || return
    fault_begins
    all_end "$PATIENCE" 69 $everyone || return
    within $((READY_MS + LEAVE_MS)) $everyone
    all_name \
    'algo-2: downloads have stalled for 6 s; last progress: train: 0.0 of 0.0 MiB, 0 of 1 files' \
        $everyone
}

# The first host has its share, and the other one's takes nine seconds more.
a_stop_meanwhile_ends_both() {
    begin second-drips -e RINGMASTER_RESTARTS=3 || return
    wait_for "$PATIENCE" says 1 'algo-2 is here and downloads' ||
        check "they meet" false || return
    fault_begins
    hosts stop 2
    all_end "$PATIENCE" 143 $everyone || return
    within "$LEAVE_MS" $everyone
}

a_worker_that_is_lost_while_it_fetches_ends_the_job_in_time() {
    begin second-drips || return
    wait_for "$PATIENCE" says 1 'algo-2 is here and downloads' ||
        check "they meet" false || return
    fault_begins
    hosts kill 2
    ended 69 'missing algo-2' $((READY_MS + LEAVE_MS)) 1
}

# A restarted container waits for the next attempt. Before it has all that the job needs it could
# not take part in an attempt of another master.
without_the_master_one_that_still_fetches_leaves_at_once() {
    leaves_with_its_master
}
# Failover changes nothing about that: of two hosts the second never leads.
of_two_hosts_one_that_still_fetches_leaves_with_failover_too() {
    leaves_with_its_master -e RINGMASTER_FAILOVER=1
}
leaves_with_its_master() {
    serve 2 || return
    bucket=second-drips
    set -- "$@" -e RINGMASTER_SHRINK=1 -e RINGMASTER_RESTARTS=3 -e RINGMASTER_READY_SECONDS=30 \
        -e TEST_STAYS=600 -e "RINGMASTER_CHECKPOINTS=file://$share/checkpoints"
    for host in $everyone; do
        begin_one "$host" "$@"
    done
    wait_for 60 says 1 'all 2 ranks have started' || check "the job begins" false || return
    hosts kill 2
    wait_for 60 says 1 'attempt 2 begins, with 1 rank' || check "host 1 goes on" false || return
    check "its container is gone" hosts wait "$PATIENCE" 2 || return
    rm -rf "$(hosts opt 2)/input/data/train"
    begin_one 2 "$@"
    check "host 2 waits" wait_for "$PATIENCE" says 2 'this host waits for its next attempt' ||
        return
    fault_begins
    hosts kill 1
    ended 73 'the master is lost' "$LEAVE_MS" 2
}

# With more hosts it looks for the master that follows, and goes on downloading.
with_failover_one_that_still_fetches_finds_the_next_master() {
    serve 4 || return
    go_on
    bucket=second-waits READY_MS=60000
    set -- -e RINGMASTER_SHRINK=1 -e RINGMASTER_RESTARTS=3 -e RINGMASTER_FAILOVER=1 \
        -e TEST_STAYS=600 -e "RINGMASTER_CHECKPOINTS=file://$share/checkpoints"
    for host in $everyone; do
        begin_one "$host" "$@"
    done
    check "the job begins" wait_for 60 says 1 'all 4 ranks have started' || return
    hosts kill 2
    check "three go on" wait_for 60 says 1 'all 3 ranks have started' || return
    check "its container is gone" hosts wait "$PATIENCE" 2 || return
    rm -rf "$(hosts opt 2)/input/data/train" "$share/go-on"
    begin_one 2 "$@"
    READY_MS=6000
    check "host 2 waits" wait_for "$PATIENCE" says 2 'algo-1 leads the job: this host waits' ||
        return
    hosts kill 1
    check "it looks for another master" wait_for "$PATIENCE" says 2 \
        'algo-1, for which this host was waiting, is lost' || return
    check "host 3 goes on without it" wait_for 60 says 3 'all 2 ranks have started' || return
    check "host 2 waits there" wait_for "$PATIENCE" says 2 \
        'algo-3 leads the job: this host waits' || return
    go_on
    check "it has all" wait_for "$PATIENCE" says 3 'algo-2 is back' || return
    hosts kill 4
    check "it takes part" wait_for 60 says 3 'attempt 4 begins, with 2 ranks on 2 hosts' || return
    hosts stop 3
    all_end "$PATIENCE" 143 2 3
}

# If no host leads the job any more, it leaves as a lost host does, long before the time for hosts
# to meet is over.
one_that_still_fetches_and_finds_no_master_is_lost() {
    serve 3 || return
    go_on
    bucket=second-waits READY_MS=600000
    set -- -e RINGMASTER_SHRINK=1 -e RINGMASTER_RESTARTS=3 -e RINGMASTER_FAILOVER=1 \
        -e RINGMASTER_DEAD_SECONDS=5 -e TEST_STAYS=600 \
        -e "RINGMASTER_CHECKPOINTS=file://$share/checkpoints"
    for host in $everyone; do
        begin_one "$host" "$@"
    done
    check "the job begins" wait_for 60 says 1 'all 3 ranks have started' || return
    hosts kill 2
    check "two go on" wait_for 60 says 1 'all 2 ranks have started' || return
    check "its container is gone" hosts wait "$PATIENCE" 2 || return
    rm -rf "$(hosts opt 2)/input/data/train" "$share/go-on"
    begin_one 2 "$@"
    READY_MS=6000
    check "host 2 waits" wait_for "$PATIENCE" says 2 'algo-1 leads the job: this host waits' ||
        return
    hosts kill 1
    hosts kill 3
    all_end 120 73 2
    all_name 'the master is lost, and this host found no other one within 50 s' 2
}

# The first host is restarted, and so is another host that connects to it. That one does not wait
# until the first host has its downloads, but goes on to the host that leads the job.
a_first_host_that_fetches_longer_sends_on_who_comes() {
    serve 5 || return
    go_on
    bucket=first-waits READY_MS=60000
    set -- -e RINGMASTER_SHRINK=1 -e RINGMASTER_RESTARTS=3 -e RINGMASTER_FAILOVER=1 \
        -e TEST_STAYS=600 -e "RINGMASTER_CHECKPOINTS=file://$share/checkpoints"
    for host in $everyone; do
        begin_one "$host" "$@"
    done
    READY_MS=6000
    check "the job begins" wait_for 60 says 1 'all 5 ranks have started' || return
    hosts kill 1
    hosts kill 5
    check "host 2 goes on" wait_for 60 says 2 'all 3 ranks have started' || return
    rm -rf "$(hosts opt 1)/input/data/train" "$share/go-on"
    hosts wait "$PATIENCE" 1 && begin_one 1 "$@"
    check "host 1 fetches" wait_for "$PATIENCE" says 1 \
        'algo-2 leads the job: this host downloads' || return
    hosts wait "$PATIENCE" 5 && begin_one 5 "$@"
    check "host 5 waits at host 2" wait_for "$PATIENCE" says 2 'algo-5 is back' || return
    check "it came to host 1 before" says 5 \
        'algo-1 cannot admit this host yet: algo-2 leads the job'
    check "host 1 fetches still" equal "$(hosts log 2 | grep -c 'algo-1 is back')" 0
    go_on
    check "host 1 waits there, too" wait_for "$PATIENCE" says 2 'algo-1 is back' || return
    hosts stop 3
    all_end "$PATIENCE" 143 $everyone
}

CASES=${CASES:-a_worker_that_fetches_longer_is_waited_for a_master_that_fetches_longer_is_waited_for
    one_that_stands_still_ends_the_job a_stop_meanwhile_ends_both
    a_worker_that_is_lost_while_it_fetches_ends_the_job_in_time
    without_the_master_one_that_still_fetches_leaves_at_once
    of_two_hosts_one_that_still_fetches_leaves_with_failover_too
    with_failover_one_that_still_fetches_finds_the_next_master
    one_that_still_fetches_and_finds_no_master_is_lost
    a_first_host_that_fetches_longer_sends_on_who_comes}
run_cases
finish
