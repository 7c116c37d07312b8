#!/bin/sh
# Builds the image ringmaster:latest.
#
#   sh docker/build.sh [docker build's options]
#
#   RINGMASTER_IMAGE   another name
#   RINGMASTER_SEED    the image's seed; a random one where absent
#   RINGMASTER_CA      a PEM file with the certificates to trust while building, for networks with a
#                      proxy of their own. It stays in the build stage
#
# Sets up what is missing: an engine and a base image (docker/engine.sh, docker/base.sh), and oneDNN's
# wheels in docker/wheels/, fetched by this machine.
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
image=${RINGMASTER_IMAGE:-ringmaster:latest}
base=debian:bookworm-slim

if ! docker version >/dev/null 2>&1; then
    [ -z "${RINGMASTER_ENGINE:-}" ] || exit 69
    sh "$top/docker/packages.sh" install engine
    exec env RINGMASTER_ENGINE=own sh "$top/docker/engine.sh" sh "$0" "$@"
fi

sh "$top/docker/packages.sh" install fetch
sh "$top/docker/fetch_onednn.sh" --wheels
sh "$top/docker/base.sh"
rm -f "$top/docker/wheels/ca.pem"
[ -z "${RINGMASTER_CA:-}" ] || cp "$RINGMASTER_CA" "$top/docker/wheels/ca.pem"

if [ -n "${RINGMASTER_SEED:-}" ]; then
    # Taken from the environment, so that it does not stand in the command line.
    set -- --build-arg RINGMASTER_SEED "$@"
    export RINGMASTER_SEED
fi
version=$(sed -n 's/^project(ringmaster VERSION \([0-9.]*\).*/\1/p' "$top/CMakeLists.txt")
# Of a tree that was changed since, too: whoever wants the very revision builds from a clean one.
revision=$(git -C "$top" describe --always --dirty --abbrev=40 --exclude '*' 2>/dev/null || echo unknown)
set -- --build-arg "RINGMASTER_VERSION=$version" --build-arg "RINGMASTER_REVISION=$revision" "$@"
mkdir -p "$top/.cache"
log=$top/.cache/build-image.log
echo "building $image"
docker build --network host --tag "$image" "$@" "$top" >"$log" 2>&1 ||
    { tail -n 40 "$log" >&2; echo "build.sh: the build failed (whole log: $log)" >&2; exit 1; }

size() { docker image inspect --format '{{.Size}}' "$1"; }
echo "$image: $(($(size "$image") / 1000000)) MB, of which $((($(size "$image") - $(size "$base")) / 1000000)) MB above $base"
