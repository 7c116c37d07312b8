#!/bin/sh
# Tests what evaluations of a detector write: detections that score the same, pictures and counts. A
# training with them has the same bits.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
set_dir=$work/set
"$ringtrain" prepare shapes --coco "$set_dir" --train 8 --validation 3 >"$work/out" || fail "no set"
# shellcheck disable=SC2034  # read by lib.sh
flags="--model maskrcnn_tiny --batch-size 2 --threads 1 --data-threads 1 --log metrics
    --report-every 1 --warmup-steps 0 --lr 0.005 --steps 2"

echo "what was found: a file that scores the same, pictures beside the truth, and the training's bits are the same"
train plain
train shown --out "$work/found" --tensorboard-dir "$work/events" --pictures 3
same_weights "$work/plain/step-000000002.safetensors" "$work/shown/step-000000002.safetensors" \
    exact ""
[ "$(scores "$work/shown.out")" = "$(scores "$work/plain.out")" ] || fail "other scores"
[ "$(find "$work/found/pictures" -name 'step-000000002-*.jpg' | wc -l)" = 3 ] ||
    fail "not three pictures"
grep -qa 'pictures/' "$work"/events/eval/events.out.tfevents.* ||
    fail "no pictures among the events"
grep -qa '_hparams_/session_start_info' "$work"/events/train/events.out.tfevents.* ||
    fail "no settings among the events"
if command -v python3 >/dev/null; then
    python3 "$(dirname "$0")/tfevents.py" "$work/events" >"$work/steps" || fail "no events"
    for scalar in loss loss_classifier loss_box_reg loss_mask loss_objectness loss_rpn_box_reg \
        label_accuracy foreground_regions; do
        grep -qx "train/$scalar 1 2" "$work/steps" ||
            fail "not two values of $scalar among the events"
    done
else
    skip_part "scalars in event files: no python3"
fi
# The scores equal the metric line's to six digits; as there, the area of a mask is its own, not the
# annotation's.
code 0 "$ringtrain" eval --coco "$set_dir/annotations/instances_val.json" \
    --results "$work/found/detections.json" \
    --segm-area mask --json "$work/scores.json"
for kind in bbox segm; do
    map=$(scores "$work/plain.out" | sed "s/.* ${kind}_mAP=\([^ ]*\) .*/\1/")
    tr -d '\n ' <"$work/scores.json" | sed "s/.*\"$kind\"://" |
        sed 's/{"stats":\[\([^,]*\),.*/\1/' |
        awk -v map="$map" '{ exit !(sprintf("%.6g", $1) == map) }' || {
            cat "$work/scores.json"
            fail "$kind: other scores"
        }
done
if can_pycocotools; then
    "$python" -c 'import sys
from pycocotools.coco import COCO
truth = COCO(sys.argv[1])
found = truth.loadRes(sys.argv[2])
assert len(found.anns) > 0 and all(
    found.annToMask(a).shape == (128, 128) for a in found.anns.values())' \
        "$set_dir/annotations/instances_val.json" "$work/found/detections.json" \
        >"$work/out" 2>&1 || { cat "$work/out"; fail "pycocotools"; }
fi

echo "objects that have no slot are counted"
train few --gt-slots 1
grep -q '^train .* objects_dropped=[1-9]' "$work/few.out" || fail "no count of objects"
grep -q '^train step=2 .* objects_dropped=0 ' "$work/plain.out" || fail "objects are missed"

echo "what cannot be written to is reported before the work"
: >"$work/taken"
code 65 "$ringtrain" eval --model-dir "$work/plain.model" --data "$set_dir" --out "$work/taken"
says "--out"
code 64 "$ringtrain" train --model resnet20 --data "$set_dir" --score-threshold 0.3
says "--score-threshold"
