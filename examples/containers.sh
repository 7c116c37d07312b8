# What the examples share: three containers on this machine become one job. Sourced, by a script of this folder:
#
#   containers_enter        finds a way to an engine and builds; the way is $driver (docker, ns)
#   containers_up           three hosts; all see the folder $share
#   containers_run CMD...   a command on the first of them, to its end; its log is shown
#   containers_train FLAGS  `train` on all of them, with the variables in $containers_with (-e NAME=VALUE ...); follows the first
#                           one's log, and runs $containers_fault beside it where there is one
#   containers_results      logs and the model to $out, the last evaluation's row to $row; 1 when not all left with 0
#   containers_failures     why, as the hosts say it
#
# As root on a bare Debian 12 this needs nothing before; with a Docker engine that answers it needs no root. Where there
# is no way to an engine, three sets of namespaces take the containers' place (root). EXAMPLE_DRIVER=ns|docker forces a way.
# shellcheck shell=sh disable=SC2034

containers_top=$(cd "$(dirname "$0")/.." && pwd)
cd "$containers_top" || exit
out=$containers_top/build/$(basename "$0" .sh)
hosts() { sh tests/system/hosts.sh "$@"; }

started=${EXAMPLE_STARTED:-$(date +%s)}
phase_started=$(date +%s)
phase=
say_phase() {
    now=$(date +%s)
    [ -z "$phase" ] || printf '== %s: %s s\n' "$phase" $((now - phase_started))
    phase_started=$now
    phase=$1
    [ -z "$phase" ] || printf '== %s ...\n' "$phase"
}

# The first call looks for an engine and comes back to the script inside it.
containers_enter() {
    driver=${EXAMPLE_INSIDE:-}
    if [ -z "$driver" ]; then
        EXAMPLE_STARTED=$started
        export EXAMPLE_STARTED
        if [ "${EXAMPLE_DRIVER:-docker}" = docker ]; then
            say_phase 'a Docker engine'
            if docker version >/dev/null 2>&1 || sh docker/packages.sh install engine fetch; then
                say_phase ''
                code=0
                EXAMPLE_INSIDE=docker sh docker/engine.sh sh "$0" || code=$?
                # 69: no engine answered and none could be started.
                [ "$code" -eq 69 ] && [ -z "${EXAMPLE_DRIVER:-}" ] || exit "$code"
            fi
            echo 'There is no way to a Docker engine here; namespaces take its place.'
        fi
        EXAMPLE_INSIDE=ns exec sh "$0"
    fi
    if [ "$driver" = docker ]; then
        say_phase 'the image ringmaster:latest'
        sh docker/build.sh
        return
    fi
    say_phase 'a build for this machine'
    sh docker/packages.sh install build fetch test mpi
    sh docker/fetch_onednn.sh
    # Where a cache of objects is told, as by the tests, it has each source by itself.
    unity=ON
    [ -z "${CMAKE_C_COMPILER_LAUNCHER:-}" ] || unity=OFF
    cmake --preset release -DRINGMASTER_TESTS=OFF -DRINGMASTER_UNITY=$unity -B build/quickstart-build >/dev/null
    cmake --build build/quickstart-build --parallel "$(nproc)" >build/quickstart-build/log 2>&1 ||
        { tail -n 30 build/quickstart-build/log; exit 1; }
    RINGMASTER_BIN=$containers_top/build/quickstart-build/bin
    export RINGMASTER_BIN
}

containers_up() {
    RING=$(hosts up 3 --driver "$driver")
    export RING
    trap 'hosts down' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    share=$(hosts share)
}

containers_run() {
    hosts start 1 -- "$@"
    if ! hosts wait 300 1 || [ "$(hosts code 1)" != 0 ]; then
        hosts log 1
        exit 1
    fi
    hosts log 1
}

containers_train() {
    for host in 1 2 3; do
        # shellcheck disable=SC2086  # a list
        hosts start "$host" ${containers_with:-} -- train "$@"
    done
    ${containers_fault:-:} &
    hosts follow 1 &
    follower=$!
    hosts wait 1800 || :
    wait "$follower" 2>/dev/null || :
}

containers_results() {
    rm -rf "$out"
    mkdir -p "$out"
    failed=0
    for host in 1 2 3; do
        ended=$(hosts code "$host") || ended=none
        printf 'algo-%s left with %s\n' "$host" "$ended"
        [ "$ended" = 0 ] || failed=1
        hosts log "$host" >"$out/algo-$host.log"
    done
    cp -r "$(hosts opt 1)/model" "$out/model"
    row=$(grep -o 'eval epoch=.*' "$out/algo-1.log" | tail -n 1) || row=
    return "$failed"
}

# at_least NAME LEAST: whether the row's number is so large.
at_least() {
    value=$(printf '%s\n' "$row" | sed -n "s/.* $1=\([0-9.]*\).*/\1/p")
    awk -v x="${value:-0}" -v least="$2" 'BEGIN { exit !(x >= least) }'
}

containers_failures() {
    for host in 1 2 3; do
        [ ! -e "$(hosts opt "$host")/output/failure" ] || cat "$(hosts opt "$host")/output/failure"
    done
}

# containers_kill HOST WORDS: once the first one's log has the words, ringtrain is killed on the other.
# shellcheck disable=SC2016  # expanded on the host
containers_kill() {
    hosts follow 1 | grep -q -m 1 -F -e "$2" || return 1
    hosts exec "$1" sh -c 'for p in /proc/[0-9]*; do
        case $(readlink "$p/exe") in */ringtrain) kill -KILL "${p#/proc/}" ;; esac; done'
}

# How a single host is started here.
containers_command() {
    case $driver:${DOCKER_HOST:-} in
    docker:unix:///tmp/ringmaster-engine.*) echo 'sh docker/engine.sh docker run --rm ringmaster:latest' ;;
    docker:*) echo 'docker run --rm ringmaster:latest' ;;
    *) echo "env PATH=$RINGMASTER_BIN:\$PATH" ;;
    esac
}
