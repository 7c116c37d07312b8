#!/bin/sh
# Tests a run that continues with another batch size, number of ranks, data set or recipe: its
# newest checkpoint is found, epochs end where they should, and each difference is reported by name.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
make_data 160 20
kept=$work/kept
flags="--model resnet20 --threads 1 --data-threads 1 --log metrics --report-every 1 --data $data
    --validation none --model-dir $work/model --checkpoint-dir $kept --schedule constant"

# train FLAGS...: trains; the output is in $work/out and $work/err.
train() {
    # shellcheck disable=SC2086  # a list
    code 0 "$ringtrain" train $flags "$@"
}

# resumed STEP: the training resumed from the checkpoint of STEP.
resumed() {
    says "resumed from $kept/step-$(printf %09d "$1").safetensors"
}

first_step() {
    losses "$work/out" | sed -n '1s/ .*//p'
}

echo "a larger batch: fewer steps, and still the newest is taken"
train --batch-size 4 --epochs 2
[ -f "$kept/step-000000080.safetensors" ] || fail "not 80 steps"
train --batch-size 32 --epochs 5
resumed 80
says ": 10 steps done (80 in the checkpoint, whose steps or data had another size)"
[ "$(first_step)" = 11 ] || fail "goes on at $(first_step), not 11"
train --batch-size 32 --epochs 6
resumed 25
[ "$(first_step)" = 26 ] || fail "goes on at $(first_step), not 26"
[ "$(find "$kept" -name 'step-*' | sort | xargs -n 1 basename | tr '\n' ' ')" = \
    "step-000000025.safetensors step-000000030.safetensors " ] || fail "other files: $(ls "$kept")"

echo "a smaller batch again"
train --batch-size 8 --epochs 7
resumed 30
[ "$(first_step)" = 121 ] || fail "goes on at $(first_step), not 121"

echo "epochs end when the place lies behind their last whole step"
rm -r "$kept"
train --batch-size 4 --steps 38
train --batch-size 128 --epochs 5
resumed 38
[ "$(first_step)" = 2 ] || fail "goes on at $(first_step), not 2"
# Each epoch has one checkpoint: the last two are of steps 4 and 5.
[ -f "$kept/step-000000004.safetensors" ] && [ -f "$kept/step-000000005.safetensors" ] ||
    fail "not a checkpoint an epoch: $(ls "$kept")"

echo "a fresh start in the same folder is the newest from its first checkpoint on"
train --batch-size 8 --steps 3 --resume none
says "holds a checkpoint of step 5 of an earlier run"
train --batch-size 8 --steps 5
resumed 3
echo "so is one that goes back to an older checkpoint"
train --batch-size 8 --steps 4 --resume "$kept/step-000000003.safetensors"
train --batch-size 8 --steps 6
resumed 4

echo "what differs is logged"
train --batch-size 8 --steps 8 --resume "$kept/step-000000006.safetensors" --lr 5 --schedule step \
    --momentum 0.1 --weight-decay 0.1 --label-smoothing 0.3 --augment center --flip false \
    --nesterov true --decay-all false --lr-batch 0 --warmup-epochs 1
for word in "total_steps 8 (was 6)" "lr 5 (was 0.1)" "schedule step (was constant)" \
    "momentum 0.1 (was 0.9)" "weight-decay 0.1 (was 0.0001)" "label-smoothing 0.3 (was 0)" \
    "augment center (was auto)" "flip false (was true)" "nesterov true (was false)" \
    "decay-all false (was true)" "lr-batch 0 (was 256)" "warmup-epochs 1 (was 0)"; do
    says "$word"
done
cp -r "$data" "$work/other"
mv "$work/other/train/circle" "$work/other/train/cube"
# shellcheck disable=SC2086  # a list
code 66 "$ringtrain" train $flags --batch-size 8 --steps 9 --data "$work/other"
newest=$kept/step-000000008.safetensors
says "class 0 is 'cube' in the data and 'circle' in $newest; to start from its weights give --init $newest and another --checkpoint-dir"
rm "$work/other/train/cube/0000008.jpg"
mv "$work/other/train/cube" "$work/other/train/circle"
left=$(find "$work/other/train" -type f | wc -l)
train --batch-size 8 --steps 9 --resume "$newest" --data "$work/other"
says "data $work/other/train of $left images (was $data/train of 160 images)"
train --batch-size 8 --steps 9 --data "$work/other"
! grep -q "other settings than the run" "$work/err" || fail "a difference from itself"

echo "an --init that a checkpoint takes the place of is logged, with both names"
train --batch-size 8 --steps 10 --data "$work/other" --init "$work/model/model.safetensors" \
    --model-dir "$work/model2"
newest=$kept/step-000000010.safetensors
says "--init $work/model/model.safetensors is not read: the weights are those of $kept/step-000000009.safetensors"
train --batch-size 8 --steps 11 --data "$work/other" --init "$work/none" --resume "$newest"
says "--init $work/none is not read: the weights are those of $newest"
train --batch-size 8 --steps 1 --data "$work/other" --init "$work/model2/model.safetensors" \
    --resume none
says "initial weights from $work/model2/model.safetensors"
! grep -q "is not read" "$work/err" ||
    fail "an --init that was read is logged as unread"

if can_mpirun; then
    echo "half and double the ranks, again and again"
    rm -r "$kept"
    seen=0
    for n in 2 1 2 4 2 1; do
        # shellcheck disable=SC2086  # a list
        code 0 ranks "$n" "$ringtrain" train $flags --batch-size 8 --epochs $((seen + 1)) \
            --verify-every 1
        [ "$seen" = 0 ] || says "resumed from $newest"
        seen=$((seen + 1))
        newest=$kept/step-$(printf %09d $((160 / 8 / n * seen))).safetensors
        [ -f "$newest" ] || fail "no $newest"
    done
fi
