#!/bin/sh
# Tests the Mask R-CNN example, cut to a few steps, on namespaces: where a rank is killed in the
# middle of training, the final weights are those of an undisturbed run.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
[ "$(id -u)" = 0 ] || { echo "skipped: hosts need root"; exit 77; }
unshare --net --pid --mount --uts --ipc --fork true 2>/dev/null ||
    { echo "skipped: no namespaces"; exit 77; }
[ -x "${RINGMASTER_BIN:-$top/build/release/bin}/ringtrain" ] ||
    { echo "skipped: ringtrain is not built"; exit 77; }
unset RINGMASTER_BIN
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# The log has the fifth step some seconds before the last one, so a rank can be killed in between.
MASKRCNN_FLAGS="--recipe shapes --steps 24 --checkpoint-every 3 --report-every 1"
export MASKRCNN_FLAGS="$MASKRCNN_FLAGS --eval-every 0 --validation none"

# run [NAME=VALUE]: runs the example and prints the checksum of its weights.
run() {
    env "$@" EXAMPLE_DRIVER=ns sh "$top/examples/maskrcnn.sh" >"$log" 2>&1 ||
        { tail -n 50 "$log" >&2; exit 1; }
    sed -n 's/^Model:.* weights \(crc32c:.*\)$/\1/p' "$log"
}

whole=$(run)
killed=$(run MASKRCNN_KILL=5)
grep -q 'killed by signal 9' "$log" || { echo "FAILED: no rank was killed"; exit 1; }
grep -q 'train step=24 ' "$log" || { echo "FAILED: it did not come to its end"; exit 1; }
case $whole in crc32c:????????) ;; *) echo "FAILED: no checksum: '$whole'"; exit 1 ;; esac
[ "$whole" = "$killed" ] || { echo "FAILED: other weights: $whole, $killed"; exit 1; }
echo "the same weights: $whole"
