#!/bin/sh
# Tests hosts that were lost and come back: each waits, and takes part in the next attempt. The
# master is the first host or, with RINGMASTER_FAILOVER, any host. Rings have three or four hosts;
# RINGMASTER_LONG=1 adds five and eight. test_started_anew.sh tests a first host that is restarted.
# shellcheck disable=SC2154,SC2034,SC2016  # variables of lib.sh and following.sh; hosts' scripts
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/following.sh"

# --- the first host is the master, or there is none -------------------------------------------

# lost_one COMMAND...: loses host 3 by COMMAND, and waits until the others work in attempt 2.
lost_one() {
    failover=0
    begin_work 3 || return 1
    "$@"
    check "the others go on" wait_for "$PATIENCE" says 1 'all 2 ranks have started' || return 1
    check "both work" wait_for "$PATIENCE" works_in 2 2
}

# all_three: checks that all three hosts take part in attempt 3, to its end.
all_three() {
    waits 3 1 || return
    goes_on 3 1 3 || return
    for host in $everyone; do
        check "host $host knows who they are" wait_for "$PATIENCE" says "$host" \
            'attempt 3 of 3 on \["algo-1","algo-2","algo-3"\]'
    done
    ended_well 1 2 3
    check "which attempt it was" holds "$(hosts log 3)" 'all 3 ranks ended with 0; attempt 3 of 6'
}

a_paused_host_has_a_part_in_the_next_attempt() {
    lost_one hosts freeze 3 || return
    hosts thaw 3
    all_three
}

a_host_that_was_cut_off_has_a_part_in_the_next_attempt() {
    lost_one hosts cut 3 || return
    hosts mend 3
    all_three
}

# The restarted host is a new process in a new container, without any state.
a_container_that_was_started_again_has_a_part_in_the_next_attempt() {
    lost_one hosts kill 3 || return
    works_again 3
    all_three
}

# When no other attempt follows, the waiting host learns how the job ends, and which host is why.
a_host_that_waits_hears_the_verdict() {
    lost_one hosts freeze 3 || return
    hosts thaw 3
    waits 3 1 || return
    hosts stop 2
    stopped_well 2 2 1 2 3
    all_name 'stopped on request at algo-2' 1 2 3
}

# A waiting host counts towards RINGMASTER_MIN_HOSTS.
a_host_that_waits_counts() {
    least=2
    lost_one hosts freeze 3 || return
    hosts thaw 3
    waits 3 1 || return
    hosts kill 2
    check "attempt 3 begins" wait_for "$PATIENCE" \
        says 1 'attempt 3 begins, with 2 ranks on 2 hosts' || return
    check "of hosts 1 and 3" wait_for "$PATIENCE" says 3 'attempt 3 of 2 on \["algo-1","algo-3"\]'
    ended_well 1 3
}

# The platform stops only the waiting host: the job is not affected.
a_host_that_waits_is_stopped_alone() {
    lost_one hosts freeze 3 || return
    hosts thaw 3
    waits 3 1 || return
    hosts stop 3
    all_end "$PATIENCE" 143 3
    all_name 'stopped while waiting' 3
    check "the others do not notice" \
        equal "$(hosts code 1 2>/dev/null)$(hosts code 2 2>/dev/null)" ''
    ended_well 1 2
}

# Once the next attempt counts on a host, stopping that host stops the job, even before its first
# attempt. On host 3 ringmaster is not PID 1: with failover, 14 s pass from the loss of such a host
# to the next attempt, which is time for the stop.
a_stop_between_being_taken_in_and_the_first_order() {
    ring_that_shares 4
    for host in 1 2 4; do begin_one "$host" -- train -- sh -c "$works"; done
    begin_one 3 -- sh -c 'train -- sh -c "$1"; exit $?' sh "$works"
    work_begins 4 || return
    hosts freeze 4
    check "three go on" wait_for 60 says 1 'attempt 2 begins, with 3 ranks on 3 hosts' || return
    hosts thaw 4
    waits 4 1 || return
    check "all three work" wait_for "$PATIENCE" works_in 2 3
    hosts kill 3
    check "it is taken in" wait_for "$PATIENCE" \
        says 4 'algo-1 counts on this host in the next attempt' || return
    fault_begins
    hosts stop 4
    ended 143 'stopped on request between two attempts' "$LEAVE_MS" 1 2 4
    all_name 'algo-4' 1 2 4
    check "no attempt followed" works_in 3 0
}

# --- any host may be the master ---------------------------------------------------------------

# All processes of the first host are stopped, and resume after the others have gone on: it becomes
# a worker of the next attempt.
the_first_host_is_paused() {
    begin_work 3 || return
    lost hosts freeze 1
    followed 2 2 || return
    sleep 1
    thaw 1
    waits 1 2 || return
    check "it says why" says 1 '1 of the 3 hosts of attempt 1 are here'
    check "attempt 2 goes on without it" works_in 2 2
    goes_on 3 2 3 || return
    ended_well 1 2 3
    check "one attempt at a time" never_two algo-1
}

