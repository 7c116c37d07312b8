#!/bin/sh
# A step of the whole network as each preset builds it, forward and back, on the CPU's backend and on the one that says what
# every operator means.
#
# Where both choose the same, all gradients are within 1e-4 of the largest of their tensor. But a value on a ReLU's edge falls
# to either side of it, which moves the gradients of that one channel (by up to 0.04 here: one row of fc6), and of two regions
# on the edge of a choice one or the other is learnt from, which moves all of fc6 (by up to 0.08, with 64 regions). From six
# starts of each preset one or the other befell eight of eighteen. A fault would show from every start: so one of six has to
# agree in everything.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
"$ringtrain" version | grep -q 'oneDNN' || skip "this build has no backend cpu"
set_dir=$work/set
"$ringtrain" prepare shapes --coco "$set_dir" --train 4 --validation 2 >"$work/out" || fail "no set"
# shellcheck disable=SC2034  # read by lib.sh
flags="--model maskrcnn_tiny --batch-size 1 --threads 1 --data-threads 1 --log metrics --report-every 1 --warmup-steps 0 --lr 0.001
    --lr-batch 0 --steps 1 --short-side 64 --long-side 64 --train-set train --validation none --anchor-samples 64 --region-samples 64"

# agree PRESET SEED: losses, gradients, statistics and weights of the first step; says what does not.
agree() {
    for kind in ref cpu; do
        train "$kind.$1.$2" --preset "$1" --seed "$2" --backend "$kind" --convs direct
        # Each of the five losses and the accuracy; their values are told with six digits.
        grep '^train step=1 ' "$work/$kind.$1.$2.out" | tr ' ' '\n' | grep -E '^(loss|label)[a-z_]*=' >"$work/$kind"
    done
    paste -d ' ' "$work/ref" "$work/cpu" | awk -F '[= ]' '
        { bound = 1e-4 * ($2 < 0.01 ? 0.01 : $2); if ($1 != $3 || $2 - $4 > bound || $4 - $2 > bound) bad = bad " " $0 }
        END { if (NR < 7 || bad != "") { print "other losses:" bad; exit 1 } }' || return 1
    # What the optimizer keeps after the first step is the gradient.
    "$tools/weights_compare" "$work/ref.$1.$2/step-000000001.safetensors" "$work/cpu.$1.$2/step-000000001.safetensors" \
        1e-4 optimizer. || return 1
    # Running statistics, and weights, which a step changes by little but those that begin at 0.
    "$tools/weights_compare" "$work/ref.$1.$2.model/model.safetensors" "$work/cpu.$1.$2.model/model.safetensors" \
        1e-4 "" num_batches
}

for preset in tv d2 mlperf; do
    for seed in 1 2 3 4 5 6; do
        echo "$preset from start $seed"
        if agree "$preset" "$seed"; then
            continue 2
        fi
    done
    fail "$preset: not the reference's gradients from any start"
done
cmp -s "$work/ref.d2.1/step-000000001.safetensors" "$work/ref.mlperf.1/step-000000001.safetensors" && fail "presets are alike" || :
