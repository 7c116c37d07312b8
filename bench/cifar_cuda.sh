#!/bin/sh
# Trains a ResNet-20 on CIFAR-10 as JPEGs on a GPU, with ringtrain and, by the same recipe, with
# PyTorch. Prints top-1 on the test set and seconds, decoding included.
#
#   sh bench/cifar_cuda.sh DATA
#
#   DATA     a folder with train/CLASS/*.jpg and test/CLASS/*.jpg, or a .tar.gz of one
#   EPOCHS   default 60
#   TORCH    0 leaves PyTorch out
#   LIMIT    seconds for each side, default 150
#
# Recipe: batch 256, peak rate 0.2 after two epochs of warm-up, cosine to 0, SGD with Nesterov
# momentum 0.9, decay 5e-4, label smoothing 0.1, pictures padded by 4, cropped and mirrored; f16.
# shellcheck disable=SC2154  # variables of gpu_env.sh
set -u
cd "$(dirname "$0")/.." || exit 2
# shellcheck disable=SC1091
. bench/gpu_env.sh
data=${1:-}
[ -e "$data" ] || { echo "skipped: no data: cifar_cuda.sh DATA"; exit 77; }
have_gpu || { echo "skipped: no device"; exit 77; }
epochs=${EPOCHS:-60}
limit=${LIMIT:-150}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ ! -d "$data" ]; then
    tar -xzf "$data" -C "$work" || exit 66
    data=$(dirname "$(find "$work" -maxdepth 2 -type d -name train | head -n 1)")
fi

started=$(date +%s)
ours timeout --foreground "$limit" "$build/bin/ringtrain" train --backend cuda \
    --data "$data/train" --validation "$data/test" \
    --model resnet20 --dtype f16 --fusion conv --epochs "$epochs" \
    --batch-size 256 --lr 0.2 --lr-batch 256 --warmup-epochs 2 --nesterov true --weight-decay 5e-4 \
    --label-smoothing 0.1 --eval-every 0 --report-every 195 --log metrics \
    --data-threads "$(nproc)" \
    --resume none --model-dir "$work/model" --checkpoint-dir "$work/checkpoints" \
    >"$work/out" 2>"$work/err" || { echo "ringtrain failed:"; tail -n 5 "$work/err"; exit 1; }
seconds=$(($(date +%s) - started))
grep '^train ' "$work/out" | tail -n 3
top1=$(sed -n 's/^eval .*top1=\([0-9.]*\).*/\1/p' "$work/out" | tail -n 1)
echo "cifar ringtrain top1=$top1 seconds=$seconds epochs=$epochs"
if [ "${TORCH:-1}" = 1 ]; then
    timeout --foreground "$limit" "$python" bench/cifar_torch.py "$data" "$epochs" 2>&1 | tail -n 3
fi
# The accuracy is only checked after the recipe's 60 epochs.
[ "$epochs" -lt 60 ] || awk -v top1="${top1:-0}" 'BEGIN { exit !(top1 >= 0.91) }'
