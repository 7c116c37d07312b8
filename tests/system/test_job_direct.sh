#!/bin/sh
# Tests jobs that go well where ranks are started without mpirun, by the cases of test_job.sh that
# need no MPI. ringtrain's ranks meet over TCP here.
export LAUNCHER=direct
CASES=${CASES:-every_rank_knows_its_place two_ranks_a_host frameworks_find_their_ranks
    a_job_that_hangs_at_once_is_ended lines_stay_whole_and_valid the_master_prints_all_if_asked
    ten_jobs_of_one_instant once_per_host one_network_for_all_libraries one_host_alone
    first_processes_sleep_between_heartbeats a_umask_against_the_owner_is_not_kept
    hosts_named_by_a_variable a_users_signal_stays_on_its_host
    a_users_signal_to_all_processes_ends_nothing ringtrain_trains ringtrain_is_named_as_the_program}
export CASES
exec sh "$(dirname "$0")/test_job.sh"
