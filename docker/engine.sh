#!/bin/sh
# Runs a command with a Docker engine at hand.
#
#   sh docker/engine.sh COMMAND ARGS...
#
# An engine that answers is used as it is. Where none does, and this is root on a machine with
# dockerd, one is started for the time of the command, with a socket of its own, and stopped after
# it. Its images stay in .cache/engine, so that the next call finds them.
# Without any way to an engine the status is 69 and COMMAND does not run.
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
command -v dockerd >/dev/null 2>&1 || no_engine "no Docker engine answers, and dockerd is not installed"

data=$top/.cache/engine
mkdir -p "$data"
# Socket paths are short (107 bytes), so they do not lie in the repository.
own=$(mktemp -d /tmp/ringmaster-engine.XXXXXX)
# One engine of this kind at a time, as they share the machine's network; the lock goes with the
# daemon.
lock=/run/ringmaster-engine.lock
exec 9>>"$lock"
if ! flock -n 9; then
    echo "engine.sh: waiting up to 600 s for another engine to stop: $(cat "$lock"). Its DOCKER_HOST" \
        "would do as well" >&2
    flock -w 600 9 || no_engine "another engine still holds $lock"
fi

# A machine without systemd may lack control groups.
if [ ! -e /sys/fs/cgroup/cgroup.controllers ] && [ ! -d /sys/fs/cgroup/devices ] &&
    command -v cgroupfs-mount >/dev/null 2>&1; then
    cgroupfs-mount || :
fi

# Takes away the rules that match $1, and chains whose names match $2 (may be empty); all others stay
# as they are.
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

# "From 172.18.0.0/16 and not to br-0123456789ab: masquerade" means all that the next network with
# these addresses says to itself, once that bridge is gone: Open MPI then drops every connection.
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

# dockerd leaves its bridges and its firewall rules behind, those of networks that still exist among
# them, and makes them again when it is started again. What another engine's network needs was there
# before, and stays.
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

# The kernel gives all containers together as much of a busy machine as any one session, of which the
# tests have many: what compiles in a container would take several times as long. They get $1 times
# as much.
weigh_containers() {
    for weight in "/sys/fs/cgroup/cpu cpu.shares 1024" "/sys/fs/cgroup cpu.weight 100"; do
        # shellcheck disable=SC2086  # words
        set -- "$1" $weight
        [ ! -e "$2/cgroup.procs" ] || { mkdir -p "$2/docker" && echo $(($1 * $4)) >"$2/docker/$3"; } 2>/dev/null || :
    done
}

stop_engine() {
    trap - EXIT INT TERM HUP
    # Containers that the command left behind end with their engine.
    containers=$(docker ps -q 2>/dev/null) || containers=
    # shellcheck disable=SC2086  # a list
    [ -z "$containers" ] || docker kill $containers >/dev/null 2>&1 || :
    networks=$(docker network ls -q --filter driver=bridge 2>/dev/null) || networks=
    kill "$daemon" 2>/dev/null || :
    wait "$daemon" 2>/dev/null || :
    remove_network
    weigh_containers 1
    # The container run times' folders may still be mounted for a moment.
    umount -l "$own"/exec/netns/* 2>/dev/null || :
    rm -rf "$own"
}
trap stop_engine EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

tries=0
until answers; do
    kill -0 "$daemon" 2>/dev/null || { tail -n 5 "$data/dockerd.log" >&2; no_engine "dockerd ended at once (log: $data/dockerd.log)"; }
    tries=$((tries + 1))
    [ "$tries" -le 300 ] || no_engine "dockerd did not answer in 60 s (log: $data/dockerd.log)"
    sleep 0.2
done
weigh_containers 4
code=0
"$@" 9>&- || code=$?
exit "$code"
