# Hosts out of namespaces: net, pid, mount, uts and ipc, a bridge in a network namespace of its own.
# Sourced by hosts.sh. The machine's own network is not touched.
# shellcheck shell=sh disable=SC2154

default_path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

# The address of a host on a ring of its network: 10.77.0.1 to 10.77.0.250, then 10.77.1.1 ...
address() {
    read -r network <"$RING/network"
    case $network in
    ipv6) echo "fd00:77::$1" ;;
    *) echo "10.77.$((($1 - 1) / 250)).$((($1 - 1) % 250 + 1))" ;;
    esac
}

# Its network is $nets-NUMBER, the bridge's $nets-hub.
nets=rm-${RING##*/}

# Its hardware address.
hardware() { printf '02:77:00:00:%02x:%02x' "$(($1 / 256))" "$(($1 % 256))"; }

# What `ip` is told on a host. The kernel's table of neighbours holds 1,024 for all namespaces together,
# but for those that are told to it: on a large ring the first host knows all others, and they it.
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
    length=24
    [ "$1" -le 250 ] || length=16
    { echo "netns add $nets-hub"; for host in $(seq 1 "$1"); do echo "netns add $nets-$host"; done; } |
        ip -batch -
    { echo "link add ring type bridge"
        echo "link set ring up"
        for host in $(seq 1 "$1"); do
            echo "link add h$host type veth peer name eth0 address $(hardware "$host") netns $nets-$host"
            echo "link set h$host master ring up"
        done; } | ip -n "$nets-hub" -batch -
    for host in $(seq 1 "$1"); do
        host_network "$host" | ip -n "$nets-$host" -batch -
    done
    echo '127.0.0.1 localhost' >"$RING/hosts"
    : >"$RING/resolv.conf"
}

# A folder of the second control group hierarchy, or nothing where there is none.
group() {
    mounted=${mounted-$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)}
    [ -n "$mounted" ] && echo "$mounted/$nets-$1"
}

driver_start() {
    folder=$RING/host-$1
    name=$(host_name "$1")
    # A second address of a name is what a container that was left over gives it.
    place=$(address "$1")
    { echo "$name"; cat "$folder/aliases"; } | while read -r known; do
        grep -qx "$place $known" "$RING/hosts" || echo "$place $known" >>"$RING/hosts"
    done
    group=$(group "$1") && mkdir -p "$group" 2>/dev/null || group=
    network=/run/netns/$nets-$1
    read -r key <"$RING/key" || : # which ends no line
    shift
    echo "PATH=${RINGMASTER_BIN:-$top/build/release/bin}:$default_path
HOME=/root
RINGMASTER_KEY=$key" >>"$folder/environment"
    # What the sanitizers' programs are told is for the hosts' programs, too.
    env | grep -E '^(A|L|UB|T)SAN_OPTIONS=' >>"$folder/environment" || :
    # From here on nothing tells of the run before: who is started in the background may take its time.
    rm -f "$folder/parent"
    : >"$folder/log"
    setsid sh "$system/host_run.sh" "$folder" "$network" "$group" "$name" "$@" \
        </dev/null >"$folder/log" 2>&1 &
    echo $! >"$folder/keeper"
}

driver_has_ended() { [ -e "$RING/host-$1/code" ]; }
driver_code() { cat "$RING/host-$1/code"; }
driver_ended() { cat "$RING/host-$1/ended"; }
driver_log() { cat "$RING/host-$1/log"; }
driver_follow() {
    # The record keeper ends after the host and its last line.
    tail -n +1 --pid="$(cat "$RING/host-$1/keeper")" --sleep-interval=0.2 -f \
        "$RING/host-$1/log"
}

# Of a host that has ended there is none, whoever has its process numbers by now.
driver_pid() {
    ! driver_has_ended "$1" || return 0
    parent=$(cat "$RING/host-$1/parent" 2>/dev/null) || return 1
    # unshare's one child is the host's first process.
    ps -o pid= --ppid "$parent" | tr -d ' '
}

driver_pids() {
    first=$(driver_pid "$1")
    [ -n "$first" ] || return 0
    space=$(readlink "/proc/$first/ns/pid") || return 0
    # A host that is being made, or whose number another process has, would name all of the machine's.
    [ "$space" != "$(readlink /proc/self/ns/pid)" ] || return 0
    ps -e -o pidns= -o pid= | awk -v space="$space" '"pid:[" $1 "]" == space { print $2 }'
}

signal_first() {
    first=$(driver_pid "$2")
    [ -n "$first" ] || fail "$(host_name "$2") is not running"
    kill -s "$1" "$first"
}
driver_stop() { signal_first TERM "$1"; }
driver_kill() {
    : >"$RING/host-$1/killed"
    signal_first KILL "$1"
}

# Without a control group every process is stopped by itself.
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
        # It may end by itself meanwhile, as the first one is gone: that ends nothing here.
        (driver_thaw "$host" && driver_kill "$host") 2>/dev/null || :
        ring_wait 10 "$host" || :
    done
    read -r count <"$RING/count"
    # Some may be missing, of a ring that could not be made.
    for host in hub $(seq 1 "$count"); do echo "netns del $nets-$host"; done | ip -force -batch - 2>/dev/null || :
    for host in $(seq 1 "$count"); do
        group=$(group "$host") || break
        rmdir "$group" 2>/dev/null || :
    done
}
