#!/bin/sh
# Tests that a run that was interrupted and resumed ends with the bits of an uninterrupted one.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
make_data
flags="$common --data $data --schedule constant --warmup-epochs 0.5 --momentum 0.9 --report-every 1"

# train NAME FLAGS...
train() {
    name=$1
    shift
    # shellcheck disable=SC2086  # a list
    "$ringtrain" train $flags --model-dir "$work/$name.model" --checkpoint-dir "$work/$name" "$@" \
        >"$work/$name.out" 2>"$work/$name.err" || { cat "$work/$name.err"; fail "$name"; }
}

echo "one run of 46 steps; another in three parts, cut within an epoch and at its end"
train whole --steps 46
train parts --steps 13
train parts --steps 40
grep -q 'resumed from .*step-000000013' "$work/parts.err" || fail "did not resume"
train parts --steps 46
same_weights "$work/whole/step-000000046.safetensors" "$work/parts/step-000000046.safetensors" \
    exact ""
same_weights "$work/whole.model/model.safetensors" "$work/parts.model/model.safetensors" exact ""
[ "$(evaluations "$work/whole.out" | tail -n 1)" = \
    "$(evaluations "$work/parts.out" | tail -n 1)" ] || fail "other evaluation"

echo "two checkpoints are kept; a damaged one is passed over"
[ "$(find "$work/parts" -maxdepth 1 -name '*.safetensors' | wc -l)" = 2 ] ||
    fail "not two checkpoints"
printf x | dd of="$work/parts/step-000000046.safetensors" bs=1 seek=5000 conv=notrunc 2>/dev/null
train parts --steps 46
grep -q 'resumed from .*step-000000040' "$work/parts.err" || fail "took the damaged checkpoint"
same_weights "$work/whole/step-000000046.safetensors" "$work/parts/step-000000046.safetensors" \
    exact ""

echo "a finished run does nothing but evaluate again"
train whole --steps 46
grep -q 'steps are done already' "$work/whole.err" || fail "trained again"
grep -q '^eval ' "$work/whole.out" || fail "no evaluation"

echo "TensorBoard has no step twice of a run that was killed behind a checkpoint, several times"
python=${RINGMASTER_PYTHON:-python3}
if command -v "$python" >/dev/null; then
    # A kill leaves events of steps after the newest checkpoint: older checkpoints imitate that.
    events="--tensorboard-dir $work/events --checkpoint-every 5 --eval-every 1"
    # shellcheck disable=SC2086  # a list
    train killed $events --steps 24
    for kept in 20 10 15; do
        find "$work/killed" -maxdepth 1 -name '*.safetensors' -delete
        # shellcheck disable=SC2086
        train killed_at $events --tensorboard-dir "$work/other" --steps $kept \
            --checkpoint-dir "$work/killed"
        # shellcheck disable=SC2086
        train killed $events --steps 24
        grep -q "resumed from .*step-0*$kept" "$work/killed.err" || fail "did not go on from $kept"
        "$python" "$(dirname "$0")/tfevents.py" "$work/events" >"$work/steps" || fail "no events"
        # An epoch has 20 steps.
        grep -qx "train/loss $(seq -s ' ' 24)" "$work/steps" ||
            fail "steps in TensorBoard: $(cat "$work/steps")"
        grep -qx "eval/loss 20 24" "$work/steps" ||
            fail "evaluations in TensorBoard: $(cat "$work/steps")"
        checks=$((checks + 2))
    done
    echo "nor of a finished one that is started again, whose last evaluation may be missing there"
    for turn in 1 2; do
        # shellcheck disable=SC2086
        train killed $events --steps 24
        grep -q 'steps are done already' "$work/killed.err" || fail "trained again"
        "$python" "$(dirname "$0")/tfevents.py" "$work/events" >"$work/steps" || fail "no events"
        grep -qx "train/loss $(seq -s ' ' 24)" "$work/steps" ||
            fail "steps, turn $turn: $(cat "$work/steps")"
        grep -qx "eval/loss 20 24" "$work/steps" ||
            fail "evaluations, turn $turn: $(cat "$work/steps")"
        checks=$((checks + 2))
    done
    # A finished run has no evaluation among its events if it was killed during the last one.
    # shellcheck disable=SC2086
    train killed $events --tensorboard-dir "$work/late" --steps 24
    "$python" "$(dirname "$0")/tfevents.py" "$work/late" >"$work/steps" || fail "no events"
    grep -qx "eval/loss 24" "$work/steps" || fail "the evaluation is lost: $(cat "$work/steps")"
    checks=$((checks + 1))
