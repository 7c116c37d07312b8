#!/bin/sh
# Tests jobs that lose their first host and go on under the next one: once, and never in two
# attempts at the same time. Rings have three hosts; RINGMASTER_LONG=1 adds five and eight.
# shellcheck disable=SC2154,SC2016,SC2034  # variables of lib.sh and following.sh; hosts' scripts
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/following.sh"

# This is FOLLOW_MS, in seconds, where some hosts do not come, which takes one more lease or the
# next candidate's turn.
APART_S=60

the_first_host_is_killed() {
    begin_work 3 || return
    lost hosts kill 1
    followed 2 2 "$KILLED_MS" || return
    ended_well 2 3
    check "one attempt at a time" never_two
    check "the new master judges" holds "$(hosts log 2)" 'all 2 ranks ended with 0; attempt 2 of 6'
    check "nothing stays in the folder" equal "$(find "$share/checkpoints" -name '.ringmaster*')" ''
}

another_host_is_killed() {
    begin_work 3 || return
    lost hosts kill 3
    followed 1 2 "$KILLED_MS" || return
    ended_well 1 2
    check "one attempt at a time" never_two
}

# If ringmaster is not PID 1, its ranks may outlive it: the other hosts wait for the lease.
ringmaster_is_not_the_first_process() {
    for gone in 1 3; do
        begin 3 -- sh -c 'train -- sh -c "$1"; exit $?' sh "$works"
        work_begins 3 || return
        check "the first host tells" says 1 'not PID 1 of its container on algo-1 and others'
        lost hosts kill "$gone"
        leads=$((gone == 1 ? 2 : 1))
        sleep 8
        check "the lease is waited for" lacks "$(hosts log "$leads")" 'attempt 2 begins'
        followed "$leads" 2 || return
        check "one attempt at a time" never_two
        ended_well "$leads" $((gone == 1 ? 3 : 2))
    done
}

# The connections of host 3 are reset, which does not prove that its ranks have ended.
a_host_is_shut_off_by_resets() {
    begin_work 3 || return
    fault_begins
    nsenter -t "$(hosts pid 3)" -n \
        iptables --wait -A INPUT -i eth0 -p tcp -j REJECT --reject-with tcp-reset
    check "it is lost" wait_for "$PATIENCE" says 1 'algo-3 is lost' || return
    check "the lease is waited for" lacks "$(hosts log 1)" 'attempt 2 begins'
    sleep 8
    check "the lease is still waited for" lacks "$(hosts log 1)" 'attempt 2 begins'
    followed 1 2 "$WITHOUT_MS" || return
    check "one attempt at a time" never_two
    ended_well 1 2
    hosts kill 3
    check "it is gone" hosts wait "$PATIENCE" 3
}

# No attempt has begun that another host could go on with: a host that has joined leaves at once,
# with failover or without, and the restarted hosts meet as they did at first.
the_first_host_is_killed_while_hosts_gather() {
    for failover in 0 1; do
        ring_that_shares 3
        begin_one 1 -- train -- sh -c "$works"
        begin_one 2 -- train -- sh -c "$works"
        check "the second has joined" wait_for "$PATIENCE" says 2 'joined algo-1' || return
        lost hosts kill 1
        ended 73 'the job had not begun here' "$LEAVE_MS" 2
        for host in 2 3; do begin_one "$host" -- train -- sh -c "$works"; done
        works_again 1
        work_begins 3 || return
        ended_well 1 2 3
    done
}

# Training resumes from the checkpoint, and the new first host has the model.
the_first_host_of_a_training_is_killed() {
    ring_that_shares 3
    for host in $everyone; do
        hold=
        [ "$host" = 1 ] || hold=$(held 6)
        # shellcheck disable=SC2086  # words
        begin_one "$host" $hold -- train --data synthetic --synthetic-images 120 --model resnet20 \
            --image-size 32 --batch-size 8 --epochs 5 --eval-every 0 --report-every 1 \
            --resume none --checkpoint-dir /opt/ml/checkpoints
    done
    check "there is a checkpoint" wait_for "$PATIENCE" has_checkpoint || return
    hosts kill 1
    go_on
    all_end 120 0 2 3 || return
    log=$(hosts log 2)
    check "it went on from its checkpoint" holds "$log" 'resumed from /opt/ml/checkpoints/step-'
    check "it did not begin again" lacks "$log" 'train step=1 '
    check "with two ranks" holds "$log" 'all 2 ranks ended with 0; attempt 2 of 6'
    check "the model is at the new first host" test -s "$(hosts opt 2)/model/model.safetensors"
}
has_checkpoint() { [ -n "$(find "$share/checkpoints" -name 'step-*.safetensors')" ]; }

