# Functions of the examples, in which three containers on this machine become one job. The scripts
# in this folder source it:
#
#   containers_enter        finds or starts an engine and builds; sets $driver (docker, ns)
#   containers_up           creates three hosts, all of which see the folder $share
#   containers_run CMD...   runs a command on the first host to its end and prints its log
#   containers_train FLAGS  runs `train` on all hosts, with the variables in $containers_with
#                           (-e NAME=VALUE ...), follows the first host's log, and runs
#                           $containers_fault, if set, at the same time
#   containers_results      copies logs and model to $out and the last evaluation's row to $row;
#                           returns 1 unless all hosts exited with 0
#   containers_failures     prints the hosts' failure files
#
# As root on a bare Debian 12 nothing has to be installed first; with a running Docker engine it
# needs no root. Without an engine, three sets of namespaces replace the containers (root).
# EXAMPLE_DRIVER=ns|docker chooses one of the two.
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

# The first call looks for an engine and runs the script again with it.
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
    # If there is a compiler cache, as in the tests, each source file is compiled by itself.
    unity=ON
    [ -z "${CMAKE_C_COMPILER_LAUNCHER:-}" ] || unity=OFF
    cmake --preset release -DRINGMASTER_TESTS=OFF -DRINGMASTER_UNITY=$unity \
        -B build/quickstart-build >/dev/null
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

# at_least NAME LEAST: succeeds if the row's value of NAME is at least LEAST.
at_least() {
    value=$(printf '%s\n' "$row" | sed -n "s/.* $1=\([0-9.]*\).*/\1/p")
    awk -v x="${value:-0}" -v least="$2" 'BEGIN { exit !(x >= least) }'
}

containers_failures() {
    for host in 1 2 3; do
        [ ! -e "$(hosts opt "$host")/output/failure" ] || cat "$(hosts opt "$host")/output/failure"
    done
}

# containers_kill HOST WORDS: kills ringtrain on HOST once the first host's log contains WORDS.
# shellcheck disable=SC2016  # expanded on the host
containers_kill() {
    hosts follow 1 | grep -q -m 1 -F -e "$2" || return 1
    hosts exec "$1" sh -c 'for p in /proc/[0-9]*; do
        case $(readlink "$p/exe") in */ringtrain) kill -KILL "${p#/proc/}" ;; esac; done'
}

# containers_command [FOLDER]: prints the start of the command that runs a single host, which can
# write to FOLDER of this machine.
containers_command() {
    docker="docker run --rm ${1:+-v $1:$1 }ringmaster:latest"
    case $driver:${DOCKER_HOST:-} in
    docker:unix:///tmp/ringmaster-engine.*) echo "sh docker/engine.sh $docker" ;;
    docker:*) echo "$docker" ;;
    *) echo "env PATH=$RINGMASTER_BIN:\$PATH" ;;
    esac
}
