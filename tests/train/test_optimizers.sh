#!/bin/sh
# Tests that each optimizer learns and that its state, with the average of the weights, resumes
# bit-identically; that a run continues with another optimizer only on request; and recipes.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
make_data
flags="$common --data $data --schedule cosine --warmup-steps 4 --report-every 1 --eval-every 0"

# train NAME FLAGS...
train() {
    name=$1
    shift
    # shellcheck disable=SC2086  # a list
    "$ringtrain" train $flags --model-dir "$work/$name.model" --checkpoint-dir "$work/$name" "$@" \
        >"$work/$name.out" 2>"$work/$name.err"
}
# losses NAME: prints the first and the last loss.
losses() {
    sed -n 's/^train .*loss=\([0-9.]*\).*/\1/p' "$work/$1.out" | sed -n '1p;$p' | tr '\n' ' '
}

for optimizer in "lars --lr 0.5 --lr-batch 0 --trust 0.02" \
    "larc --lr 0.1 --lr-batch 0 --trust 0.02" adamw adagrad; do
    echo "$optimizer learns"
    tag=${optimizer%% *}
    # shellcheck disable=SC2086  # flags
    train "$tag" --optimizer $optimizer --report-every 50 --steps 100 || {
        cat "$work/$tag.err"
        fail "$tag"
    }
    losses "$tag" | awk '{ exit !($2 < 0.95 * $1) }' || fail "$tag learns nothing: $(losses "$tag")"
    checks=$((checks + 1))
done

echo "a run in two parts has the bits of the whole"
flags="$common --data $data --schedule constant --report-every 1"
for optimizer in "lars --lr 0.5 --lr-batch 0 --trust 0.02" adamw adagrad; do
    tag=${optimizer%% *}
    # shellcheck disable=SC2086
    train "$tag.one" --optimizer $optimizer --ema 0.9 --steps 30 || fail "$tag"
    # shellcheck disable=SC2086
    train "$tag.two" --optimizer $optimizer --ema 0.9 --steps 13 || fail "$tag, first part"
    # shellcheck disable=SC2086
    train "$tag.two" --optimizer $optimizer --ema 0.9 --steps 30 || fail "$tag, second part"
    same_weights "$work/$tag.one/step-000000030.safetensors" \
        "$work/$tag.two/step-000000030.safetensors" exact ""
    same_weights "$work/$tag.one.model/model.safetensors" "$work/$tag.two.model/model.safetensors" \
        exact ""
done

echo "dropout: a resumed run drops what the whole one does; a run without it is another one"
train dropout.one --dropout 0.3 --steps 30 --threads 2 || fail "dropout"
train dropout.two --dropout 0.3 --steps 13 || fail "dropout, first part"
train dropout.two --dropout 0.3 --steps 30 || fail "dropout, second part"
same_weights "$work/dropout.one.model/model.safetensors" \
    "$work/dropout.two.model/model.safetensors" 1e-3 ""
train dropout.whole --dropout 0.3 --steps 30 || fail "dropout, whole"
same_weights "$work/dropout.whole.model/model.safetensors" \
    "$work/dropout.two.model/model.safetensors" exact ""
train none --steps 30 || fail "without dropout"
other_weights "$work/none.model/model.safetensors" "$work/dropout.two.model/model.safetensors" ""
# shellcheck disable=SC2086
code 65 "$ringtrain" train $flags --model-dir "$work/dropout.two.model" \
    --checkpoint-dir "$work/dropout.two" --dropout 0.2 --steps 40
code 64 "$ringtrain" train --data synthetic --dropout 1
code 64 "$ringtrain" train --model maskrcnn_tiny --data "$work" --dropout 0.5

echo "the average is what is evaluated and published; the checkpoint has both"
cp -r "$work/adamw.one.model" "$work/average"
"$ringtrain" eval --model-dir "$work/average" --data "$data" --threads 1 --batch-size 8 \
    >"$work/eval.out" 2>"$work/eval.err" || fail "eval"
want=$(evaluations "$work/adamw.one.out" | tail -n 1 | grep -oE 'top1=[0-9.]+ ')
grep -q -e "$want" "$work/eval.out" ||
    fail "published model scores otherwise: $want, $(cat "$work/eval.out")"
grep -aq 'ema.fc.weight' "$work/adamw.one/step-000000030.safetensors" ||
    fail "no average in the checkpoint"
