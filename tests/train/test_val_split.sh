#!/bin/sh
# Tests --val-split: in a folder of classes without a validation part, a share of each class is held
# out.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
make_data 80 40
mv "$data/train" "$work/classes"

# train CODE NAME FLAGS...
train() {
    wanted=$1 name=$2
    shift 2
    # shellcheck disable=SC2086  # a list
    code "$wanted" "$ringtrain" train $common --data "$work/classes" --epochs 1 --report-every 1 \
        --checkpoint-dir "$work/$name.checkpoints" --model-dir "$work/$name" "$@"
}

echo "without a part nothing is evaluated, and the flag is named"
train 0 none
says "no validation data: nothing is evaluated"
says "--val-split"
! grep -q '^eval ' "$work/out" || fail "an evaluation"

echo "a share of each class is held out and evaluated on"
train 0 split --val-split 0.25
says "--val-split 0.25: 20 of 80 pictures are held out"
says "60 training images, 20 to evaluate on"
grep -q '^eval .*images=20' "$work/out" || fail "no evaluation of 20"
! grep -q 'no validation data' "$work/err" || fail "a warning all the same"
! grep -q 'ringtrain eval' "$work/err" ||
    fail "an evaluation of pictures that were learnt is proposed"

echo "the same seed holds out the same, on two ranks too; another one others"
evaluations "$work/out" >"$work/first"
train 0 split --val-split 0.25
says "steps are done already"
evaluations "$work/out" | cmp - "$work/first" || fail "another evaluation"
train 65 split --val-split 0.5
says "val-split 0.5 (was 0.25)"
if can_mpirun; then
    # shellcheck disable=SC2086  # a list
    code 0 mpirun $mpi -n 2 "$ringtrain" train $common --batch-size 4 --data "$work/classes" \
        --epochs 1 --report-every 1 --val-split 0.25 --checkpoint-dir "$work/two.checkpoints" \
        --model-dir "$work/two"
    says "--val-split 0.25: 20 of 80 pictures are held out"
    grep -q '^eval .*images=20' "$work/out" || fail "no evaluation of 20"
fi

echo "where there is something to evaluate on the flag is refused"
train 64 refused --val-split 0.25 --validation "$data/val"
says "--val-split: --validation $data/val"
# shellcheck disable=SC2086  # a list
code 64 "$ringtrain" train $common --data synthetic --val-split 0.25
says "--val-split: a synthetic set"
mv "$work/classes" "$data/train"
# shellcheck disable=SC2086  # a list
code 64 "$ringtrain" train $common --data "$data" --val-split 0.25
says "--val-split: there is a part to evaluate on, $data/val"
train 64 refused --val-split 1
