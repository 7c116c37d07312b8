#!/bin/sh
# Tests Mask R-CNN as users start it, on a COCO folder of shapes: a run that is stopped and resumed
# has the same bits as one that is not, and a model gets the scores that its training printed.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
set_dir=$work/set
"$ringtrain" prepare shapes --coco "$set_dir" --train 16 --validation 4 >"$work/out" ||
    fail "no set"
flags="--model maskrcnn_tiny --batch-size 2 --threads 1 --data-threads 2 --log metrics
    --report-every 1 --warmup-steps 2 --epochs 2"

echo "losses, and 24 numbers at the end"
train whole --steps 5
grep -qE '^train step=5 .*loss=[0-9.]+ loss_classifier=.* loss_box_reg=.* loss_mask=.* loss_objectness=.* loss_rpn_box_reg=' \
    "$work/whole.out" || fail "no losses"
grep -qE '^eval .*bbox_mAP=.* segm_mAP=.* images=4 step=5 checkpoint_time=20..-..-..T..:..:..Z$' \
    "$work/whole.out" || fail "no scores of all pictures"

echo "cut and resumed: the same bits"
train parts --steps 2
train parts --steps 5
says "resumed from $work/parts/step-000000002.safetensors"
same_weights "$work/whole/step-000000005.safetensors" "$work/parts/step-000000005.safetensors" \
    exact ""
[ "$(scores "$work/whole.out")" = "$(scores "$work/parts.out")" ] || fail "other scores"

echo "the model's folder is scored as the training scored it"
code 0 "$ringtrain" eval --model-dir "$work/whole.model" --data "$set_dir" --threads 1 \
    --batch-size 2
[ "$(grep -cE '^(bbox|segm) by category$' "$work/out")" = 2 ] ||
    fail "no tables by category: $(cat "$work/out")"
tail -n 1 "$work/out" | grep -q '^eval ' || fail "the metric line is not the last"
[ "$(scores "$work/out")" = "$(scores "$work/whole.out")" ] || {
    cat "$work/out"
    fail "other scores"
}

echo "however many pictures it takes at once: its own number without a word"
for batch in "" "--batch-size 1" "--batch-size 3"; do
    # shellcheck disable=SC2086  # a list
    code 0 "$ringtrain" eval --model-dir "$work/whole.model" --data "$set_dir" --threads 1 $batch
    [ "$(scores "$work/out")" = "$(scores "$work/whole.out")" ] || {
        cat "$work/out"
        fail "other scores: $batch"
    }
done
! grep -q NaN "$work/err" || fail "NaN in a sound network"

echo "a network that has diverged is scored, and said to have"
train wild --steps 1 --warmup-steps 0 --clip-norm 0 --lr 1e6
grep -q '^eval .*bbox_mAP=0 ' "$work/wild.out" || { cat "$work/out"; fail "found something"; }
says "the network's output is NaN for 4 pictures: it has diverged"

echo "what cannot be"
code 64 "$ringtrain" train --model maskrcnn_tiny --data "$set_dir" --label-smoothing 0.1
says "--label-smoothing"
code 64 "$ringtrain" train --model resnet20 --data "$set_dir" --gt-slots 10
says "--gt-slots"
# shellcheck disable=SC2086  # a list
code 66 "$ringtrain" train $flags --data "$set_dir" --train-set none --model-dir "$work/m" \
    --checkpoint-dir "$work/c"
says "none"

if can_mpirun; then
    # run NAME RANKS ACCUMULATE: trains with this many ranks and parts of each batch.
    run() {
        # shellcheck disable=SC2086  # a list
        ranks "$2" "$ringtrain" train $flags --data "$set_dir" --steps 2 --accumulate "$3" \
            --model-dir "$work/$1.model" --checkpoint-dir "$work/$1" \
            >"$work/out" 2>"$work/err" || { cat "$work/err"; fail "$1"; }
        cp "$work/out" "$work/$1.out"
    }

    echo "two ranks do what one does in two parts: the same weights to the bit"
    run pair 2 1
    run one 1 2
    same_weights "$work/pair.model/model.safetensors" "$work/one.model/model.safetensors" exact "" \
        .running_ .num_batches_tracked
    losses "$work/pair.out" >"$work/pair.losses"
    losses "$work/one.out" | cmp - "$work/pair.losses" || fail "other losses"

    echo "a model is scored alike by one, two and three ranks, which have other numbers of pictures: scores and detections"
    ranks 1 "$ringtrain" eval --model-dir "$work/pair.model" --data "$set_dir" --threads 1 \
        --out "$work/found1" >"$work/eval1" 2>"$work/err" ||
        { cat "$work/err"; fail "eval"; }
    [ -n "$(scores "$work/eval1")" ] || fail "no scores"
    for n in 2 3; do
        ranks "$n" "$ringtrain" eval --model-dir "$work/pair.model" --data "$set_dir" --threads 1 \
            --out "$work/found$n" >"$work/eval$n" 2>"$work/err" ||
            { cat "$work/err"; fail "eval by $n ranks"; }
        [ "$(scores "$work/eval$n")" = "$(scores "$work/eval1")" ] || {
            cat "$work/eval1" "$work/eval$n"
            fail "other scores by $n ranks"
        }
        cmp "$work/found1/detections.json" "$work/found$n/detections.json" ||
            fail "other detections by $n ranks"
    done

    echo "three ranks see what one sees: the same samples and choices; sums of three differ in their last bits"
    flags="$flags --steps 1"
    run three 3 1
    run single 1 3
    same_weights "$work/three.model/model.safetensors" "$work/single.model/model.safetensors" \
        1e-6 "" .running_ .num_batches_tracked
    counts() { sed -n 's/^train step=1 .*\(label_accuracy=[^ ]*\).*/\1/p' "$1"; }
    [ -n "$(counts "$work/three.out")" ] &&
        [ "$(counts "$work/three.out")" = "$(counts "$work/single.out")" ] ||
        fail "other choices"
fi
