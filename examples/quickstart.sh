#!/bin/sh
# Three containers become one training job, from nothing, on this machine:
#
#   sh examples/quickstart.sh
#
# Sets up what is missing, builds the image, makes a small set of pictures, trains a ResNet-20 on it
# with three containers and evaluates it. As root on a bare Debian 12 it needs nothing before; with
# a Docker engine that answers it needs no root. Where there is no way to an engine, three sets of
# namespaces take the containers' place (root).
#
# Everything it makes lies in build/quickstart and .cache. QUICKSTART_DRIVER=ns|docker forces a way.
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top"
out=$top/build/quickstart
hosts() { sh tests/system/hosts.sh "$@"; }

started=$(date +%s)
phase_started=$started
phase=
say_phase() {
    now=$(date +%s)
    [ -z "$phase" ] || printf '== %s: %s s\n' "$phase" $((now - phase_started))
    phase_started=$now
    phase=$1
    [ -z "$phase" ] || printf '== %s ...\n' "$phase"
}

# The first call looks for an engine and comes back to this script inside it.
if [ -z "${QUICKSTART_INSIDE:-}" ]; then
    QUICKSTART_STARTED=$started
    export QUICKSTART_STARTED
    if [ "${QUICKSTART_DRIVER:-docker}" = docker ]; then
        say_phase 'a Docker engine'
        if docker version >/dev/null 2>&1 || sh docker/packages.sh install engine; then
            say_phase ''
            code=0
            QUICKSTART_INSIDE=docker sh docker/engine.sh sh "$0" || code=$?
            # 69: no engine answered and none could be started.
            [ "$code" -eq 69 ] && [ -z "${QUICKSTART_DRIVER:-}" ] || exit "$code"
        fi
        echo 'There is no way to a Docker engine here; namespaces take its place.'
    fi
    QUICKSTART_INSIDE=ns exec sh "$0"
fi
started=$QUICKSTART_STARTED
driver=$QUICKSTART_INSIDE

if [ "$driver" = docker ]; then
    say_phase 'the base image'
    sh docker/base.sh
    say_phase 'the image ringmaster:latest'
    sh docker/build.sh
else
    say_phase 'a build for this machine'
    sh docker/packages.sh install build fetch test mpi
    sh docker/fetch_onednn.sh
    cmake --preset release -DRINGMASTER_TESTS=OFF -B build/quickstart-build >/dev/null
    cmake --build build/quickstart-build --parallel "$(nproc)" >build/quickstart-build/log 2>&1 ||
        { tail -n 30 build/quickstart-build/log; exit 1; }
    RINGMASTER_BIN=$top/build/quickstart-build/bin
    export RINGMASTER_BIN
fi

say_phase 'three hosts and a set of pictures'
RING=$(hosts up 3 --driver "$driver")
export RING
trap 'hosts down' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
data=$(hosts share)/shapes
hosts start 1 -- ringtrain prepare shapes "$data"
if ! hosts wait 120 1 || [ "$(hosts code 1)" != 0 ]; then
    hosts log 1
    exit 1
fi
hosts log 1

say_phase 'training'
for host in 1 2 3; do
    # shellcheck disable=SC2086  # flags
    hosts start "$host" -- train --data "$data" ${QUICKSTART_FLAGS:---model resnet20 \
        --image-size 24 --batch-size 12 --epochs 4 --lr 0.1 --lr-batch 36 --warmup-epochs 0.5 --nesterov true}
done
hosts follow 1 &
follower=$!
hosts wait 600 || :
wait "$follower" 2>/dev/null || :

say_phase 'results'
rm -rf "$out"
mkdir -p "$out"
code=0
for host in 1 2 3; do
    ended=$(hosts code "$host") || ended=none
    printf 'algo-%s left with %s\n' "$host" "$ended"
    [ "$ended" = 0 ] || code=1
    hosts log "$host" >"$out/algo-$host.log"
done
cp -r "$(hosts opt 1)/model" "$out/model"
row=$(grep -o 'eval epoch=.*' "$out/algo-1.log" | tail -n 1) || row=
top1=$(printf '%s\n' "$row" | sed -n 's/.* top1=\([0-9.]*\).*/\1/p')
say_phase ''
echo
echo "${row:-there is no evaluation row}"
if [ "$code" -ne 0 ] || ! awk -v x="${top1:-0}" 'BEGIN { exit !(x >= 0.9) }'; then
    echo "The job did not do what it should: three hosts that leave with 0, and top1 of 0.9 or more."
    for host in 1 2 3; do
        [ ! -e "$(hosts opt "$host")/output/failure" ] || cat "$(hosts opt "$host")/output/failure"
    done
    exit 1
fi

# How a single host is started here.
case $driver:${DOCKER_HOST:-} in
docker:unix:///tmp/ringmaster-engine.*) run='sh docker/engine.sh docker run --rm ringmaster:latest' ;;
docker:*) run='docker run --rm ringmaster:latest' ;;
*) run="env PATH=$RINGMASTER_BIN:\$PATH" ;;
esac
cat <<END

Model:  $out/model
Logs:   $out/algo-1.log algo-2.log algo-3.log
Took:   $(($(date +%s) - started)) s in all

What to try next
  $run train --data synthetic --steps 20
  $run train -- sh -c 'echo rank \$RANK of \$WORLD_SIZE'
  $run ringmaster --help
  sh tests/run.sh          the whole test suite
  README.md                your own pictures, SageMaker, several machines
END