else
    skip_part "steps in event files: no $python"
fi

echo "a finished run is not handed out as another one"
refused() {
    # shellcheck disable=SC2086  # a list
    code 65 "$ringtrain" train $flags --model-dir "$work/whole.model" \
        --checkpoint-dir "$work/whole" "$@"
    says "nothing to train: $work/whole holds a finished run (46 steps done) with other settings: "
    says "use another --checkpoint-dir or --resume none"
    [ -z "$(losses "$work/out")" ] || fail "trained"
}
published() {
    cksum "$work"/whole/step-* "$work"/whole.model/model.safetensors "$work"/whole.model/config.json
}
published >"$work/before"
refused --steps 46 --lr 0.01
says "lr 0.01 (was 0.1)"
refused --steps 20
says "total_steps 20 (was 46)"
refused --steps 46 --batch-size 4 --accumulate 2
says "batch_size 4 (was 8)"
refused --steps 46 --init "$work/whole.model/model.safetensors" \
    --resume "$work/whole/step-000000046.safetensors"
says "init "
published | cmp - "$work/before" || fail "other files"

echo "what differs is logged; a recipe changes where its checkpoint is named"
# shellcheck disable=SC2086  # a list
code 65 "$ringtrain" train $flags --model-dir "$work/whole.model" --checkpoint-dir "$work/whole" \
    --steps 47 --seed 9
says "$work/whole/step-000000046.safetensors is from a run with other settings: seed 9 (was 0); to continue with the new ones give --resume $work/whole/step-000000046.safetensors"
train whole --steps 47 --seed 9 --resume "$work/whole/step-000000046.safetensors"
grep -q 'other settings than the run.*seed 9 (was 0)' "$work/whole.err" ||
    fail "difference not said"
# shellcheck disable=SC2086  # a list
code 66 "$ringtrain" train $flags --model resnet32 --steps 50 --checkpoint-dir "$work/whole" \
    --model-dir "$work/other"
says "holds resnet20, this run trains resnet32"

echo "a run that is launched again goes on from its own checkpoint, whatever --resume said"
export RINGMASTER_ATTEMPT=1 RINGMASTER_RUN_ID=0123456789abcdef
train whole --resume none --steps 5
export RINGMASTER_ATTEMPT=2
train whole --resume none --steps 8
grep -q 'resumed from .*step-000000005' "$work/whole.err" || fail "did not go on"
export RINGMASTER_RUN_ID=fedcba9876543210
train whole --resume none --steps 3
! grep -q 'resumed' "$work/whole.err" || fail "went on from the checkpoint of another run"
unset RINGMASTER_ATTEMPT RINGMASTER_RUN_ID

echo "the published model scores the same, by itself and as initial weights"
code 0 "$ringtrain" eval --model-dir "$work/parts.model" --data "$data" --threads 1 --batch-size 8
[ "$(scores "$work/out")" = "$(scores "$work/parts.out")" ] || fail "other score"
# shellcheck disable=SC2086  # a list
code 0 "$ringtrain" train $flags --steps 1 --lr 0 --resume none --checkpoint-dir "$work/init" \
    --model-dir "$work/init.model" --init "$work/parts.model/model.safetensors" --weight-decay 0
same_weights "$work/init.model/model.safetensors" "$work/parts.model/model.safetensors" exact fc.
