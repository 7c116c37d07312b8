# What the system tests share: rings that go away by themselves, and checks that say what they saw.
# Sourced: `. "$(dirname "$0")/lib.sh"` from a script in tests/system; from elsewhere with top set to the
# repository.
#
#   DRIVER=ns|docker   what the hosts are made of (hosts.sh)
#   UNPRIVILEGED=      and nothing behind it: hosts run as root. Else they have no rights, on both drivers, but
#                      where a case says why not (as_root)
#   REPEAT=20          how often each case runs; once where not told
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

# For a case: what it needs is not here. The script ends with 77, if nothing has failed.
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

# What is asked for again and again needs no shell of its own.
hosts() {
    # Where a test is run for one launcher (LAUNCHER), its jobs are started by that.
    if [ "$1" = start ] && [ -n "${LAUNCHER:-}" ]; then
        started=$2
        shift 2
        set -- start "$started" -e "RINGMASTER_LAUNCHER=$LAUNCHER" "$@"
    fi
    case $1 in
    log | code | ended | opt | name | wait) (. "$system/hosts.sh") ;;
    *) top=$top sh "$system/hosts.sh" "$@" ;;
    esac
}

# What the product promises, in ms: a first failure to all hosts out; the fault of a host that says
# nothing any more (its last word came before) to all others out: lost after 10 s, and 2 s to leave.
FAILURE_MS=1500
SILENCE_MS=12000
LEAVE_MS=2000
# How long a host that ends waits for a disk.
DISK_MS=1500
# How long a test waits before it gives up: no promise.
PATIENCE=60

# A fault comes now. From here on the machine's own delays are measured (lag.c).
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

# How late the machine was since the fault began, in ms: $late. All of that time, where it has not come to measure.
lateness() {
    fault_ends
    late=$(cat "$RING/lag")
    late=${late:-$(($(now_ms) - fault_at))}
}

# in_time WHAT TOOK MS: it took TOOK ms of the MS promised, and as much more as the machine was late meanwhile ($late). One
# that was late by more than half of what is promised, and needs it, proves nothing: the case runs again (run_cases).
in_time() {
    if [ "$2" -gt "$3" ] && [ "$2" -le $(($3 + late)) ] && [ "$late" -gt $(($3 / 2)) ]; then
        checks=$((checks + 1))
        unclear="$1: $2 ms, $3 promised, and the machine was late by $late"
        echo "  unclear: $unclear"
        return
    fi
    check "$1: $3 ms are promised, and the machine was late by $late" at_most "$2" $(($3 + late))
}
unclear=

# proves_nothing WHY: the test itself was too late. Its hosts are gone, and the case runs again (run_cases).
proves_nothing() {
    unclear=$1
    echo "  unclear: $unclear"
    checks=$((checks + 1))
    for host in $everyone; do hosts kill "$host" 2>/dev/null; done
    hosts wait "$PATIENCE"
}

# What follows is counted from the last rank's end, of which each leaves a word in the share (out-RANK: its process, ms).
from_the_last_rank() { fault_at=$(cut -d ' ' -f 2 "$share"/out-* | sort -n | tail -n 1); }

# When the last of them ended, ms since 1970.
last_ended() { for host in "$@"; do hosts ended "$host"; done | sort -n | tail -n 1; }

# within MS HOST...: all have ended MS after the fault, and as much later as the machine was late.
within() {
    promised=$1
    shift
    lateness
    # Hosts that waited for the disk in vain, as long as they do (file_writer.h), say so.
    for host in "$@"; do
        ! says "$host" 'the disk did not answer in time' || { late=$((late + DISK_MS)); break; }
    done
    # A program that fails by itself says when (probe.sh, probe_mpi.c).
    for told in "$share"/failed-*; do
        [ ! -e "$told" ] || read -r _ fault_at <"$told"
    done
    took=$(($(last_ended "$@") - fault_at))
    echo "  all out after $took ms, $promised promised; the machine was late by $late"
    in_time "all are out after the fault" "$took" "$promised"
}

