#!/bin/sh
# Tests --preset: d2 and mlperf, which train Mask R-CNN as other implementations do, differ from tv,
# each model is scored as it was trained, and a stopped run of d2 resumes with the same bits.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
set_dir=$work/set
"$ringtrain" prepare shapes --coco "$set_dir" --train 12 --validation 3 >"$work/out" ||
    fail "no set"
flags="--model maskrcnn_tiny --batch-size 2 --threads 1 --data-threads 2 --log metrics
    --report-every 1 --warmup-steps 1 --lr 0.002 --epochs 2"

# loss NAME: prints the loss of the first step.
loss() {
    sed -n 's/^train step=1 .* loss=\([^ ]*\) .*/\1/p' "$work/$1.out"
}

for preset in tv d2 mlperf; do
    echo "$preset: trained and scored alike"
    train "$preset" --steps 2 --preset "$preset" --train-set train
    grep -q "\"preset\":[ ]*\"$preset\"" "$work/$preset.model/config.json" ||
        fail "config.json without the preset"
    code 0 "$ringtrain" eval --model-dir "$work/$preset.model" --data "$set_dir" --threads 1 \
        --batch-size 2
    [ "$(scores "$work/out")" = "$(scores "$work/$preset.out")" ] || {
        cat "$work/out"
        fail "other scores"
    }
done
[ -n "$(loss tv)" ] || fail "no loss"
[ "$(loss tv)" != "$(loss d2)" ] && [ "$(loss d2)" != "$(loss mlperf)" ] &&
    [ "$(loss tv)" != "$(loss mlperf)" ] ||
    fail "presets are alike"
grep -q '103.5' "$work/d2.model/config.json" || fail "config.json without detectron2's pixels"

echo "a model is used by its own rules; one of earlier versions has none"
# edited NAME SCRIPT: copies tv's model and edits its config.json with sed.
edited() {
    cp -r "$work/tv.model" "$work/$1"
    sed -i -e "$2" -e '/"checksum"/d' "$work/$1/config.json"
}
# found NAME: evaluates that model on the set and prints the number of its detections.
found() {
    code 0 "$ringtrain" eval --model-dir "$work/$1" --data "$set_dir" --threads 1 --batch-size 2 \
        --pictures 0 --out "$work/found"
    grep -o '"category_id"' "$work/found/detections.json" | wc -l
}
grep -q '"norm_epsilon": 1e-5' "$work/tv.model/config.json" ||
    fail "config.json without the norms' epsilon"
edited few 's/"box_detections_per_img": .*/"box_detections_per_img": 2/'
edited old '/"rules": {/,/}/d; s/\("epochs": .*\),$/\1/'
edited sharp 's/"norm_epsilon": [^,]*/"norm_epsilon": 0.5/'
edited wrong 's/"box_nms_thresh": [^,]*/"box_nms_thresh": 1.5/'
many=$(found tv.model)
[ "$many" -gt 6 ] || fail "$many detections"
[ "$(found few)" = 6 ] || fail "more than two detections of each of three pictures"
[ "$(found old)" = "$many" ] || fail "an old model finds something else"
[ "$(scores "$work/out")" = "$(scores "$work/tv.out")" ] || fail "an old model has other scores"
cp "$work/found/detections.json" "$work/detections.json"
found sharp >"$work/count"
cmp -s "$work/found/detections.json" "$work/detections.json" &&
    fail "an epsilon of 0.5 changes nothing"
code 66 "$ringtrain" eval --model-dir "$work/wrong" --data "$set_dir"
says "wrong/config.json: \"rules\": box_nms_thresh: 1.5 is not a number from 0 to 1"
train zero --steps 1 --train-set train --norm-epsilon 0
grep -q '"norm_epsilon": 0,' "$work/zero.model/config.json" ||
    fail "config.json without --norm-epsilon"
[ "$(loss zero)" != "$(loss tv)" ] || fail "an epsilon of 0 changes nothing"
# In mlperf, norms that stay as they are given have an epsilon of 0.
for epsilon in own:-1 none:0 some:0.00001; do
    train "${epsilon%:*}" --steps 1 --preset mlperf --train-set train \
        --init "$work/mlperf.model/model.safetensors" --norm-epsilon "${epsilon#*:}"
done
grep -q '"norm_epsilon": 0,' "$work/own.model/config.json" ||
    fail "mlperf's constant norms have an epsilon"
[ "$(loss own)" = "$(loss none)" ] || fail "mlperf with an epsilon"
[ "$(loss own)" != "$(loss some)" ] || fail "mlperf's epsilon changes nothing"
grep -q '"norm_epsilon": 1e-5' "$work/mlperf.model/config.json" ||
    fail "trained norms without an epsilon"

echo "cut and resumed with drawn sizes: the same bits"
train parts --steps 1 --preset d2 --train-set train
train parts --steps 2 --preset d2 --train-set train
says "resumed from $work/parts/step-000000001.safetensors"
same_weights "$work/d2/step-000000002.safetensors" "$work/parts/step-000000002.safetensors" exact ""

echo "a checkpoint of another preset is refused"
# shellcheck disable=SC2086  # a list
code 66 "$ringtrain" train $flags --data "$set_dir" --steps 6 --model-dir "$work/m" \
    --checkpoint-dir "$work/parts"
says "step-000000002.safetensors is of --preset d2, not tv"

echo "sizes that cannot be drawn, and layers that nothing has trained"
# refused WORDS FLAGS...: a training with these flags fails with 64 and this message.
refused() {
    words=$1
    shift
    # shellcheck disable=SC2086  # a list
    code 64 "$ringtrain" train $flags --data "$set_dir" --model-dir "$work/m" \
        --checkpoint-dir "$work/c" "$@"
    says "$words"
}
refused "short sides from 100 in steps of 32; expected to end at 128" --short-low 100
refused "--frozen-stages 2 needs --init" --frozen-stages 2
