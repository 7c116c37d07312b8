#!/bin/sh
# The quickstart on namespaces, as where no engine can be had: a build of its own, three hosts, and an
# evaluation that shows that they have learned.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
[ "$(id -u)" = 0 ] || { echo "skipped: hosts need root"; exit 77; }
unshare --net --pid --mount --uts --ipc --fork true 2>/dev/null || { echo "skipped: no namespaces"; exit 77; }
[ -x "${RINGMASTER_BIN:-$top/build/release/bin}/ringtrain" ] || { echo "skipped: ringtrain is not built"; exit 77; }
unset RINGMASTER_BIN
EXAMPLE_DRIVER=ns sh "$top/examples/quickstart.sh"
