#!/bin/sh
# Measures how fast a job starts and ends, and what it costs while it runs:
#
#   sh bench/launch.sh [HOSTS...]       default: 3 8
#   DRIVER=ns|docker  RUNS=3  LAUNCHERS="mpirun direct"
#   TORCHRUN=VENV/bin/torchrun    from a virtual environment with PyTorch that the hosts can see:
#                                 not below /tmp, /opt or /run
#   OPTIONS="-e RINGMASTER_EVENTS=0"   options for the hosts, to measure the cost of a feature
#
# Hosts are namespaces or containers on this machine. Each has one rank, a program without MPI that
# sleeps for 10 s. The launchers (RINGMASTER_LAUNCHER) run in turn. Times are medians over RUNS.
# Prints for each launcher, with units, and, with several launchers, as multiples of the last one:
#
#   up        from the start of the last host to the first and the last rank in main
#   gone      from the end of the last rank to the exit of the first and the last host
#   failure   from the first failure to the exit of the first and the last host: rank 1 exits with
#             42 and the others get SIGTERM
#   mpirun    bare mpirun over ssh on the same hosts, if sshd is installed (Debian: openssh-server):
#             from its start to the first and the last rank in main, from the exit of the last rank
#             to its end, and from the failure to its end; also as multiples of ours from the same
#             runs
#   torchrun  torchrun with a static rendezvous on the same hosts, if TORCHRUN is set: from the
#             start of the last host to the first and the last rank in main, and from the exit of
#             the last rank to that of the last host; also as multiples of ours
#   memory    resident set and proportional share (Pss) of PID 1, on the master and on a worker
#   wake-ups  voluntary context switches of PID 1 per heartbeat, measured over 6 s (two heartbeats)
#             while the ranks sleep; and how often it was preempted, as happens when many processes
#             on one machine wake at once
# shellcheck disable=SC2154  # lib.sh's variables
top=$(cd "$(dirname "$0")/.." && pwd)
UNPRIVILEGED= # both sides of a comparison start as root
. "$top/tests/system/lib.sh"
. "$top/tests/system/bare.sh"

RUNS=${RUNS:-3}
LAUNCHERS=${LAUNCHERS:-mpirun direct}
[ $# -gt 0 ] || set -- 3 8

median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
field() { sed -n "s/^$2:[[:space:]]*\([0-9]*\).*/\1/p" "/proc/$1/status"; }
share_of() { sed -n 's/^Pss:[[:space:]]*\([0-9]*\).*/\1/p' "/proc/$1/smaps_rollup"; }
# woken NAME PID: called twice, it records how often that process woke and was preempted in between.
woken() {
    for kind in voluntary nonvoluntary; do
        now=$(field "$2" "${kind}_ctxt_switches")
        if [ -e "$work/before-$kind-$1" ]; then
            echo $(((now - $(cat "$work/before-$kind-$1")) * 5)) >>"$work/$LAUNCHER-$kind-$1"
            rm "$work/before-$kind-$1"
        else
            echo "$now" >"$work/before-$kind-$1"
        fi
    done
}
marks() { cut -d ' ' -f 2 "$share/$1"-* | sort -n; }

# all_left SECONDS [CODE]: waits until all hosts have ended, each with exit code CODE (default 0).
all_left() {
    hosts wait "$1" >/dev/null || { show_logs; exit 1; }
    for host in $everyone; do
        [ "$(hosts code "$host")" = "${2:-0}" ] || { show_logs; exit 1; }
    done
}

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
    field "$master" VmRSS >>"$work/$LAUNCHER-rss-master"
    field "$worker" VmRSS >>"$work/$LAUNCHER-rss-worker"
    share_of "$master" >>"$work/$LAUNCHER-pss-master"
    share_of "$worker" >>"$work/$LAUNCHER-pss-worker"
    all_left 60
    echo $(($(marks in-main | head -n 1) - last_start)) >>"$work/$LAUNCHER-up-first"
    echo $(($(marks in-main | tail -n 1) - last_start)) >>"$work/$LAUNCHER-up-last"
    out=$(marks out | tail -n 1)
    ended=$(for host in $everyone; do hosts ended "$host"; done | sort -n)
    echo $(($(echo "$ended" | head -n 1) - out)) >>"$work/$LAUNCHER-gone-first"
    echo $(($(echo "$ended" | tail -n 1) - out)) >>"$work/$LAUNCHER-gone-last"
}

failing_run() {
    ring "$size"
    cp "$system/probe.sh" "$share/"
    : >"$share/fail"
    # shellcheck disable=SC2086  # words
    start_all ${OPTIONS:-} -- train -- sh "$share/probe.sh" "$share" 60 1 exit 42
    all_left 60 42
    failed=$(marks failed | head -n 1)
    ended=$(for host in $everyone; do hosts ended "$host"; done | sort -n)
    echo $(($(echo "$ended" | head -n 1) - failed)) >>"$work/$LAUNCHER-failed-first"
    echo $(($(echo "$ended" | tail -n 1) - failed)) >>"$work/$LAUNCHER-failed-last"
}

