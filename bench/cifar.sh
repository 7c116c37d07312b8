#!/bin/sh
# Trains a ResNet-20 on CIFAR-10 as JPEGs on the CPU, by the recipe cifar-he with fewer epochs, with
# ringtrain and with PyTorch. Prints top-1 on the test set and seconds, decoding included, a line
# for each side.
#
#   RINGMASTER_DATA=DIR sh bench/cifar.sh [SEED...]          default seed 0
#
#   RINGMASTER_DATA   a folder with cifar10-jpg/{train,test}/CLASS/*.jpg or cifar10-jpg.tar.gz
#   EPOCHS            default 28; the rate falls after a half and three quarters of them
#   PYTHON            a Python with torch and Pillow, default python3
#   PRESET            preset of the build that is measured, default release
#   SIDES             which sides train, default "ringtrain torch"
#   OUT               a folder that keeps models and logs
# shellcheck disable=SC2154,SC2034  # variables of and for classes_env.sh
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- 0
epochs=${EPOCHS:-28}
SET=cifar10-jpg
# shellcheck source=/dev/null
. bench/classes_env.sh

# train_ringtrain SEED
train_ringtrain() {
    started=$(date +%s)
    "$ringtrain" train --data "$data/train" --validation "$data/test" --recipe cifar-he \
        --epochs "$epochs" --milestones "$((epochs / 2)),$((epochs * 3 / 4))" --cache ram \
        --seed "$1" --eval-every 0 --report-every 390 --log metrics --resume none \
        --model-dir "$out/model-$1" --checkpoint-dir "$work/checkpoints-$1" \
        </dev/null >"$out/ringtrain-$1.out" 2>"$out/ringtrain-$1.log"
    top1=$(sed -n 's/^eval .*top1=\([0-9.]*\).*/\1/p' "$out/ringtrain-$1.out" | tail -n 1)
    echo "cifar ringtrain top1=$top1 seconds=$(($(date +%s) - started)) epochs=$epochs seed=$1"
}

for seed in "$@"; do
    for side in ${SIDES:-ringtrain torch}; do
        if [ "$side" = ringtrain ]; then
            train_ringtrain "$seed"
        else
            line=$(SEED=$seed "$python" bench/cifar_torch.py "$data" "$epochs" he \
                2>"$out/torch-$seed.log" | tail -n 1)
            echo "$line seed=$seed"
        fi
    done
done
