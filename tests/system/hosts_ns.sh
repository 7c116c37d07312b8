# The driver of hosts made of namespaces: net, pid, mount, uts and ipc. Their bridge has a network
# namespace of its own; the machine's network is not changed. Sourced by hosts.sh. A host is made by
# the program of host.c, which the build leaves beside the product's.
# shellcheck shell=sh disable=SC2154

default_path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

# address HOST: prints its address: 10.77.0.1 to 10.77.0.250, then 10.77.1.1 and so on.
address() {
    read -r network <"$RING/network"
    case $network in
    ipv6) echo "fd00:77::$1" ;;
    *) echo "10.77.$((($1 - 1) / 250)).$((($1 - 1) % 250 + 1))" ;;
    esac
}

# A host's network namespace is $nets-NUMBER; that of the bridge is $nets-hub.
nets=rm-${RING##*/}

# hardware HOST: prints its hardware address.
hardware() { printf '02:77:00:00:%02x:%02x' "$(($1 / 256))" "$(($1 % 256))"; }

# host_network HOST: prints the commands of `ip` for the host. The kernel's neighbour table holds
# 1,024 entries for all namespaces together, not counting permanent ones: on a large ring these link
# the first host to all others and back.
host_network() {
    echo "link set lo up"
    read -r network <"$RING/network"
    case $network in
    ipv6) echo "address add $(address "$1")/64 dev eth0 nodad" ;;
    *) echo "address add $(address "$1")/$length dev eth0" ;;
    esac
    echo "link set eth0 up"
    [ "$length" -ne 24 ] || return 0
    others=1
    [ "$1" -ne 1 ] || others=$(seq 2 "$count")
    for other in $others; do
        echo "neighbour add $(address "$other") lladdr $(hardware "$other") dev eth0 nud permanent"
    done
}

driver_up() {
    command -v ip >/dev/null 2>&1 || fail "no ip (package iproute2)"
    host_program >/dev/null
    length=24
    [ "$1" -le 250 ] || length=16
    {
        echo "netns add $nets-hub"
        for host in $(seq 1 "$1"); do echo "netns add $nets-$host"; done
    } | ip -batch -
    { echo "link add ring type bridge"
        echo "link set ring up"
        for host in $(seq 1 "$1"); do
            echo "link add h$host type veth peer name eth0 address $(
                hardware "$host") netns $nets-$host"
            echo "link set h$host master ring up"
        done; } | ip -n "$nets-hub" -batch -
    for host in $(seq 1 "$1"); do
        host_network "$host" | ip -n "$nets-$host" -batch -
    done
    echo '127.0.0.1 localhost' >"$RING/hosts"
    : >"$RING/resolv.conf"
}

# Prints the path of the program that makes a host. Folders with other programs of ours lack it.
host_program() {
    for bin in "${RINGMASTER_BIN:-}" "$top/build/release/bin"; do
        [ ! -x "$bin/host" ] || { echo "$bin/host"; return; }
    done
    fail "no program $bin/host (sh tests/run.sh build)"
}

# group HOST: prints its folder in the control groups of version 2, or nothing without these.
group() {
    mounted=${mounted-$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)}
    [ -n "$mounted" ] && echo "$mounted/$nets-$1"
}

driver_start() {
    folder=$RING/host-$1
    name=$(host_name "$1")
    # A name may get a second address, as from a leftover container.
    place=$(address "$1")
    { echo "$name"; cat "$folder/aliases"; } | while read -r known; do
        grep -qx "$place $known" "$RING/hosts" || echo "$place $known" >>"$RING/hosts"
    done
    each=$1
    read -r key <"$RING/key" || : # the file has no newline
    shift
    echo "PATH=${RINGMASTER_BIN:-$top/build/release/bin}:$default_path
HOME=/root
RINGMASTER_KEY=$key" >>"$folder/environment"
    : >"$folder/log"
    setsid "$(host_program)" run "$folder" "/run/netns/$nets-$each" "$nets-$each" "$name" "$@" \
        </dev/null >"$folder/log" 2>&1 &
    echo $! >"$folder/keeper"
}

