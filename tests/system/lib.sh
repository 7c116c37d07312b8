# What the system tests share: rings of hosts that are removed at the end, and checks that print
# what they saw. Source it with `. "$(dirname "$0")/lib.sh"` from a script in tests/system; from
# elsewhere set top to the root of the repository first.
#
#   DRIVER=ns|docker   what the hosts are made of (hosts.sh)
#   UNPRIVILEGED=      empty: hosts run as root. By default they run without rights, with both
#                      drivers, except where a case says why not (as_root)
#   REPEAT=20          how often each case runs; once by default
# shellcheck shell=sh disable=SC2034
set -u

top=${top:-$(cd "$(dirname "$0")/../.." && pwd)}
system=$top/tests/system
DRIVER=${DRIVER:-ns}
export UNPRIVILEGED="${UNPRIVILEGED-1}"
usual_rights=$UNPRIVILEGED
REPEAT=${REPEAT:-1}
RINGMASTER_BIN=${RINGMASTER_BIN:-$top/build/release/bin}
export RINGMASTER_BIN
checks=0
failures=0
skips=0
RING=
control=

skip() {
    echo "skipped: $*"
    exit 77
}

# skip_case WHY: this case cannot run here. The script then ends with 77 unless something failed.
skip_case() {
    echo "  skipped: $*"
    skips=$((skips + 1))
}

[ "$(id -u)" = 0 ] || skip "hosts need root"
case $DRIVER in
ns) [ -x "$RINGMASTER_BIN/train" ] || skip "$RINGMASTER_BIN/train is not built"
    unshare --net --pid --mount --uts --ipc --fork true 2>/dev/null || skip "no namespaces here" ;;
docker)
    # An engine for the time of this script.
    if ! docker version >/dev/null 2>&1; then
        [ -z "${RINGMASTER_ENGINE:-}" ] || skip "no Docker engine"
        exec env RINGMASTER_ENGINE=own sh "$top/docker/engine.sh" sh "$0" "$@"
    fi
    docker image inspect "${RINGMASTER_IMAGE:-ringmaster:latest}" >/dev/null 2>&1 ||
        skip "no image; sh docker/build.sh makes it"
    ;;
esac

# shellcheck source=/dev/null
. "$system/waiting.sh"

# Commands that tests call many times a second run in this shell, without a new process.
hosts() {
    # LAUNCHER: the jobs of this test are started by that launcher.
    if [ "$1" = start ] && [ -n "${LAUNCHER:-}" ]; then
        started=$2
        shift 2
        set -- start "$started" -e "RINGMASTER_LAUNCHER=$LAUNCHER" "$@"
    fi
    case $1 in
    start | log | code | ended | opt | name | wait) (. "$system/hosts.sh") ;;
    *) top=$top sh "$system/hosts.sh" "$@" ;;
    esac
}

# What the product promises, in ms: from the first failure until all hosts have left; from the fault
# of a host that falls silent until all others have left (lost after 10 s, and 2 s to leave).
FAILURE_MS=1500
SILENCE_MS=12000
LEAVE_MS=2000
# How long a host waits for a slow disk when it ends.
DISK_MS=1500
# How long a test waits before it gives up, in seconds; this is not a promise of the product.
PATIENCE=60

# fault_begins: a fault comes now. From here on the machine's own delays are measured (lag.c).
fault_begins() {
    fault_ends
    fault_at=$(now_ms)
    : >"$RING/lag"
    "$RINGMASTER_BIN/lag" "$fault_at" >"$RING/lag" &
    sentinel=$!
}
sentinel=
fault_ends() {
    [ -z "$sentinel" ] || { kill "$sentinel" && wait "$sentinel"; }
    sentinel=
}

# lateness: how late the machine was since the fault began, in ms, in $late: all of that time if the
# measurement itself did not get to run.
lateness() {
    fault_ends
    late=$(cat "$RING/lag")
    late=${late:-$(($(now_ms) - fault_at))}
}

# was_reset: a lost host's connection was reset. The kernel does that for a process that is killed
# with something unread, as when the machine is busy; the host's lease is waited for then
# (docs/internals/failover.md).
was_reset() {
    for lost_by in $everyone; do
        ! says "$lost_by" 'is lost: the link broke: Connection reset' 2>/dev/null || return 0
    done
    return 1
}

