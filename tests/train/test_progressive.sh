#!/bin/sh
# Tests smaller pictures in the first epochs (--progressive): the epochs of one size are those of a
# run with that size alone, evaluation uses the full size, ranks agree, and a run in parts has the
# bits of an uninterrupted one.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
make_data 64 16
flags="$common --data $data --schedule constant --warmup-epochs 0 --image-size 40
    --augment crop --eval-every 1"

# train CODE NAME FLAGS...
train() {
    wanted=$1 name=$2
    shift 2
    # shellcheck disable=SC2086  # a list
    code "$wanted" "$ringtrain" train $flags --model-dir "$work/$name.model" \
        --checkpoint-dir "$work/$name" "$@"
}
weights() { echo "$work/$1/step-$(printf %09d "$2").safetensors"; }

echo "two epochs of 24 px, one of 32, then 40"
train 0 grown --epochs 4 --progressive 24:2,32:3 --keep 9
says "pictures: 24 px up to epoch 2, 32 px up to epoch 3, then 40 px"
train 0 small --epochs 2 --image-size 24
same_weights "$(weights grown 16)" "$(weights small 16)" exact ""
train 0 full --epochs 4
other_weights "$(weights grown 32)" "$(weights full 32)" ""

echo "cut within epochs of each size"
train 0 parts --epochs 4 --progressive 24:2,32:3 --steps 5
for steps in 13 20 30; do
    train 0 parts --epochs 4 --progressive 24:2,32:3 --steps $steps
done
train 0 parts --epochs 4 --progressive 24:2,32:3
same_weights "$work/grown.model/model.safetensors" "$work/parts.model/model.safetensors" exact ""

echo "other sizes are another recipe"
train 0 cut --epochs 4 --progressive 24:2 --steps 5
train 65 cut --epochs 4 --progressive 24:3
says "progressive"

echo "what cannot be"
train 64 bad --progressive 40:1
says "--progressive: '40:1' is no SIDE:EPOCH with a side below --image-size 40"
train 64 bad --progressive 4:1
says "--progressive: "
code 64 "$ringtrain" train --model vgg16 --data "$data" --progressive 160:1
says "--progressive: "

if can_mpirun; then
    echo "two ranks"
    # shellcheck disable=SC2086
    code 0 ranks 2 "$ringtrain" train $flags --batch-size 4 --epochs 2 --progressive 24:1 \
        --verify-every 4 --model-dir "$work/two.model" --checkpoint-dir "$work/two"
fi
