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
said=$(docker run --rm --network none "$image" echo foreign commands run)
[ "$said" = 'foreign commands run' ] || { echo "FAILED: a foreign command said '$said'"; failed=1; }
exit "$failed"