the_first_host_is_cut_off() {
    begin_work 3 || return
    lost hosts cut 1
    followed 2 2 || return
    out 1
    hosts mend 1
    ended_well 2 3
    check "one attempt at a time" never_two
}

# The new master has all duties of a master: it restarts the job, and a stop of any host reaches
# all hosts.
the_new_master_tries_again_and_is_stopped() {
    begin_work 3 || return
    lost hosts kill 1
    followed 2 2 || return
    : >"$share/fail-2-1"
    check "another attempt begins" wait_for "$PATIENCE" \
        says 2 'attempt 3 begins, with 2 ranks on 2 hosts' || return
    check "its ranks work" wait_for "$PATIENCE" works_in 3 2
    check "one attempt at a time" never_two
    hosts stop 3
    stopped_well 3 2 2 3
    all_name 'stopped on request at algo-3' 2 3
}

# The first attempt reaches a step that no later one gets beyond. The third attempt runs under the
# old master, and the fourth, which is the last, under the new one.
attempts_that_get_nowhere_end_the_job_under_a_new_master_too() {
    begin 3 -- train -- sh -c '
        printf "\1\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0" |
            dd of="$RINGMASTER_PROGRESS" conv=notrunc 2>/dev/null
        [ "$RINGMASTER_ATTEMPT" = 3 ] || [ "$RANK" = 0 ] || kill -s KILL $$
    '"$works"
    check "the third attempt works" wait_for 60 works_in 3 3 || return
    lost hosts kill 1
    all_end 60 137 2 3 || return
    all_name 'attempt 4 of 6, no restart, as 3 attempts in a row got no further than step 5' 2 3
}

# A stop reaches all hosts between two masters, too. On host 1 ringmaster is not PID 1, so the other
# hosts gather for a lease, which is time for the stop.
a_stop_while_hosts_gather() {
    ring_that_shares 3
    begin_one 1 -- sh -c 'train -- sh -c "$1"; exit $?' sh "$works"
    for host in 2 3; do begin_one "$host" -- train -- sh -c "$works"; done
    work_begins 3 || return
    hosts kill 1
    check "the hosts gather" wait_for "$PATIENCE" says 3 'joined algo-2' || return
    fault_begins
    hosts stop 3
    all_end "$PATIENCE" 143 2 3 || return
    within "$LEAVE_MS" 2 3
    check "no attempt followed" works_in 2 0
}

# If one of two hosts could follow the other, there could be two masters. The first host's machine
# answers that nothing listens at its port any more.
of_two_hosts_none_follows() {
    begin_work 2 || return
    lost hosts kill 1
    all_end "$PATIENCE" 73 2 || return
    within $((3000 + LEAVE_MS)) 2
    check "it says why" says 2 'at most half of its hosts may be left'
    all_name 'nothing listens at its address any more' 2
    check "nobody worked on" works_in 2 0
}

# The second host may itself be cut off, and tries to reach the first one for a minute.
of_two_hosts_none_follows_a_silent_one() {
    begin_work 2 || return
    hosts freeze 1
    all_end 110 73 2 || return
    all_name 'found no master within 60 s' 2
    check "nobody worked on" works_in 2 0
    hosts kill 1
    hosts thaw 1
}

# The first one of two hosts may go on alone.
of_two_hosts_the_first_goes_on() {
    begin_work 2 || return
    hosts cut 2
    check "the first goes on" wait_for "$PATIENCE" \
        says 1 'attempt 2 begins, with 1 rank on 1 host' || return
    check "its rank works" wait_for "$PATIENCE" works_in 2 1
    out 2
    ended_well 1
    check "one attempt at a time" never_two
}

