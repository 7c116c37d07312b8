#!/bin/sh
# Tests faults of jobs that start ranks without mpirun: while a shell script runs on three hosts,
# some of them on 8 hosts, and some while ringtrain's ranks train over TCP. RINGMASTER_LONG=1 tests
# all of them, and on more hosts (faults.sh).
export LAUNCHER=direct
faults=$(dirname "$0")/faults.sh
result=0

# The exit code of a failure replaces 77, which says that something could not run.
run() {
    env "$@" sh "$faults"
    code=$?
    case $result in
    0 | 77) [ "$code" = 0 ] || result=$code ;;
    esac
}

if [ -n "${RINGMASTER_LONG:-}" ]; then
    run WORKLOAD=sh HOSTS='3 8 16'
    run WORKLOAD=ringtrain HOSTS='3 8'
else
    run WORKLOAD=sh
    run WORKLOAD=sh HOSTS=8 CASES='a_rank_exits_with_42 a_worker_is_killed the_hosts_are_parted'
    run WORKLOAD=ringtrain \
        CASES='a_rank_segfaults a_worker_is_killed the_master_is_killed the_master_is_stopped'
fi
exit "$result"
