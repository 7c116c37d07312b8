#!/bin/sh
# The image: what it adds to its base, and what is and is not in it. It is made here, beside other
# tests, for those on containers, too.
# shellcheck disable=SC2154  # engine.sh's variables
set -u
# shellcheck source=/dev/null
. "$(dirname "$0")/engine.sh"

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
for label in title description licenses version revision; do
    text=$(docker image inspect --format "{{index .Config.Labels \"org.opencontainers.image.$label\"}}" "$image")
    [ -n "$text" ] && [ "$text" != unknown ] || { echo "FAILED: no label $label"; failed=1; }
done
# The list of contents is there, of this image, and two containers consist of the same.
list=/usr/local/share/doc/ringmaster/sbom.spdx.json
for what in '"name":"ringmaster"' '"name":"openmpi-bin"' '"name":"libjansson4"' /usr/local/bin/ringtrain; do
    docker run --rm --network none "$image" grep -q -F -e "$what" $list ||
        { echo "FAILED: $list lacks $what"; failed=1; }
done
manifest() { docker run --rm --network none --volume "$top/docker:/docker:ro" "$image" sh /docker/contents.sh manifest; }
[ "$(manifest)" = "$(manifest)" ] || { echo "FAILED: two containers differ"; failed=1; }
manifest | grep -q ' ./usr/local/bin/ringmaster$' || { echo "FAILED: the manifest lacks ringmaster"; failed=1; }
said=$(docker run --rm --network none "$image" echo foreign commands run)
[ "$said" = 'foreign commands run' ] || { echo "FAILED: a foreign command said '$said'"; failed=1; }
exit "$failed"
