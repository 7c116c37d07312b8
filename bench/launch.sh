#!/bin/sh
# How fast a job comes up and goes away, and what it costs while it runs:
#
#   sh bench/launch.sh [HOSTS...]       default: 3 8
#   DRIVER=ns|docker  RUNS=3
#   OPTIONS="-e RINGMASTER_EVENTS=0"   for the hosts, to see what something costs
#
# Hosts are namespaces or containers on this machine, one rank each, a program without MPI that
# sleeps 10 s. Times are medians over RUNS. Prints, with units:
#
#   up        from the start of the last host to the first and the last rank in main
#   gone      from the end of the last rank to the first and the last host out
#   failure   from the first failure to the first and the last host out: rank 1 exits with 42 and the
#             others hear SIGTERM
#   mpirun    bare mpirun over ssh on the same hosts, where sshd is installed (Debian: openssh-server):
#             from its start to the first and the last rank in main, from the last rank out to its end, and from the
#             failure to its end; its times as multiples of ours, from the same runs
#   memory    of PID 1, master and worker: resident set, and its share of it (Pss)
#   wake-ups  of PID 1 a heartbeat, over two of them, 6 s, while ranks sleep: its voluntary context
#             switches; and how often another process took its processor away, as many that wake at
#             once on one machine do
# shellcheck disable=SC2154  # lib.sh's variables
top=$(cd "$(dirname "$0")/.." && pwd)
UNPRIVILEGED= # both sides of a comparison start as root
. "$top/tests/system/lib.sh"
. "$top/tests/system/bare.sh"

