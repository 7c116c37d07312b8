# The container engine and the image for the tests of images and containers. Sourced. If no engine
# answers, the script runs again with an engine of its own, which is stopped at the end. With
# own_image set, the usual image is not built, as the script builds its own.
# shellcheck shell=sh disable=SC2034,SC2154  # image and failed are for the sourcing script
system=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$system/../.." && pwd)

# Prints the command of Compose's second version, or else of its first.
composer() {
    if docker compose version >/dev/null 2>&1; then
        echo "docker compose"
    elif command -v docker-compose >/dev/null 2>&1; then
        echo "docker-compose"
    else
        return 1
    fi
}

# Prints what an engine may leave behind on the machine: firewall rules and network devices.
network() { { iptables-save | grep '^-A'; ip -o link; } 2>/dev/null; }

# Runs the script with an engine of its own, on a machine where none answers. Engines may leave a
# firewall rule of a removed bridge, which would separate containers: there is one during the run.
with_an_engine() {
    lost="POSTROUTING -s 198.51.100.0/24 ! -o br-0123456789ab -j MASQUERADE"
    [ "$(id -u)" = 0 ] || { echo "skipped: no engine, not root"; return 77; }
    sh "$top/docker/packages.sh" install engine || {
        echo "skipped: no packages for an engine"
        return 77
    }
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

# An engine is there: the image can be built.
sh "$top/docker/base.sh" || { echo "FAILED: no base image"; exit 1; }
[ -n "${own_image:-}" ] || sh "$top/docker/build.sh" || exit 1
image=${RINGMASTER_IMAGE:-ringmaster:latest}
failed=0
