#!/bin/sh
# Builds the image ringmaster:latest.
#
#   sh docker/build.sh [docker build's options]
#   sh docker/build.sh --build-arg BASE=registry.example/debian:12      on your own base image (also
#                                                                       a Debian 12)
#
#   RINGMASTER_IMAGE   another name
#   RINGMASTER_SEED    the image's seed, by default a random one
#   RINGMASTER_CA      a PEM file with the certificates to trust while building, for networks with a
#                      proxy of their own. It stays in the build stage
#
# Sets up what is missing: an engine and the default base image (docker/engine.sh, docker/base.sh),
# and oneDNN's wheels in docker/wheels/, which this machine fetches. Any other base image is the
# engine's own, or is pulled.
set -eu

case ${1:-} in
-h | --help) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" && exit 0 ;;
esac
top=$(cd "$(dirname "$0")/.." && pwd)
image=${RINGMASTER_IMAGE:-ringmaster:latest}

# base_of OPTIONS...: prints the base image that the Dockerfile takes with these build arguments.
base_of() {
    own='' cuda='' named=''
    for word in "$@"; do
        case $named$word in
        --build-arg) named=--build-arg= && continue ;;
        --build-arg=BASE) own=${BASE:-} ;;
        --build-arg=BASE=*) own=${word#--build-arg=} own=${own#BASE=} ;;
        --build-arg=RINGMASTER_CUDA) cuda=${RINGMASTER_CUDA:-} ;;
        --build-arg=RINGMASTER_CUDA=*) cuda=${word#--build-arg=} cuda=${cuda#RINGMASTER_CUDA=} ;;
        esac
        named=
    done
    [ -z "$cuda" ] || own=${own:-ubuntu:24.04}
    echo "${own:-debian:bookworm-slim}"
}
base=$(base_of "$@")

if ! docker version >/dev/null 2>&1; then
    [ -z "${RINGMASTER_ENGINE:-}" ] || exit 69
    sh "$top/docker/packages.sh" install engine fetch
    exec env RINGMASTER_ENGINE=own sh "$top/docker/engine.sh" sh "$0" "$@"
fi

beside= # the background process
trap '[ -z "$beside" ] || kill "$beside" 2>/dev/null || :' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# The wheels are fetched while the base is made. If they exist already, no pip is needed.
wheels() {
    [ "$(find "$top/docker/wheels" -name 'onednn*.whl' 2>/dev/null | wc -l)" -eq 2 ] ||
        sh "$top/docker/packages.sh" install fetch || return
    sh "$top/docker/fetch_onednn.sh" --wheels
}
wheels &
beside=$!
[ "$base" != debian:bookworm-slim ] || sh "$top/docker/base.sh"
wait "$beside"
beside=
rm -f "$top/docker/wheels/ca.pem"
[ -z "${RINGMASTER_CA:-}" ] || cp "$RINGMASTER_CA" "$top/docker/wheels/ca.pem"

if [ -n "${RINGMASTER_SEED:-}" ]; then
    # It is passed in the environment, so that it does not appear in the command line.
    set -- --build-arg RINGMASTER_SEED "$@"
    export RINGMASTER_SEED
fi
version=$(sed -n 's/^project(ringmaster VERSION \([0-9.]*\).*/\1/p' "$top/CMakeLists.txt")
# A tree with uncommitted changes is marked "-dirty".
revision=$(git -C "$top" describe --always --dirty --abbrev=40 --exclude '*' 2>/dev/null ||
    echo unknown)
set -- --build-arg "RINGMASTER_VERSION=$version" --build-arg "RINGMASTER_REVISION=$revision" "$@"
mkdir -p "$top/.cache"
log=$top/.cache/build-image.log
echo "building $image"
build() { docker build --network host "$@" "$top"; }
# Builds independent stages in parallel, which BuildKit does by itself. The legacy builder builds
# them first, and the image then takes them from its cache. As it also builds all stages before the
# one that is asked for, it gets a Dockerfile with `run` alone. With options other than build
# arguments this is not done, as they may not suit stages.
stage() {
    awk -v name="$1" '/^FROM / { begun = 1; wanted = $(NF - 1) == "AS" && $NF == name }
        !begun || wanted' "$top/Dockerfile"
}
build_stages() {
    for word in "$@"; do
        case $word in --build-arg | --build-arg=* | [A-Z]*) ;; *) return 0 ;; esac
    done
    ! docker buildx version >/dev/null 2>&1 || return 0
    { stage run | build --file - "$@"; } >"$log.run" 2>&1 &
    beside=$!
    build --target build "$@" || return
    wait "$beside" || { cat "$log.run"; return 1; }
    beside=
}
{ build_stages "$@" && build --tag "$image" "$@"; } >"$log" 2>&1 ||
    { tail -n 40 "$log" >&2; echo "build.sh: the build failed (whole log: $log)" >&2; exit 1; }

size() { docker image inspect --format '{{.Size}}' "$1"; }
# Some engines keep no image of a base that they have pulled for a build.
below=$(size "$base" 2>/dev/null) || below=
echo "$image: $(($(size "$image") / 1000000)) MB${below:+, of which $((($(
    size "$image") - ${below:-0}) / 1000000)) MB above $base}"