# together HOST...: between the first and the last of them to end there is no more time than they have to leave.
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
# Who stands beside the hosts: the pid of what a test has started as one. It is gone then, also where it was stopped.
server=
server_down() {
    [ -z "$server" ] || { kill -s KILL "$server"; wait "$server"; } 2>/dev/null
    server=
}
trap 'server_down; ring_down' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# ring N [hosts.sh up's options]: a fresh ring in place of the last one.
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

# as_root REASON: the hosts that are started from here on, to the end of the case, run as root.
as_root() {
    [ -n "$1" ] || exit 70
    [ -z "$UNPRIVILEGED" ] || echo "  as root: $1"
    UNPRIVILEGED=
}

# as_root_for PROGRAM: as root, where hosts' users may not run it, such as a Python below /root.
as_root_for() {
    setpriv --reuid 4321 --regid 4321 --clear-groups env "$1" --version >/dev/null 2>&1 ||
        as_root "$1 is for root alone"
}

# start_all [-e NAME=VALUE]... [-p SCRIPT] [--] COMMAND...: the same on every host.
start_all() {
    for host in $everyone; do
        hosts start "$host" "$@"
    done
}

# held STEP: words of start with which a rank's training stands still behind that step in its first attempt, until go_on:
# what a test does in the middle of it is done there, however late. (Where containers are hosts there are no such words.)
held() {
    [ "$DRIVER" != ns ] ||
        echo "-e LD_PRELOAD=$(dirname "$RINGMASTER_BIN")/tests/hold.so -e HOLD_STEP=$1 -e HOLD_UNTIL=$share/go-on"
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

# What SageMaker puts into containers: the folder of a host; a file there, the same for all; a script in
# every host's folder of code.
config() { echo "$(hosts opt "$1")/input/config"; }
put() { for host in $everyone; do printf '%s' "$2" >"$(config "$host")/$1"; done; }
code_file() {
    for host in $everyone; do
        mkdir -p "$(hosts opt "$host")/code"
        printf '%s\n' "$2" >"$(hosts opt "$host")/code/$1"
    done
}

# check WHAT COMMAND...: counts, and shows everything when COMMAND fails.
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
    begin_waiting "$1"
    shift
    until "$@" >/dev/null 2>&1; do
        wait_on || return 1
    done
}

# says HOST TEXT: its log has a line like TEXT. What is asked most of all needs one process.
says() {
    if [ "$DRIVER" = ns ]; then
        grep -q -e "$2" "$RING/host-$1/log"
    else
        hosts log "$1" | grep -q -e "$2"
    fi
}

# said_within MS HOST TEXT: its log has a line like TEXT, MS after the fault at the latest.
said_within() {
    check "host $2 says '$3'" wait_for "$PATIENCE" says "$2" "$3" || return
    took=$(($(now_ms) - fault_at))
    lateness
    echo "  host $2 says '$3' after $took ms, $1 promised; the machine was late by $late"
    in_time "host $2 says '$3'" "$took" "$1"
}

# How long a rank has to be slow until it is named: two windows, and a beat for each host (outcome/straggler.h).
NAMED=45 WINDOW=18
named() { hosts log 1 | grep -c 'straggler on' || true; }
named_once() {
    hosts log 1 | grep 'straggler on' | sed 's/^/  /'
    check "it is named once" equal "$(named)" 1
}

# signal_program HOST SIGNAL NAME: to every process of the host that runs a file of that name.
# shellcheck disable=SC2016  # expanded on the host
signal_program() {
    hosts exec "$1" sh -c 'for p in /proc/[0-9]*; do
        case $(readlink "$p/exe") in */"$1") kill -s "$0" "${p#/proc/}" ;; esac; done' "$2" "$3"
}

