#!/bin/sh
# Runs a command with a Docker engine.
#
#   sh docker/engine.sh COMMAND ARGS...
#
# An engine that answers is used as it is. If none does, and this is root on a machine with dockerd,
# one is started for the duration of the command, with a socket of its own, and stopped afterwards.
# Its images stay in .cache/engine, where the next call finds them. If no engine can be used, the
# exit code is 69 and COMMAND does not run.
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)

answers() { docker version >/dev/null 2>&1; }

no_engine() {
    echo "engine.sh: $*" >&2
    exit 69
}

usage() { sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; }
case ${1:---} in
-h | --help) usage && exit 0 ;;
-*) usage >&2 && exit 64 ;;
esac
command -v docker >/dev/null 2>&1 || no_engine "no docker client"
if answers; then
    exec "$@"
fi
[ "$(id -u)" = 0 ] || no_engine "no Docker engine answers, and only root can start one"
command -v dockerd >/dev/null 2>&1 ||
    no_engine "no Docker engine answers, and dockerd is not installed"

data=$top/.cache/engine
mkdir -p "$data"
data=$(cd "$data" && pwd -P) # runc takes no path with a symbolic link
# Paths of sockets are limited to 107 bytes, so the socket is not in the repository.
own=$(mktemp -d /tmp/ringmaster-engine.XXXXXX)
# Only one such engine runs at a time, as they share the machine's network; the daemon inherits the
# lock and keeps it while it runs.
lock=/run/ringmaster-engine.lock
exec 9>>"$lock"
if ! flock -n 9; then
    echo "engine.sh: waiting up to 600 s for another engine to stop:" \
        "$(cat "$lock"). Its DOCKER_HOST would do as well" >&2
    flock -w 600 9 || no_engine "another engine still holds $lock"
fi

# A machine without systemd may lack control groups.
if [ ! -e /sys/fs/cgroup/cgroup.controllers ] && [ ! -d /sys/fs/cgroup/devices ] &&
    command -v cgroupfs-mount >/dev/null 2>&1; then
    cgroupfs-mount || :
fi

# drop_rules RULE CHAIN: deletes the rules that match RULE, and the chains with names that match
# CHAIN (may be empty).
drop_rules() {
    iptables-save 2>/dev/null | awk -v rule="$1" -v chain="$2" '
        /^[*]/ { table = $0; rules = emptied = gone = "" }
        /^:/ && chain != "" && substr($1, 2) ~ chain {
            emptied = emptied "-F " substr($1, 2) "\n"
            gone = gone "-X " substr($1, 2) "\n"
        }
        /^-A/ && $0 ~ rule { sub(/^-A/, "-D"); rules = rules $0 "\n" }
        /^COMMIT/ && rules gone != "" { printf "%s\n%s%s%sCOMMIT\n", table, rules, emptied, gone }
    ' | iptables-restore --noflush --wait 10 2>/dev/null || :
}

# Once a bridge is gone, its rule "from 172.18.0.0/16 and not to br-0123456789ab: masquerade"
# applies to all traffic within the next network with these addresses, and Open MPI drops every
# connection.
drop_rules_of_lost_bridges() {
    command -v ip >/dev/null 2>&1 || return 0
    lost=
    for bridge in $(iptables-save 2>/dev/null | grep -oE 'br-[0-9a-f]{12}' | sort -u); do
        ip link show dev "$bridge" >/dev/null 2>&1 || lost="$lost${lost:+|}$bridge"
    done
    [ -z "$lost" ] || drop_rules "$lost" ""
}

drop_rules_of_lost_bridges
had_network=no
if [ -e /sys/class/net/docker0 ] || iptables -t nat -S DOCKER >/dev/null 2>&1; then
    had_network=yes
fi
forward=$(iptables -S FORWARD 2>/dev/null | sed -n 's/^-P FORWARD //p') || forward=

export DOCKER_HOST="unix://$own/docker.sock"
echo "DOCKER_HOST=$DOCKER_HOST, process $$" >"$lock"
dockerd --host "$DOCKER_HOST" --data-root "$data/data" --exec-root "$own/exec" \
    --pidfile "$own/pid" >"$data/dockerd.log" 2>&1 &
daemon=$!

# Removes the bridges and firewall rules that dockerd leaves when it ends; it makes those of
# existing networks again at its next start. What an engine before this one has set up stays.
remove_network() {
    for network in $networks; do
        ip link delete "br-$network" 2>/dev/null || :
    done
    drop_rules_of_lost_bridges
    [ "$had_network" = no ] || return 0
    ip link delete docker0 2>/dev/null || :
    drop_rules 'DOCKER|docker0' '^DOCKER'
    [ -z "$forward" ] || iptables -P FORWARD "$forward" || :
}

# weigh_containers FACTOR: gives all containers together FACTOR times the default processor weight.
# By default a busy machine gives them only as much as any one session, of which the tests have
# many, and compiling in a container takes several times as long.
weigh_containers() {
    for weight in "/sys/fs/cgroup/cpu cpu.shares 1024" "/sys/fs/cgroup cpu.weight 100"; do
        # shellcheck disable=SC2086  # words
        set -- "$1" $weight
        [ ! -e "$2/cgroup.procs" ] ||
            { mkdir -p "$2/docker" && echo $(($1 * $4)) >"$2/docker/$3"; } 2>/dev/null || :
    done
}

stop_engine() {
    trap - EXIT INT TERM HUP
    # Containers that the command has left running end with their engine.
    containers=$(docker ps -q 2>/dev/null) || containers=
    # shellcheck disable=SC2086  # a list
    [ -z "$containers" ] || docker kill $containers >/dev/null 2>&1 || :
    networks=$(docker network ls -q --filter driver=bridge 2>/dev/null) || networks=
    kill "$daemon" 2>/dev/null || :
    wait "$daemon" 2>/dev/null || :
    remove_network
    weigh_containers 1
    # The network namespaces of containers may still be mounted for a moment.
    umount -l "$own"/exec/netns/* 2>/dev/null || :
    rm -rf "$own"
}
trap stop_engine EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

tries=0
until answers; do
    kill -0 "$daemon" 2>/dev/null || {
        tail -n 5 "$data/dockerd.log" >&2
        no_engine "dockerd ended at once (log: $data/dockerd.log)"
    }
    tries=$((tries + 1))
    [ "$tries" -le 300 ] || no_engine "dockerd did not answer in 60 s (log: $data/dockerd.log)"
    sleep 0.2
done
weigh_containers 4
code=0
"$@" 9>&- || code=$?
exit "$code"
