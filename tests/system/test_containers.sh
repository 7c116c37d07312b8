#!/bin/sh
# The image: what it adds to its base, what is and is not in it, and a selection of the system tests
# on containers. FULL=1 runs all of them; REPEAT as in lib.sh.
set -u

system=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$system/../.." && pwd)

# Compose's second version or its first, whichever is here.
composer() {
    if docker compose version >/dev/null 2>&1; then
        echo "docker compose"
    elif command -v docker-compose >/dev/null 2>&1; then
        echo "docker-compose"
    else
        return 1
    fi
}

# What an engine may leave behind on the machine: firewall rules and network devices.
network() { { iptables-save | grep '^-A'; ip -o link; } 2>/dev/null; }

# An engine of our own, for a machine where none answers. A rule of a bridge that is gone, as engines
# leave it, would keep containers from each other.
with_an_engine() {
    lost="POSTROUTING -s 198.51.100.0/24 ! -o br-0123456789ab -j MASQUERADE"
    [ "$(id -u)" = 0 ] || { echo "skipped: no engine, not root"; return 77; }
    sh "$top/docker/packages.sh" install engine || { echo "skipped: no packages for an engine"; return 77; }
    composer >/dev/null || sh "$top/docker/packages.sh" install compose
    before=$(network)
    # shellcheck disable=SC2086  # words
    iptables -t nat -A $lost
    code=0
    RINGMASTER_ENGINE=own sh "$top/docker/engine.sh" sh "$0" || code=$?
    # shellcheck disable=SC2086  # words
    [ "$code" -ne 69 ] || { iptables -t nat -D $lost; echo "skipped: no engine"; return 77; }
    left=$(network | grep -vxF -e "$before") || return "$code"
    echo "FAILED: the engine left behind: $left"
    return 1
}

if [ -z "${RINGMASTER_ENGINE:-}" ] && ! docker version >/dev/null 2>&1; then
    with_an_engine
    exit
fi

# Where an engine answers, an image can be had.
sh "$top/docker/base.sh" || { echo "FAILED: no base image"; exit 1; }
sh "$top/docker/build.sh" || exit 1
image=${RINGMASTER_IMAGE:-ringmaster:latest}
failed=0
left_out=
# What a step has skipped makes the whole skipped, unless something has failed.
step() {
    echo "-- $*"
    code=0
    "$@" || code=$?
    case $code in
    0) ;;
    77) echo "-- skipped, all or in part: $*"; left_out="$left_out; $*" ;;
    *) echo "-- FAILED with $code: $*"; failed=1 ;;
    esac
}

size() { docker image inspect --format '{{.Size}}' "$1"; }
added=$((($(size "$image") - $(size debian:bookworm-slim)) / 1000000))
echo "the image adds $added MB to its base"
[ "$added" -lt 200 ] || { echo "FAILED: 200 MB are the most"; failed=1; }
for foreign in ssh sshd python3 gcc; do
    if docker run --rm --network none "$image" sh -c "command -v $foreign" >/dev/null; then
        echo "FAILED: the image has $foreign"
        failed=1
    fi
done
said=$(docker run --rm --network none "$image" echo foreign commands run)
[ "$said" = 'foreign commands run' ] || { echo "FAILED: a foreign command said '$said'"; failed=1; }

# The job of docker/compose.yml, smaller: its code is the job's, for success and for a failure.
compose() {
    composer=$(composer) || { echo "skipped: no compose"; return 77; }
    file=$(mktemp --suffix=.yml "$top/build/compose.XXXXXX")
    sed "s/--epochs 4/--steps 3/; $1" "$top/docker/compose.yml" >"$file"
    grep -q -e '--steps 3' "$file" || { echo "FAILED: compose.yml trains otherwise"; return 1; }
    # shellcheck disable=SC2086  # two words
    timeout 120 $composer -p "ringmaster-test" -f "$file" up --abort-on-container-exit \
        >"$file.log" 2>&1
    got=$?
    # shellcheck disable=SC2086  # two words
    $composer -p "ringmaster-test" -f "$file" down >/dev/null 2>&1
    [ "$got" -eq "$2" ] || { echo "FAILED: compose ended with $got, not $2"; tail -n 30 "$file.log"; }
    rm -f "$file" "$file.log"
    [ "$got" -eq "$2" ]
}
mkdir -p "$top/build"
step compose '' 0
step compose 's/--model resnet20/--model no-such-network/' 64

export DRIVER=docker
if [ -n "${FULL:-}" ]; then
    step sh "$system/test_job.sh"
    step sh "$system/test_bad_input.sh"
    step sh "$system/test_sagemaker.sh"
    step sh "$system/test_relaunch.sh"
    for workload in sh mpi ringtrain; do
        step env WORKLOAD="$workload" sh "$system/faults.sh"
    done
else
    step env CASES='every_rank_knows_its_place ranks_meet_by_mpi' sh "$system/test_job.sh"
    step env CASES='one_host_has_another_key a_port_is_busy' sh "$system/test_bad_input.sh"
    step env WORKLOAD=mpi CASES='a_rank_exits_with_42 a_worker_is_killed the_master_is_killed
        the_master_is_stopped a_worker_is_frozen' sh "$system/faults.sh"
fi
[ "$failed" -eq 0 ] || exit 1
[ -z "$left_out" ] || { echo "skipped: ${left_out#; }"; exit 77; }
