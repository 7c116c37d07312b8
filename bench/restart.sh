#!/bin/sh
# Measures how fast a job runs again after a failure, with failover on:
#
#   sh bench/restart.sh [HOSTS...]      default: 3 8
#   DRIVER=ns|docker  RUNS=3  LAUNCHERS="mpirun direct"
#   CASES="rank worker master frozen"
#
# Hosts are namespaces or containers on this machine. Each has one rank, a program without MPI. In
# each run a job starts, something fails, and its next attempt starts. Prints the median and the
# longest time from the failure until the first and the last rank of the next attempt are in main:
#
#   rank      rank 1 is killed by SIGKILL
#   worker    the last host's container is killed
#   master    the first host's container is killed
#   frozen    the last host's container is frozen, and its lease has to expire
# shellcheck disable=SC2154,SC2016  # lib.sh's variables; a script that the hosts expand
top=$(cd "$(dirname "$0")/.." && pwd)
UNPRIVILEGED=
. "$top/tests/system/lib.sh"

RUNS=${RUNS:-3}
LAUNCHERS=${LAUNCHERS:-mpirun direct}
CASES=${CASES:-rank worker master frozen}
[ $# -gt 0 ] || set -- 3 8

# Each rank writes down when it has started, and runs until a file makes it fail or end.
program='date +%s%3N >"$TEST_SHARE/part-$RINGMASTER_ATTEMPT-$RANK"
    mv "$TEST_SHARE/part-$RINGMASTER_ATTEMPT-$RANK" "$TEST_SHARE/begun-$RINGMASTER_ATTEMPT-$RANK"
    while [ ! -e "$TEST_SHARE/enough" ]; do
        [ ! -e "$TEST_SHARE/fail-$RINGMASTER_ATTEMPT-$RANK" ] || kill -s KILL $$
        sleep 0.05
    done'
begun() { find "$share" -name "begun-$1-*"; }
has_begun() { [ "$(begun "$1" | wc -l)" -eq "$2" ]; }
moments() { begun "$1" | xargs cat | sort -n; }
give_up() { echo "$case of $size hosts by $LAUNCHER: $1" >&2; show_logs; exit 1; }

one_run() {
    left=$size
    ring "$size"
    mkdir -p "$share/checkpoints"
    chmod 1777 "$share" "$share/checkpoints"
    start_all -e RINGMASTER_RESTARTS=3 -e RINGMASTER_SHRINK=1 -e RINGMASTER_FAILOVER=1 \
        -e "TEST_SHARE=$share" -e "RINGMASTER_CHECKPOINTS=file://$share/checkpoints" -- \
        train -- sh -c "$program"
    wait_for 120 has_begun 1 "$size" || give_up "the job does not begin"
    sleep 2
    failed=$(now_ms)
    case $case in
    rank) : >"$share/fail-1-1" ;;
    worker) hosts kill "$size" ;;
    master) hosts kill 1 ;;
    frozen) hosts freeze "$size" ;;
    esac
    [ "$case" = rank ] || left=$((size - 1))
    wait_for 120 has_begun 2 "$left" || give_up "no other attempt begins"
    echo $(($(moments 2 | head -n 1) - failed)) >>"$work/$LAUNCHER-$case-first"
    echo $(($(moments 2 | tail -n 1) - failed)) >>"$work/$LAUNCHER-$case-last"
    : >"$share/enough"
    [ "$case" != frozen ] || { hosts kill "$size"; hosts thaw "$size"; }
    hosts wait 60 >/dev/null || give_up "not all hosts end"
}

work=$(mktemp -d)
trap 'ring_down; rm -rf "$work"' EXIT
median() { sort -n "$work/$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
longest() { sort -n "$work/$1" | tail -n 1; }

for size in "$@"; do
    rm -f "$work"/*
    for run in $(seq 1 "$RUNS"); do
        for case in $CASES; do
            for LAUNCHER in $LAUNCHERS; do one_run; done
        done
        echo "$size hosts, run $run of $RUNS" >&2
    done
    echo "hosts=$size driver=$DRIVER runs=$RUNS load=$(cut -d ' ' -f 1 /proc/loadavg)"
    for case in $CASES; do
        for LAUNCHER in $LAUNCHERS; do
            echo "  $case, ranks started by $LAUNCHER: first rank after $(
                median "$LAUNCHER-$case-first") ms" \
                "(at most $(longest "$LAUNCHER-$case-first")), last after $(
                    median "$LAUNCHER-$case-last") ms" \
                "(at most $(longest "$LAUNCHER-$case-last"))"
        done
    done
done