grep -aq 'optimizer.second.fc.weight' "$work/adamw.one/step-000000030.safetensors" ||
    fail "no second moments"
! grep -aq 'ema.fc.weight' "$work/average/model.safetensors" || fail "the model has both"
checks=$((checks + 4))

echo "another optimizer is another recipe; asked for, it begins with its state at zero"
status=0
train adamw.one --optimizer sgd --steps 40 || status=$?
[ "$status" = 65 ] || fail "went on with another optimizer: $status"
grep -q 'optimizer sgd (was adamw)' "$work/adamw.one.err" || fail "does not name the optimizer"
train adamw.one --optimizer sgd --steps 40 --resume "$work/adamw.one/step-000000030.safetensors" ||
    { cat "$work/adamw.one.err"; fail "asked for"; }
grep -q 'another optimizer: its state is not read' "$work/adamw.one.err" || fail "does not say so"
checks=$((checks + 3))

echo "recipes as flags, with sources"
"$ringtrain" train --recipe mlperf-resnet --print >"$work/recipe" || fail "no recipe"
grep -qE '^--optimizer lars +# ' "$work/recipe" || fail "$(cat "$work/recipe")"
grep -qE '^--trust 0.001 +# lars_optimizer.py' "$work/recipe" || fail "no source"
status=0
"$ringtrain" train --recipe mlperf-resnet --print --lr 1 2>"$work/err" || status=$?
[ "$status" = 64 ] && grep -q 'goes with --recipe NAME alone' "$work/err" ||
    fail "$(cat "$work/err")"
status=0
"$ringtrain" train --print 2>"$work/err" || status=$?
[ "$status" = 64 ] && grep -q 'needs --recipe NAME' "$work/err" || fail "$(cat "$work/err")"
checks=$((checks + 4))

echo "bench/flowers.sh takes the recipe, and flowers_torch.py its numbers"
bench=$(dirname "$0")/../../bench
grep -q -- '-np 3 ' "$bench/flowers.sh" &&
    grep -q -- '--recipe flowers --batch-size 32 ' "$bench/flowers.sh" || fail "not the recipe"
"$ringtrain" train --recipe flowers --print >"$work/recipe" || fail "no recipe"
# shellcheck disable=SC2046  # words
set -- $(sed -n 's/^CLASSES, SIDE, BATCH, EPOCHS, PEAK = //p' "$bench/flowers_torch.py" | tr -d ,) \
    $(sed -n 's/.*momentum=\([0-9.]*\), nesterov=True.*/\1/p' "$bench/flowers_torch.py") \
    $(sed -n 's/.*label_smoothing=\([0-9.]*\)).*/\1/p' "$bench/flowers_torch.py") \
    $(sed -n 's/.*scale=(\([0-9.]*\), 1)).*/\1/p' "$bench/flowers_torch.py")
[ $# = 8 ] || fail "flowers_torch.py has other lines: $*"
for flag in "image-size $2" "batch-size $3" "epochs $4" "lr $5" "momentum $6" "nesterov true" \
    "label-smoothing $7" "min-area $8"; do
    grep -q -- "^--$flag  *#" "$work/recipe" || fail "--$flag: $(cat "$work/recipe")"
done
checks=$((checks + 9))

echo "a recipe at another batch than its source's"
train small --recipe cifar-he --dtype f32 --steps 1 || fail "cifar-he"
grep -q 'warning .*cifar-he: its --lr 0.1 is for 128 images a step .* this job takes 8: give' \
    "$work/small.err" || fail "no warning: $(cat "$work/small.err")"
train rule --recipe mlperf-resnet --dtype f32 --steps 1 || fail "mlperf-resnet"
grep -q 'info .*mlperf-resnet for 8 images a step: --lr 10 --warmup-epochs 5' \
    "$work/rule.err" || fail "the rate is not told: $(cat "$work/rule.err")"
checks=$((checks + 2))

echo "one cycle: the rate rises and falls"
train cycle --schedule one-cycle --steps 20 --lr 0.2 --lr-batch 0 || fail "one-cycle"
sed -n 's/^train .* lr=\([0-9.e-]*\).*/\1/p' "$work/cycle.out" | awk '
    NR == 1 { first = $1 }
    $1 > most { most = $1 }
    END { exit !(most > 0.19 && first < 0.01 && $1 < 0.001) }' ||
    fail "rates: $(grep '^train' "$work/cycle.out")"
checks=$((checks + 1))