bare_run() {
    ring "$size"
    cp "$system/probe.sh" "$share/"
    : >"$share/fail"
    bare_by_ssh
    # shellcheck disable=SC2016  # expanded on the host
    rank='exec env RANK=$OMPI_COMM_WORLD_RANK WORLD_SIZE=$OMPI_COMM_WORLD_SIZE \
        sh "$0/probe.sh" "$0" "$@"'
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

# Runs one rank per host, started on all hosts at once; only torchrun's agents run there.
torchrun() {
    ring "$size"
    cp "$system/probe.sh" "$share/"
    for host in $everyone; do
        LAUNCHER='' hosts start "$host" -- "$TORCHRUN" --nnodes "$size" --nproc-per-node 1 \
            --node-rank $((host - 1)) --master-addr "$(hosts name 1)" --master-port 29400 \
            --no-python sh "$share/probe.sh" "$share" 10
    done
    last_start=$(now_ms)
    [ "$DRIVER" = docker ] || last_start=$(cat "$RING/host-$size/started")
    wait_for 600 all_in_main || { show_logs; exit 1; }
    all_left 600
    echo $(($(marks in-main | head -n 1) - last_start)) >>"$work/torchrun-up-first"
    echo $(($(marks in-main | tail -n 1) - last_start)) >>"$work/torchrun-up-last"
    ended=$(for host in $everyone; do hosts ended "$host"; done | sort -n)
    echo $(($(echo "$ended" | tail -n 1) - $(marks out | tail -n 1))) >>"$work/torchrun-gone-last"
}

work=$(mktemp -d)
trap 'ring_down; rm -rf "$work"' EXIT
m() { median <"$work/$1"; }
# tenths FILE: prints the median of FILE, which is in tenths, as a decimal.
tenths() { echo "$(($(m "$1") / 10)).$(($(m "$1") % 10))"; }
# multiple FILE FILE: prints the first file's median divided by the second's.
multiple() { echo "$(m "$1") $(m "$2")" | awk '{ printf "%.1f", $1 / ($2 > 0 ? $2 : 1) }'; }
report() {
    echo "  ranks started by $1:"
    echo "    last host started to first rank in main: $(m "$1-up-first") ms, to last: $(
        m "$1-up-last") ms"
    echo "    last rank out to first host out: $(m "$1-gone-first") ms, to last: $(
        m "$1-gone-last") ms"
    echo "    first failure to first host out: $(m "$1-failed-first") ms, to last: $(
        m "$1-failed-last") ms"
    echo "    resident set of PID 1: master $(m "$1-rss-master") KiB, worker $(
        m "$1-rss-worker") KiB"
    echo "    its share (Pss): master $(m "$1-pss-master") KiB, worker $(m "$1-pss-worker") KiB"
    echo "    wake-ups of PID 1: master $(tenths "$1-voluntary-master"), worker $(
        tenths "$1-voluntary-worker") a" \
        "heartbeat; put off: $(tenths "$1-nonvoluntary-master"), $(tenths "$1-nonvoluntary-worker")"
}

# beside NAME: prints the times of launcher NAME as multiples of the last one's.
beside() {
    [ "$1" = "$LAUNCHER" ] || echo "  $1 takes $(multiple "$1-up-first" "$LAUNCHER-up-first")," \
        "$(multiple "$1-up-last" "$LAUNCHER-up-last"), $(
            multiple "$1-gone-last" "$LAUNCHER-gone-last") and" \
        "$(
            multiple "$1-failed-last" "$LAUNCHER-failed-last"
        ) times as long as $LAUNCHER to the first and the last" \
        "rank in main, from the last rank out and from the failure to the last host out"
}

for size in "$@"; do
    rm -f "$work"/*
    for run in $(seq 1 "$RUNS"); do
        for LAUNCHER in $LAUNCHERS; do # tests/system/lib.sh passes it to the hosts
            one_run
            failing_run
        done
        ! has_sshd || bare
        [ -z "${TORCHRUN:-}" ] || torchrun
        echo "$size hosts, run $run of $RUNS" >&2
    done
    echo "hosts=$size driver=$DRIVER runs=$RUNS load=$(cut -d " " -f 1 /proc/loadavg)"
    for launcher in $LAUNCHERS; do report "$launcher"; done
    for launcher in $LAUNCHERS; do beside "$launcher"; done
    if has_sshd; then
        echo "  bare mpirun over ssh: start to first rank in main: $(
            m bare-up-first) ms, to last: $(m bare-up) ms," \
            "last rank out to its end: $(m bare-gone) ms, first failure to its end: $(
                m bare-failed) ms"
        for launcher in $LAUNCHERS; do
            echo "  that is $(multiple bare-up-first "$launcher-up-first"), $(
                multiple bare-up "$launcher-up-last")," \
                "$(multiple bare-gone "$launcher-gone-last") and $(
                    multiple bare-failed "$launcher-failed-last")" \
                "times ours by $launcher"
        done
    else
        echo "  bare mpirun over ssh: not measured, sshd is not installed"
    fi
    if [ -n "${TORCHRUN:-}" ]; then
        echo "  torchrun $(
            "${TORCHRUN%/*}/python3" -c 'import torch; print(torch.__version__)'
        ): last host started to first" \
            "rank in main: $(m torchrun-up-first) ms, to last: $(
                m torchrun-up-last) ms, last rank out to last host out:" \
            "$(m torchrun-gone-last) ms"
        for launcher in $LAUNCHERS; do
            echo "  that is $(multiple torchrun-up-first "$launcher-up-first")," \
                "$(multiple torchrun-up-last "$launcher-up-last") and $(
                    multiple torchrun-gone-last "$launcher-gone-last")" \
                "times ours by $launcher"
        done
    else
        echo "  torchrun: not measured, TORCHRUN is not set"
    fi
done
