#!/bin/sh
# A ring of hosts on this machine. Each has its own network, processes, host name and /opt/ml; a
# bridge joins them. Two drivers have the same verbs: namespaces (ns, the default) and docker.
#
#   RING=$(sh tests/system/hosts.sh up 3)       makes hosts algo-1..3, starts nothing
#   export RING
#   sh tests/system/hosts.sh start 1 [-e NAME=VALUE]... [-a NAME]... [-p SCRIPT] [--] \
#       COMMAND ARGS...
#   sh tests/system/hosts.sh wait 60            until all started hosts have ended
#   sh tests/system/hosts.sh code 1             its exit code
#   sh tests/system/hosts.sh down               ends and removes everything
#
# Verbs  up N [--driver ns|docker] [--suffix TEXT] [--interface NAME] [--image IMAGE]
#             [--network ipv4|ipv6]
#        start HOST ...    COMMAND becomes its PID 1. -p (only with namespaces): a shell runs SCRIPT
#                          before COMMAND, as root, for what a platform does to a container (mount,
#                          hostname). -a: the hosts can also find it by that name, even if another
#                          host has the same one
#        start-from HOST ...    the same on that host and all later ones
#        stop HOST         sends SIGTERM to its PID 1
#        kill HOST         ends it at once
#        freeze HOST       pauses all its processes; thaw HOST continues them
#        cut HOST          all its packets are lost
#        mute HOST         the packets that it sends are lost
#        deafen HOST       the packets that are sent to it are lost
#        part HOST...      from now on these hosts reach only each other
#        mend HOST         undoes cut, mute and deafen
#        exec HOST COMMAND...    runs a process beside its PID 1
#        pid HOST          prints its PID 1, as this machine numbers it
#        pids HOST         prints all its processes, as this machine numbers them
#        wait SECONDS [HOST...]    0 if they have ended, else 1 with the names of those that run
#        code HOST         prints its exit code, 128+n for a signal
#        ended HOST        prints when it ended, in ms since 1970
#        log HOST          prints its output
#        follow HOST       prints its output as it comes, until the host ends
#        opt HOST          prints the path of its /opt/ml on this machine
#        name HOST         prints its host name
#        share             prints the path of a folder that all hosts see under that path
#        left              prints the number of processes that still run on any host
#        down              ends all hosts and removes the ring
#
# With UNPRIVILEGED=1, which the tests set (lib.sh), hosts run as a user without a name, without
# capabilities or a way to gain any (no-new-privileges), on a file system that is read-only except
# for the job's folder, /tmp and /dev/shm. HOST is a number from 1. This script needs root. RING is
# in build/ring; hosts see it under the same path. Sourced with a verb and its arguments as the
# parameters, and with top set, it does the same in a running shell (lib.sh).
set -eu

top=${top:-$(cd "$(dirname "$0")/../.." && pwd)}
system=$top/tests/system
# shellcheck source=/dev/null
. "$system/waiting.sh"

fail() {
    echo "hosts.sh: $*" >&2
    exit 70
}

# A host's folder is $RING/host-NUMBER. Its name is read without a process, as tests start thousands
# of hosts.
host_name() {
    read -r suffix <"$RING/suffix" || :
    echo "algo-$1$suffix"
}
host_started() { [ -e "$RING/host-$1/started" ]; }
hosts_started() {
    for host in $(seq 1 "$(cat "$RING/count")"); do
        host_started "$host" && echo "$host"
    done
    return 0
}

# write_config HOST INTERFACE: writes what SageMaker puts into every container. $names has the names
# of all hosts.
write_config() {
    config=$RING/host-$1/root/opt/ml/input/config
    printf '{"current_host":"%s","hosts":[%s],"network_interface_name":"%s","current_instance_type":"local"}\n' \
        "algo-$1$suffix" "$names" "$2" >"$config/resourceconfig.json"
    echo '{}' >"$config/hyperparameters.json"
    echo '{}' >"$config/inputdataconfig.json"
}

# Removes what is left of a ring that could not be made. The reason has been printed already.
undo_up() {
    code=$?
    [ "$code" -ne 0 ] || return 0
    driver_down >/dev/null 2>&1 || :
    rm -rf "$RING"
    fail "up: no ring of $count hosts could be made"
}

