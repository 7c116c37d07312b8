# The driver of hosts that are containers on a bridge network of their own. Sourced by hosts.sh.
# As in SageMaker's local mode, a container's own host name is its id, not algo-N.
# shellcheck shell=sh disable=SC2154

net() { echo "rm-$(basename "$RING")"; }
container() { echo "rm-$(basename "$RING")-$1"; }
inspect() { docker inspect --format "$2" "$(container "$1")"; }

driver_up() {
    docker version >/dev/null 2>&1 || fail "no engine answers (docker/engine.sh starts one)"
    docker network create "$(net)" >/dev/null
}

driver_start() {
    host=$1
    shift
    docker rm -f "$(container "$host")" >/dev/null 2>&1 || :
    careful=
    [ ! -s "$RING/host-$host/prepare" ] || fail "start: containers are not prepared (-p)"
    if [ -n "${UNPRIVILEGED:-}" ]; then
        careful='--user 4321:4321 --read-only --tmpfs /tmp --cap-drop ALL
            --security-opt no-new-privileges'
        chown -R 4321:4321 "$RING/host-$host/root/opt/ml"
        # Only root can read the image's seed.
        grep -q '^RINGMASTER_KEY' "$RING/host-$host/environment" ||
            echo "RINGMASTER_KEY=$(cat "$RING/key")" >>"$RING/host-$host/environment"
    fi
    # Other users cannot enter root's home in the image.
    case $RING in
    /root/*) mkdir -p "$RING/home" && careful="$careful --volume $RING/home:/root" ;;
    esac
    # shellcheck disable=SC2046,SC2086  # options
    docker run --detach --name "$(container "$host")" $careful \
        --network "$(net)" --network-alias "$(host_name "$host")" \
        $(sed 's/^/--network-alias /' "$RING/host-$host/aliases") \
        --env-file "$RING/host-$host/environment" \
        --volume "$RING/host-$host/root/opt/ml:/opt/ml" \
        --volume "$RING/share:$RING/share" \
        "$(cat "$RING/image")" "$@" >/dev/null
}

driver_has_ended() { [ "$(inspect "$1" '{{.State.Running}}')" = false ]; }
# driver_wait SECONDS HOST...: waits at most that long for their end, with fewer processes than a
# loop.
driver_wait() {
    limit=$1
    shift
    for each in "$@"; do
        set -- "$@" "$(container "$each")"
        shift
    done
    timeout "$limit" docker wait "$@" >/dev/null 2>&1 || :
}
# A container that still runs has code 0, too.
driver_code() { driver_has_ended "$1" && inspect "$1" '{{.State.ExitCode}}'; }
driver_ended() { date -d "$(inspect "$1" '{{.State.FinishedAt}}')" +%s%3N; }
driver_log() { docker logs "$(container "$1")" 2>&1; }
driver_follow() { docker logs --follow "$(container "$1")" 2>&1; }
driver_pid() { inspect "$1" '{{.State.Pid}}'; }
driver_pids() { docker top "$(container "$1")" -o pid | sed 1d; }

driver_stop() { docker kill --signal TERM "$(container "$1")" >/dev/null; }
driver_kill() { docker kill "$(container "$1")" >/dev/null; }
driver_freeze() { docker pause "$(container "$1")" >/dev/null; }
driver_thaw() { docker unpause "$(container "$1")" >/dev/null; }

# port HOST: prints the port of the bridge that the container's eth0 is connected to.
port() {
    index=$(nsenter --target "$(driver_pid "$1")" --net ip -o link show dev eth0 |
        sed -n 's/^[0-9]*: eth0@if\([0-9]*\):.*/\1/p')
    ip -o link | sed -n "s/^$index: \([^@:]*\)[@:].*/\1/p"
}
driver_cut() {
    cable=$(port "$1")
    ip -o link show "$cable" | sed -n 's/.* master \([^ ]*\) .*/\1/p' >"$RING/host-$1/bridge"
    ip link set "$cable" nomaster
}
# The name of a bridge has at most fifteen characters.
far() { echo "far-$(basename "$RING")"; }
driver_part() {
    ip link add "$(far)" type bridge
    ip link set "$(far)" up
    for host in "$@"; do
        ip link set "$(port "$host")" master "$(far)"
    done
}
# A host that was only muted or deafened is still on its bridge.
driver_mend() {
    [ ! -e "$RING/host-$1/bridge" ] ||
        ip link set "$(port "$1")" master "$(cat "$RING/host-$1/bridge")"
}

driver_exec() {
    host=$1
    shift
    docker exec "$(container "$host")" "$@"
}

driver_down() {
    for host in $(hosts_started); do
        docker unpause "$(container "$host")" >/dev/null 2>&1 || :
        docker rm -f "$(container "$host")" >/dev/null 2>&1 || :
    done
    ip link del "$(far)" 2>/dev/null || :
    docker network rm "$(net)" >/dev/null 2>&1 || :
    # The containers wrote files as root, which another user of the engine cannot remove.
    [ "$(id -u)" = 0 ] || docker run --rm --volume "$RING:/ring" "$(cat "$RING/image")" \
        sh -c 'rm -rf /ring/host-*' || :
}