folders_that_are_not_shared_are_told_of() {
    ring 3
    start_all -e RINGMASTER_RESTARTS=1 -e RINGMASTER_SHRINK=1 -e RINGMASTER_FAILOVER=1 -- \
        train -- true
    all_end "$PATIENCE" 65 1 2 3
    all_name 'RINGMASTER_FAILOVER=1 needs one checkpoint directory shared by all hosts' 1 2 3
    all_name 'does not find the file that algo-' 1 2 3
    all_name '/opt/ml/checkpoints' 1 2 3
    for host in $everyone; do
        check "nothing stays in the folder of host $host" equal \
            "$(find "$(hosts opt "$host")/checkpoints" -name '.ringmaster*')" ''
    done
}

all_hosts_need_it_alike() {
    ring 3
    mkdir "$share/checkpoints"
    for host in $everyone; do
        set -- -e RINGMASTER_RESTARTS=1 -e RINGMASTER_SHRINK=1 \
            -e "RINGMASTER_CHECKPOINTS=file://$share/checkpoints"
        [ "$host" = 3 ] || set -- "$@" -e RINGMASTER_FAILOVER=1
        hosts start "$host" "$@" -- train -- true
    done
    all_end "$PATIENCE" 65 1 2 3
    all_name 'RINGMASTER_FAILOVER is set on the master, and not there' 1 2 3
}

# --- more hosts -------------------------------------------------------------------------------

# parted HOSTS AWAY MASTER STAY GO...: of HOSTS hosts, those from AWAY on are cut off together from
# the others; MASTER's side goes on with STAY ranks, and the hosts GO leave.
parted() {
    total=$1 away=$2 master=$3 left=$4
    shift 4
    begin_work "$total" || return
    # shellcheck disable=SC2046  # numbers
    hosts part $(seq "$away" "$total")
    check "host $master goes on" wait_for 90 \
        says "$master" "attempt [2-9] begins, with $left ranks on $left hosts" || return
    check "its ranks start" wait_for "$PATIENCE" says "$master" "all $left ranks have started"
    out "$@"
    sleep 1
    stay=
    for host in $everyone; do
        case " $* " in *" $host "*) ;; *) stay="$stay $host" ;; esac
    done
    # shellcheck disable=SC2086  # numbers
    ended_well $stay
    check "one attempt at a time" never_two
}

three_hosts_part() {
    parted 3 3 1 2 3
    parted 3 2 2 2 1
}
five_hosts_part() {
    parted 5 5 1 4 5
    parted 5 4 1 3 4 5
    parted 5 3 3 3 1 2
    parted 5 2 2 4 1
}
# If a job splits into two equal halves, the one with the old master goes on.
eight_hosts_part() {
    parted 8 5 1 4 5 6 7 8
    parted 8 4 4 5 1 2 3
    parted 8 2 2 7 1
}

# The first two hosts are lost at once, and then the third.
masters_are_lost_one_after_the_other() {
    begin_work 5 || return
    hosts kill 1
    hosts kill 2
    check "the third goes on" wait_for "$APART_S" \
        says 3 'attempt 2 begins, with 3 ranks on 3 hosts' || return
    check "its ranks work" wait_for "$PATIENCE" works_in 2 3
    hosts kill 3
    check "the fourth goes on" wait_for "$APART_S" \
        says 4 'attempt 3 begins, with 2 ranks on 2 hosts' || return
    check "its ranks work" wait_for "$PATIENCE" works_in 3 2
    ended_well 4 5
    check "one attempt at a time" never_two
}

# No part has more than half of the hosts.
in_three_parts_nobody_goes_on() {
    begin_work 5 || return
    hosts part 4 5
    hosts cut 3
    out 1 2 3 4 5
    check "one attempt at a time" never_two
}

three='the_first_host_is_killed another_host_is_killed ringmaster_is_not_the_first_process
    a_host_is_shut_off_by_resets the_first_host_is_killed_while_hosts_gather
    the_first_host_of_a_training_is_killed
    the_first_host_is_cut_off the_new_master_tries_again_and_is_stopped
    attempts_that_get_nowhere_end_the_job_under_a_new_master_too
    a_stop_while_hosts_gather of_two_hosts_none_follows of_two_hosts_the_first_goes_on
    folders_that_are_not_shared_are_told_of all_hosts_need_it_alike'
more='three_hosts_part five_hosts_part eight_hosts_part masters_are_lost_one_after_the_other
    in_three_parts_nobody_goes_on of_two_hosts_none_follows_a_silent_one'
[ -n "${RINGMASTER_LONG:-}" ] || more=
CASES=${CASES:-$three $more}

run_cases
finish
