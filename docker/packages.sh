#!/bin/sh
# The one table of system packages, which every script and the Dockerfile use.
#
#   sh docker/packages.sh list SET...      prints the names for this distribution
#   sh docker/packages.sh missing SET...   prints those of them that are not installed
#   sh docker/packages.sh install SET...   installs those (root); other users get their names
#
# SET   build   compiler, CMake, headers
#       cuda    what nvcc needs besides the toolkit
#       fetch   pip, for oneDNN's wheels where the distribution has no oneDNN 3
#       static  what docker/static.sh and docker/release.sh need besides a compiler, which they
#               fetch
#       test    what the tests need besides
#       run     what a built ringmaster and ringtrain need (without Open MPI, see mpi)
#       mpi     Open MPI's programs
#       engine  a Docker engine, and the tools that make a base image for it
#       compose docker-compose, with which the tests run docker/compose.yml
#       foreign third-party programs for tests/system/test_foreign.sh
#       hpc     HPC Challenge alone
#
# Everything is tested on Debian 12. On Debian 13 it builds and passes the unit tests. The names for
# Ubuntu 22.04 and 24.04 are listed but not tested.
set -u

distribution() {
    # PACKAGES_FOR=ubuntu-24.04 shows another distribution's names.
    if [ -n "${PACKAGES_FOR:-}" ]; then
        echo "$PACKAGES_FOR"
    elif [ -r /etc/os-release ]; then
        # shellcheck disable=SC1091
        (. /etc/os-release && echo "${ID:-unknown}-${VERSION_ID:-0}")
    else
        echo unknown-0
    fi
}

# These draw the labels in pictures.
labels="libfreetype6 fonts-dejavu-core"
# The HTTP server that answers requests for predictions.
serve="libmicrohttpd12"
serve_t64="libmicrohttpd12t64"
# These read sources and write targets; base images have no certificates.
sources_dev="libcurl4-openssl-dev libarchive-dev libexpat1-dev"
sources="libcurl4 libarchive13 libexpat1 ca-certificates"
sources_t64="libcurl4t64 libarchive13t64 libexpat1 ca-certificates"

names() {
    case $1:$2 in
    build:debian-13*) echo \
    "gcc libc6-dev cmake make ninja-build pkg-config libjansson-dev libssl-dev libpcre2-dev" \
    "$sources_dev" \
    "libjpeg62-turbo-dev libpng-dev libfreetype-dev libmicrohttpd-dev libopenmpi-dev libdnnl-dev" ;;
    build:ubuntu-*) echo \
        "gcc libc6-dev cmake make ninja-build pkg-config libjansson-dev libssl-dev libpcre2-dev" \
        "$sources_dev" \
        "libjpeg-turbo8-dev libpng-dev libfreetype-dev libmicrohttpd-dev libopenmpi-dev" ;;
    build:*) echo \
        "gcc libc6-dev cmake make ninja-build pkg-config libjansson-dev libssl-dev libpcre2-dev" \
        "$sources_dev" \
        "libjpeg62-turbo-dev libpng-dev libfreetype-dev libmicrohttpd-dev libopenmpi-dev" ;;
    cuda:*) echo "g++" ;;
    fetch:debian-13*) ;;
    fetch:*) echo "python3-pip ca-certificates" ;;
    static:*) echo \
    "cmake ninja-build make perl pkg-config patch dpkg-dev xz-utils python3-pip ca-certificates" \
    "$([ "${2#debian}" = "$2" ] || echo debian-archive-keyring)" ;;
    test:*) echo \
        "libcunit1-dev ccache debootstrap python3-venv codespell elfutils fonts-dejavu-core iproute2 iptables util-linux procps strace" ;;
    run:debian-13*) echo \
        "libjansson4 libssl3t64 libpcre2-8-0 libjpeg62-turbo libpng16-16t64 libgomp1 libstdc++6 libdnnl3" \
        "$labels" "$serve_t64" "$sources_t64" ;;
    run:ubuntu-24*) echo \
        "libjansson4 libssl3t64 libpcre2-8-0 libjpeg-turbo8 libpng16-16t64 libgomp1 libstdc++6" \
        "$labels" "$serve_t64" "$sources_t64" ;;
    run:ubuntu-*) echo \
        "libjansson4 libssl3 libpcre2-8-0 libjpeg-turbo8 libpng16-16 libgomp1 libstdc++6" \
        "$labels" "$serve" "$sources" ;;
    run:*) echo \
        "libjansson4 libssl3 libpcre2-8-0 libjpeg62-turbo libpng16-16 libgomp1 libstdc++6" \
        "$labels" "$serve" "$sources" ;;
    mpi:*) echo "openmpi-bin" ;;
    engine:*)
        echo "docker.io mmdebstrap debian-archive-keyring iptables iproute2 ca-certificates" ;;
    compose:*) echo "docker-compose" ;;
    hpc:*) echo "hpcc" ;;
    foreign:*) echo "hpcc python3-mpi4py python3-torch python3-pip" ;;
    *) echo "packages.sh: no set '$1'" >&2; return 1 ;;
    esac
}

installed() {
    status=$(dpkg-query -W -f '${Status}' "$1" 2>/dev/null) || return 1
    [ "$status" = "install ok installed" ]
}

list() {
    for set in "$@"; do
        names "$set" "$here" || return 1
    done
}

missing() {
    wanted=$(list "$@") || return 1
    for name in $wanted; do
        installed "$name" || printf '%s ' "$name"
    done
}

install() {
    absent=$(missing "$@") || return 1
    [ -n "$absent" ] || return 0
    if [ "$(id -u)" != 0 ]; then
        echo "missing packages: $absent" >&2
        echo "install them as root: apt-get install --no-install-recommends $absent" >&2
        return 1
    fi
    # One installation at a time: apt waits for dpkg's lock, but not for that of its own lists.
    exec 9</var/lib/dpkg
    flock -w 900 9 || {
        echo "packages.sh: another one has been installing for 900 s" >&2
        return 1
    }
    absent=$(missing "$@")
    [ -n "$absent" ] || return 0
    echo "installing: $absent"
    # The lists may be old or absent; it then tries again with new ones.
    # shellcheck disable=SC2086  # one word a package
    apt_install $absent >/dev/null 2>&1 && return 0
    apt-get update -qq 9>&- || return 1
    # shellcheck disable=SC2086
    said=$(apt_install $absent 2>&1) || { echo "$said" | tail -n 20 >&2; return 1; }
}

apt_install() {
    # Waits for an installer that someone else has started. Services that a package starts must not
    # inherit our lock.
    DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 \
        install -y -qq --no-install-recommends "$@" 9>&-
}

here=$(distribution)
verb=${1:-}
[ $# -ge 2 ] || verb=usage
[ $# -eq 0 ] || shift
case $here in
debian-* | ubuntu-*) ;;
*) if [ "$verb" != list ]; then
    echo "packages.sh: $here is not a Debian or Ubuntu; Debian 12 calls them: $(list "$@")" >&2
    exit 1
fi ;;
esac
case $verb in
list) list "$@" ;;
missing) missing "$@" && echo ;;
install) install "$@" ;;
*) echo "usage: sh docker/packages.sh list|missing|install SET..." >&2; exit 64 ;;
esac