# in_time WHAT TOOK MS: WHAT took TOOK ms and MS are promised, plus the time that the machine was
# late meanwhile ($late). Where that allowance is needed and exceeds half of the promise, or where a
# host was killed with something unread, the result proves nothing, and the case runs again
# (run_cases).
in_time() {
    if [ "$2" -gt $(($3 + late)) ] && was_reset; then
        checks=$((checks + 1))
        unclear="$1: $2 ms, $3 promised, and a host was killed with something unread"
        echo "  unclear: $unclear"
        return
    fi
    if [ "$2" -gt "$3" ] && [ "$2" -le $(($3 + late)) ] && [ "$late" -gt $(($3 / 2)) ]; then
        checks=$((checks + 1))
        unclear="$1: $2 ms, $3 promised, and the machine was late by $late"
        echo "  unclear: $unclear"
        return
    fi
    check "$1: $3 ms are promised, and the machine was late by $late" at_most "$2" $(($3 + late))
}
unclear=

# proves_nothing WHY: the test itself was too late. It kills its hosts, and the case runs again
# (run_cases).
proves_nothing() {
    unclear=$1
    echo "  unclear: $unclear"
    checks=$((checks + 1))
    for host in $everyone; do hosts kill "$host" 2>/dev/null; done
    hosts wait "$PATIENCE"
}

# from_the_last_rank: times are counted from the end of the last rank. Each rank writes its process
# and the time (ms) to out-RANK in the share.
from_the_last_rank() { fault_at=$(cut -d ' ' -f 2 "$share"/out-* | sort -n | tail -n 1); }

# last_ended HOST...: when the last of them ended, in ms since 1970.
last_ended() { for host in "$@"; do hosts ended "$host"; done | sort -n | tail -n 1; }

# within MS HOST...: all have ended within MS of the fault, plus the time that the machine was late.
within() {
    promised=$1
    shift
    lateness
    # A host logs that it waited for the disk in vain; it may take that much longer (file_writer.h).
    for host in "$@"; do
        ! says "$host" 'the disk did not answer in time' || { late=$((late + DISK_MS)); break; }
    done
    # A program that fails by itself writes down when (probe.sh, probe_mpi.c).
    for told in "$share"/failed-*; do
        [ ! -e "$told" ] || read -r _ fault_at <"$told"
    done
    took=$(($(last_ended "$@") - fault_at))
    echo "  all out after $took ms, $promised promised; the machine was late by $late"
    in_time "all are out after the fault" "$took" "$promised"
}

# together HOST...: the time from the first to the last of them to end is within LEAVE_MS.
together() {
    lateness
    in_time "the hosts leave together" "$(spread "$@")" "$LEAVE_MS"
}

ring_down() {
    fault_ends
    [ -z "$RING" ] || hosts down
    control_done
    RING=
}
# The pid of a server that a test has started beside its hosts.
server=
# server_down: kills it, even where it is stopped by a signal.
server_down() {
    [ -z "$server" ] || { kill -s KILL "$server"; wait "$server"; } 2>/dev/null
    server=
}
stalls= # what run_case's watch has written
trap 'server_down; ring_down; rm -f "$stalls"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# ring N [OPTION...]: a fresh ring of N hosts replaces the last one (options: `hosts.sh up`).
ring() {
    ring_down
    count=$1
    RING=$(hosts up "$@" --driver "$DRIVER") || {
        RING=
        echo "no ring: nothing was tested"
        exit 70
    }
    export RING
    share=$RING/share
    everyone=$(seq -s ' ' 1 "$count")
}

# as_root REASON: hosts that are started from here to the end of the case run as root.
as_root() {
    [ -n "$1" ] || exit 70
    [ -z "$UNPRIVILEGED" ] || echo "  as root: $1"
    UNPRIVILEGED=
}

# as_root_for PROGRAM: as root if the hosts' user may not run it, such as a Python below /root.
as_root_for() {
    setpriv --reuid 4321 --regid 4321 --clear-groups env "$1" --version >/dev/null 2>&1 ||
        as_root "$1 is for root alone"
}

# start_all [-e NAME=VALUE]... [-p SCRIPT] [--] COMMAND...: starts the same on every host.
start_all() {
    for host in $everyone; do
        hosts start "$host" "$@"
    done
}

# held STEP: options of start that make a rank's training pause after that step of its first
# attempt, until go_on: what a test does in the middle of a training happens there, however late the
# test is. Prints nothing where hosts are containers.
held() {
    preload=$(dirname "$RINGMASTER_BIN")/tests/hold.so
    [ "$DRIVER" != ns ] ||
        echo "-e LD_PRELOAD=$preload -e HOLD_STEP=$1 -e HOLD_UNTIL=$share/go-on"
}
go_on() { : >"$share/go-on"; }

show_logs() {
    for host in $everyone; do
        [ -e "$RING/host-$host/started" ] || continue
        echo "    --- $(hosts name "$host"): code $(hosts code "$host" 2>/dev/null || echo none)"
        hosts log "$host" | cut -c 1-300 | tail -n 25 | sed 's/^/    | /'
        [ ! -e "$(hosts opt "$host")/output/failure" ] ||
            sed 's/^/    failure: /' "$(hosts opt "$host")/output/failure"
    done
}

