#!/bin/sh
# Tests that shards written by webdataset, tfrecord and TensorFlow, and RecordIO written by its
# specification, train what the folder trains, and that these packages read our shards. It runs with
# `long` only: the packages come from PyPI, and TensorFlow has 270 MB.
# shellcheck disable=SC2154,SC2086  # variables of lib.sh; lists
set -eu
. "$(dirname "$0")/lib.sh"
[ -n "${RINGMASTER_LONG:-}" ] || skip "sh tests/run.sh long: it takes packages from PyPI"
here=$(dirname "$0")
top=$(cd "$here/../.." && pwd)
make_data 160 40

# train DATA NAME
train() {
    code 0 "$ringtrain" train $common --data "$1" --steps 20 \
        --checkpoint-dir "$work/$2.checkpoints" --model-dir "$work/$2"
}

# trains_the_same NAME: their shards of that name train the model that the folder trains.
trains_the_same() {
    train "$work/theirs/$1" "$1"
    cmp "$work/folder/model.safetensors" "$work/$1/model.safetensors" || fail "$1: another model"
}

# ours FORMAT: writes our shards of that format.
ours() {
    code 0 "$ringtrain" prepare folder "$data" "$work/ours/$1" --format "$1" --shards 3
}

mkdir -p "$work/theirs/tar" "$work/theirs/tfrecord" "$work/theirs/recordio" \
    "$work/theirs/tensorflow"
train "$data" folder
for format in tar tfrecord recordio; do
    ours $format
done

echo "RecordIO by its layout, with records in parts"
layout="python3 $here/recordio_layout.py"
if command -v python3 >/dev/null; then
    $layout write "$data" "$work/theirs/recordio" || fail "no records"
    trains_the_same recordio
    $layout read "$data" "$work/ours/recordio" || fail "they read other records"
    checks=$((checks + 1))
else
    skip_part "RecordIO: no python3"
fi

echo "webdataset and tfrecord"
if sh "$top/tests/venv.sh" shards webdataset==1.0.2 tfrecord==1.14.6 numpy >"$work/venv" 2>&1; then
    peers="$top/build/shards/bin/python $here/shards_peers.py"
    $peers write "$data" "$work/theirs"
    trains_the_same tar
    trains_the_same tfrecord
    $peers read "$data" "$work/ours" || fail "they read other pictures"
    checks=$((checks + 1))
else
    skip_part "webdataset and tfrecord are not here: $(tail -n 1 "$work/venv")"
fi

echo "TensorFlow, with ImageNet's labels from 1"
if sh "$top/tests/venv.sh" tensorflow tensorflow-cpu==2.21.0 >"$work/venv" 2>&1; then
    peers="$top/build/tensorflow/bin/python $here/shards_tensorflow.py"
    export TF_CPP_MIN_LOG_LEVEL=3 CUDA_VISIBLE_DEVICES=
    $peers write "$data" "$work/theirs/tensorflow" 2>"$work/err" || {
        cat "$work/err"
        fail "TensorFlow writes nothing"
    }
    trains_the_same tensorflow
    $peers read "$data" "$work/ours/tfrecord" 2>"$work/err" || {
        cat "$work/err"
        fail "TensorFlow reads other pictures"
    }
    checks=$((checks + 1))
else
    skip_part "TensorFlow is not here: $(tail -n 1 "$work/venv")"
fi
