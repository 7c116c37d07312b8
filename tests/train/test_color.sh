#!/bin/sh
# Tests colour augmentation: it is the same for any number of threads and after a resume, and
# evaluations have none.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
make_data 64 16
flags="--model resnet20 --batch-size 8 --threads 1 --log metrics --data $data
    --schedule constant --report-every 1"

# train NAME FLAGS...: trains with $flags, its output in $work/NAME.out and $work/NAME.err.
train() {
    name=$1
    shift
    # shellcheck disable=SC2086  # a list
    "$ringtrain" train $flags --model-dir "$work/$name.model" --checkpoint-dir "$work/$name" "$@" \
        >"$work/$name.out" 2>"$work/$name.err"
}
last=step-000000012.safetensors

train none --data-threads 1 --steps 12 || fail "none"
for color in mxnet tf torchvision:0.4,0.4,0.4,0.1; do
    echo "$color: with one thread and with three, whole and in two parts"
    tag=${color%%:*}
    train "$tag" --color $color --data-threads 1 --steps 12 || {
        cat "$work/$tag.err"
        fail "$color"
    }
    train "$tag.threads" --color $color --data-threads 3 --steps 12 || fail "$color, three threads"
    same_weights "$work/$tag/$last" "$work/$tag.threads/$last" exact ""
    train "$tag.parts" --color $color --data-threads 1 --steps 5 || fail "$color, first part"
    train "$tag.parts" --color $color --data-threads 1 --steps 12 || fail "$color, second part"
    same_weights "$work/$tag/$last" "$work/$tag.parts/$last" exact ""
    ! cmp -s "$work/none.model/model.safetensors" "$work/$tag.model/model.safetensors" ||
        fail "$color changes nothing"
    checks=$((checks + 1))
done

echo "a model scores the same whatever colours it was trained with"
want=$(evaluations "$work/mxnet.out" | tail -n 1 | grep -oE 'loss=[0-9.]+')
"$ringtrain" eval --model-dir "$work/mxnet.model" --data "$data" --threads 1 --batch-size 8 \
    >"$work/eval.out" 2>"$work/eval.err" || fail "eval"
grep -q -e "$want" "$work/eval.out" || fail "other score: $want, $(cat "$work/eval.out")"
checks=$((checks + 1))

echo "what cannot be is refused, and another colour is another recipe"
status=0
train bad --color sepia --steps 1 || status=$?
[ "$status" = 64 ] && grep -q -e "--color: 'sepia' is not none, mxnet, tf or" "$work/bad.err" ||
    fail "$(cat "$work/bad.err")"
status=0
train mxnet --color tf --data-threads 1 --steps 20 || status=$?
[ "$status" = 65 ] && grep -q 'color tf (was mxnet)' "$work/mxnet.err" ||
    fail "$(cat "$work/mxnet.err")"
checks=$((checks + 2))