# What SageMaker puts into containers. config HOST: its configuration folder; put FILE TEXT: a file
# there on every host; code_file FILE TEXT: a script in the folder of code on every host.
config() { echo "$(hosts opt "$1")/input/config"; }
put() { for host in $everyone; do printf '%s' "$2" >"$(config "$host")/$1"; done; }
code_file() {
    for host in $everyone; do
        mkdir -p "$(hosts opt "$host")/code"
        printf '%s\n' "$2" >"$(hosts opt "$host")/code/$1"
    done
}

# check WHAT COMMAND...: counts a check, and prints the hosts' logs when COMMAND fails.
check() {
    what=$1
    shift
    checks=$((checks + 1))
    "$@" && return 0
    failures=$((failures + 1))
    echo "  FAILED: $what"
    [ -z "$RING" ] || show_logs
    return 1
}

equal() { [ "$1" = "$2" ] || { echo "  got '$1', expected '$2'"; return 1; }; }
at_most() { [ "$1" -le "$2" ] || { echo "  got $1, at most $2 expected"; return 1; }; }
at_least() { [ "$1" -ge "$2" ] || { echo "  got '$1', at least $2 expected"; return 1; }; }
holds() { case $1 in *"$2"*) ;; *) echo "  '$2' is not in: $1"; return 1 ;; esac; }
lacks() { case $1 in *"$2"*) echo "  '$2' is in: $1"; return 1 ;; esac; }

every_log_has() {
    for host in $everyone; do
        check "host $host prints '$1'" holds "$(hosts log "$host")" "$1"
    done
}

# wait_for SECONDS COMMAND...: until COMMAND succeeds.
wait_for() {
    if [ "$2" = says ] && [ "$DRIVER" = ns ]; then
        "$RINGMASTER_BIN/await" "$1" line "$4" "$RING/host-$3/log"
        return
    fi
    begin_waiting "$1"
    shift
    until "$@" >/dev/null 2>&1; do
        wait_on || return 1
    done
}

# says HOST TEXT: its log has a line like TEXT. Tests call it most of all: it takes one process.
says() {
    if [ "$DRIVER" = ns ]; then
        grep -q -e "$2" "$RING/host-$1/log"
    else
        hosts log "$1" | grep -q -e "$2"
    fi
}

# said_within MS HOST TEXT: its log has a line like TEXT at most MS after the fault.
said_within() {
    check "host $2 says '$3'" wait_for "$PATIENCE" says "$2" "$3" || return
    took=$(($(now_ms) - fault_at))
    lateness
    echo "  host $2 says '$3' after $took ms, $1 promised; the machine was late by $late"
    in_time "host $2 says '$3'" "$took" "$1"
}

# How long a rank has to be slow until it is reported, and the window, in seconds: two windows and a
# heartbeat of each host (outcome/straggler.h).
NAMED=45 WINDOW=18
named() { hosts log 1 | grep -c 'straggler on' || true; }
named_once() {
    hosts log 1 | grep 'straggler on' | sed 's/^/  /'
    check "it is named once" equal "$(named)" 1
}

# signal_program HOST SIGNAL NAME: sends SIGNAL to every process of the host that runs a file NAME.
# shellcheck disable=SC2016  # expanded on the host
signal_program() {
    hosts exec "$1" sh -c 'for p in /proc/[0-9]*; do
        case $(readlink "$p/exe") in */"$1") kill -s "$0" "${p#/proc/}" ;; esac; done' "$2" "$3"
}

# control_group CONTROLLER LIMIT: a control group of this ring with that limit of memory ("300M") or
# "pids"; its folder is in $control. It is removed with the ring.
control_group() {
    file=$1.max
    control=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)
    if [ -d "/sys/fs/cgroup/$1" ]; then # the first hierarchy
        [ "$1" != memory ] || file=memory.limit_in_bytes
        control=/sys/fs/cgroup/$1$(sed -n "s/^[0-9]*:$1://p" /proc/self/cgroup)
    fi
    control=$control/$(basename "$RING")
    mkdir "$control" 2>/dev/null && [ -w "$control/$file" ] && echo "$2" >"$control/$file" &&
        return 0
    control_done
    return 1
}
control_done() {
    [ ! -d "$control" ] || rmdir "$control"
    control=
}

failure_of() { cat "$(hosts opt "$1")/output/failure" 2>/dev/null; }

# all_end SECONDS CODE HOST...: they end in time, with that exit code.
all_end() {
    seconds=$1 code=$2
    shift 2
    check "hosts $* end within $seconds s" hosts wait "$seconds" "$@" || return 1
    for host in "$@"; do
        check "host $host leaves with $code" equal "$(hosts code "$host")" "$code"
    done
}

