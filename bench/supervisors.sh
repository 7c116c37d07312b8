#!/bin/sh
# Measures what a thousand hosts cost: each has a real supervisor in namespaces of its own. Ranks
# are started directly or by a stand-in for Open MPI (standin.c), as the real one would take more
# memory and time than one machine has.
#
#   sh bench/supervisors.sh [HOSTS...]       default: 64 256 1000
#   LAUNCHERS="mpirun direct"
#   OPTIONS="-e RINGMASTER_EVENTS=0"         options for the hosts, to measure the cost of a feature
#
# Each host has one rank, which waits until it is released. Of two jobs, one succeeds and one is
# stopped. All hosts share this machine's processors, which is where most of the time goes. Prints
# for each number of hosts:
#
#   join      from the start of the first host, for which all others wait, until all have joined
#   launch    from the start of mpirun, or from the order to start ranks, to the start of all ranks
#   result    from the end of all ranks at once to the verdict, and to the exit of the last host
#   stop      from SIGTERM to the first host to the exit of the last host
#   memory    of the first host's PID 1, its proportional share (Pss) and its peak resident set; the
#             mean share of the others' PID 1; the share of all our processes
#   files     the number of files that the first host's PID 1 has open
# shellcheck disable=SC2154  # lib.sh's variables
top=$(cd "$(dirname "$0")/.." && pwd)
UNPRIVILEGED= # both sides of a comparison start as root
. "$top/tests/system/lib.sh"

[ $# -gt 0 ] || set -- 64 256 1000
standin=$(dirname "$RINGMASTER_BIN")/bench/standin
[ -x "$standin/mpirun" ] || skip "$standin is not built"
LAUNCHERS=${LAUNCHERS:-mpirun direct}
# One machine is slow with so many hosts; this timeout says nothing about how long things take.
LONG=600

# first_process HOST: prints the host's PID 1 as this machine numbers it.
first_process() { cat "$RING/host-$1/pid"; }

# pss FILE...: prints the sum of the shares, in KiB; processes may have ended by now.
pss() { awk '/^Pss:/ { sum += $2 } END { print sum + 0 }' "$@" 2>/dev/null; }
# Prints the smaps_rollup files of all processes that run this ringmaster.
ours() {
    find -L /proc/[0-9]*/exe -maxdepth 0 -samefile "$RINGMASTER_BIN/ringmaster" 2>/dev/null |
        sed 's/exe$/smaps_rollup/'
}

log_has() { grep -q "$2" "$RING/host-$1/log"; }

# event NAME: prints the time of the last event NAME in the first host's log, in ms since 1970.
event() {
    python3 - "$(hosts opt 1)/output/data/events-algo-1.jsonl" "$1" <<'PYTHON'
import datetime, json, sys
found = [e for e in map(json.loads, open(sys.argv[1])) if e["event"] == sys.argv[2]]
print(int(datetime.datetime.fromisoformat(
    found[-1]["time"].replace("Z", "+00:00")).timestamp() * 1000))
PYTHON
}

# cpu PID: prints the processor time of a process in ms.
cpu() {
    awk -v ticks="$(getconf CLK_TCK)" '{ print int(($14 + $15) * 1000 / ticks) }' "/proc/$1/stat"
}

begin() {
    # shellcheck disable=SC2086  # words
    set -- -e "PATH=$standin:$RINGMASTER_BIN:/usr/bin:/bin" -e RINGMASTER_READY_SECONDS=$LONG \
        -e "RINGMASTER_LAUNCHER=$launcher" ${OPTIONS:-} -- \
        train -- cat "$share/go"
    hosts start-from 2 "$@"
    waits() { [ "$(cat "$RING"/host-*/log | grep -c 'waiting for algo-1:')" -ge $((size - 1)) ]; }
    wait_for "$LONG" waits || { show_logs; exit 1; }
    hosts start 1 "$@"
    wait_for "$LONG" log_has 1 "ranks have started" || { show_logs | tail -n 60; exit 1; }
}

# all_out CODE: waits until all hosts have ended with CODE; $out is when the last one ended.
all_out() {
    hosts wait "$LONG" >/dev/null || { echo "not all hosts ended"; exit 1; }
    for host in $everyone; do
        read -r code <"$RING/host-$host/code"
        [ "$code" = "$1" ] || {
            echo "host $host ended with $code"
            hosts log "$host" | tail
            exit 1
        }
    done
    out=$(sort -n "$RING"/host-*/ended | tail -n 1)
}

memory() {
    master=$(first_process 1)
    others=0
    for host in $everyone; do
        [ "$host" = 1 ] || others=$((others + $(
            pss "/proc/$(first_process "$host" | tr -d ' ')/smaps_rollup")))
    done
    master=${master% }
    echo "  memory of PID 1: first host $(pss "/proc/$master/smaps_rollup") KiB," \
        "at most $(sed -n 's/^VmHWM:[^0-9]*//p' "/proc/$master/status") resident;" \
        "others $((others / (size - 1))) KiB each"
    # shellcheck disable=SC2046  # paths
    echo "  of all processes of ours: $(($(pss $(ours)) / 1024)) MiB"
    echo "  files open in the first host's PID 1: $(find "/proc/$master/fd" | wc -l)"
}

# measure: runs a job of $size hosts that succeeds, and one that is stopped.
measure() {
    ring "$size"
    mkfifo "$share/go"
    begin
    echo "supervisors=$size launcher=$launcher load=$(cut -d ' ' -f 1 /proc/loadavg)"
    memory
    used=$(cpu "$master")
    released=$(now_ms)
    : >"$share/go"
    all_out 0
    echo "  the first host's PID 1 computed for $used ms until all ranks had started"
    echo "  join: $(($(event joined) - $(event started))) ms"
    echo "  launch: $(($(event seated) - $(event launched))) ms"
    echo "  result: $(($(event verdict) - released)) ms, last host out $((out - released)) ms"
    begin
    stopped=$(now_ms)
    hosts stop 1
    all_out 143
    echo "  stop: $((out - stopped)) ms"
}

trap 'ring_down' EXIT
for size in "$@"; do
    for launcher in $LAUNCHERS; do measure; done
done
