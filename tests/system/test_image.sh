#!/bin/sh
# Tests the image: what it adds to its base, and what is and is not in it. This script builds it,
# while other tests run, also for the tests on containers.
# shellcheck disable=SC2154  # engine.sh's variables
set -u
# shellcheck source=/dev/null
. "$(dirname "$0")/engine.sh"

# Stages that are built at the same time compile the programs once between them, or not at all where
# the build cache has them.
linked=$(cat "$top"/.cache/build-image.log* | grep -c 'Linking C executable bin/ringtrain$')
[ "$linked" -le 1 ] || { echo "FAILED: ringtrain was linked $linked times"; failed=1; }
# If they were compiled, it was several sources at a time (cmake/Unity.cmake).
[ "$linked" -eq 0 ] || grep -q 'Building C object .*/Unity/' "$top/.cache/build-image.log" ||
    { echo "FAILED: each source was compiled by itself"; failed=1; }

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
# No program runs as another user, or group, than its caller.
bits=$(docker run --rm --network none "$image" find / -xdev -type f -perm /6000) ||
    bits="find failed"
[ -z "$bits" ] || { echo "FAILED: files with setuid or setgid: $bits"; failed=1; }
for label in title description licenses version revision; do
    text=$(docker image inspect \
        --format "{{index .Config.Labels \"org.opencontainers.image.$label\"}}" "$image")
    [ -n "$text" ] && [ "$text" != unknown ] || { echo "FAILED: no label $label"; failed=1; }
done
# A hosting service starts it as `serve`, on a port of its choice.
docker run --rm --network none "$image" serve --help | grep -q 'POST /invocations' ||
    { echo "FAILED: no serve"; failed=1; }
text=$(docker image inspect --format \
    '{{index .Config.Labels "com.amazonaws.sagemaker.capabilities.accept-bind-to-port"}}' \
    "$image")
[ "$text" = true ] || { echo "FAILED: no label for the port"; failed=1; }
# The image has an SPDX list of its contents.
list=/usr/local/share/doc/ringmaster/sbom.spdx.json
for what in '"name":"ringmaster"' '"name":"openmpi-bin"' '"name":"libjansson4"' \
    /usr/local/bin/ringtrain; do
    docker run --rm --network none "$image" grep -q -F -e "$what" $list ||
        { echo "FAILED: $list lacks $what"; failed=1; }
done
# Two containers of the image have the same contents.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
manifest() {
    docker run --rm --network none --volume "$top/docker:/docker:ro" "$1" \
        sh /docker/contents.sh manifest
}
packages() { docker run --rm --network none "$1" dpkg-query -W; }
consist_of_the_same() {
    manifest "$1" >"$work/one"
    manifest "$2" >"$work/other"
    diff "$work/one" "$work/other" >"$work/diff" && return
    echo "FAILED: $1 and $2 differ:"
    head -n 20 "$work/diff"
    failed=1
}
consist_of_the_same "$image" "$image"
grep -q ' ./usr/local/bin/ringmaster$' "$work/one" ||
    { echo "FAILED: the manifest lacks ringmaster"; failed=1; }

# build_again NAME: builds the image from what the first stage has compiled, and takes no other
# layer from the engine's cache. With RINGMASTER_LONG it compiles everything again, too.
build_again() {
    docker build ${RINGMASTER_LONG:+--no-cache} --network host --target build \
        --tag ringmaster-stage "$top" >"$work/log" 2>&1 &&
        awk '/^FROM .* AS build$/ { print "FROM ringmaster-stage AS build"; left_out = 1; next }
            /^FROM / { left_out = 0 }
            !left_out' "$top/Dockerfile" |
        docker build --network host --no-cache --tag "$1" --file - "$top" \
            >>"$work/log" 2>&1 && return
    tail -n 20 "$work/log"
    echo "FAILED: $1 cannot be built"
    exit 1
}
# Installing packages gives the same files each time, unless the distribution has newer packages.
an_image_built_again_is_the_same() {
    first=$image
    build_again ringmaster-again
    if [ "$(packages "$image")" != "$(packages ringmaster-again)" ]; then
        echo "the distribution has other packages by now: two images are built of these"
        first=ringmaster-again-first
        docker tag ringmaster-again "$first"
        build_again ringmaster-again
    fi
    consist_of_the_same "$first" ringmaster-again
    docker image rm ringmaster-again ringmaster-again-first >/dev/null 2>&1
    # The layers that the stage was made of stay (--no-prune): they are the next build's cache.
    docker image rm --no-prune ringmaster-stage >/dev/null 2>&1
}
an_image_built_again_is_the_same
# An image can be built on a base of one's own, of the same distribution. This base has most
# packages already.
own_base=ringmaster-base:test
a_base_of_ones_own_is_taken() {
    printf 'FROM %s\nLABEL of=ours\n' "$image" |
        docker build --tag "$own_base" - >"$work/log" 2>&1 || return
    RINGMASTER_IMAGE=ringmaster-own:test sh "$top/docker/build.sh" \
        --build-arg BUILD_BASE=debian:bookworm-slim \
        --build-arg "BASE=$own_base" >"$work/log" 2>&1 || return
    grep -q "^ringmaster-own:test: .* MB above $own_base\$" "$work/log" &&
        [ "$(docker image inspect --format '{{index .Config.Labels "of"}}' \
            ringmaster-own:test)" = ours ] &&
        [ "$(docker run --rm --network none ringmaster-own:test ringmaster version)" = \
            "$(docker run --rm --network none "$image" ringmaster version)" ]
}
a_base_of_ones_own_is_taken ||
    { tail -n 20 "$work/log"; echo "FAILED: no image on a base of one's own"; failed=1; }
docker image rm ringmaster-own:test "$own_base" >/dev/null 2>&1
said=$(docker run --rm --network none "$image" echo foreign commands run)
[ "$said" = 'foreign commands run' ] || { echo "FAILED: a foreign command said '$said'"; failed=1; }
# Only root can read the seed: another user needs a RINGMASTER_KEY, and the failure says so.
code=0
said=$(docker run --rm --network none --user 4321:4321 --env RINGMASTER_HOSTS=a,b \
    --env RINGMASTER_HOST=a "$image" train -- true 2>&1) || code=$?
case $code:$said in
65:*'is not for user 4321 to read: give all hosts the same RINGMASTER_KEY'*) ;;
*) echo "FAILED: a user who cannot read the seed ends with $code: $said"; failed=1 ;;
esac
exit "$failed"
