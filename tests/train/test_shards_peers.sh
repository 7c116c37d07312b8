#!/bin/sh
# Shards by the formats' own packages, webdataset and tfrecord, train what the folder trains; ours are read by them. For `long`:
# the packages come from PyPI.
# shellcheck disable=SC2154,SC2086  # variables of lib.sh; lists
set -eu
. "$(dirname "$0")/lib.sh"
[ -n "${RINGMASTER_LONG:-}" ] || skip "sh tests/run.sh long: it takes packages from PyPI"
top=$(cd "$(dirname "$0")/../.." && pwd)
sh "$top/tests/venv.sh" shards webdataset==1.0.2 tfrecord==1.14.6 numpy >"$work/venv" 2>&1 ||
    { cat "$work/venv"; skip "webdataset and tfrecord are not here"; }
peers="$top/build/shards/bin/python $(dirname "$0")/shards_peers.py"
make_data 160 40

# train DATA NAME
train() {
    code 0 "$ringtrain" train $common --data "$1" --steps 20 --checkpoint-dir "$work/$2.checkpoints" --model-dir "$work/$2"
}

echo "their shards train the model that the folder trains"
mkdir -p "$work/theirs/tar" "$work/theirs/tfrecord"
$peers write "$data" "$work/theirs"
train "$data" folder
for format in tar tfrecord; do
    train "$work/theirs/$format" "$format"
    cmp "$work/folder/model.safetensors" "$work/$format/model.safetensors" || fail "$format: another model"
done

echo "they read our shards"
for format in tar tfrecord; do
    code 0 "$ringtrain" prepare folder "$data" "$work/ours/$format" --format "$format" --shards 3
done
$peers read "$data" "$work/ours" || fail "they read other pictures"
checks=$((checks + 1))
