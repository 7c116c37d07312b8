#!/bin/sh
# Restarts of the first host with RINGMASTER_FAILOVER: it no longer has the job's state, finds the
# job under another master, and takes part in the next attempt. Jobs have three or four hosts;
# RINGMASTER_LONG=1 adds jobs that no host may lead, which take two minutes.
# shellcheck disable=SC2154,SC2034  # lib.sh's and following.sh's variables
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/following.sh"

# The restarted host learns that it is no longer the master.
a_first_host_that_is_started_anew_has_a_part_in_the_next_attempt() {
    begin_work 3 || return
    lost hosts kill 1
    followed 2 2 || return
    works_again 1
    waits 1 2 || return
    check "it says why" says 1 'algo-2 leads the job'
    check "attempt 2 goes on without it" works_in 2 2
    goes_on 3 2 3 || return
    ended_well 1 2 3
    check "one attempt at a time" never_two
}

# The other hosts may begin the attempt before it has found them: then it takes part in the one
# after that.
a_first_host_that_is_started_anew_while_hosts_gather() {
    begin_work 3 || return
    lost hosts kill 1
    works_again 1
    has_a_part_soon 2 2 3 || return
    ended_well 1 2 3
    check "one attempt at a time" never_two
}

# has_a_part_soon ATTEMPT MASTER COUNT [CODES]: the first host is one of the COUNT hosts of this
# attempt, or waits for the next one; CODES are the exit codes of the hosts that have left.
has_a_part_soon() {
    said_within "$FOLLOW_MS" "$2" "attempt $1 begins, with [0-9] ranks on [0-9] hosts" || return 1
    if says "$2" "attempt $1 begins, with $3 ranks"; then
        check "all work" wait_for "$PATIENCE" works_in "$1" "$3"
        return
    fi
    waits 1 "$2" "${4:-}" && goes_on "$(($1 + 1))" "$2" "$3"
}

# Without it there would be too few hosts.
a_first_host_that_is_started_anew_counts_while_hosts_gather() {
    least=3
    begin_work 3 || return
    lost hosts kill 1
    sleep 8
    works_again 1
    followed 2 3 25000 || return
    check "all work" wait_for "$PATIENCE" works_in 2 3
    ended_well 1 2 3
    check "one attempt at a time" never_two
}

# It is restarted once while it waits, and once while it takes part.
a_first_host_that_is_started_anew_again_and_again() {
    begin_work 3 || return
    lost hosts kill 1
    followed 2 2 || return
    works_again 1
    waits 1 2 || return
    hosts kill 1
    works_again 1
    waits 1 2 || return
    goes_on 3 2 3 || return
    lost hosts kill 1
    works_again 1
    said_within "$FOLLOW_MS" 2 'attempt 4 begins, with 3 ranks on 3 hosts' || return
    check "all work" wait_for "$PATIENCE" works_in 4 3
    ended_well 1 2 3
    check "one attempt at a time" never_two
}

# The host that leads the job is lost while the first host looks for it.
a_first_host_that_is_started_anew_as_the_next_master_is_lost() {
    begin_work 4 || return
    lost hosts kill 1
    followed 2 3 || return
    works_again 1
    lost hosts kill 2
    has_a_part_soon 3 3 3 137 || return
    ended_well 1 3 4
    check "one attempt at a time" never_two
}

# That host is paused instead, and resumes after the first host, which led the job before it, has
# come back.
a_first_host_that_is_started_anew_as_the_next_master_is_paused() {
    begin_work 4 || return
    lost hosts kill 1
    followed 2 3 || return
    lost hosts freeze 2
    works_again 1
    said_within "$FOLLOW_MS" 3 'attempt 3 begins, with [23] ranks on [23] hosts' || return
    check "the first host has found them" wait_for "$PATIENCE" says 3 \
        'algo-1 is back, and waits for the next attempt' || return
    thaw 2
    waits 2 3 || return
    goes_on 4 3 4 || return
    ended_well 1 2 3 4
    check "one attempt at a time" never_two algo-2 2
}

# Less than half of the hosts still have the job's state, and give up: a new job needs all hosts.
a_first_host_that_is_started_anew_where_nobody_may_lead() {
    begin_work 3 || return
    hosts kill 1
    hosts kill 3
    works_again 1
    works_again 3
    all_end 150 73 2 || return
    check "nobody works" works_in 2 0
    works_again 2
    check "a new job begins" wait_for 60 says 1 'all 3 ranks have started' || return
    ended_well 1 2 3
    check "one attempt at a time" never_two
}

# The job's last master is lost while the first host waits for the next attempt: the first host is
# the master of a new job, which all the others join anew.
a_first_host_that_waits_as_the_job_is_lost() {
    begin_work 3 || return
    lost hosts kill 1
    followed 2 2 || return
    works_again 1
    waits 1 2 || return
    hosts kill 2
    all_end 150 73 3 || return
    check "it says so" wait_for 60 says 1 'no host leads the job any more'
    check "one attempt at a time" never_two
    rm "$share"/work/*
    works_again 2
    works_again 3
    check "a new job begins" wait_for 60 says 1 'all 3 ranks have started' || return
    ended_well 1 2 3
    check "one attempt at a time" never_two
}

# The platform has given up the paused host and started one of that name on another machine.
a_paused_first_host_wakes_up_beside_its_successor() {
    ring_that_shares 4
    for host in 1 2 3; do
        begin_named "$host" "algo-$host"
    done
    work_begins 3 || return
    lost hosts freeze 1
    followed 2 2 || return
    begin_named 4 algo-1
    check "its successor waits" wait_for "$PATIENCE" says 2 \
        'algo-1 is back, and waits for the next attempt' || return
    thaw 1
    all_end "$PATIENCE" 65 1 || return
    all_name 'the name algo-1 is that of the host at' 1
    goes_on 3 2 3 || return
    ended_well 2 3 4
    check "one attempt at a time" never_two algo-1
}
begin_named() {
    begin_one "$1" -e RINGMASTER_HOSTS=algo-1,algo-2,algo-3 -e "RINGMASTER_HOST=$2" -- train -- \
        sh -c "$works"
}

more='a_first_host_that_is_started_anew_where_nobody_may_lead
    a_first_host_that_waits_as_the_job_is_lost'
[ -n "${RINGMASTER_LONG:-}" ] || more=
CASES=${CASES:-a_first_host_that_is_started_anew_has_a_part_in_the_next_attempt
    a_first_host_that_is_started_anew_while_hosts_gather
    a_first_host_that_is_started_anew_counts_while_hosts_gather
    a_first_host_that_is_started_anew_again_and_again
    a_first_host_that_is_started_anew_as_the_next_master_is_lost
    a_first_host_that_is_started_anew_as_the_next_master_is_paused
    a_paused_first_host_wakes_up_beside_its_successor $more}
run_cases
finish