RUNS=${RUNS:-3}
[ $# -gt 0 ] || set -- 3 8

median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
field() { sed -n "s/^$2:[[:space:]]*\([0-9]*\).*/\1/p" "/proc/$1/status"; }
share_of() { sed -n 's/^Pss:[[:space:]]*\([0-9]*\).*/\1/p' "/proc/$1/smaps_rollup"; }
# woken NAME PID: called twice it notes how often that process woke, and was put off, in between.
woken() {
    for kind in voluntary nonvoluntary; do
        now=$(field "$2" "${kind}_ctxt_switches")
        if [ -e "$work/before-$kind-$1" ]; then
            echo $(((now - $(cat "$work/before-$kind-$1")) * 5)) >>"$work/$kind-$1"
            rm "$work/before-$kind-$1"
        else
            echo "$now" >"$work/before-$kind-$1"
        fi
    done
}
marks() { cut -d ' ' -f 2 "$share/$1"-* | sort -n; }

all_in_main() {
    for rank in $(seq 0 $((size - 1))); do [ -e "$share/in-main-$rank" ] || return 1; done
}

one_run() {
    ring "$size"
    cp "$system/probe.sh" "$share/"
    # shellcheck disable=SC2086  # words
    start_all ${OPTIONS:-} -- train -- sh "$share/probe.sh" "$share" 10
    last_start=$(now_ms)
    [ "$DRIVER" = docker ] || last_start=$(cat "$RING/host-$size/started")
    wait_for 60 all_in_main || { show_logs; exit 1; }
    sleep 1
    master=$(hosts pid 1) worker=$(hosts pid 2)
    woken master "$master"
    woken worker "$worker"
    sleep 6
    woken master "$master"
    woken worker "$worker"
    field "$master" VmRSS >>"$work/rss-master"
    field "$worker" VmRSS >>"$work/rss-worker"
    share_of "$master" >>"$work/pss-master"
    share_of "$worker" >>"$work/pss-worker"
    hosts wait 60 >/dev/null || { show_logs; exit 1; }
    for host in $everyone; do
        [ "$(hosts code "$host")" = 0 ] || { show_logs; exit 1; }
    done
    echo $(($(marks in-main | head -n 1) - last_start)) >>"$work/up-first"
    echo $(($(marks in-main | tail -n 1) - last_start)) >>"$work/up-last"
    out=$(marks out | tail -n 1)
    ended=$(for host in $everyone; do hosts ended "$host"; done | sort -n)
    echo $(($(echo "$ended" | head -n 1) - out)) >>"$work/gone-first"
    echo $(($(echo "$ended" | tail -n 1) - out)) >>"$work/gone-last"
}

failing_run() {
    ring "$size"
    cp "$system/probe.sh" "$share/"
    : >"$share/fail"
    # shellcheck disable=SC2086  # words
    start_all ${OPTIONS:-} -- train -- sh "$share/probe.sh" "$share" 60 1 exit 42
    hosts wait 60 >/dev/null || { show_logs; exit 1; }
    for host in $everyone; do
        [ "$(hosts code "$host")" = 42 ] || { show_logs; exit 1; }
    done
    failed=$(marks failed | head -n 1)
    ended=$(for host in $everyone; do hosts ended "$host"; done | sort -n)
    echo $(($(echo "$ended" | head -n 1) - failed)) >>"$work/failed-first"
    echo $(($(echo "$ended" | tail -n 1) - failed)) >>"$work/failed-last"
}

bare_run() {
    ring "$size"
    cp "$system/probe.sh" "$share/"
    : >"$share/fail"
    bare_by_ssh
    # shellcheck disable=SC2016  # expanded on the host
    rank='exec env RANK=$OMPI_COMM_WORLD_RANK WORLD_SIZE=$OMPI_COMM_WORLD_SIZE sh "$0/probe.sh" "$0" "$@"'
    start=$(now_ms)
    bare_mpirun sh -c "$rank" "$share" "$@"
    end=$(now_ms)
}

bare() {
    bare_run 3
    last=$(marks out | tail -n 1)
    [ -n "$last" ] || { cat "$share/mpirun.log"; exit 1; }
    echo $(($(marks in-main | head -n 1) - start)) >>"$work/bare-up-first"
    echo $(($(marks in-main | tail -n 1) - start)) >>"$work/bare-up"
    echo $((end - last)) >>"$work/bare-gone"
    bare_run 60 1 exit 42
    echo $((end - $(marks failed | head -n 1))) >>"$work/bare-failed"
}

work=$(mktemp -d)
trap 'ring_down; rm -rf "$work"' EXIT
m() { median <"$work/$1"; }
# tenths FILE: its median, in tenths, as a decimal.
tenths() { echo "$(($(m "$1") / 10)).$(($(m "$1") % 10))"; }
# multiple FILE FILE: how often the second's median goes into the first's.
multiple() { echo "$(m "$1") $(m "$2")" | awk '{ printf "%.1f", $1 / ($2 > 0 ? $2 : 1) }'; }
for size in "$@"; do
    rm -f "$work"/*
    for run in $(seq 1 "$RUNS"); do
        one_run
        failing_run
        ! has_sshd || bare
        echo "$size hosts, run $run of $RUNS" >&2
    done
    echo "hosts=$size driver=$DRIVER runs=$RUNS load=$(cut -d " " -f 1 /proc/loadavg)"
    echo "  last host started to first rank in main: $(m up-first) ms, to last: $(m up-last) ms"
    echo "  last rank out to first host out: $(m gone-first) ms, to last: $(m gone-last) ms"
    echo "  first failure to first host out: $(m failed-first) ms, to last: $(m failed-last) ms"
    if has_sshd; then
        echo "  bare mpirun over ssh: start to first rank in main: $(m bare-up-first) ms, to last: $(m bare-up) ms," \
            "last rank out to its end: $(m bare-gone) ms, first failure to its end: $(m bare-failed) ms"
        echo "  that is $(multiple bare-up-first up-first), $(multiple bare-up up-last)," \
            "$(multiple bare-gone gone-last) and $(multiple bare-failed failed-last) times ours"
    else
        echo "  bare mpirun over ssh: not measured, sshd is not installed"
    fi
    echo "  resident set of PID 1: master $(m rss-master) KiB, worker $(m rss-worker) KiB"
    echo "  its share (Pss): master $(m pss-master) KiB, worker $(m pss-worker) KiB"
    echo "  wake-ups of PID 1: master $(tenths voluntary-master), worker $(tenths voluntary-worker) a heartbeat;" \
        "put off: $(tenths nonvoluntary-master), $(tenths nonvoluntary-worker)"
done
