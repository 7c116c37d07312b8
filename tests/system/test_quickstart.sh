#!/bin/sh
# Tests the quickstart on namespaces, as where there is no container engine: it builds ringmaster,
# trains on three hosts, and an evaluation shows that the model has learned. What it proposes to do
# with the model works as it is printed.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
[ "$(id -u)" = 0 ] || { echo "skipped: hosts need root"; exit 77; }
unshare --net --pid --mount --uts --ipc --fork true 2>/dev/null ||
    { echo "skipped: no namespaces"; exit 77; }
[ -x "${RINGMASTER_BIN:-$top/build/release/bin}/ringtrain" ] ||
    { echo "skipped: ringtrain is not built"; exit 77; }
unset RINGMASTER_BIN
work=$(mktemp -d) || exit 70
trap 'rm -rf "$work"' EXIT
EXAMPLE_DRIVER=ns sh "$top/examples/quickstart.sh" >"$work/out" || { cat "$work/out"; exit 1; }
cat "$work/out"

# The command takes two lines. Each picture is called after its class, and a model whose top-1 is
# 0.9 or more knows most of the eight.
sed -n '/ ringtrain predict /,/[^\\]$/p' "$work/out" >"$work/predict"
(cd "$top" && sh "$work/predict") >"$work/said" 2>&1 ||
    { cat "$work/predict" "$work/said"; exit 1; }
python3 - "$top/build/quickstart/predictions/predictions.json" <<'END'
import json
import pathlib
import sys

found = {pathlib.Path(one["file_name"]).stem: one["classes"][0]["name"]
         for one in json.loads(pathlib.Path(sys.argv[1]).read_text())["pictures"]}
right = [name for name in found if found[name] == name]
assert len(found) == 8 and len(right) >= 6, found
END
