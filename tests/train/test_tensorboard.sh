#!/bin/sh
# Tests that TensorBoard's own readers find all that a training writes for it: scalars of two runs,
# the augmented batch, predictions, flags, settings, the graph and histograms. It runs with `long`
# only: the package comes from PyPI.
# shellcheck disable=SC2154,SC2086  # variables of lib.sh; lists
set -eu
. "$(dirname "$0")/lib.sh"
[ -n "${RINGMASTER_LONG:-}" ] || skip "sh tests/run.sh long: it takes a package from PyPI"
top=$(cd "$(dirname "$0")/../.." && pwd)
sh "$top/tests/venv.sh" tensorboard tensorboard==2.21.0 setuptools==80.9.0 >"$work/venv" 2>&1 ||
    { cat "$work/venv"; skip "tensorboard is not here"; }
reads="$top/build/tensorboard/bin/python $(dirname "$0")/tensorboard_reads.py"

# train_and_read NAME TRAIN_TAGS EVAL_TAGS FLAGS...: trains, and reads the events with TensorBoard.
train_and_read() {
    name=$1
    tags=$2
    scores=$3
    shift 3
    code 0 "$ringtrain" train "$@" --seed 1 --histograms 3 --threads 1 --data-threads 1 \
        --pictures 3 --tensorboard-dir "$work/$name.events" --checkpoint-dir "$work/$name" \
        --model-dir "$work/$name.model"
    $reads "$work/$name.events" "$work/$name"/step-000000006.safetensors 6 "$tags" "$scores" \
        >"$work/read" 2>&1 || { cat "$work/read"; fail "$name: TensorBoard reads something else"; }
    checks=$((checks + 1))
}

echo "of a network that classifies"
make_data 40 20
train_and_read classes loss,learning_rate,images_per_second loss,top1 --model resnet20 \
    --batch-size 8 --steps 6 --data "$data"

echo "and of one that finds objects"
"$ringtrain" prepare shapes --coco "$work/set" --train 8 --validation 3 >"$work/out" ||
    fail "no set"
train_and_read objects loss,loss_mask bbox_mAP --model maskrcnn_tiny --batch-size 2 --steps 6 \
    --warmup-steps 0 --lr 0.005 --data "$work/set"