# control_group CONTROLLER LIMIT: a control group of this ring's own for so much memory ("300M") or so many
# "pids", its folder in $control. It goes with the ring.
control_group() {
    file=$1.max
    control=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)
    if [ -d "/sys/fs/cgroup/$1" ]; then # the first hierarchy
        [ "$1" != memory ] || file=memory.limit_in_bytes
        control=/sys/fs/cgroup/$1$(sed -n "s/^[0-9]*:$1://p" /proc/self/cgroup)
    fi
    control=$control/$(basename "$RING")
    mkdir "$control" 2>/dev/null && [ -w "$control/$file" ] && echo "$2" >"$control/$file" && return 0
    control_done
    return 1
}
control_done() {
    [ ! -d "$control" ] || rmdir "$control"
    control=
}

failure_of() { cat "$(hosts opt "$1")/output/failure" 2>/dev/null; }

# all_end SECONDS CODE HOST...: they end in time, with that code, and leave no process.
all_end() {
    seconds=$1 code=$2
    shift 2
    check "hosts $* end within $seconds s" hosts wait "$seconds" "$@" || return 1
    for host in "$@"; do
        check "host $host leaves with $code" equal "$(hosts code "$host")" "$code"
    done
}

# all_name TEXT HOST...: the failure file of each host is there, short, and says TEXT.
all_name() {
    text=$1
    shift
    for host in "$@"; do
        story=$(failure_of "$host")
        check "failure file of host $host says '$text'" holds "$story" "$text"
        check "failure file of host $host is short" at_most "$(printf %s "$story" | wc -c)" 1024
    done
}

# spread HOST...: ms between the first and the last of them to end.
spread() {
    for host in "$@"; do hosts ended "$host"; done | sort -n |
        awk 'NR == 1 { first = $1 } { last = $1 } END { print last - first }'
}

# ended CODE TEXT MS HOST...: after fault_begins they end so soon, together, with that code and story.
ended() {
    code=$1 text=$2 ms=$3
    shift 3
    all_end "$PATIENCE" "$code" "$@" || return
    all_name "$text" "$@"
    within "$ms" "$@"
    together "$@"
}

# For scripts that check something after each case; mostly this.
case_ends() { :; }
nothing_is_left() { check "nothing is left running" equal "$(hosts left)" 0; }

# run_cases: each function of $CASES, $REPEAT times, with its time. One that the machine's own delays left unclear runs again,
# twice at most, and has not run if that does not help.
run_cases() {
    for case_name in $CASES; do
        for turn in $(seq 1 "$REPEAT"); do
            case_began=$(now_ms)
            before=$failures
            skipped=$skips
            for _ in 1 2 3; do
                run_case
                [ -n "$unclear" ] && [ "$failures" -eq "$before" ] || break
            done
            [ -z "$unclear" ] || [ "$failures" -gt "$before" ] || skip_case "too late three times; $unclear"
            took=$(($(now_ms) - case_began))
            word=ok
            [ "$skips" -eq "$skipped" ] || word=skipped
            [ "$failures" -eq "$before" ] || word=FAILED
            echo "$word $case_name ($DRIVER, $turn of $REPEAT): $((took / 1000)).$((took / 100 % 10)) s"
        done
    done
}

# run_cases_at_once: the same, for cases that wait for most of their time: each is a script of its own, beside the others.
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
    for case_name; do
        # Its last line, of finish, has its counts.
        sed '$d' "$outputs/$case_name"
        counts=$(sed -n '$s/^\([0-9]*\) checks, \([0-9]*\) failed, \([0-9]*\) cases skipped$/\1 \2 \3/p' "$outputs/$case_name")
        read -r checked failed skipped <<END
$counts
END
        [ -n "$counts" ] || tail -n 1 "$outputs/$case_name"
        check "$case_name comes to its end" [ -n "$counts" ]
        checks=$((checks + ${checked:-0})) failures=$((failures + ${failed:-0})) skips=$((skips + ${skipped:-0}))
    done
    rm -r "$outputs"
}

run_case() {
    checked=$checks
    unclear=
    UNPRIVILEGED=$usual_rights
    "$case_name"
    [ "$checks" -gt "$checked" ] || [ "$skips" -gt "$skipped" ] || check "$case_name checks something" false
    case_ends
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
