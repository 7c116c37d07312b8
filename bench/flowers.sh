#!/bin/sh
# Trains the flowers recipe with ringtrain in three ranks and with PyTorch in one process, from the
# same initial weights. Prints top-1 on 860 pictures and seconds, a line for each seed.
#
#   RINGMASTER_DATA=DIR sh bench/flowers.sh [SEED...]        default seeds 0 1 2
#
#   RINGMASTER_DATA   a folder with flowers/{train,val}/CLASS/*.jpg or flowers.tar.gz
#   PYTHON            a Python with torch and torchvision, default python3
#   PRESET            preset of the build that is measured, default release
#   TORCH=0           leaves PyTorch's training out, but still uses its initial weights
#   OUT               a folder that keeps models and logs
#
# Recipe: ResNet-18 from torchvision's initial weights, 112 px, global batch 96, 12 epochs, bf16
# with f32 master weights, SGD with Nesterov momentum 0.9, decay 5e-4 on everything, label smoothing
# 0.1, peak rate 0.05 after one epoch of warm-up, cosine to 0. Batch norm sees 32 pictures per rank
# in ringtrain, and 96 in PyTorch.
# shellcheck disable=SC2154,SC2034  # variables of and for classes_env.sh
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- 0 1 2
SET=flowers
# shellcheck source=/dev/null
. bench/classes_env.sh

for seed in "$@"; do
    "$python" bench/flowers_torch.py init "$seed" "$out/init-$seed.safetensors"
    torch=-
    if [ "${TORCH:-1}" = 1 ]; then
        torch=$("$python" bench/flowers_torch.py train "$seed" "$data" \
            "$out/init-$seed.safetensors" 2>"$out/torch-$seed.log" | tail -n 1)
    fi
    started=$(date +%s)
    mpirun --allow-run-as-root --oversubscribe --bind-to none -np 3 \
        "$ringtrain" train --data "$data" --recipe flowers --batch-size 32 --seed "$seed" \
        --init "$out/init-$seed.safetensors" --resume none --report-every 20 \
        --model-dir "$out/model-$seed" --checkpoint-dir "$work/checkpoints-$seed" \
        </dev/null >"$out/ringtrain-$seed.out" 2>"$out/ringtrain-$seed.log"
    seconds=$(($(date +%s) - started))
    ours=$(sed -n 's/^eval .*top1=\([0-9.]*\).*/\1/p' "$out/ringtrain-$seed.out" | tail -n 1)
    there=$("$python" bench/flowers_torch.py score "$out/model-$seed/model.safetensors" "$data")
    echo "seed $seed: ringtrain top1 $ours in $seconds s (the same weights in torchvision: $there);" \
        "PyTorch $torch"
done
