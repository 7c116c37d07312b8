#!/bin/sh
# Tests the quickstart on namespaces, as where there is no container engine: it builds ringmaster,
# trains on three hosts, and an evaluation shows that the model has learned.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
[ "$(id -u)" = 0 ] || { echo "skipped: hosts need root"; exit 77; }
unshare --net --pid --mount --uts --ipc --fork true 2>/dev/null ||
    { echo "skipped: no namespaces"; exit 77; }
[ -x "${RINGMASTER_BIN:-$top/build/release/bin}/ringtrain" ] ||
    { echo "skipped: ringtrain is not built"; exit 77; }
unset RINGMASTER_BIN
EXAMPLE_DRIVER=ns sh "$top/examples/quickstart.sh"
