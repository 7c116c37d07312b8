# An engine for the tests of images and containers, and the image. Sourced; a script that finds no engine
# runs again with one of its own, for the time that it takes. With own_image set, the script builds an
# image of its own, and the usual one is not made.
# shellcheck shell=sh disable=SC2034,SC2154  # image and failed are for the sourcing script
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
[ -n "${own_image:-}" ] || sh "$top/docker/build.sh" || exit 1
image=${RINGMASTER_IMAGE:-ringmaster:latest}
failed=0
