#!/bin/sh
# A step of the whole network as each preset builds it, forward and back, on the CPU's backend and on the one that says what
# every operator means.
# shellcheck disable=SC2154  # variables of lib.sh
set -eu
. "$(dirname "$0")/lib.sh"
"$ringtrain" version | grep -q 'oneDNN' || skip "this build has no backend cpu"
set_dir=$work/set
"$ringtrain" prepare shapes --coco "$set_dir" --train 4 --validation 2 >"$work/out" || fail "no set"
# shellcheck disable=SC2034  # read by lib.sh
flags="--model maskrcnn_tiny --batch-size 1 --threads 1 --data-threads 1 --log metrics --report-every 1 --warmup-steps 0 --lr 0.001
    --lr-batch 0 --steps 1 --short-side 64 --long-side 64 --train-set train --validation none"
for preset in tv d2 mlperf; do
    train "ref.$preset" --preset "$preset" --backend ref
    train "cpu.$preset" --preset "$preset" --backend cpu --convs direct
    # Each of the five losses and the accuracy; their values are told with six digits.
    for kind in ref cpu; do
        grep '^train step=1 ' "$work/$kind.$preset.out" | tr ' ' '\n' | grep -E '^(loss|label)[a-z_]*=' >"$work/$kind"
    done
    paste -d ' ' "$work/ref" "$work/cpu" | awk -F '[= ]' '
        { bound = 1e-3 * ($2 < 0.01 ? 0.01 : $2); if ($1 != $3 || $2 - $4 > bound || $4 - $2 > bound) bad = bad " " $0 }
        END { if (NR < 7 || bad != "") { print "other losses:" bad; exit 1 } }' || fail "$preset"
    # What the optimizer keeps after the first step is the gradient. A value on a ReLU's edge falls to either side of it,
    # which in the proposals' head, whose gradients are the smallest, has been seen as 0.007 of the largest one.
    same_weights "$work/ref.$preset/step-000000001.safetensors" "$work/cpu.$preset/step-000000001.safetensors" 0.02 optimizer.
    # Running statistics, and weights, which a step changes by little but those that begin at 0.
    same_weights "$work/ref.$preset.model/model.safetensors" "$work/cpu.$preset.model/model.safetensors" 0.02 "" num_batches
done
cmp -s "$work/ref.d2/step-000000001.safetensors" "$work/ref.mlperf/step-000000001.safetensors" && fail "presets are alike" || :