# all_name TEXT HOST...: each host has a failure file that is short and contains TEXT.
all_name() {
    text=$1
    shift
    for host in "$@"; do
        story=$(failure_of "$host")
        check "failure file of host $host says '$text'" holds "$story" "$text"
        check "failure file of host $host is short" at_most "$(printf %s "$story" | wc -c)" 1024
    done
}

# spread HOST...: the ms between the first and the last of them to end.
spread() {
    for host in "$@"; do hosts ended "$host"; done | sort -n |
        awk 'NR == 1 { first = $1 } { last = $1 } END { print last - first }'
}

# ended CODE TEXT MS HOST...: they end within MS of fault_begins, together, with that exit code and
# TEXT in their failure files.
ended() {
    code=$1 text=$2 ms=$3
    shift 3
    all_end "$PATIENCE" "$code" "$@" || return
    all_name "$text" "$@"
    within "$ms" "$@"
    together "$@"
}

# case_ends: runs after each case. Scripts replace it, mostly by nothing_is_left.
case_ends() { :; }
nothing_is_left() { check "nothing is left running" equal "$(hosts left)" 0; }

# run_cases: runs each function of $CASES, $REPEAT times, and prints its time. A case that the
# machine's own delays left unclear runs again, twice at most. One that is unclear three times is
# skipped.
run_cases() {
    for case_name in $CASES; do
        for turn in $(seq 1 "$REPEAT"); do
            case_began=$(now_ms)
            before=$failures
            skipped=$skips
            for try in 1 2 3; do
                run_case
                [ -n "$unclear" ] && [ "$failures" -eq "$before" ] || break
            done
            [ -z "$unclear" ] || [ "$failures" -gt "$before" ] ||
                skip_case "too late three times; $unclear"
            took=$(($(now_ms) - case_began))
            seconds=$((took / 1000)).$((took / 100 % 10))
            word=ok
            [ "$skips" -eq "$skipped" ] || word=skipped
            [ "$failures" -eq "$before" ] || word=FAILED
            echo "$word $case_name ($DRIVER, $turn of $REPEAT): $seconds s"
        done
    done
}

# run_cases_at_once: the same, for cases that wait for most of their time: each is a script of its
# own, beside the others.
run_cases_at_once() {
    # shellcheck disable=SC2086  # a list
    set -- $CASES
    [ $# -gt 1 ] || { run_cases; return; }
    outputs=$(mktemp -d)
    for case_name; do
        CASES=$case_name sh "$0" >"$outputs/$case_name" 2>&1 &
        cases_running="${cases_running:-} $!"
    done
    # shellcheck disable=SC2086  # a list
    wait $cases_running
    summary='^\([0-9]*\) checks, \([0-9]*\) failed, \([0-9]*\) cases skipped$'
    for case_name; do
        # The last line, printed by finish, has the counts.
        sed '$d' "$outputs/$case_name"
        counts=$(sed -n "\$s/$summary/\1 \2 \3/p" "$outputs/$case_name")
        read -r checked failed skipped <<END
$counts
END
        [ -n "$counts" ] || tail -n 1 "$outputs/$case_name"
        check "$case_name comes to its end" [ -n "$counts" ]
        checks=$((checks + ${checked:-0}))
        failures=$((failures + ${failed:-0}))
        skips=$((skips + ${skipped:-0}))
    done
    rm -r "$outputs"
}

# A machine that runs nothing for this long breaks promises that are kept in seconds.
STALL_MS=1000

run_case() {
    checked=$checks
    unclear=
    UNPRIVILEGED=$usual_rights
    stalls=$(mktemp)
    "$RINGMASTER_BIN/lag" longest >"$stalls" &
    stall_watch=$!
    "$case_name"
    [ "$checks" -gt "$checked" ] || [ "$skips" -gt "$skipped" ] ||
        check "$case_name checks something" false
    case_ends
    kill "$stall_watch"
    wait "$stall_watch"
    longest=$(cat "$stalls")
    rm "$stalls"
    [ "$failures" -gt "$before" ] || return 0
    echo "  the longest stall of the machine meanwhile: ${longest:-?} ms"
    if [ "${longest:-0}" -ge "$STALL_MS" ] && [ "$try" -lt 3 ]; then
        unclear="a check failed, and the machine stalled for $longest ms"
        echo "  unclear: $unclear"
        failures=$before
    fi
}

# finish: the script's last line.
finish() {
    ring_down
    echo "$checks checks, $failures failed, $skips cases skipped"
    [ "$failures" -eq 0 ] || exit 1
    [ "$skips" -eq 0 ] || exit 77
    [ "$checks" -gt 0 ]
    exit
}
