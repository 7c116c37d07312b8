#!/bin/sh
# Tests --convs: Winograd convolutions differ from direct ones by rounding only, and a checkpoint
# records the flag.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
"$ringtrain" version | grep -q 'oneDNN' || skip "this build has no backend cpu"
make_data 32 8
set_dir=$data
# shellcheck disable=SC2034  # read by lib.sh
flags="$common --backend cpu --steps 1 --lr 0.01"
train direct --convs direct
train again --convs direct
train winograd --convs winograd
train auto
weights=step-000000001.safetensors
same_weights "$work/direct/$weights" "$work/again/$weights" exact ""
# If the input of a ReLU is almost 0, another rounding may change its sign, and the gradients of all
# layers before it, biases of norms above all, change by 1 %. So seeds are tried with two pictures
# until one has no such value: the whole network agrees then, which it would not with a fault in the
# convolutions. Bounds for each operator are in tests/ops.
flags="--model resnet20 --batch-size 2 --threads 1 --data-threads 1 --log metrics
    --backend cpu --steps 1 --lr 0.01"
# agree CONVS: with some seed these convolutions give the same weights as direct ones, to 1e-4.
agree() {
    checks=$((checks + 1))
    for seed in 1 2 3 4 5 6 7 8 9 10; do
        train "direct-$seed" --convs direct --seed "$seed"
        train "$1-$seed" --convs "$1" --seed "$seed"
        "$tools/weights_compare" "$work/direct-$seed.model/model.safetensors" \
            "$work/$1-$seed.model/model.safetensors" 1e-4 "" num_batches \
            >"$work/compared" && return 0
    done
    cat "$work/compared"
    fail "convolutions by $1 agree with direct ones of no seed"
}
agree winograd
agree auto
flags="$common --backend cpu --steps 1 --lr 0.01"
# --convs winograd has an effect.
other_weights "$work/direct/$weights" "$work/winograd/$weights" ""
code 0 "$ringtrain" eval --model-dir "$work/direct.model" --data "$data" --threads 1 --convs direct
cp "$work/out" "$work/direct.eval"
code 0 "$ringtrain" eval --model-dir "$work/direct.model" --data "$data" --threads 1 \
    --convs winograd
[ "$(scores "$work/out" | sed 's/ loss=.*//')" = \
    "$(scores "$work/direct.eval" | sed 's/ loss=.*//')" ] || fail "other scores"
# shellcheck disable=SC2086  # a list
code 0 "$ringtrain" train $flags --data "$set_dir" --model-dir "$work/direct.model" \
    --checkpoint-dir "$work/direct" --steps 2 --convs winograd
says "convs winograd (was direct)"
code 64 "$ringtrain" train --data "$data" --convs fast
says "--convs"
"$ringtrain" eval --help | grep -q -- '--convs auto|direct|winograd' ||
    fail "--convs is not in the help of eval"
