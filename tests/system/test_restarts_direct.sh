#!/bin/sh
# Restarts without mpirun: the cases of other tests in which a launcher ends the ranks and starts
# them again, on all hosts or some, under the first master or the next one. With RINGMASTER_LONG=1
# all cases of those tests run.
export LAUNCHER=direct
folder=$(dirname "$0")
result=0

# run NAME CASE...: runs these cases of test_NAME.sh. A failure takes precedence over a skip.
run() {
    test=$folder/test_$1.sh
    shift
    if [ -n "${RINGMASTER_LONG:-}" ]; then sh "$test"; else CASES=$* sh "$test"; fi
    code=$?
    case $result in
    0 | 77) [ "$code" = 0 ] || result=$code ;;
    esac
}

run relaunch a_killed_rank_is_made_good a_stalled_rank_is_made_good a_lost_host_is_done_without \
    two_hosts_are_lost a_training_that_was_done_is_published_again \
    a_host_lost_in_the_pause_is_missed a_stop_of_the_second_attempt \
    what_a_program_removes_is_made_anew
run failover the_first_host_is_killed another_host_is_killed \
    the_first_host_is_killed_while_hosts_gather the_first_host_of_a_training_is_killed \
    of_two_hosts_none_follows the_new_master_tries_again_and_is_stopped
run comeback a_container_that_was_started_again_has_a_part_in_the_next_attempt \
    the_first_host_is_paused
run started_anew a_first_host_that_is_started_anew_has_a_part_in_the_next_attempt
exit "$result"
