#!/bin/sh
# Tests --init for detectors, with models of their own: norms and the first layers stay as they are
# given, and settings that do not fit are refused.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
set_dir=$work/set
"$ringtrain" prepare shapes --coco "$set_dir" --side 64 --train 4 --validation 1 >"$work/out" ||
    fail "no set"
flags="--model maskrcnn_tiny --batch-size 1 --threads 1 --data-threads 1 --log metrics
    --report-every 1 --warmup-steps 1
    --short-side 64 --long-side 96 --validation none"

# train CODE NAME FLAGS...: trains with $flags on $set_dir; the exit code has to be CODE.
train() {
    wanted=$1 name=$2
    shift 2
    # shellcheck disable=SC2086  # a list
    code "$wanted" "$ringtrain" train $flags --data "$set_dir" --model-dir "$work/$name.model" \
        --checkpoint-dir "$work/$name" "$@"
}

# same NAME PREFIX, other NAME PREFIX: these weights equal the first model's, or differ from them.
first=$work/first.model/model.safetensors
same() {
    same_weights "$first" "$work/$1.model/model.safetensors" exact "backbone.body.$2" \
        .num_batches_tracked
}
other() {
    other_weights "$first" "$work/$1.model/model.safetensors" "backbone.body.$2" \
        .num_batches_tracked
}

echo "without --init everything is trained"
train 0 first --steps 1
train 0 more --steps 1 --seed 7
other more bn1.running_mean
other more conv1

echo "with it norms stay, and the stem and the first stage"
train 0 given --steps 1 --init "$work/first.model/model.safetensors"
same given bn1.
same given layer4.0.bn3.
same given conv1.weight
same given layer1.0.conv2.
other given layer2.0.conv2.

echo "--frozen-stages says how many"
train 0 stem --steps 1 --init "$work/first.model/model.safetensors" --init-prefix '' \
    --frozen-stages 1
same stem conv1.weight
other stem layer1.0.conv2.
same stem layer1.0.bn2.

echo "what goes on with other weights constant is refused"
train 66 given --steps 2
says \
    "step-000000001.safetensors is of a network with norms that are constant, not trained; give the same --init"
train 66 given --steps 2 --init "$work/first.model/model.safetensors" --frozen-stages 1
says "step-000000001.safetensors is of a training with --frozen-stages 2, not 1"

echo "a prefix under which nothing is"
train 66 none --steps 1 --init "$work/first.model/model.safetensors" --init-prefix encoder.
says "first.model/model.safetensors: no weight of the model has the prefix \"encoder.\""

echo \
 "weights for ids up to 90 keep their predictors: labels are ids then, for what uses the model, too"
cp -r "$set_dir" "$work/wide"
awk 'BEGIN {
    for (i = 1; i <= 90; i++)
        printf "%s{\"id\":%d,\"name\":\"%s\"}", (i == 1 ? "" : ","), i, "c" i
}' >"$work/categories"
for part in train val; do
    json=$work/wide/annotations/instances_$part.json
    sed "s/\"categories\":\[.*/\"categories\":[$(cat "$work/categories")]}/" \
        "$set_dir/annotations/instances_$part.json" >"$json"
done
narrow=$set_dir
set_dir=$work/wide
train 0 ninety --steps 1
set_dir=$narrow
train 0 kept --steps 1 --lr 0 --init "$work/ninety.model/model.safetensors"
says "91 rows of classes: labels are category ids, which go up to 90"
! grep -q "start values" "$work/err" || fail "a predictor was left out"
same_weights "$work/ninety.model/model.safetensors" "$work/kept.model/model.safetensors" exact \
    roi_heads.
code 0 "$ringtrain" eval --model-dir "$work/kept.model" --data "$set_dir" --threads 1
code 0 "$ringtrain" predict --model-dir "$work/kept.model" --out "$work/seen" --threads 1 \
    --score-threshold 0 "$set_dir/val"
! grep -oE '"category_id": *[0-9]+' "$work/seen/predictions.json" |
    grep -vE ' *(3|17|90)$' || fail "labels without a category"