ring_up() {
    count=${1:-}
    case $count in
    '' | *[!0-9]* | 0*) fail "up: '$count' is no number of hosts" ;;
    esac
    [ "$count" -le 1000 ] || fail "up: $count hosts; 1000 are the most"
    shift
    driver=ns suffix='' interface=eth0 image=ringmaster:latest network=ipv4
    while [ $# -gt 0 ]; do
        [ $# -gt 1 ] || fail "up: $1 lacks its value"
        case $1 in
        --driver) driver=$2 ;;
        --suffix) suffix=$2 ;;
        --interface) interface=$2 ;;
        --image) image=$2 ;;
        --network) network=$2 ;;
        *) fail "up: unknown option $1" ;;
        esac
        shift 2
    done
    case $driver:$network in
    *:ipv4 | ns:ipv6) ;;
    *) fail "up: $driver has no network '$network'" ;;
    esac
    [ -e "$system/hosts_$driver.sh" ] || fail "up: there is no driver '$driver'"
    mkdir -p "$top/build/ring"
    RING=$(mktemp -d "$top/build/ring/XXXXXX")
    load_driver "$driver"
    trap undo_up EXIT
    chmod 755 "$RING"
    mkdir "$RING/share"
    chmod 1777 "$RING/share"
    echo "$count" >"$RING/count"
    echo "$driver" >"$RING/driver"
    echo "$suffix" >"$RING/suffix"
    echo "$image" >"$RING/image"
    echo "$network" >"$RING/network"
    # This is the key of the hosts that cannot read the seed in the image.
    head -c 24 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$RING/key"
    names=$(seq -s , -f "\"algo-%.0f$suffix\"" 1 "$count")
    for host in $(seq 1 "$count"); do
        root=$RING/host-$host/root
        mkdir -p "$root/opt/ml/model" "$root/opt/ml/output/data" "$root/opt/ml/input/data" \
            "$root/opt/ml/input/config" "$root/opt/ml/checkpoints" "$root/tmp" "$root/run" \
            "$root/var/tmp"
        chmod 1777 "$root/tmp" "$root/var/tmp"
        write_config "$host" "$interface"
    done
    driver_up "$count"
    echo "$RING"
}

load_driver() {
    # shellcheck source=/dev/null
    . "$system/hosts_$1.sh"
}

ring_start() {
    host=$1
    shift
    # Each -e NAME=VALUE becomes a line; no test needs a value with several lines.
    : >"$RING/host-$host/environment"
    : >"$RING/host-$host/prepare"
    : >"$RING/host-$host/aliases"
    while :; do
        case ${1:-} in
        -a) printf '%s\n' "$2" >>"$RING/host-$host/aliases" ;;
        -e) printf '%s\n' "$2" >>"$RING/host-$host/environment" ;;
        -p) printf '%s\n' "$2" >"$RING/host-$host/prepare" ;;
        *) break ;;
        esac
        shift 2
    done
    [ "${1:-}" != -- ] || shift
    [ $# -gt 0 ] || fail "start: no command"
    # The records of an earlier run are removed now, as the new one starts in the background.
    rm -f "$RING/host-$host/code" "$RING/host-$host/ended" "$RING/host-$host/pid" \
        "$RING/host-$host/killed"
    now_ms >"$RING/host-$host/started"
    driver_start "$host" "$@"
}

ring_start_from() {
    first=$1
    shift
    for each in $(seq "$first" "$(cat "$RING/count")"); do
        ring_start "$each" "$@"
    done
}

ring_wait() {
    seconds=$1
    shift
    # shellcheck disable=SC2046  # numbers
    [ $# -gt 0 ] || set -- $(hosts_started)
    begin_waiting "$seconds"
    driver_wait "$seconds" "$@"
    while :; do
        running=
        for host in "$@"; do
            driver_has_ended "$host" || running="$running $host"
        done
        [ -n "$running" ] || return 0
        wait_on || break
    done
    echo "still running:$(for host in $running; do printf ' %s' "$(host_name "$host")"; done)"
    return 1
}

# drop OUTPUT|INPUT HOST -o|-i: drops the packets that the host sends or receives.
drop() { filter "$2" -A "$1" "$3" eth0 -j DROP; }
filter() {
    host=$1
    shift
    nsenter --target "$(driver_pid "$host")" --net iptables --wait "$@"
}
mend() {
    driver_mend "$1"
    driver_has_ended "$1" || filter "$1" --flush
}

ring_left() {
    total=0
    for host in $(hosts_started); do
        driver_has_ended "$host" && continue
        total=$((total + $(driver_pids "$host" | wc -l)))
    done
    echo "$total"
}

verb=${1:-}
[ $# -eq 0 ] || shift
case $verb in
up) ring_up "$@"; exit ;;
'' | help | --help) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 64 ;;
esac
[ -d "${RING:-}/share" ] || fail "RING names no ring; make one: RING=\$(sh hosts.sh up 3)"
read -r driver <"$RING/driver"
load_driver "$driver"
case $verb in
start) ring_start "$@" ;;
start-from) ring_start_from "$@" ;;
wait) ring_wait "$@" ;;
stop | kill | freeze | thaw | cut | pid | pids | code | ended | log | follow) "driver_$verb" "$1" ;;
mend) mend "$1" ;;
mute) drop OUTPUT "$1" -o ;;
deafen) drop INPUT "$1" -i ;;
exec) driver_exec "$@" ;;
part) driver_part "$@" ;;
opt) echo "$RING/host-$1/root/opt/ml" ;;
name) host_name "$1" ;;
share) echo "$RING/share" ;;
left) ring_left ;;
down) driver_down; rm -rf "$RING" ;;
*) fail "unknown verb $verb" ;;
esac