driver_has_ended() { [ -e "$RING/host-$1/code" ]; }
# driver_wait SECONDS HOST...: waits at most that long for their end, with fewer processes than a
# loop; does nothing where the tests' programs are not built.
driver_wait() {
    await=${RINGMASTER_BIN:-$top/build/release/bin}/await
    [ -x "$await" ] && [ $# -gt 1 ] || return 0
    limit=$1
    shift
    for each in "$@"; do
        set -- "$@" "$RING/host-$each/code"
        shift
    done
    "$await" "$limit" files "$@" || :
}
driver_code() { cat "$RING/host-$1/code"; }
driver_ended() { cat "$RING/host-$1/ended"; }
driver_log() { cat "$RING/host-$1/log"; }
driver_follow() {
    # The record keeper ends after the host and its last line.
    tail -n +1 --pid="$(cat "$RING/host-$1/keeper")" --sleep-interval=0.2 -f \
        "$RING/host-$1/log"
}

# A host that has ended has no pid; another process may have its numbers by now.
driver_pid() {
    ! driver_has_ended "$1" || return 0
    cat "$RING/host-$1/pid" 2>/dev/null
}

driver_pids() {
    first=$(driver_pid "$1")
    [ -n "$first" ] || return 0
    space=$(readlink "/proc/$first/ns/pid") || return 0
    # If the host is still being made, or another process has its pid, this is the machine's.
    [ "$space" != "$(readlink /proc/self/ns/pid)" ] || return 0
    ps -e -o pidns= -o pid= | awk -v space="$space" '"pid:[" $1 "]" == space { print $2 }'
}

signal_first() {
    first=$(driver_pid "$2")
    [ -n "$first" ] || fail "$(host_name "$2") is not running"
    kill -s "$1" "$first"
}
driver_stop() { signal_first TERM "$1"; }
# The mark tells the random jobs (chaos/) that the host did not end by itself.
driver_kill() {
    : >"$RING/host-$1/killed"
    signal_first KILL "$1"
}

# Without a control group, each process gets a SIGSTOP.
driver_freeze() {
    group=$(group "$1")
    if [ -w "$group/cgroup.freeze" ]; then
        echo 1 >"$group/cgroup.freeze"
    else
        driver_pids "$1" | xargs -r kill -s STOP
    fi
}
driver_thaw() {
    group=$(group "$1")
    if [ -w "$group/cgroup.freeze" ]; then
        echo 0 >"$group/cgroup.freeze"
    else
        driver_pids "$1" | xargs -r kill -s CONT
    fi
}

driver_cut() { ip -n "$nets-hub" link set "h$1" nomaster; }
driver_part() {
    hub="ip -n $nets-hub"
    $hub link add far type bridge
    $hub link set far up
    for host in "$@"; do
        $hub link set "h$host" master far
    done
}
driver_mend() { ip -n "$nets-hub" link set "h$1" master ring; }

driver_exec() {
    first=$(driver_pid "$1")
    shift
    nsenter --target "$first" --net --pid --mount --uts --ipc "$@"
}

driver_down() {
    for host in $(hosts_started); do
        driver_has_ended "$host" && continue
        # The host may end by itself meanwhile, as the first one is gone: that is no error.
        (driver_thaw "$host" && driver_kill "$host") 2>/dev/null || :
        ring_wait 10 "$host" || :
    done
    read -r count <"$RING/count"
    # Some namespaces are missing if the ring could not be made.
    for host in hub $(seq 1 "$count"); do echo "netns del $nets-$host"; done |
        ip -force -batch - 2>/dev/null || :
    for host in $(seq 1 "$count"); do
        group=$(group "$host") || break
        rmdir "$group" 2>/dev/null || :
    done
}
