#!/bin/sh
# Faults while a shell script runs on three hosts, where ranks are started without mpirun, and some of them on 8; all
# there, where there is time (faults.sh).
export WORKLOAD=sh LAUNCHER=direct
faults=$(dirname "$0")/faults.sh
[ -z "${RINGMASTER_LONG:-}" ] || exec env HOSTS='3 8 16' sh "$faults"
sh "$faults"
some=$?
HOSTS=8 CASES='a_rank_exits_with_42 a_worker_is_killed the_hosts_are_parted' sh "$faults"
many=$?
# A failure counts more than what could not run.
case $some in
0 | 77) [ "$many" = 0 ] || exit "$many" ;;
esac
exit "$some"
