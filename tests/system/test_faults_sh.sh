#!/bin/sh
# Tests faults while a shell script runs on three hosts, and one of them on 8 and on 16 hosts;
# RINGMASTER_LONG=1 tests all of them there, too (faults.sh).
export WORKLOAD=sh
faults=$(dirname "$0")/faults.sh
[ -z "${RINGMASTER_LONG:-}" ] || exec env HOSTS='3 8 16' sh "$faults"
sh "$faults"
some=$?
HOSTS='8 16' CASES=the_hosts_are_parted sh "$faults"
many=$?
# The exit code of a failure replaces 77, which says that something could not run.
case $some in
0 | 77) [ "$many" = 0 ] || exit "$many" ;;
esac
exit "$some"