# A first host that came back is the last in line to become the master again.
the_first_host_comes_back_and_leads_again() {
    begin_work 3 || return
    lost hosts freeze 1
    followed 2 2 || return
    thaw 1
    waits 1 2 || return
    goes_on 3 2 3 || return
    lost hosts kill 2
    said_within "$FOLLOW_MS" 3 'attempt 4 begins, with 2 ranks on 2 hosts' || return
    check "both work" wait_for "$PATIENCE" works_in 4 2
    ended_well 1 3
    check "one attempt at a time" never_two algo-1
}

# The paused worker ends its ranks, waits, and learns how the job ends when no other attempt
# follows.
a_paused_worker_waits_for_the_end() {
    begin_work 3 || return
    lost hosts freeze 3
    followed 1 2 "$WITHOUT_MS" || return
    thaw 3
    waits 3 1 || return
    check "it works in no attempt" works_in 2 2
    ended_well 1 2 3
    check "one attempt at a time" never_two algo-3
}

a_worker_that_was_cut_off_comes_back() {
    begin_work 3 || return
    lost hosts cut 3
    followed 1 2 "$WITHOUT_MS" || return
    hosts mend 3
    waits 3 1 || return
    goes_on 3 1 3 || return
    ended_well 1 2 3
    check "one attempt at a time" never_two
}

# The new container has no state from before, and so has to find the master, host 2.
a_new_container_finds_a_master_that_is_not_the_first_host() {
    begin_work 4 || return
    lost hosts kill 1
    followed 2 3 || return
    hosts kill 4
    check "they go on without it" wait_for "$PATIENCE" \
        says 2 'attempt 3 begins, with 2 ranks on 2 hosts' || return
    works_again 4
    waits 4 2 137 || return
    goes_on 4 2 3 || return
    ended_well 2 3 4
    check "one attempt at a time" never_two
}

# Without the waiting host there would be too few hosts when another one succeeds the first host.
a_host_that_waits_counts_while_hosts_gather() {
    least=3
    begin_work 4 || return
    hosts kill 4
    check "three go on" wait_for "$PATIENCE" \
        says 1 'attempt 2 begins, with 3 ranks on 3 hosts' || return
    check "they work" wait_for "$PATIENCE" works_in 2 3
    works_again 4
    waits 4 1 || return
    hosts kill 1
    check "attempt 3 begins" \
        wait_for 60 says 2 'attempt 3 begins, with 3 ranks on 3 hosts' || return
    check "its hosts work" wait_for "$PATIENCE" works_in 3 3
    ended_well 2 3 4
    check "one attempt at a time" never_two
}

# Two of four hosts are lost and come back: the view grows from two hosts to four at once.
a_view_grows_by_more_than_it_had() {
    begin_work 4 || return
    hosts kill 4
    check "three go on" wait_for "$PATIENCE" \
        says 1 'attempt 2 begins, with 3 ranks on 3 hosts' || return
    check "they work" wait_for "$PATIENCE" works_in 2 3
    hosts kill 3
    check "two go on" wait_for "$PATIENCE" \
        says 1 'attempt 3 begins, with 2 ranks on 2 hosts' || return
    check "they work" wait_for "$PATIENCE" works_in 3 2
    works_again 3
    works_again 4
    waits 3 1 || return
    waits 4 1 || return
    goes_on 4 1 4 || return
    lost hosts kill 1
    said_within "$FOLLOW_MS" 2 'attempt 5 begins, with 3 ranks on 3 hosts' || return
    check "they work" wait_for "$PATIENCE" works_in 5 3
    ended_well 2 3 4
    check "one attempt at a time" never_two
}

# paused_master_of HOSTS: the other hosts go on without the paused master, and it takes part again
# in the attempt after that.
paused_master_of() {
    total=$1
    begin_work "$total" || return
    lost hosts freeze 1
    followed 2 $((total - 1)) || return
    thaw 1
    waits 1 2 || return
    goes_on 3 2 "$total" || return
    # shellcheck disable=SC2086  # numbers
    ended_well $everyone
    check "one attempt at a time" never_two algo-1
}
a_paused_master_of_five() { paused_master_of 5; }
a_paused_master_of_eight() { paused_master_of 8; }

more='a_paused_master_of_five a_paused_master_of_eight'
[ -n "${RINGMASTER_LONG:-}" ] || more=
CASES=${CASES:-a_paused_host_has_a_part_in_the_next_attempt
    a_host_that_was_cut_off_has_a_part_in_the_next_attempt
    a_container_that_was_started_again_has_a_part_in_the_next_attempt
    a_host_that_waits_hears_the_verdict a_host_that_waits_counts a_host_that_waits_is_stopped_alone
    a_stop_between_being_taken_in_and_the_first_order the_first_host_is_paused
    the_first_host_comes_back_and_leads_again a_paused_worker_waits_for_the_end
    a_worker_that_was_cut_off_comes_back a_new_container_finds_a_master_that_is_not_the_first_host
    a_host_that_waits_counts_while_hosts_gather a_view_grows_by_more_than_it_had $more}
run_cases
finish
